"""One Kalman filter over the windows: how the state goes on, what a window says, and how a change opens it.

A window has rows r (`haltere.estimation.cog.rows`) with

    torque   d across + spread slope s + fast + slow,      force   lever d_along + u pull + air_fast + air_slow + bias

The slopes of the torque rows to the offset are constant, those of the force rows to the offset across the thrust are
zero and that to u is the thrust of a hover, so no loop that answers a gust can teach the filter an offset or a mass
that is not there: a pilot who holds the height against a gust from below takes the thrust back, and a slope by the
thrust of the moment would read this as weak rotors.

The state is (d, d_mark, u, u_mark, fast, slow, air_fast, air_slow, bias, climb, s), 23 + R numbers:

| part | what it is |
|---|---|
| d, d_mark | offset of the centre of mass from its nominal position, now and at the last mark or event, body axes, m |
| u, u_mark | thrust over mass beyond the nominal, relative, now and then |
| fast, slow | torque that is neither rotors nor offset, as the offset across the thrust that would explain it, m |
| air_fast, air_slow | specific force that is not the rotors', m/s2 |
| bias | of the accelerometer, m/s2 |
| climb | vertical speed at the last two comparisons of weight and thrust, m/s |
| s | relative thrust of every rotor beyond the nominal |
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from haltere.estimation.cog.rows import Rows
from haltere.estimation.cog.settings import CogSettings
from haltere.foundation.arrays import Array, pytree

OFFSET, MARKED = slice(0, 3), slice(3, 6)
GAIN, MARKED_GAIN = 6, 7
FAST, SLOW = slice(8, 10), slice(10, 12)
AIR_FAST, AIR_SLOW, BIAS = slice(12, 15), slice(15, 18), slice(18, 21)
CLIMB = slice(21, 23)
STRENGTH = slice(23, None)
FIXED = 23
"""States before the rotors'."""
OVERLAP = 4.0 / 3.0
"""Variance of a window's white noise over that of one that shares no sample with the next."""
DEGREES = 10.0
"""Of freedom of the likelihood of a window."""
FAR = 12.0
"""Square of a normalised residual, mean over rows, beyond which a window is weighted down."""


@pytree
@dataclass(frozen=True)
class Gaussian:
    """Mean (n,) and covariance (n, n) of the state."""

    mean: Array
    cov: Array


def begin(settings: CogSettings, lever: Array, rotors: int, offset: Array) -> Gaussian:
    """What is believed before the first window, with a guess of the offset (3,)."""
    s, n = settings, FIXED + rotors
    mean = jnp.zeros(n).at[OFFSET].set(offset).at[MARKED].set(offset)
    sigma = jnp.zeros(n).at[OFFSET].set(s.first_offset * lever).at[GAIN].set(s.mass)
    sigma = sigma.at[AIR_SLOW.stop - 1].set(s.first_air)
    sigma = sigma.at[BIAS].set(s.accel_bias).at[CLIMB].set(s.speed_change).at[STRENGTH].set(s.rotor_spread)
    return remember(Gaussian(mean, jnp.diag(sigma**2)))


def remember(state: Gaussian) -> Gaussian:
    """The state with offset and thrust over mass of now as those of the mark."""
    n = state.mean.shape[0]
    T = jnp.eye(n).at[MARKED, MARKED].set(0.0).at[MARKED, OFFSET].set(jnp.eye(3))
    T = T.at[MARKED_GAIN, MARKED_GAIN].set(0.0).at[MARKED_GAIN, GAIN].set(1.0)
    return Gaussian(T @ state.mean, T @ state.cov @ T.T)


def open_change(
    settings: CogSettings, state: Gaussian, lever: Array, axis: Array, fraction: float = 1.0
) -> Gaussian:
    """After a grip or drop: the state before is remembered, offset and mass may be others now."""
    return _opened(settings, remember(state), lever, axis, fraction)


def open_found(settings: CogSettings, state: Gaussian, lever: Array, axis: Array, levels: Array) -> Gaussian:
    """After a change that nobody marked: as after a mark, but a gust may have come with it, or have been all of it."""
    opened = open_change(settings, state, lever, axis)
    added = jnp.zeros(state.mean.shape[0]).at[FAST].set(levels[1, :2]).at[SLOW].set(levels[2, :2])
    return Gaussian(opened.mean, opened.cov + jnp.diag(added))


