"""`PayloadFilter` from an airframe and reports: the same numbers as its core's, at a host of any precision."""

import jax
import numpy as np

from haltere.airframe import from_catalogue
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.filter import PayloadFilter
from haltere.estimation.payload.model import ArmBelief, DriftBudget
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.state import BESIDE

TIME = np.arange(400) / 50.0
ANGLE = 0.6 + 0.3 * np.stack([np.sin(1.3 * TIME), np.cos(1.1 * TIME)], axis=1)
REPORTS = ArmRecord.on_bench(50.0, ANGLE, 0.04 + 0.01 * np.sign(np.gradient(ANGLE, axis=0)))


def test_reports_go_in_as_into_its_core():
    with jax.enable_x64(False):
        payload = PayloadFilter("quad-arm", settings=BESIDE)
        belief = payload.correct(payload.begin(), REPORTS)
        found = payload.estimate(belief)
    core = PayloadCore(ArmBelief.from_airframe(from_catalogue("quad-arm")), BESIDE)
    expected = core.estimate(core.update(core.begin(), core.signals(REPORTS), 0, REPORTS.samples))
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), value)
    assert np.asarray(found.mass).dtype == np.float64
    assert belief.count.sum() > 0


def test_clear_forgets_the_reports():
    payload = PayloadFilter("quad-arm")
    belief = payload.clear(payload.correct(payload.begin(), REPORTS))
    assert belief.count.sum() == 0
    assert not payload.estimate(belief).observable


def test_calibrated_servos_are_taken():
    arm = ArmBelief.from_airframe(from_catalogue("quad-arm")).drifted(DriftBudget())
    assert PayloadFilter("quad-arm", arm=arm).core.arm is arm
