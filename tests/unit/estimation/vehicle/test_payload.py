"""A payload in the prior of a nominal vehicle: against airframe files with the payload in them."""

import numpy as np
import pytest
from tests.unit.estimation.vehicle.quadrotor import AIRFRAME, NAMES

from haltere.airframe.fields import tensor
from haltere.estimation.vehicle.hand_measurements import with_measured
from haltere.estimation.vehicle.numbers import numbers_at
from haltere.estimation.vehicle.parameters import NominalVehicle, Widths
from haltere.estimation.vehicle.payload import BLOCKS, BODY, joined, with_payload

PAYLOAD = np.array([0.12, 0.08, 0.02, -0.06, 1e-5])
SIGMA = np.array([0.004, 1e-3, 1e-3, 1e-3, 1e-6])
EXACT = Widths(mass=1e-9, com_arm=1e-9, moment=1e-9, product=1e-9)


def carrying(payload):
    """The airframe with the payload in its body, by the parallel-axis rule about the body's origin."""
    body, mass, position = AIRFRAME.body, payload[0], payload[1:4]

    def about(m, r):
        return m * (r @ r * np.eye(3) - np.outer(r, r))

    com, total = np.asarray(body.com), body.mass + mass
    centre = (body.mass * com + mass * position) / total
    J = tensor(body.inertia) + about(body.mass, com) + payload[4] * np.eye(3) + about(mass, position)
    J = J - about(total, centre)
    six = tuple(float(J[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    new = body.model_copy(update={"mass": total, "com": tuple(map(float, centre)), "inertia": six})
    return AIRFRAME.model_copy(update={"body": new})


def physical(nominal):
    """Values and deviations of the body's numbers before a flight."""
    n = nominal.layout.size
    numbers = numbers_at(nominal, np.zeros(n), np.eye(n), NAMES)
    rows = [numbers.names.index(name) for name in BODY]
    return numbers.values[rows], numbers.sigma[rows]


@pytest.fixture(scope="module")
def empty():
    return NominalVehicle.from_airframe(AIRFRAME)


def test_the_vehicle_is_that_of_an_airframe_with_the_payload_in_it(empty):
    found = with_payload(empty, PAYLOAD, np.zeros((5, 5)))
    expected = NominalVehicle.from_airframe(carrying(PAYLOAD))
    np.testing.assert_allclose(physical(found)[0], physical(expected)[0], rtol=1e-9, atol=1e-14)
    for name in ("mass", "com", "inertia"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-9)


def test_nothing_in_the_gripper_changes_nothing(empty):
    found = with_payload(empty, [0.0, 0.08, 0.02, -0.06, 0.0], np.zeros((5, 5)))
    np.testing.assert_allclose(found.mean, empty.mean, atol=1e-12)
    products = found.layout.indices(["product"])
    rest = np.setdiff1d(np.arange(found.layout.size), products)
    np.testing.assert_allclose(np.asarray(found.sigma)[rest], np.asarray(empty.sigma)[rest], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(found.sigma)[products], np.asarray(empty.sigma)[products], rtol=0.2)


def test_its_doubt_is_that_of_payloads_as_doubtful_as_said():
    """Of a vehicle that is known: deviations are those of the bodies with payloads that are drawn."""
    known = NominalVehicle.from_airframe(AIRFRAME, widths=EXACT)
    found = physical(with_payload(known, PAYLOAD, np.diag(SIGMA**2)))[1]
    rng = np.random.default_rng(4)
    body = physical(known)[0]
    drawn = [joined(body, PAYLOAD + SIGMA * rng.standard_normal(5)) for _ in range(4000)]
    spread = np.std(drawn, axis=0)
    np.testing.assert_allclose(found[:7], spread[:7], rtol=0.05)
    # Products depend on the coordinates of the moments, too, so they are a little wider.
    assert (found[7:] > 0.95 * spread[7:]).all()
    assert (found[7:] < 1.5 * spread[7:]).all()


def test_the_doubt_of_the_empty_vehicle_stays(empty):
    """A mass of a few grams more or less: the absolute deviation stays, the relative one falls."""
    found = with_payload(empty, PAYLOAD, np.diag(SIGMA**2))
    mass = found.layout.slices["mass"].start
    before = float(empty.sigma[mass]) * float(empty.mass)
    assert float(found.sigma[mass]) * float(found.mass) == pytest.approx(np.hypot(before, 0.004), rel=1e-6)
    others = np.setdiff1d(np.arange(found.layout.size), found.layout.indices(BLOCKS))
    np.testing.assert_array_equal(np.asarray(found.sigma)[others], np.asarray(empty.sigma)[others])


def test_what_was_measured_by_hand_was_measured_without_it(empty):
    measured, _, _ = with_measured(empty, NAMES, {"mass": (1.01 * float(empty.mass), 1e-3)})
    found = physical(with_payload(measured, PAYLOAD, np.diag(SIGMA**2)))
    assert found[0][0] == pytest.approx(1.01 * float(empty.mass) + 0.12, rel=1e-9)
    assert found[1][0] == pytest.approx(np.hypot(1e-3, 4e-3), rel=1e-6)
