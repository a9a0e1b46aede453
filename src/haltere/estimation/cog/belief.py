"""What the centre-of-gravity filter believes, what it reads, and what it says.

The state of each mode is x = (w, offset, velocity, mu, d, s), 13 + R numbers, see `haltere.estimation.cog.vehicle`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp

from haltere.foundation.arrays import Array, double_precision, pytree, to_numpy

if TYPE_CHECKING:
    from haltere.estimation.cog.bank import CogPrediction

RATE = slice(0, 3)
OFFSET = slice(3, 6)
SPEED = slice(6, 9)
MASS = 9
TORQUE = slice(10, 13)
THRUST = slice(13, None)
FIXED = 13
"""States before the rotors'."""


@pytree
@dataclass(frozen=True)
class CogReading:
    """What is known at one tick; NaN stands for what is missing."""

    gyro: Array
    """(3,) sensor axes, rad/s."""
    accel: Array
    """(3,) specific force, sensor axes, m/s2."""
    speeds: Array
    """(R,) measured rotor speeds, rad/s."""
    targets: Array
    """(R,) speeds at which the motors would settle for the command in force until now, rad/s."""
    joint_angles: Array | None = None
    """(J,) rad, where joints move and are measured."""


@pytree
@dataclass(frozen=True)
class CogBelief:
    """The filter between two ticks."""

    means: Array
    """(3, 13 + R), one row for each mode."""
    covs: Array
    """(3, 13 + R, 13 + R)."""
    weights: Array
    """(3,) probability of each mode."""
    speeds: Array
    """(R,) rotor speeds, rad/s."""
    speed_var: Array
    """(R,) their variance."""
    noise: Array
    """() level of the torque noise, a factor on its variance."""
    innovation: Array
    """(3,) of the last gyroscope reading over its deviation."""
    streaks: Array
    """(2,) outliers in a row of gyroscope and accelerometer."""
    information: Array
    """() about the component along the thrust, 1/m2."""
    nominal: Array
    """(3,) nominal centre of mass at the last joint angles, body axes, m."""
    axis: Array
    """(3,) direction of the thrust, body axes."""
    counts: Array
    """(reasons,) how often each `Reason` was raised."""
    prediction: "CogPrediction | None" = None
    """Between a prediction and its correction."""

    @property
    def mean(self) -> Array:
        """(13 + R,) over the modes."""
        return self.weights @ self.means

    @property
    def cov(self) -> Array:
        """(13 + R, 13 + R) over the modes."""
        apart = self.means - self.mean
        spread = self.covs + apart[:, :, None] * apart[:, None, :]
        return jnp.tensordot(self.weights, spread, 1)


@pytree
@dataclass(frozen=True)
class CogEstimate:
    """The answer of the filter."""

    com: Array
    """(3,) centre of mass, body axes, m; the component along the thrust keeps its nominal value while it is frozen."""
    offset: Array
    """(3,) of it from its nominal position, m."""
    cov: Array
    """(3, 3) of the offset, m2."""
    axis: Array
    """(3,) direction of the thrust, body axes."""
    observable: Array
    """() whether the component along the thrust has been estimated; the two across it always are."""
    mass: Array
    """() kg: the nominal one over 1 + mu."""
    thrust_scale: Array
    """(R,) s: relative strength of each rotor beyond the nominal."""
    modes: Array
    """(3,) probability of each `Mode`."""
    noise: Array
    """() level of the torque noise, a factor on the variance that the settings name."""

    @property
    @double_precision()
    def sigma(self) -> Array:
        """(3,) deviation of each component, body axes, m."""
        return to_numpy(jnp.sqrt(jnp.maximum(jnp.diagonal(self.cov), 0.0)))

    @property
    @double_precision()
    def sigma_across(self) -> Array:
        """() largest deviation of a body component, without what is doubtful along the thrust, m."""
        across = self.cov - (self.axis @ self.cov @ self.axis) * jnp.outer(self.axis, self.axis)
        return to_numpy(jnp.sqrt(jnp.maximum(jnp.max(jnp.diagonal(across)), 0.0)))
