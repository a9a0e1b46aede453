"""The payload in the vehicle: against the dynamics' own centre of mass, and fusion by hand."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics.rigid import RigidVehicle
from haltere.estimation.payload.fusion import (
    MassSource,
    centre_filter,
    fuse,
    hover_thrust,
    vehicle_mass_properties,
)
from haltere.estimation.payload.model import ArmBelief
from haltere.estimation.payload.record import PayloadError


def test_the_whole_is_that_of_the_dynamics_with_a_heavier_forearm():
    """`RigidVehicle` adds the same masses by another way: a forearm that has the payload in it."""
    airframe = from_catalogue("quad-arm")
    belief = ArmBelief.from_airframe(airframe)
    angle, mass = np.asarray([0.6, 0.9]), 0.25
    x = np.concatenate([[mass, 0.0, 0.0, -0.01, 0.0], belief.mean])
    ours, _ = vehicle_mass_properties(airframe, belief, angle, x, np.eye(len(x)))
    forearm = airframe.links[1]
    place = belief.gripper + np.asarray([0.0, 0.0, -0.01])
    total = forearm.mass + mass
    com = (forearm.mass * np.asarray(forearm.com) + mass * place) / total
    heavier = forearm.model_copy(update={"mass": total, "com": tuple(com)})
    loaded = airframe.model_copy(update={"links": (airframe.links[0], heavier)})
    theirs = RigidVehicle.from_airframe(loaded, jnp.asarray(angle))
    assert ours[0] == pytest.approx(float(theirs.mass), rel=1e-9)
    assert np.allclose(ours[1:], theirs.com, atol=1e-7)


def sources():
    servos = MassSource((0, 1, 2, 3), np.asarray([2.5, 0.01, 0.0, -0.02]), np.diag([1e-4, 1e-6, 1e-6, 1e-6]))
    thrust = MassSource((0,), np.asarray([2.51]), np.asarray([[1e-4]]))
    centre = centre_filter(np.asarray([0.012, 0.0, 0.3]), np.diag([1e-6, 1e-6, 1.0]))
    return {"servos": servos, "thrust": thrust, "centre": centre}


def test_fusion_weighs_by_information():
    found = fuse(sources())
    assert np.allclose(found.value, [2.505, 0.011, 0.0, -0.02])
    assert np.allclose(np.diag(found.cov), [5e-5, 5e-7, 5e-7, 1e-6])
    assert found.disagreement["thrust"] == pytest.approx(0.01**2 / 2e-4)
    assert found.disagreement["centre"] == pytest.approx(0.002**2 / 2e-6 / 2.0)


def test_a_wrong_source_is_reported():
    wrong = sources()
    wrong["thrust"] = replace(wrong["thrust"], value=np.asarray([2.7]))
    assert fuse(wrong).disagreement["thrust"] > 50.0


def test_thrust_alone_does_not_tell_the_centre():
    with pytest.raises(PayloadError, match="thrust"):
        fuse({"thrust": sources()["thrust"]})


def test_hover_thrust_is_mass_times_specific_force():
    force = np.full(50, 9.81)
    found = hover_thrust(2.5 * force, force)
    assert found.value[0] == pytest.approx(2.5)
    assert found.cov[0, 0] == pytest.approx((0.02 * 2.5) ** 2)
