"""Vehicles of the catalogue follow their figures, with wrong numbers, and tilt only where they must."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.control import GeometricController
from haltere.dynamics import Model, State
from haltere.trajectory import Paced, bounded, lissajous, paced, random_lissajous

QUADROTORS = ("hummingbird", "crazyflie", "indiflight-3inch", "hong-quadrotor")
HEXAROTORS = ("neo", "hexa-tilted")


def figure(controller, seed):
    """A random figure of the paper, slowed for the vehicle where it must be, always of one form."""
    path, note = bounded(controller.vehicle, random_lissajous(jax.random.key(seed)))
    return path if note else Paced(path, jnp.ones(()), jnp.zeros(()))


@pytest.mark.parametrize("names", [QUADROTORS, HEXAROTORS], ids=["quadrotors", "hexarotors"])
def test_follows_a_figure_with_numbers_that_are_ten_percent_off(loop, names):
    airframes = [from_catalogue(name) for name in names]
    true = [GeometricController.from_airframe(airframe) for airframe in airframes]
    wrong = [c.perturbed(jax.random.key(10 + i), 0.10) for i, c in enumerate(true)]
    paths = [figure(controller, i) for i, controller in enumerate(true)]
    states, u = loop.fly(airframes, wrong, paths, 10.0, truths=true)
    worst = np.max(loop.errors(states, paths), axis=1)
    assert np.all(worst < 0.15), dict(zip(names, worst, strict=True))
    for controller, commands in zip(true, u, strict=True):
        assert np.all((commands >= controller.vehicle.low) & (commands <= controller.vehicle.high))


def test_a_tilted_hexarotor_moves_sideways_and_stays_level(loop):
    airframes = [from_catalogue(name) for name in HEXAROTORS]
    controllers = [GeometricController.from_airframe(airframe) for airframe in airframes]
    path = paced(lissajous((1.0, 2.0, 0.0, 0.0), 12.0, amplitude=(0.6, 0.2, 0.0, 0.0)), 1.0, 2.0)
    states, _ = loop.fly(airframes, controllers, [path, path], 10.0)
    tilts = np.degrees(np.max(loop.tilts(states), axis=1))
    moved = np.ptp(states.position[..., 0], axis=1)
    assert np.all(np.max(loop.errors(states, [path, path]), axis=1) < 0.05)
    assert np.all(moved > 1.0)
    assert tilts[1] < 1.0, "the tilted one pushes sideways"
    assert tilts[0] > 2.0, "the other one must tilt"


def test_recovers_from_a_throw(loop):
    """Head over, turning, rotors still: every vehicle comes back to its place and stands still."""
    airframes = [from_catalogue(name) for name in QUADROTORS]
    controllers = [GeometricController.from_airframe(airframe) for airframe in airframes]
    still = lissajous((0.0,) * 4, 10.0, (0.0,) * 4, (0.0, 0.0, 10.0), 0.5)  # of the same form as the figures
    place = Paced(still, jnp.ones(()), jnp.zeros(()))
    thrown = []
    for airframe in airframes:
        rest = State.rest(Model.from_airframe(airframe))
        thrown.append(
            replace(
                rest,
                position=jnp.asarray([0.5, 0.0, 10.0]),
                wxyz=jnp.asarray([0.1, 0.99, 0.1, 0.0]) / np.linalg.norm([0.1, 0.99, 0.1, 0.0]),
                twist=jnp.asarray([1.0, 0.5, 2.0, 2.0, 1.0, 1.0]),
            )
        )
    states, _ = loop.fly(airframes, controllers, [place] * 4, 10.0, states=thrown)
    assert np.all(np.asarray(states.position[:, :, 2]) > 0.0)
    end = np.asarray(loop.errors(states, [place] * 4))[:, -1]
    assert np.all(end < 0.2), dict(zip(QUADROTORS, end, strict=True))
    assert np.all(np.linalg.norm(states.twist[:, -1], axis=-1) < 0.5)