def open_more(settings: CogSettings, state: Gaussian, lever: Array, axis: Array) -> Gaussian:
    """While a grip or drop goes on: the state before stays what it was."""
    return _opened(settings, state, lever, axis, 1.0)


def open_all(settings: CogSettings, state: Gaussian, lever: Array, axis: Array) -> Gaussian:
    """After a jump of the specific force that a load may have caused, or another bias of the accelerometer."""
    return open_bias(settings, _opened(settings, state, lever, axis, 1.0))


def _opened(settings: CogSettings, state: Gaussian, lever: Array, axis: Array, fraction: float) -> Gaussian:
    s, along = settings, jnp.outer(axis, axis)
    added = (fraction * lever) ** 2 * (s.opened_offset**2 * (jnp.eye(3) - along) + s.opened_along**2 * along)
    cov = state.cov.at[OFFSET, OFFSET].add(added).at[GAIN, GAIN].add((fraction * s.opened_mass) ** 2)
    up = AIR_FAST.stop - 1
    return Gaussian(state.mean, cov.at[up, up].add(s.opened_air**2))


def open_gust(settings: CogSettings, state: Gaussian, levels: Array) -> Gaussian:
    """After a gust: disturbances have changed by more than they do in a window, with levels (4, 5) as learnt."""
    s = settings
    fast = s.gust**2 * (1.0 - jnp.exp(-2.0 * s.window / s.fast)) * levels[1]
    slow = s.gust**2 * (1.0 - jnp.exp(-2.0 * s.window / levels[3])) * levels[2]
    added = jnp.zeros(state.mean.shape[0]).at[FAST].set(fast[:2]).at[SLOW].set(slow[:2])
    added = added.at[AIR_FAST].set(fast[2:]).at[AIR_SLOW].set(slow[2:])
    return Gaussian(state.mean, state.cov + jnp.diag(added))


def open_bias(settings: CogSettings, state: Gaussian) -> Gaussian:
    """With another bias of the accelerometer."""
    cov = state.cov.at[BIAS, BIAS].add(settings.bias_jump**2 * jnp.eye(3))
    return Gaussian(state.mean, cov)


def advance(settings: CogSettings, state: Gaussian, lever: Array, dt: Array, levels: Array) -> Gaussian:
    """The state dt seconds later, with levels (4, 5) of the disturbances as learnt."""
    s, n = settings, state.mean.shape[0]
    fast, slow = jnp.exp(-dt / s.fast), jnp.exp(-dt / levels[3])
    keep = (
        jnp.ones(n)
        .at[FAST]
        .set(fast)
        .at[AIR_FAST]
        .set(fast)
        .at[SLOW]
        .set(slow[:2])
        .at[AIR_SLOW]
        .set(slow[2:])
    )
    stir_fast, stir_slow = (1.0 - fast**2) * levels[1], (1.0 - slow**2) * levels[2]
    added = jnp.zeros(n).at[OFFSET].set(dt * (s.walk * lever) ** 2).at[GAIN].set(dt * s.mass_walk**2)
    added = added.at[FAST].set(stir_fast[:2]).at[SLOW].set(stir_slow[:2])
    added = added.at[AIR_FAST].set(stir_fast[2:]).at[AIR_SLOW].set(stir_slow[2:])
    return Gaussian(keep * state.mean, keep[:, None] * state.cov * keep + jnp.diag(added))


def slopes(rows: Rows, n: int) -> Array:
    """(5, n) of the rows by the state."""
    H = jnp.zeros((5, n)).at[:2, OFFSET].set(rows.axes[:, :2].T)
    H = H.at[:2, FAST].set(jnp.eye(2)).at[:2, SLOW].set(jnp.eye(2)).at[:2, STRENGTH].set(rows.rotor_slopes)
    H = H.at[2:, OFFSET].set(jnp.outer(rows.lever, rows.axes[:, 2])).at[4, GAIN].set(rows.weight)
    return H.at[2:, AIR_FAST].set(jnp.eye(3)).at[2:, AIR_SLOW].set(jnp.eye(3)).at[2:, BIAS].set(rows.axes.T)


