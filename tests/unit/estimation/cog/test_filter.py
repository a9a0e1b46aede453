"""`CogFilter` from readings: the same numbers as its core's, at a host of any precision."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics.motors import Motors
from haltere.estimation.cog.belief import CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.filter import CogFilter
from haltere.estimation.cog.settings import CogSettings, Reason
from haltere.foundation import HaltereError

AIRFRAME = from_catalogue("hummingbird")
DT = 0.004
RNG = np.random.default_rng(7)
READINGS = [
    (
        450.0 + RNG.normal(0.0, 3.0, 4),
        RNG.uniform(0.4, 0.6, 4),
        np.array([0.1, -0.1, 9.7]),
        RNG.normal(0.0, 0.02, 3),
    )
    for _ in range(20)
]


@pytest.fixture(scope="module")
def cog():
    with jax.enable_x64(False):
        return CogFilter(AIRFRAME)


def test_prediction_and_correction_are_a_tick(cog):
    core = CogCore.from_airframe(AIRFRAME, replace(CogSettings(), period=DT))
    motors, tick = Motors.from_airframe(AIRFRAME), jax.jit(CogCore.tick)
    expected = core.begin()
    with jax.enable_x64(False):
        belief = cog.begin()
    for k, (speeds, commands, accel, gyro) in enumerate(READINGS):
        given = np.full(4, np.nan) if k % 5 == 4 else speeds
        reading = CogReading(
            jnp.asarray(gyro), jnp.asarray(accel), given, motors.target(jnp.asarray(commands))
        )
        expected = tick(core, expected, reading)
        with jax.enable_x64(False):
            belief = cog.predict(belief, None if k % 5 == 4 else speeds, commands, DT)
            belief = cog.correct(belief, (accel, gyro))
    assert all(isinstance(x, np.ndarray) for x in jax.tree.leaves(belief))
    assert belief.mean.dtype == np.float64
    assert belief.counts[Reason.SPEED_MISSING] == 4
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-10), belief, expected)
    with jax.enable_x64(False):
        estimate = cog.estimate(belief)
        sigma = estimate.sigma
    np.testing.assert_allclose(estimate.com, core.estimate(expected).com, rtol=1e-7, atol=1e-10)
    assert sigma.dtype == estimate.com.dtype == np.float64


def test_a_reading_that_is_none_leaves_a_finite_belief(cog):
    belief = cog.predict(cog.begin(np.full(4, 450.0)), None, None, DT)
    belief = cog.correct(belief, np.full(6, np.nan))
    assert np.isfinite(belief.mean).all()
    assert belief.counts[Reason.GYRO_MISSING] == belief.counts[Reason.TARGET_MISSING] == 1


def test_what_cannot_be_is_named(cog):
    belief = cog.begin()
    with pytest.raises(HaltereError, match="call predict first"):
        cog.correct(belief, np.zeros(6))
    with pytest.raises(HaltereError, match="above zero"):
        cog.predict(belief, None, None, 0.0)
    with pytest.raises(HaltereError, match=r"commands of shape \(3,\), \(4,\) is expected"):
        cog.predict(belief, None, np.zeros(3), DT)


def test_two_predictions_make_one_reading_without_imu(cog):
    belief = cog.predict(cog.begin(), np.full(4, 450.0), None, DT)
    belief = cog.predict(belief, np.full(4, 450.0), None, DT)
    belief = cog.correct(belief, READINGS[0][2:])
    assert belief.counts[Reason.GYRO_MISSING] == 1
    assert belief.time == pytest.approx(2 * DT)


def test_a_mark_is_remembered(cog):
    said = cog.estimate(cog.mark(cog.begin()))
    assert said.since == 0.0
    assert np.all(said.change_sigma[:2] > 0.1 * cog.core.numbers.vehicle.lever)


def test_joint_angles_move_the_nominal_centre():
    cog = CogFilter("quad-arm", joint_angles=(0.5, 0.5))
    belief = cog.predict(cog.begin(), None, None, DT, joint_angles=(1.0, 0.2))
    belief = cog.correct(belief, ((0.0, 0.0, 9.81), np.zeros(3)))
    assert np.linalg.norm(belief.nominal - cog.begin().nominal) > 1e-4
    assert np.isfinite(cog.estimate(belief).com).all()
