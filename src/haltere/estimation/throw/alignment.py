"""Heading, position and velocity of a thrown vehicle, and their covariance, from positions of a tracker.

The tracker sees a marker at l (IMU axes, from the centre of mass), late by t_L, and is sometimes quite wrong. With
psi = angle of the level frame L of `haltere.estimation.throw.reckoning` against the world, s, v, R, W what that module
has integrated, and pi the errors of the IMU with their effects S, A,

    y = p_0 + v_0 t + Rz(psi) (s + S pi + (1 + [A pi]x) R l - t_L (v + R (W x l))) - t_L v_0 + noise       (1)

is solved for x = (p_0, v_0, psi, pi, l, t_L) by Gauss-Newton steps from `STARTS` headings, of which the best is
kept; pi, l and t_L have priors. Positions are weighted by (c^2 / (c^2 + r^2))^2
(Geman and McClure) with c from 1 m down to `FAR` sigma. The deviation of a position is the larger of what is stated
and what the residuals say. The gyro is late as well, by its low-pass and its sampling: attitude and psi are
those of that much later.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.estimation.throw.effectiveness import inverse_definite
from haltere.estimation.throw.navigation import about_up
from haltere.estimation.throw.reckoning import ERRORS, DeadReckoning
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

TILT, GYRO_BIAS, GYRO_SCALE, ACCEL_BIAS = 0.04, 0.02, 0.006, 0.2
"""Deviations of pi: rad, rad/s, relative, m/s2."""
MARKER, LATENCY, LATE = 0.05, 0.010, 0.010
"""Deviation of l per axis, m; mean and deviation of t_L, s."""
COMPASS = 0.01
"""rad."""
STARTS = 8
FAR = 4.0
LADDER = (1.0, 0.2, 0.05, 0.0, 0.0, 0.0)
"""m, least c of each step."""
SIZE = 7 + ERRORS + 4
BIASES = np.array([9, 10, 11, 15, 16, 17])
"""Where in x the biases of gyro and accelerometer stand."""


@pytree
@dataclass(frozen=True)
class Fixes:
    """The last positions that were seen, and what the IMU said of the way there; K along the first axis."""

    time: Array
    """(K,) s since the start of dead reckoning."""
    displacement: Array
    """(K, 3) m, with of_displacement (K, 3, 14), velocity (K, 3), wxyz (K, 4), of_attitude (K, 3, 14), rate (K, 3)."""
    of_displacement: Array
    velocity: Array
    wxyz: Array
    of_attitude: Array
    rate: Array
    position: Array
    """(K, 3) m."""
    weight: Array
    """(K,) 0 where nothing was seen."""

    @classmethod
    def none(cls, count: int) -> "Fixes":
        """Nothing seen yet; the last `count` will be kept."""
        shapes = ((), (3,), (3, ERRORS), (3,), (4,), (3, ERRORS), (3,), (3,), ())
        return cls(*(jnp.zeros((count, *shape)) for shape in shapes))

    def with_fix(self, reckoning: DeadReckoning, position: Array, weight: ArrayLike) -> "Fixes":
        """With one more position (3,) m, and without the oldest."""
        r = reckoning
        new = Fixes(
            r.time, r.displacement, r.of_displacement, r.velocity, r.wxyz, r.of_attitude, r.rate,
            jnp.where(jnp.isfinite(position), position, 0.0),
            jnp.where(jnp.all(jnp.isfinite(position)), jnp.asarray(weight, float), 0.0),
        )  # fmt: skip
        kept: Fixes = jax.tree.map(lambda old, one: jnp.concatenate([old[1:], one[None]]), self, new)
        return kept


@pytree
@dataclass(frozen=True)
class Alignment:
    """What the positions say at the end of dead reckoning; W world axes."""

    psi: Array
    """() rad."""
    sigma: Array
    """() of psi, rad."""
    position: Array
    """(3,) of the centre of mass, m."""
    velocity: Array
    wxyz: Array
    """(4,) q_WI."""
    bias: Array
    """(6,) to add to gyro and accelerometer, rad/s and m/s2, IMU axes."""
    P: Array
    """(15, 15) covariance of position, velocity, attitude (rotation on the left, W axes) and bias."""
    marker: Array
    """(3,) l, m."""
    latency: Array
    """() t_L, s."""
    deviation: Array
    """() of one position, m."""
    start_velocity: Array
    """(3,) v_0, m/s."""


def prior(position_sigma: ArrayLike) -> tuple[Array, Array]:
    """Mean and information (25,) of x; `position_sigma` of the IMU's position, m."""
    sizes = np.repeat([TILT, GYRO_BIAS, GYRO_SCALE, ACCEL_BIAS], [2, 3, 3, 3])
    sigma = jnp.concatenate(
        [
            jnp.asarray(sizes),
            jnp.repeat(jnp.asarray(position_sigma, float), 3),
            jnp.asarray([MARKER] * 3 + [LATE]),
        ]
    )
    information = jnp.concatenate([jnp.asarray([1e-4] * 6 + [0.0]), sigma**-2.0])
    return jnp.zeros(SIZE).at[-1].set(LATENCY), information