def correct(state: Gaussian, rows: Rows, levels: Array) -> tuple[Gaussian, Array]:
    """The state after a window, and the logarithm of its likelihood."""
    n, valid = state.mean.shape[0], rows.valid
    H = jnp.where(valid[:, None], slopes(rows, n), 0.0)
    explained = H @ state.mean
    explained = explained.at[4].add(
        jnp.where(valid[4], (rows.thrust_now - rows.weight) * state.mean[GAIN], 0.0)
    )
    r = jnp.where(valid, rows.value, 0.0) - explained
    noise = jnp.where(valid, OVERLAP * levels[0] + rows.variance, 1.0)
    HP = H @ state.cov
    S = HP @ H.T + jnp.diag(noise)
    far = r**2 / jnp.diagonal(S)
    groups = jnp.stack([jnp.mean(far[:2]), jnp.mean(far[2:])])
    doubt = jnp.maximum(groups / FAR, 1.0)[jnp.asarray([0, 0, 1, 1, 1])]
    L = jnp.linalg.cholesky(S)
    white = _forward(L, r[:, None])[:, 0]
    score = -0.5 * (DEGREES + 5.0) * jnp.log1p(white @ white / DEGREES) - jnp.sum(jnp.log(jnp.diagonal(L)))
    S = S + jnp.diag((doubt - 1.0) * jnp.diagonal(S))
    K = jnp.linalg.solve(S, HP).T
    cov = state.cov - K @ HP
    return Gaussian(state.mean + K @ r, 0.5 * (cov + cov.T)), score


def admit(state: Gaussian, rows: Rows, admitted: Array, levels: Array, time: Array) -> tuple[Gaussian, Array]:
    """The state with slow disturbances that were larger from the beginning than had been learnt, and (3,) how large.

    The mean over T of a disturbance with variance c and memory tau has the variance c 2 tau / T. Where that exceeds
    what was `admitted` (3,) before, what has been read until now counted for too much: an error of the disturbance and
    an opposite one of the offset, or u, make up for it. Their sum, the trim, stays as sure as it was.
    """
    n = state.mean.shape[0]
    rest = jnp.asarray([0, 1, 4])
    least = levels[2, rest] * jnp.minimum(2.0 * levels[3, rest] / jnp.maximum(time, 1e-3), 1.0)
    more = jnp.where(rows.valid[rest], jnp.maximum(least - admitted, 0.0), 0.0)
    across = rows.axes[:, :2].T
    both = jnp.zeros((2, n)).at[:, OFFSET].set(-across).at[:, MARKED].set(-across).at[:, SLOW].set(jnp.eye(2))
    up = jnp.zeros(n).at[AIR_SLOW.stop - 1].set(1.0)
    up = up.at[GAIN].set(-1.0 / rows.weight).at[MARKED_GAIN].set(-1.0 / rows.weight)
    directions = jnp.concatenate([both, up[None]])
    cov = state.cov + (directions.T * more) @ directions
    return Gaussian(state.mean, cov), admitted + more


def _forward(L: Array, b: Array) -> Array:
    solved: Array = jax.scipy.linalg.solve_triangular(L, b, lower=True)
    return solved


def weigh(
    settings: CogSettings, state: Gaussian, thrust: Array, time: Array, gravity: Array, air: Array
) -> Gaussian:
    """The state after thrust over mass has been compared with gravity for some time.

    With A the mean thrust of the nominal rotors over the nominal mass (its length, in axes that do not rotate) and v
    the vertical speed at the end and v_0 at the beginning,

        (1 + u) A + air = g + (v - v_0) / T                                                                (1)

    and the speed at the end of one comparison is that at the beginning of the next, so that their errors cancel. The
    air is noise here, not the state of the force rows: a plain mean over the flight asks less of the noise levels than
    one that follows the air as they were when it began.

    Args:
        settings: of the filter.
        state: before.
        thrust: () A, m/s2.
        time: () T, s.
        gravity: () g, m/s2.
        air: () variance of the mean of what air adds, (m/s2)^2.
    """
    s, n = settings, state.mean.shape[0]
    first, last = CLIMB.start, CLIMB.start + 1
    T = jnp.eye(n).at[first, first].set(0.0).at[first, last].set(1.0).at[last, last].set(0.0)
    mean = T @ state.mean
    cov = (T @ state.cov @ T.T).at[last, last].add(s.speed_change**2)
    h = jnp.zeros(n).at[GAIN].set(gravity)
    h = h.at[first].set(1.0 / time).at[last].set(-1.0 / time)
    Ph = cov @ h
    S = h @ Ph + air
    K = Ph / S
    mean = mean + K * (gravity - thrust - h @ mean - (thrust - gravity) * mean[GAIN])
    rest = jnp.eye(n) - jnp.outer(K, h)
    cov = rest @ cov @ rest.T + air * jnp.outer(K, K)
    return Gaussian(mean, 0.5 * (cov + cov.T))
