"""Arm poses for a payload, against the levers of a two-joint arm by hand and against simulated estimates."""

import numpy as np
import pytest
from scipy import stats

from haltere.airframe import from_catalogue
from haltere.observability import ObservabilityError
from haltere.observability.manoeuvres.arm_poses import NAMES, design_arm_poses, grid_of_poses, sigmas

L1, L2, G = 0.0733, 0.1055, 9.81  # [Schmitz] Listing 1
SIGMA = 0.01


@pytest.fixture(scope="module")
def found():
    return design_arm_poses(from_catalogue("quad-arm"), torque_sigma=SIGMA)


def by_hand(pose):
    """(2, 4) torques by (m, h): angles from straight down, forward positive; both joints turn about -y."""
    one, two = pose[0], pose[0] + pose[1]
    # the moment of the weight about a joint is its horizontal lever; h = (x, y, z) turns with the outer link
    second = G * np.array([L2 * np.sin(two), np.cos(two), 0.0, -np.sin(two)])
    return np.stack([second + G * L1 * np.sin(one) * np.eye(4)[0], second])


def test_torques_are_levers_times_weight(found):
    for pose, rows in zip(found.arm.poses, found.arm.rows, strict=True):
        np.testing.assert_allclose(rows, by_hand(pose), atol=1e-12)


def test_what_no_pose_shows_is_named(found):
    assert found.rank == 3
    assert found.unobservable == ("no pose shows payload.first_moment.y",)
    assert all(plan.sigma["payload.first_moment.y"] is None for plan in found.plans)


def test_blind_poses_are_named(found):
    assert any(s.startswith("upper_arm 0, forearm 0 deg: the weight has no lever") for s in found.blind)
    assert any(s.startswith("upper_arm at 0 deg: the joints feel the same") for s in found.blind)
    straight = np.flatnonzero((found.arm.poses == [0.0, np.pi / 2]).all(axis=1))
    assert np.linalg.matrix_rank(found.arm.rows[straight[0]], tol=1e-9) == 1  # the paper's pose (0, 90)


def test_limits_are_kept_and_more_poses_tell_more(found):
    angles = np.concatenate([plan.angles for plan in found.plans])
    assert np.all(np.abs(angles) <= [1.6, 2.618])
    assert [len(plan.angles) for plan in found.plans] == [1, 2, 3]
    masses = [plan.sigma["payload.mass"] for plan in found.plans]
    assert masses[0] > masses[1] > masses[2]
    assert found.plans[0].sigma["payload.first_moment.x"] is None  # three unknowns, two joints


def information(arm, poses):
    rows = np.concatenate([by_hand(pose) for pose in poses]) * [1.0, *[arm.reach] * 3]
    return rows.T @ rows / SIGMA**2


def test_two_poses_are_the_best_of_all_pairs_and_beat_those_of_the_paper(found):
    arm, best = found.arm, found.plans[1]
    seen = [0, 1, 3]

    def cost(poses):
        return np.trace(np.linalg.inv(information(arm, poses)[np.ix_(seen, seen)]))

    rng = np.random.default_rng(0)
    pairs = arm.poses[rng.integers(len(arm.poses), size=(2000, 2))]
    with np.errstate(all="ignore"):
        costs = [
            cost(pair) for pair in pairs if np.linalg.cond(information(arm, pair)[np.ix_(seen, seen)]) < 1e9
        ]
    assert cost(best.angles) <= min(costs) * 1.001  # the search counts a vague prior too
    paper = np.deg2rad([[90.0, -90.0], [90.0, 0.0]])
    assert cost(best.angles) < cost(paper)
    of_paper = sigmas(arm, information(arm, paper))
    assert of_paper["payload.first_moment.x"] > best.sigma["payload.first_moment.x"]


def test_predicted_sigma_is_the_spread_of_simulated_estimates(found):
    """Two hundred payloads weighed by least squares over torques from hand-written levers; two-sided bounds."""
    rng, runs = np.random.default_rng(1), 200
    poses = found.plans[2].angles
    rows = np.concatenate([by_hand(pose) for pose in poses])[:, [0, 1, 3]]
    truth = np.stack([rng.uniform(0.1, 0.4, runs), *rng.normal(0.0, 0.01, (2, runs))])
    torques = rows @ truth + SIGMA * rng.normal(size=(len(rows), runs))
    errors = np.linalg.lstsq(rows, torques, rcond=None)[0] - truth
    predicted = np.asarray([found.plans[2].sigma[NAMES[i]] for i in (0, 1, 3)])
    low, high = np.sqrt(stats.chi2.ppf([1e-5, 1 - 1e-5], runs) / runs)
    ratio = np.sqrt(np.mean(errors**2, axis=1)) / predicted
    assert np.all((low < ratio) & (ratio < high)), ratio


def test_a_gripper_elsewhere_moves_the_mass_column():
    arm = grid_of_poses(from_catalogue("quad-arm"), "forearm", (0.0, 0.0, 0.0))
    end = grid_of_poses(from_catalogue("quad-arm"))
    np.testing.assert_allclose(arm.rows[:, :, 0] - L2 * arm.rows[:, :, 3], end.rows[:, :, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("hummingbird", {}, "no arm"),
        ("hong-tilt-rotor", {}, "no arm"),
        ("quad-arm", {"link": "forarm"}, "forearm"),
        ("quad-arm", {"torque_sigma": 0.0}, "more than zero"),
        ("quad-arm", {"most": 0}, "at least one"),
        ("quad-arm", {"gripper": (0.0, np.nan, 0.0)}, "finite"),
    ],
)
def test_nonsense_is_one_line(name, options, said):
    with pytest.raises(ObservabilityError, match=said) as error:
        design_arm_poses(from_catalogue(name), **options)
    assert "\n" not in str(error.value)