def predicted(x: Array, fix: Any) -> Array:
    """(3,) equation (1) for one fix."""
    p_0, v_0, psi, errors, marker, late = x[:3], x[3:6], x[6], x[7:21], x[21:24], x[24]
    R = so3.from_wxyz(fix.wxyz)
    arm = R @ marker
    arm = arm + jnp.cross(fix.of_attitude @ errors, arm)
    blown = fix.velocity + R @ jnp.cross(fix.rate, marker)
    moved = fix.displacement + fix.of_displacement @ errors + arm - late * blown
    return jnp.asarray(p_0 + v_0 * (fix.time - late) + so3.from_wxyz(about_up(psi)) @ moved)


def align(
    fixes: Fixes,
    now: DeadReckoning,
    sigma: ArrayLike,
    position_sigma: ArrayLike,
    gyro_late: tuple[float, float],
    compass: Array | None = None,
) -> Alignment:
    """Solve (1).

    Args:
        fixes: positions that were seen.
        now: dead reckoning at the moment that is asked for.
        sigma: deviation of a position, m.
        position_sigma: deviation of the position of the IMU, m.
        gyro_late: by how much the gyro is late, and the deviation of that, s.
        compass: () heading from a sensor with the deviation `COMPASS`, if there is one.
    """
    mean, information = prior(position_sigma)
    stated = jnp.asarray(sigma, float)
    seen = jnp.zeros(SIZE).at[6].set(1.0).at[7:21].set(now.of_attitude[2])
    sure = jnp.asarray(0.0 if compass is None else COMPASS**-2.0)
    towards = jnp.zeros(()) if compass is None else compass
    slope, where = (jax.vmap(f, (None, 0)) for f in (jax.jacfwd(predicted), predicted))

    def solved(psi: Array) -> tuple[Array, Array, Array, Array]:
        def step(now: tuple[Array, Array, Array], least: Array) -> tuple[tuple[Array, Array, Array], None]:
            x, deviation, _ = now
            r, J = fixes.position - where(x, fixes), slope(x, fixes)
            scale = jnp.maximum(least, FAR * deviation)
            weight = fixes.weight * (scale**2 / (scale**2 + jnp.sum(r**2, axis=1))) ** 2
            used = jnp.maximum(3.0 * jnp.sum(weight) - 10.0, 1.0)
            found = jnp.sqrt(jnp.sum(weight[:, None] * r**2) / used)
            deviation = jnp.where(least == 0.0, jnp.maximum(stated, found), deviation)
            strength = weight / deviation**2
            A = jnp.einsum("k,kia,kib->ab", strength, J, J) + jnp.diag(information)
            P = inverse_definite(A + sure * jnp.outer(seen, seen))
            pull = jnp.einsum("k,kia,ki->a", strength, J, r) + information * (mean - x)
            return (x + P @ (pull + sure * seen * wrapped(towards - seen @ x)), deviation, P), None

        begin = (mean.at[6].set(psi), stated, jnp.eye(SIZE))
        (x, deviation, P), _ = jax.lax.scan(step, begin, jnp.asarray(LADDER))
        square = jnp.sum((fixes.position - where(x, fixes)) ** 2, axis=1) / (FAR * stated) ** 2
        cost = FAR**2 * jnp.sum(fixes.weight * square / (1.0 + square)) + jnp.sum(
            information * (x - mean) ** 2
        )
        return cost, x, P, deviation

    tried = jax.vmap(solved)(jnp.linspace(-jnp.pi, jnp.pi, STARTS, endpoint=False))
    best = jnp.argmin(jnp.where(jnp.isfinite(tried[0]), tried[0], jnp.inf))
    _, x, P, deviation = (part[best] for part in tried)
    return _ended(x, P, now, deviation, gyro_late)


def wrapped(angle: Array) -> Array:
    """() the same angle between -pi and pi, rad."""
    return jnp.remainder(angle + jnp.pi, 2.0 * jnp.pi) - jnp.pi


def _ended(
    x: Array, P: Array, now: DeadReckoning, deviation: Array, gyro_late: tuple[float, float]
) -> Alignment:
    """Everything at the moment of `now`."""

    def at_the_end(x: Array) -> tuple[Array, Array]:
        turn = so3.from_wxyz(about_up(x[6]))
        moved = now.displacement + now.of_displacement @ x[7:21]
        quick = now.velocity + now.of_velocity @ x[7:21]
        return x[:3] + x[3:6] * now.time + turn @ moved, x[3:6] + turn @ quick

    position, velocity = at_the_end(x)
    by_position, by_velocity = jax.jacfwd(at_the_end)(x)
    turn = about_up(x[6])
    R_up = so3.from_wxyz(turn)
    by_attitude = jnp.zeros((3, SIZE)).at[2, 6].set(1.0).at[:, 7:21].set(R_up @ now.of_attitude)
    by_bias = jnp.eye(SIZE)[BIASES]
    M = jnp.concatenate([by_position, by_velocity, by_attitude, by_bias])
    spun = so3.from_wxyz(now.wxyz) @ now.rate
    moment = gyro_late[1] * (R_up @ spun)
    covariance = M @ P @ M.T
    covariance = covariance.at[6:9, 6:9].add(jnp.outer(moment, moment))
    off = now.of_attitude @ x[7:21] + gyro_late[0] * spun
    in_level, psi = so3.multiply_wxyz(so3.exp_wxyz(off), now.wxyz), x[6] + off[2]
    return Alignment(
        wrapped(psi),
        jnp.sqrt(covariance[8, 8]),
        position,
        velocity,
        so3.multiply_wxyz(turn, in_level),
        x[BIASES],
        covariance,
        x[21:24],
        x[24],
        deviation,
        x[3:6],
    )
