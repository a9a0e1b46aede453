"""Trajectories are slowed just enough, say so, and vehicles that cannot hover are named."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Compact, Model
from haltere.dynamics.rigid import RigidVehicle, speed_limits
from haltere.lie import so3
from haltere.trajectory import (
    Holding,
    TrajectoryError,
    bounded,
    can_hover,
    hover,
    hover_fault,
    hover_point,
    lissajous,
    needs,
    paced,
    thrust_to_weight,
)

FAST = lissajous((8.0, 7.0, 6.0, 5.0), 12.0)


@cache
def vehicle(name="hummingbird"):
    return RigidVehicle.from_airframe(from_catalogue(name))


def test_what_fits_is_left_alone():
    path = lissajous((3.0, 3.0, 3.0, 3.0))
    assert bounded(vehicle(), path) == (path, None)


def test_what_does_not_fit_is_slowed_just_enough_and_says_so():
    slow, note = bounded(vehicle(), FAST, margin=0.2)
    assert note is not None
    assert "slowed by a factor" in note
    assert "\n" not in note
    factor = float(slow.duration / FAST.duration)
    assert factor > 1.5
    assert f"{factor:.3g}" in note
    asked = needs(vehicle(), slow)
    np.testing.assert_allclose(np.max(asked.use), 0.8, atol=1e-3)
    assert np.all(asked.command >= vehicle().low)
    assert np.all(asked.command <= vehicle().high)
    faster = needs(vehicle(), paced(FAST, 0.99 * factor))
    assert np.max(faster.use) > 0.8


def test_tilt_is_a_limit_too():
    limit = np.radians(10.0)
    slow, note = bounded(vehicle(), lissajous((3.0, 3.0, 3.0, 0.0)), tilt_limit=limit)
    assert note is not None
    assert "tilt" in note
    np.testing.assert_allclose(np.max(needs(vehicle(), slow).tilt), limit, rtol=1e-3)


def test_a_path_that_fits_at_no_pace_is_refused():
    tilted = Holding(hover(), so3.exp_wxyz(jnp.asarray([0.05, 0.0, 0.0])))
    assert bounded(vehicle("hexa-tilted"), tilted)[1] is None
    with pytest.raises(TrajectoryError, match="times slower"):
        bounded(vehicle("hexa-tilted"), tilted, tilt_limit=0.02)


def test_a_vehicle_that_cannot_hover_is_refused():
    heavy = replace(vehicle(), mass=4.0 * vehicle().mass)
    assert not can_hover(heavy)
    assert can_hover(vehicle())
    assert hover_fault(vehicle()) is None
    with pytest.raises(TrajectoryError, match="cannot hover") as error:
        bounded(heavy, FAST)
    assert "\n" not in str(error.value)


def test_durations_and_numbers_are_checked():
    with pytest.raises(TrajectoryError, match="duration"):
        bounded(vehicle(), hover(duration=-1.0))
    with pytest.raises(TrajectoryError, match="finite"):
        bounded(vehicle(), lissajous((3.0, 3.0, np.nan, 3.0)))


def test_lift_is_that_of_all_rotors_where_they_are_alike():
    v = vehicle()
    most = 4.0 * 8.54858e-6 * 838.0**2
    assert thrust_to_weight(v) == pytest.approx(most / float(v.weight), rel=1e-6)


def test_rotors_that_point_anywhere_hover_off_the_vertical():
    """Four uneven rotors lift without torque by one combination of squared speeds, wherever that points."""
    rng = np.random.default_rng(4)
    bird = from_catalogue("hummingbird")
    for _ in range(20):
        rotors = []
        for rotor in bird.rotors:
            axis = np.asarray(rotor.axis) + 0.2 * rng.normal(size=3)
            k = rotor.thrust_coefficient * rng.uniform(0.8, 1.2)
            axis /= np.linalg.norm(axis)
            rotors.append(rotor.model_copy(update={"axis": tuple(axis), "thrust_coefficient": k}))
        v = RigidVehicle.from_airframe(bird.model_copy(update={"rotors": tuple(rotors)}))
        table = np.asarray(v.allocation_at_com)
        mix = np.linalg.svd(table[3:])[2][-1]
        mix = mix * np.sign(mix.sum())
        most = np.linalg.norm(table[:3] @ mix) * 838.0**2 / mix.max() if mix.min() > 0.0 else 0.0
        assert thrust_to_weight(v) == pytest.approx(most / float(v.weight), rel=1e-3)


def test_numbers_are_those_of_the_model():
    airframe = from_catalogue("quad-arm")
    model = Model.from_airframe(airframe)
    angles = jnp.asarray([0.7, -0.4])
    v = RigidVehicle.from_model(model, speed_limits(airframe), angles)
    compact = Compact.from_model(model, angles)
    assert float(v.mass) == pytest.approx(airframe.total_mass)
    moment = np.asarray(v.mass * v.com)
    np.testing.assert_allclose(compact.inertia[3:, :3], so3.hat(jnp.asarray(moment)), atol=1e-9)
    about_origin = v.inertia - v.mass * so3.hat(v.com) @ so3.hat(v.com)
    np.testing.assert_allclose(compact.inertia[3:, 3:], about_origin, atol=1e-12)
    assert float(v.com[0]) > 0.001  # the arm reaches forward
    torque = v.allocation[3:] - jnp.cross(v.com, v.allocation[:3].T).T
    np.testing.assert_allclose(v.allocation_at_com[3:], torque, atol=1e-15)


def test_hover_balances_the_centre_of_mass():
    airframe = from_catalogue("quad-arm")
    v = RigidVehicle.from_airframe(airframe, jnp.asarray([1.2, 0.3]))
    point = hover_point(v)
    wrench = np.asarray(v.allocation_at_com @ point.command)
    np.testing.assert_allclose(wrench, [0.0, 0.0, float(v.weight), 0.0, 0.0, 0.0], atol=1e-9)
    assert np.ptp(np.asarray(point.command)) > 1e3


@pytest.mark.parametrize("axis", [(0.3, 0.0, 0.95), (0.2, -0.4, 0.9), (1.0, 0.0, 0.05)])
def test_the_hover_axis_follows_the_rotors(axis):
    """A whole vehicle described in other axes: only the name of its up changes."""
    v = vehicle()
    z = np.asarray(axis) / np.linalg.norm(axis)
    y = np.cross(z, [0.3, 0.9, 0.1])
    y /= np.linalg.norm(y)
    turn = np.stack([np.cross(y, z), y, z], axis=1)
    both = np.kron(np.eye(2), turn)
    point = hover_point(replace(v, allocation=jnp.asarray(both @ np.asarray(v.allocation))))
    np.testing.assert_allclose(point.axis, z, atol=1e-9)
    np.testing.assert_allclose(point.frame.T @ point.frame, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(point.command, hover_point(v).command, rtol=1e-9)


def test_only_the_tilted_hexarotor_pushes_sideways():
    assert float(hover_point(vehicle("hexa-tilted")).lateral) > 0.08 * float(vehicle("hexa-tilted").weight)
    for name in ("neo", "hummingbird", "hong-tilt-rotor"):
        assert float(hover_point(vehicle(name)).lateral) == 0.0


def test_rotors_without_limits_get_some_headroom():
    airframe = from_catalogue("hummingbird")
    bare = tuple(rotor.model_copy(update={"speed_limits": None}) for rotor in airframe.rotors)
    limits = np.asarray(speed_limits(airframe.model_copy(update={"rotors": bare})))
    lift = 4.0 * 8.54858e-6 * limits[0, 1] ** 2
    assert lift == pytest.approx(1.5**2 * 0.716 * 9.81)
    idle = speed_limits(from_catalogue("indiflight-3inch"))
    assert idle[0][0] == pytest.approx(449.7)


def test_perturbed_numbers_stay_within_their_bound_and_physical():
    v = vehicle("hexa-tilted")
    many = jax.vmap(lambda key: v.perturbed(key, 0.1))(jax.random.split(jax.random.key(2), 300))
    for wrong, right in ((many.mass, v.mass), (many.allocation, v.allocation)):
        known = np.asarray(right) != 0.0
        ratio = np.asarray(wrong)[..., known] / np.asarray(right)[known]
        assert np.max(np.abs(ratio - 1.0)) <= 0.1 + 1e-12
        assert np.max(np.abs(ratio - 1.0)) > 0.09
    assert np.all(np.linalg.eigvalsh(np.asarray(many.inertia)) > 0.0)
    np.testing.assert_array_equal(many.high[0], v.high)
