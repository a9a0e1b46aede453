"""The dither changes rotor speeds and no controlled part of the wrench, which is computed here from the airframe."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.control import GeometricController
from haltere.control.dither import Dither, dithered


def rows_by_hand(airframe):
    """(4, R) lift and torques about the body origin per squared speed, for rotors that push along z or nearly so."""
    columns = []
    for rotor in airframe.rotors:
        push = rotor.thrust_coefficient * np.array(rotor.axis)
        sense = 1.0 if rotor.spin == "ccw" else -1.0
        columns.append([push[2], *(np.cross(rotor.position, push) - sense * rotor.torque_ratio * push)])
    return np.array(columns).T


@pytest.mark.parametrize("name", ["neo", "hummingbird"])
def test_the_wrench_stays(name):
    airframe = from_catalogue(name)
    controller = GeometricController.from_airframe(airframe)
    u = controller.hover.command
    shake = jax.jit(jax.vmap(lambda t: dithered(controller, u, t, Dither(0.3))))
    change = np.asarray(shake(jnp.linspace(0.0, 10.0, 200)) - u)
    rows = rows_by_hand(airframe)
    assert np.abs(change @ rows.T).max() < 1e-9 * np.abs(np.asarray(u) @ np.abs(rows).T).max()
    spread = change.std(axis=0) / np.asarray(u)
    if name == "neo":
        assert np.all(spread > 0.05)
        assert np.linalg.matrix_rank(change / np.asarray(u), tol=1e-6) == 2
    else:  # four rotors, four rows: nothing is left to change
        assert np.all(spread < 1e-9)


def test_it_stays_inside_the_limits_and_can_be_switched_off():
    controller = GeometricController.from_airframe(from_catalogue("neo"))
    high = 0.99 * controller.vehicle.high
    for time in np.linspace(0.1, 5.0, 20):
        u = dithered(controller, high, time, Dither(1.0))
        assert bool(jnp.all((u <= controller.vehicle.high) & (u >= controller.vehicle.low)))
    assert dithered(controller, high, 1.3, Dither(0.0)) == pytest.approx(np.asarray(high))
