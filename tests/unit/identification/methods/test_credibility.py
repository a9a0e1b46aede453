"""What makes the intervals of a smoothed flight wider, and what refuses it."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from haltere.estimation.vehicle.flight_parts import FlightParts
from haltere.estimation.vehicle.levels import NAMES
from haltere.estimation.vehicle.numbers import Numbers
from haltere.identification.methods.credibility import check_credibility
from haltere.identification.parameters import Parameter

ROWS = ("rotors.m1.effectiveness.p", "rotors.m1.effectiveness.r_dot", "inertia.xx")


@dataclass(frozen=True)
class MadeFlight:
    """A smoothed flight of three coordinates, which are its numbers and the moments of inertia."""

    cov: np.ndarray
    parts: FlightParts
    states: np.ndarray
    log_levels: np.ndarray
    innovations: np.ndarray
    pose_weights: np.ndarray
    nominal: object
    z: np.ndarray
    layout: object
    last_step: float = 0.1
    prior_scale: dict = field(default_factory=lambda: {"thrust": 1.0, "axes": 1.1})
    rotor_period: float = 0.005
    rotor_noise: object = field(default_factory=lambda: np.zeros(1))


@pytest.fixture
def made():
    """Calm, settled, and parts that agree as well as noise lets them: all figures as they should be."""
    rng = np.random.default_rng(5)
    information = np.tile(np.diag([400.0, 400.0, 400.0]) / 12, (12, 1, 1))
    right = rng.normal(0.0, np.sqrt(400.0 / 12), (12, 3))
    step = np.linalg.solve(information.sum(axis=0) + np.eye(3), right.sum(axis=0))
    states = np.zeros((400, 31))
    states[:, 10:13] = np.cumsum(rng.normal(0.0, 0.2, (400, 3)), axis=0)
    levels = np.zeros(len(NAMES))
    small = ("gust_xy", "gust_z", "position", "rotation")
    levels[[NAMES.index(name) for name in small]] = np.log(1e-3)
    return MadeFlight(
        np.linalg.inv(information.sum(axis=0) + np.eye(3)), FlightParts(information, right, step), states, levels,
        rng.normal(size=(400, 12)), np.ones((400, 1, 2)),
        SimpleNamespace(sigma=np.full(3, 0.1), inertia=np.diag([1.0, 1.1, 1.7])), np.zeros(3),
        SimpleNamespace(slices={"moment": slice(0, 3)}, indices=lambda _: []),
    )  # fmt: skip


def numbers(flight):
    names = (*ROWS, "inertia.yy", "inertia.zz")
    slopes = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 0, 0.5], [0, 0, 0.2]])
    values = np.array([3.0, 0.01, 1.0, 1.1, 1.7])
    return Numbers(names, values, slopes, slopes @ flight.cov @ slopes.T)


def check(flight, others=()):
    return check_credibility(flight, numbers(flight), others)


def test_a_flight_that_agrees_with_everything_keeps_its_deviations(made):
    found = check(made)
    assert not found.refusal
    assert not found.notes
    ratio = found.sigma[0] / numbers(made).sigma[0]
    assert 0.7 <= ratio < 1.5


def test_readings_that_contradict_each_other_widen_everything_and_are_named(made):
    layout = SimpleNamespace(
        slices=made.layout.slices, indices=lambda names: [0] if "gravity" in names else []
    )
    strained = check(replace(made, z=np.array([-10.0, 0.0, 0.0]), layout=layout))
    np.testing.assert_allclose(strained.sigma, 2.0 * check(made).sigma)
    assert any("10 sigma off" in note for note in strained.notes)
    calm = check(replace(made, z=np.array([-4.0, 0.0, 0.0]), layout=layout))
    np.testing.assert_allclose(calm.sigma, check(made).sigma)
    assert not calm.notes


def test_parts_that_disagree_widen(made):
    loud = replace(made, parts=replace(made.parts, right=5.0 * made.parts.right, step=5.0 * made.parts.step))
    assert np.all(check(loud).sigma[:1] > 2.5 * check(made).sigma[:1])
    assert check(loud).figures["between_parts"] > 2.0


def test_gusts_widen_all_that_was_learnt(made):
    levels = made.log_levels.copy()
    calm = check(made).sigma[0]
    for gust, factor in ((0.5, 1.0), (1.4, 2.0)):
        levels[NAMES.index("gust_z")] = np.log(gust)
        assert check(replace(made, log_levels=levels)).sigma[0] == pytest.approx(factor * calm)


def test_disturbances_widen_the_rows_of_their_axis(made):
    states = made.states.copy()
    turn = np.gradient(states[:, 10], 0.02)
    states[:, 19] = 0.5 * turn
    found = check(replace(made, states=states))
    assert found.figures["disturbed"]["roll"] == pytest.approx(0.5, rel=0.02)
    assert found.sigma[0] ** 2 - check(made).sigma[0] ** 2 == pytest.approx((0.3 * 0.25 * 3.0) ** 2, rel=0.05)


def test_noise_of_rotor_speeds_widens_the_rows_of_a_vehicle_that_hardly_rotates(made):
    """By the variance of the angular acceleration that it would make over the variance that there is."""
    spread = np.std(np.gradient(made.states[:, 10], 0.02))
    found = check(replace(made, rotor_noise=np.array([0.5 * spread / 3.0])))
    assert found.figures["rotor_noise"]["roll"] == pytest.approx(0.25)
    assert found.sigma[0] ** 2 - check(made).sigma[0] ** 2 == pytest.approx((0.25 * 3.0) ** 2, rel=1e-6)


def test_another_method_that_differs_widens_until_both_agree(made):
    sigma = check(made).sigma[0]
    other = Parameter.measured(ROWS[0], 3.0 + 12.0 * sigma, sigma, "rad/s2/(rad/s)2")
    found = check(made, [other])
    assert found.sigma[0] > 3.5 * sigma
    assert found.figures["difference"] > 8.0
    near = Parameter.measured(ROWS[0], 3.0 + sigma, sigma, "rad/s2/(rad/s)2")
    assert check(made, [near]).sigma[0] == sigma


def test_a_vehicle_far_from_its_drawing_is_said_to_be(made):
    (note,) = check(replace(made, prior_scale={"thrust": 1.2, "axes": 1.6})).notes
    assert note.startswith("thrust axes are 1.6 times as far from the airframe file as usual")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"last_step": 2.0}, "does not settle"),
        ({"z": np.array([0.0, np.nan, 0.0])}, "does not settle"),
        ({"pose_weights": np.full((400, 1, 2), 0.1)}, "100 % of the poses do not fit"),
        ({"z": np.array([-4.0, -4.0, 6.0])}, "moments of inertia that no body has"),
        (
            {"log_levels": np.full(len(NAMES), np.log(0.3))},
            "the poses are off the motion by 0.3 m and 0.3 rad",
        ),
    ],
)
def test_what_cannot_be_believed_is_refused_in_a_line(made, change, reason):
    refusal = check(replace(made, **change)).refusal
    assert reason in refusal
    assert "\n" not in refusal
