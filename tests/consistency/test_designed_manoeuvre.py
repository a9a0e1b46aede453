"""The figures of a designed manoeuvre: inertia zz and the rotors' drag coefficients of the Hummingbird."""

import time

import jax
import numpy as np
import pytest
from tests.consistency.identification import Flights

from haltere.observability.information.fisher import WINDOW
from haltere.observability.manoeuvres.manoeuvre import design
from haltere.trajectory import bounded, random_lissajous

NAMES = ("inertia.zz", "rotors.*.torque_ratio")


@pytest.mark.slow
def test_designed_manoeuvre_for_inertia_zz_and_drag_coefficients(monkeypatch):
    monkeypatch.setattr("haltere.observability.manoeuvres.manoeuvre.COMPARED", 0)
    start, began = time.process_time(), time.perf_counter()
    found = design("hummingbird", NAMES)
    seconds = time.process_time() - start  # of one core: less than the wall clock of an idle machine with two
    wall = time.perf_counter() - began
    designer, best = found.designer, found.manoeuvre
    ours = np.asarray([best.sigma[name] for name in designer.names])
    rng = np.random.default_rng(1)
    drawn = [designer.evaluate(designer.random(rng)) for _ in range(200)]
    multisine = min(drawn, key=lambda m: m.value)
    others = np.asarray([multisine.sigma[name] for name in designer.names])
    figures = []
    for i in range(40):
        path, _ = bounded(designer.pilot.vehicle, random_lissajous(jax.random.key(i), 30.0))
        figures.append(list(designer.along(path).values()))
    lissajous = np.median(np.asarray(figures, float), axis=0)
    print("seconds of a core", seconds, "on the wall", wall, "limits used", best.use)
    print("over best multisine", np.exp(multisine.value - best.value), others / ours)
    print("over median Lissajous", lissajous / ours)

    nominal = designer._fly(best.coefficients)
    motion, inputs = np.asarray(nominal.motion), np.asarray(nominal.inputs)
    errors = Flights(designer.information, motion, inputs, 60).identify(
        np.random.default_rng(3), iterations=2
    )
    rows = np.stack([designer.information.row(name) for name in designer.names])
    spread = np.sqrt(np.mean((errors @ rows.T) ** 2, axis=0)) / np.sqrt(designer.seconds / designer.period)
    print("spread over predicted", spread / ours)

    assert seconds < 180.0
    assert best.use <= 1.0
    assert np.exp(multisine.value - best.value) > 1.5  # root of the sum of relative variances
    assert np.all(others / ours > 1.5)
    assert np.all(lissajous / ours > 3.0)
    assert np.all((spread / ours > 0.65) & (spread / ours < 1.4))  # 60 runs: one sigma is 9 %
    assert len(motion) % WINDOW == 0
