"""The short form of the throw to hover: the program's loop in the world until the vehicle is upright again."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from tests.world.adapters import base
from tests.world.adapters.throw import END, HEADING, THROW, names, throw, with_end
from tests.world.attempts import Attempt
from tests.world.drawings import QUADROTOR
from tests.world.levels import IDEAL
from tests.world.plan import Batch
from tests.world.vectors import rotation_matrix
from tests.world.vehicles import draw_vehicle

from haltere.control.throw_loop import TumbleKnowledge

SEED = 10_401


@pytest.fixture(scope="module")
def flight():
    vehicle = draw_vehicle(QUADROTOR, IDEAL, SEED)
    R = rotation_matrix(vehicle.imu_wxyz)
    inertia = R.T @ vehicle.inertia @ R
    known = TumbleKnowledge.of(
        jnp.asarray(R.T @ (vehicle.imu_position - vehicle.com)), jnp.asarray(inertia / np.trace(inertia))
    )
    (found,) = throw(QUADROTOR, IDEAL, (SEED,), [known], True, seconds=1.8)
    return found


def test_the_loop_catches_itself_and_knows_its_rotors(flight):
    pose = flight.streams["pose.wxyz"].values[-1]
    assert 1.0 - 2.0 * (pose[1] ** 2 + pose[2] ** 2) > 0.9
    batch = Batch("ideal", "quadrotor-x", "", (SEED,), scenario="hover")
    found = base.attempt("throw to hover", THROW, batch, SEED, flight)
    assert found.refusal == ""
    claims = {claim.name: claim for claim in found.claims}
    assert set(claims) == {HEADING, *names(QUADROTOR.rotor_names)}
    heading = claims[HEADING]
    error = abs(heading.value - heading.truth)
    assert error < 0.3
    assert error < 3.0 * (heading.interval[1] - heading.value) / 1.96
    for rotor in QUADROTOR.rotor_names:
        for row in ("fz", "p", "q", "r"):
            claim = claims[f"rotors.{rotor}.effectiveness.{row}"]
            # The r row of m1 is 3 % of that of m2: what counts there is the row.
            assert claim.value == pytest.approx(claim.truth, rel=0.1, abs=0.01 * claim.scale)
            assert claim.verdict == "identified"
            assert abs(claim.value - claim.truth) < 4.0 * (claim.interval[1] - claim.value) / 1.96
        low, high = claims[f"rotors.{rotor}.time_constant"].truth
        assert 0.9 * low < claims[f"rotors.{rotor}.time_constant"].value < 1.1 * high


@pytest.mark.parametrize(
    ("end", "refusal"),
    [
        ([1, 15, 1, 2.0, 0.1, 0.1], ""),
        ([0, 0, 0, 2.0, 0.1, 0.1], "did not hover: the release was not noticed"),
        ([1, 15, 1, -0.1, 0.1, 0.1], "did not hover: touched the ground"),
        ([1, 40, 1, -0.1, 3.0, 0.1], "did not hover: touched the ground; the gyro left its range (40 rad/s)"),
        (
            [1, 15, 0, 2.0, 3.0, 0.1],
            "did not hover: 3.0 m and 0.1 m/s off at the end; by what it learnt it cannot hover",
        ),
    ],
)
def test_a_vehicle_that_does_not_hover_is_a_refusal(flight, end, refusal):
    streams = flight.streams | {END: replace(flight.streams[END], values=np.array([end], float))}
    attempt = Attempt("throw to hover", "ideal", "quadrotor-x", "1")
    assert with_end(attempt, replace(flight, streams=streams)).refusal == refusal
