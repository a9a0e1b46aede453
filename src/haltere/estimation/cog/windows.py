"""Readings averaged over windows: two run at a time, each half a window after the other.

With the Hann weight v(s) of a window, s its age, means and slopes of a signal q are

    mean = sum v q dt / sum v dt,    slope = sum v' (q - mean) dt / sum v' (s - s_mean) dt                  (1)

so nothing is differentiated and samples may be missing. WindowSums that need the gyroscope and sums that need the
accelerometer are kept apart; a fault of one costs nothing of the other.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from haltere.estimation.cog.vehicle import CogNumbers
from haltere.foundation.arrays import Array, pytree

FORCE, TORQUE, GYROSCOPIC, RATE, MOMENTUM = (slice(3 * k, 3 * k + 3) for k in range(5))
TURNING = 15
"""Signals beside the gyroscope: force and torque of the nominal rotors, w x (I w + h), w, h; then squared speeds."""
SQUARED_SPEEDS = slice(TURNING, None)
ACCEL, PRODUCTS = slice(3, 6), slice(6, 12)
PUSHING = 12
"""Signals beside the accelerometer: force of the nominal rotors, specific force, and products of rates."""


@pytree
@dataclass(frozen=True)
class WindowSums:
    """WindowSums of equation (1) for samples of one sensor; leading axis: the two windows."""

    weight: Array
    """(2, 4) of v, v', v s, v' s, times dt."""
    mean: Array
    """(2, S) of v q dt."""
    slope: Array
    """(2, S) of v' q dt."""

    @classmethod
    def zero(cls, signals: int) -> "WindowSums":
        """Nothing yet."""
        return cls(jnp.zeros((2, 4)), jnp.zeros((2, signals)), jnp.zeros((2, signals)))

    def add(
        self, valid: Array, value: Array, mean_weight: Array, slope_weight: Array, age: Array
    ) -> "WindowSums":
        """With a sample (S,), whose v dt, v' dt and age in each window are (2,)."""
        mean_weight, slope_weight = jnp.where(valid, mean_weight, 0.0), jnp.where(valid, slope_weight, 0.0)
        value = jnp.where(valid, value, 0.0)
        weight = jnp.stack([mean_weight, slope_weight, mean_weight * age, slope_weight * age], axis=1)
        return WindowSums(
            self.weight + weight,
            self.mean + mean_weight[:, None] * value,
            self.slope + slope_weight[:, None] * value,
        )

    def retained(self, keep: Array) -> "WindowSums":
        """The windows of `keep` (2,), the others empty."""
        k = keep.astype(self.weight.dtype)[:, None]
        return WindowSums(k * self.weight, k * self.mean, k * self.slope)

    def of(self, index: Array) -> tuple[Array, Array, Array]:
        """Mean (S,), slope (S,) and sum of v dt of one window."""
        n0, n1, t0, t1 = self.weight[index]
        mean = self.mean[index] / jnp.maximum(n0, 1e-9)
        spread = t1 - n1 * t0 / jnp.maximum(n0, 1e-9)
        slope = (self.slope[index] - n1 * mean) / jnp.minimum(spread, -1e-9)
        return mean, slope, n0


@pytree
@dataclass(frozen=True)
class Extremes:
    """How often samples stand at the largest or smallest value of a window: always, where a sensor repeats itself."""

    low: Array
    """(2, C)."""
    high: Array
    low_count: Array
    high_count: Array
    count: Array
    """(2, C) samples."""

    @classmethod
    def zero(cls, channels: int) -> "Extremes":
        """Nothing yet."""
        none = jnp.zeros((2, channels))
        return cls(none + jnp.inf, none - jnp.inf, none, none, none)

    def add(self, value: Array) -> "Extremes":
        """With a sample (C,); NaN where it is missing."""
        there = jnp.isfinite(value)
        lower, higher = there & (value < self.low), there & (value > self.high)
        return Extremes(
            jnp.where(lower, value, self.low),
            jnp.where(higher, value, self.high),
            jnp.where(lower, 1.0, self.low_count + (value == self.low)),
            jnp.where(higher, 1.0, self.high_count + (value == self.high)),
            self.count + there,
        )

    def retained(self, keep: Array) -> "Extremes":
        """The windows of `keep` (2,), the others empty."""
        return self.where(keep, Extremes.zero(self.low.shape[1]))

    def where(self, chosen: Array, other: "Extremes") -> "Extremes":
        """These in the windows of `chosen` (2,), the others' elsewhere."""
        merged: Extremes = jax.tree.map(lambda a, b: jnp.where(chosen[:, None], a, b), self, other)
        return merged

    def fraction(self, index: Array) -> Array:
        """(C,) of samples at one of both values, in one window."""
        most = jnp.maximum(self.low_count[index], self.high_count[index])
        return most / jnp.maximum(self.count[index], 1.0)


