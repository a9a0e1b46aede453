"""A payload in the vehicle filter's prior: against airframe files with the payload in them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.airframe.fields import tensor
from haltere.estimation.core.consistency import mean_band
from haltere.estimation.payload.fusion import payload_in_body, vehicle_mass_properties
from haltere.estimation.payload.model import ArmBelief
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.payload import with_payload
from haltere.lie import s2

HUMMINGBIRD = from_catalogue("hummingbird")
PAYLOAD = np.asarray([0.12, 0.08, 0.02, -0.06, 1e-5])
SIGMA = np.asarray([0.004, 1e-3, 1e-3, 1e-3, 1e-6])


def carrying(airframe, payload):
    """The airframe with the payload in its body, by the parallel-axis rule about the body's origin."""
    body, mass, place = airframe.body, payload[0], payload[1:4]

    def about(m, r):
        return m * (r @ r * np.eye(3) - np.outer(r, r))

    com, total = np.asarray(body.com), body.mass + mass
    centre = (body.mass * com + mass * place) / total
    J = tensor(body.inertia) + about(body.mass, com) + payload[4] * np.eye(3) + about(mass, place)
    J = J - about(total, centre)
    six = tuple(float(J[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    new = body.model_copy(update={"mass": total, "com": tuple(map(float, centre)), "inertia": six})
    return airframe.model_copy(update={"body": new})


def away(vehicle, payload):
    """Printed numbers of the filter minus those of the airframe with the payload, in the filter's chart."""
    found, coordinates = describe_vehicle(carrying(HUMMINGBIRD, payload)), vehicle.coordinates
    axes = found.coordinates.thrust_axes(found.physical["rotor_tilt"])
    tilt = jax.vmap(s2.box_minus)(axes, jnp.asarray(coordinates.axis))
    return np.asarray(
        coordinates.physical.minus(vehicle.description.physical, {**found.physical, "rotor_tilt": tilt})
    )


@pytest.fixture(scope="module")
def known():
    """A vehicle of which all is known, gripping something of which little is."""
    return with_payload(VehicleCore.from_airframe(HUMMINGBIRD, uncertainty=0.0), PAYLOAD, np.diag(SIGMA**2))


def test_the_prior_is_that_of_an_airframe_with_the_payload_in_it(known):
    theirs = describe_vehicle(carrying(HUMMINGBIRD, PAYLOAD))
    assert np.max(np.abs(away(known, PAYLOAD))) < 1e-9
    assert np.allclose(known.description.com, theirs.com, atol=1e-12)
    assert np.allclose(known.description.R_BM, theirs.R_BM, atol=1e-9)


def squared(vehicle, error):
    """The error (n,) in deviations of the prior, squared."""
    cov = np.asarray(vehicle.prior({}).cov)
    scale = np.sqrt(np.maximum(np.diagonal(cov), 1e-30))
    values, vectors = np.linalg.eigh(cov / np.outer(scale, scale))
    along, open_ = vectors.T @ (error / scale), values > 1e-9
    return float(np.sum(along[open_] ** 2 / values[open_]))


def test_its_covariance_is_that_of_payloads_as_doubtful_as_said(known):
    """The true payload is drawn; what the airframe with it in it has, the prior must expect, and no more."""
    rng = np.random.default_rng(4)
    found = [squared(known, away(known, PAYLOAD + SIGMA * rng.standard_normal(5))) for _ in range(30)]
    assert np.mean(found) in mean_band(5, 30)


def test_a_filter_that_is_not_told_starts_wrong():
    """A vehicle known to 1 %: all its numbers as in the file, but it has gripped something."""
    empty = VehicleCore.from_airframe(HUMMINGBIRD, uncertainty=0.1)
    told = with_payload(empty, PAYLOAD, np.diag(SIGMA**2))
    assert squared(told, away(told, PAYLOAD + SIGMA)) < 5.0
    assert squared(empty, away(empty, PAYLOAD + SIGMA)) > 500.0
    mass = told.coordinates.names.index("mass")
    assert abs(away(told, PAYLOAD + SIGMA)[mass]) < 0.04 * abs(away(empty, PAYLOAD + SIGMA)[mass])


def test_hand_measurements_are_those_of_the_empty_vehicle():
    empty = VehicleCore.from_airframe(HUMMINGBIRD, hand_measurements={"mass": (0.72, 1e-3)})
    found = with_payload(empty, PAYLOAD, np.diag(SIGMA**2))
    place = found.coordinates.names.index("mass")
    sigma = np.sqrt(np.sum(np.asarray(found.covariance_root)[place] ** 2))
    with_mount_force = 0.72 - 0.004 * (1e-3 / 0.0716) ** 2
    assert float(found.description.physical["mass"][0]) == pytest.approx(with_mount_force + 0.12, abs=1e-6)
    assert sigma == pytest.approx(np.hypot(1e-3, 4e-3), rel=1e-3)
    assert found.hand_measurements == ()


def test_an_arm_in_its_pose_feeds_the_filter():
    """`vehicle_mass_properties` sums the same bodies by another way."""
    airframe = from_catalogue("quad-arm")
    detect_changes = airframe.model_copy(update={"pose": HUMMINGBIRD.pose, "imu": HUMMINGBIRD.imu})
    arm, angle = ArmBelief.from_airframe(airframe), np.deg2rad([45.0, 30.0])
    x = np.concatenate([[0.273, 0.0, 0.0, 0.0, 0.0], arm.mean])
    cov = np.diag(np.full(len(x), 1e-6))
    payload, covariance_root = payload_in_body(arm, angle, x, cov)
    empty = VehicleCore.from_airframe(detect_changes, uncertainty=0.0, joint_angles=angle)
    found = with_payload(empty, payload, covariance_root)
    mass, *com = vehicle_mass_properties(airframe, arm, angle, x, cov)[0]
    assert float(found.description.physical["mass"][0]) == pytest.approx(mass, rel=1e-9)
    assert np.allclose(found.description.com, com, atol=1e-7)
