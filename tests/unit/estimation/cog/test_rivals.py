"""Which rival explanation wins, for windows made up here: noise, a step of the offset, and of the accelerometer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.estimation.cog import state as kalman
from haltere.estimation.cog.rivals import Rivals
from haltere.estimation.cog.rows import Rows
from haltere.estimation.cog.settings import CogSettings

SETTINGS, LEVER, AXIS = CogSettings(), jnp.asarray(0.2), jnp.asarray([0.0, 0.0, 1.0])
NOISE = np.array([0.002, 0.002, 0.05, 0.05, 0.05])
GRAVITY = 9.81


def rows(value):
    axes = jnp.eye(3)
    return Rows(
        jnp.asarray(value), jnp.zeros(5), jnp.ones(5, bool), axes, jnp.zeros(3), jnp.asarray(GRAVITY),
        jnp.asarray(GRAVITY), jnp.zeros((2, 4)), jnp.zeros(5, bool),
    )  # fmt: skip


@jax.jit
def settled(values):
    """State and rivals after windows (K, 5), and after how many something was found, by kind."""
    levels = jnp.asarray([NOISE**2, np.zeros(5), np.zeros(5), np.full(5, 12.0)])
    state = kalman.begin(SETTINGS, LEVER, 4, jnp.zeros(3))
    known = state.cov.at[kalman.OFFSET, kalman.OFFSET].set(1e-8 * jnp.eye(3))
    state = kalman.Gaussian(state.mean, known.at[kalman.GAIN, kalman.GAIN].set(1e-8))
    rivals = Rivals.begin(SETTINGS, state, LEVER, AXIS, levels)

    def window(carry, value):
        state, rivals = carry
        one = rows(value)
        ahead = kalman.advance(SETTINGS, state, LEVER, jnp.asarray(0.1), levels)
        state, _ = kalman.correct(ahead, one, levels)
        rivals = rivals.add(SETTINGS, LEVER, one)
        changed, either, start = rivals.most_likely(SETTINGS)
        rivals = rivals.restarted(SETTINGS, state, LEVER, AXIS, levels)
        return (state, rivals), (changed, either, start.mean[kalman.OFFSET])

    return jax.lax.scan(window, (state, rivals), values)[1]


def noise(seed, windows=60):
    return NOISE * np.random.default_rng(seed).standard_normal((windows, 5))


def first(flags):
    found = np.flatnonzero(np.asarray(flags))
    return int(found[0]) if len(found) else None


def test_noise_is_no_change():
    for seed in range(20):
        changed, either, _ = settled(noise(seed))
        assert not np.any(changed)
        assert not np.any(either)


@pytest.mark.parametrize(("step", "latest"), [(12.0, 2), (4.0, 12)])
def test_a_step_of_the_offset_is_a_change(step, latest):
    """One of many deviations is seen at once, one of a few by the longer comparisons."""
    for seed in range(5):
        values = noise(seed)
        values[30:, :2] += step * NOISE[:2] / np.sqrt(2.0)
        changed, _, start = settled(values)
        at = first(changed)
        assert at is not None
        assert 30 <= at <= 30 + latest
        assert np.all(np.abs(start[at][:2]) < 1e-3), "it goes on from what was believed before"


def test_a_jump_of_the_specific_force_alone_is_no_change_of_the_offset():
    values = noise(0)
    values[30:, 2] += 1.0
    changed, either, _ = settled(values)
    assert first(either) is not None
    assert not np.any(changed)