@pytree
@dataclass(frozen=True)
class Windows:
    """Both windows so far."""

    age: Array
    """(2,) s since each began; the second begins half a window later, its age is negative until then."""
    turning: WindowSums
    pushing: WindowSums
    sensors: Extremes
    """Of gyroscope and accelerometer, six channels."""
    telemetry: Extremes
    """Of the rotor speeds as measured."""
    targets: Extremes
    """Of the speeds at which the motors would settle."""

    @classmethod
    def zero(cls, rotors: int, window: float) -> "Windows":
        """Two windows that begin now and half a window later."""
        age = jnp.asarray([0.0, -0.5 * window])
        return cls(
            age,
            WindowSums.zero(TURNING + rotors),
            WindowSums.zero(PUSHING),
            Extremes.zero(6),
            Extremes.zero(rotors),
            Extremes.zero(rotors),
        )

    def restarted(self, closed: Array, window: float) -> "Windows":
        """With the windows of `closed` (2,) begun anew."""
        keep = ~closed
        return Windows(
            jnp.where(closed, self.age - window, self.age),
            self.turning.retained(keep),
            self.pushing.retained(keep),
            self.sensors.retained(keep),
            self.telemetry.retained(keep),
            self.targets.retained(keep),
        )


def add_sample(
    windows: Windows,
    numbers: CogNumbers,
    window: float,
    dt: Array,
    gyro: Array,
    accel: Array,
    speeds: Array,
    raw: tuple[Array, Array, Array],
) -> Windows:
    """The windows after one sample.

    Args:
        windows: before.
        numbers: of the vehicle as its joints stand.
        window: s.
        dt: () s since the sample before.
        gyro: (3,) body axes, rad/s, NaN where it is left out.
        accel: (3,) body axes, m/s2, NaN where it is left out.
        speeds: (R,) best guess of the rotor speeds, rad/s.
        raw: sensor readings (6,), rotor speeds (R,) and their targets (R,) as they came, for `Extremes`.
    """
    age = windows.age + dt
    inside = (age > 0.0) & (age <= window)
    phase = 2.0 * jnp.pi * age / window
    mean_weight = jnp.where(inside, 1.0 - jnp.cos(phase), 0.0) * dt
    slope_weight = jnp.where(inside, (2.0 * jnp.pi / window) * jnp.sin(phase), 0.0) * dt
    known = numbers.vehicle
    squares = speeds * jnp.abs(speeds)
    wrench = known.allocation @ squares
    force = wrench[:3]
    torque = wrench[3:] - jnp.cross(known.com, force)
    rate, turns = jnp.where(jnp.isfinite(gyro), gyro, 0.0), jnp.all(jnp.isfinite(gyro))
    pushes = jnp.all(jnp.isfinite(accel))
    momentum = numbers.spin[3:] @ speeds
    swirl = jnp.cross(rate, known.inertia @ rate + momentum)
    turning = jnp.concatenate([force, torque, swirl, rate, momentum, squares])
    x, y, z = rate
    products = jnp.stack([x * x, y * y, z * z, x * y, x * z, y * z])
    pushing = jnp.concatenate([force, jnp.where(pushes, accel, 0.0), products])

    return Windows(
        age,
        windows.turning.add(turns, turning, mean_weight, slope_weight, age),
        windows.pushing.add(pushes, pushing, mean_weight, slope_weight, age),
        windows.sensors.add(raw[0]).where(inside, windows.sensors),
        windows.telemetry.add(raw[1]).where(inside, windows.telemetry),
        windows.targets.add(raw[2]).where(inside, windows.targets),
    )
