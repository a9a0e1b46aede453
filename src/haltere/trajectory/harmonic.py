"""Sums of sines along each axis and in yaw: Lissajous figures, circles, multisines.

With K sines of amplitude A = `amplitude`, angular frequency w = `frequency` and phase p = `phase` for each of
the four flat outputs, on a line y_0 + d t = `centre`, `drift`:

    y_j(t) = y_0j + d_j t + sum_k A_kj sin(w_kj t + p_kj)                                                 (1)
    Lissajous:  y_j(t) = y_0j + a_j (sin(c_j 2 pi t / T) + 1/10 sin(5 c_j 2 pi t / T))    [Boehm2022] eq. (20)   (2)

c_j = `cycles` are drawn uniformly from 3 to 8 in the paper, T = 30 s, a_j = 1 (m, rad). The phases of a
multisine are p_k = -pi k (k - 1) / K ([Schroeder1970]), which keeps its peaks low.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3
from haltere.trajectory.reference import Trajectory, TrajectoryError, Values, four, numbers

CENTRE = (0.0, 0.0, 1.5)
"""Default middle of a figure, m: a figure of 1.1 m stays above the ground."""
CYCLES = (3.0, 8.0)
"""Range of c_j in [Boehm2022]."""


@pytree
@dataclass(frozen=True)
class Harmonic(Trajectory):
    """Equation (1); columns are x, y, z (m) and yaw (rad)."""

    centre: Array
    """(4,) m and rad."""
    drift: Array
    """(4,) m/s and rad/s."""
    amplitude: Array
    """(K, 4) m and rad."""
    frequency: Array
    """(K, 4) rad/s."""
    phase: Array
    """(K, 4) rad."""
    duration: Array

    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4), in closed form."""
        time, w = so3.as_float(t), self.frequency
        angle = w * time + self.phase
        sin, cos = self.amplitude * jnp.sin(angle), self.amplitude * jnp.cos(angle)
        waves = jnp.stack([sin, w * cos, -(w**2) * sin, -(w**3) * cos, w**4 * sin])
        still = jnp.zeros_like(self.centre)
        line = jnp.stack([self.centre + self.drift * time, self.drift, still, still, still])
        return jnp.sum(waves, axis=1) + line


def _harmonic(
    centre: Array, amplitude: Values, frequency: Values, phase: Values, duration: Values
) -> Harmonic:
    shape = jnp.broadcast_shapes(*(jnp.shape(jnp.asarray(x)) for x in (amplitude, frequency, phase)))
    size, rate, shift = (jnp.broadcast_to(numbers(x), shape) for x in (amplitude, frequency, phase))
    return Harmonic(centre, jnp.zeros_like(centre), size, rate, shift, numbers(duration))


def lissajous(
    cycles: Values,
    duration: Values = 30.0,
    amplitude: Values = (1.0, 1.0, 1.0, 1.0),
    centre: Values = CENTRE,
    yaw: Values = 0.0,
) -> Harmonic:
    """The figure of equation (2).

    Args:
        cycles: (4,) c_j for x, y, z and yaw: cycles in the whole duration.
        duration: T, s.
        amplitude: (4,) a_j, m and rad; the fast part adds a tenth of it.
        centre: (3,) m, world axes.
        yaw: mean yaw, rad.
    """
    base = 2.0 * jnp.pi * numbers(cycles) / numbers(duration)
    size = numbers(amplitude)
    return _harmonic(
        four(centre, yaw),
        jnp.stack([size, 0.1 * size]),
        jnp.stack([base, 5.0 * base]),
        jnp.zeros((2, 4), base.dtype),
        duration,
    )


def random_lissajous(
    key: Array,
    duration: Values = 30.0,
    amplitude: Values = (1.0, 1.0, 1.0, 1.0),
    centre: Values = CENTRE,
    yaw: Values = 0.0,
) -> Harmonic:
    """A figure of equation (2) with c_j drawn uniformly from 3 to 8, as in the paper."""
    return lissajous(jax.random.uniform(key, (4,), None, *CYCLES), duration, amplitude, centre, yaw)


