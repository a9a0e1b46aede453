"""Air: blade elements and momentum against a solver, hover, and signs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.world.aero import Air
from tests.world.drawings import DENSITY, DRAWINGS, HEXAROTOR, QUADROTOR
from tests.world.levels import IDEAL, NASTY, REALISTIC
from tests.world.vehicles import draw_vehicle, stack

ZERO = np.zeros((3, 2))


def air_of(drawing, level=REALISTIC, model="blade"):
    return Air(stack([draw_vehicle(drawing, level, seed) for seed in (1, 2)]), level, model)


def loads(air, velocity=(0, 0, 0), rate=(0, 0, 0), speed=None, height=5000.0):
    count = air.vehicle.spin.shape[0]
    speed = np.full((count, 2), 500.0) if speed is None else speed
    columns = [np.tile(np.array(v, float)[:, None], 2) for v in (velocity, rate)]
    attitude = np.tile(np.eye(3)[:, :, None], 2)
    return air.loads(speed, *columns, np.full(2, height), attitude)


@pytest.mark.parametrize("drawing", DRAWINGS.values(), ids=DRAWINGS)
def test_still_air_leaves_thrust_and_torque(drawing):
    for level in (IDEAL, REALISTIC, NASTY):
        air = air_of(drawing, level)
        force, torque = loads(air)
        plain_force = (air.force_map * 500.0**2).sum(axis=1)
        plain_torque = (air.torque_map * 500.0**2).sum(axis=1)
        np.testing.assert_allclose(force, plain_force, rtol=1e-6)
        np.testing.assert_allclose(torque, plain_torque, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("drawing", [QUADROTOR, HEXAROTOR], ids=["5 inch", "10 inch"])
@pytest.mark.parametrize("climb", [-0.03, -0.01, 0.0, 0.02, 0.05])
@pytest.mark.parametrize("advance", [0.0, 0.02, 0.06, 0.1])
def test_inflow_solves_blade_elements_and_momentum(drawing, climb, advance):
    air = air_of(drawing)
    shape = air.static.shape
    coefficient, inflow = air._inflow(np.full(shape, advance**2), np.full(shape, climb))
    b, s, h = air.pitch[0, 0] * (1 + 1.5 * advance**2), air.slope[0, 0], air.hover_inflow[0, 0]

    def excess(total):
        return 2 * (total - climb) * np.hypot(advance, total) - (b - s * total)

    total = brentq(excess, max(climb, 0.0) + 1e-6, 1.0)
    assert inflow[0, 0] == pytest.approx(total, abs=0.01 * h)
    assert coefficient[0, 0] == pytest.approx(b - s * total, rel=0.02)


@pytest.mark.parametrize("drawing", [QUADROTOR, HEXAROTOR], ids=["5 inch", "10 inch"])
def test_a_climb_costs_thrust_as_measured_propellers_do(drawing):
    """Between 0.6 and 1.2 of the static thrust per unit of the advance ratio V / (n D), near rest."""
    air = air_of(drawing)
    speed = drawing.hover_speed
    ratio = 0.1
    coefficient, _ = air._inflow(np.zeros_like(air.static), np.full(air.static.shape, ratio / np.pi))
    loss = (1 - coefficient / air.static) / ratio
    assert 0.6 < loss.min() < loss.max() < 1.2
    assert speed > 0


def test_motion_across_is_resisted_and_tips_the_vehicle_up():
    air = air_of(QUADROTOR, replace(REALISTIC, axis_error=0.0))
    force, torque = loads(air, (3, 0, 0))
    still_force, still_torque = loads(air)
    assert (force[0] < still_force[0]).all()
    assert (force[2] > still_force[2]).all()  # translational thrust
    assert (
        torque[1] < still_torque[1] + 1e-3
    ).all()  # nose up is a negative torque about y, which points left
    doubled = loads(air_of(QUADROTOR, replace(REALISTIC, axis_error=0.0, aero=1.5)), (3, 0, 0))[0]
    np.testing.assert_allclose((doubled - still_force)[0] / (force - still_force)[0], 1.5, rtol=0.02)


def test_ground_carries_and_wash_costs():
    air = air_of(HEXAROTOR, IDEAL.with_effects("ground", source=NASTY))
    assert (loads(air, height=0.3)[0][2] > 1.02 * loads(air, height=20.0)[0][2]).all()
    assert not air_of(HEXAROTOR, IDEAL).ground
    moving = air_of(HEXAROTOR, REALISTIC.with_effects("ground", source=NASTY))
    assert (loads(moving, (5, 0, 0))[0][2] < loads(air_of(HEXAROTOR), (5, 0, 0))[0][2]).all()
    pair = air_of(DRAWINGS["coaxial-y"], REALISTIC.with_effects("ground", source=NASTY))
    assert pair.below.sum() == 2 * 3


def test_the_rotors_model_is_linear_in_speed_and_velocity():
    air = air_of(QUADROTOR, IDEAL, "rotors")
    still, moving, twice = (loads(air, (v, 0, 0))[0] for v in (0.0, 1.0, 2.0))
    np.testing.assert_allclose(twice - still, 2 * (moving - still), atol=1e-12)
    expected = -8.06428e-05 * 500.0 * 4
    np.testing.assert_allclose((moving - still)[0], expected, rtol=1e-3)
    with pytest.raises(ValueError, match="no air model 'vortex'"):
        air_of(QUADROTOR, IDEAL, "vortex")
    assert DENSITY == 1.225