def circle(
    radius: Values = 1.0,
    period: Values = 6.0,
    duration: Values = 30.0,
    centre: Values = CENTRE,
    yaw: Values = 0.0,
    yaw_along_path: bool = False,
) -> Harmonic:
    """A level circle, left-handed seen from below, from the point ahead (+x) of its centre.

    Args:
        radius: m.
        period: s per round; negative for the other way round.
        duration: s.
        centre: (3,) m.
        yaw: rad, constant; with `yaw_along_path` the angle to the direction of motion.
        yaw_along_path: whether the vehicle looks where it flies.
    """
    rate = 2.0 * jnp.pi / numbers(period)
    size = numbers(radius)
    ahead = 0.5 * jnp.pi * jnp.sign(rate) if yaw_along_path else jnp.zeros(())
    flat = _harmonic(
        four(centre, numbers(yaw) + ahead),
        jnp.stack([size, size, 0.0 * size, 0.0 * size])[None],
        jnp.stack([rate, rate, rate, rate])[None],
        jnp.asarray([[0.5 * np.pi, 0.0, 0.0, 0.0]]),
        duration,
    )
    drift = rate * jnp.asarray([0.0, 0.0, 0.0, float(yaw_along_path)])
    return Harmonic(flat.centre, drift, flat.amplitude, flat.frequency, flat.phase, flat.duration)


def multisine(
    amplitude: Values,
    duration: float = 30.0,
    band_hz: tuple[float, float] = (0.1, 1.5),
    sines: int = 8,
    centre: Values = CENTRE,
    yaw: Values = 0.0,
) -> Harmonic:
    """Several sines at once on each axis, at frequencies of its own, so that the axes do not correlate.

    Args:
        amplitude: (4,) m and rad: an axis has the root mean square of one sine of this amplitude.
        duration: s; all sines have whole periods in it.
        band_hz: lowest and highest frequency, Hz.
        sines: number of sines on each axis.
        centre: (3,) m.
        yaw: mean yaw, rad.
    """
    first, last = (round(edge * duration) for edge in band_hz)
    first = max(first, 1)
    if sines < 1 or last - first + 1 < 4 * sines:
        room = max(last - first + 1, 0)
        msg = (
            f"multisine: got {sines} sines on 4 axes in {band_hz[0]:g} to {band_hz[1]:g} Hz over {duration:g} s, "
            f"which has room for {room} in all; give fewer sines, a longer duration or a wider band"
        )
        raise TrajectoryError(msg)
    tones = np.linspace(first, last, 4 * sines).round().reshape(sines, 4)
    k = np.arange(1, sines + 1)[:, None]
    return _harmonic(
        four(centre, yaw),
        numbers(amplitude) / np.sqrt(sines),
        2.0 * np.pi * tones / duration,
        np.broadcast_to(-np.pi * k * (k - 1) / sines, tones.shape),
        duration,
    )


def periodic(
    sines: Values,
    cosines: Values | None = None,
    period: Values = 10.0,
    centre: Values = CENTRE,
    yaw: Values = 0.0,
    duration: Values | None = None,
) -> Harmonic:
    """Harmonics of one period on every axis, the form in which a designed manoeuvre comes.

    Args:
        sines: (K, 4) amplitudes of sin(2 pi k t / period), k = 1..K, m and rad.
        cosines: (K, 4) amplitudes of cos(2 pi k t / period); zero where not given.
        period: s.
        centre: (3,) m.
        yaw: mean yaw, rad.
        duration: s; one period where not given, after which it may go on.
    """
    first = numbers(sines)
    second = jnp.zeros_like(first) if cosines is None else numbers(cosines)
    k = jnp.arange(1.0, first.shape[0] + 1.0, dtype=first.dtype)[:, None]
    frequency = jnp.broadcast_to(2.0 * jnp.pi * k / numbers(period), first.shape)
    return _harmonic(
        four(centre, yaw),
        jnp.concatenate([first, second]),
        jnp.concatenate([frequency, frequency]),
        jnp.concatenate([jnp.zeros_like(first), jnp.full_like(second, 0.5 * np.pi)]),
        period if duration is None else duration,
    )
