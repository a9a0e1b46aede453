"""What the centre-of-gravity filter reads, believes and says."""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.estimation.cog.noise import NoiseLevels
from haltere.estimation.cog.rivals import Rivals
from haltere.estimation.cog.state import Gaussian
from haltere.estimation.cog.windows import Windows
from haltere.foundation.arrays import Array, double_precision, pytree, to_numpy


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
class RotorTrack:
    """The rotor speeds between two ticks, each (R,)."""

    speeds: Array
    """rad/s."""
    variance: Array
    scale: Array
    """Measured speed over what command and curve say, learnt."""
    stuck: Array
    """Whether telemetry stands still."""
    squared_speeds: Array
    """Squared speeds of which the shares of the rotors are taken."""


@pytree
@dataclass(frozen=True)
class Gate:
    """What single samples of gyroscope and accelerometer are compared with."""

    level: Array
    """(6,) mean of the last readings."""
    variance: Array
    """(6,) of readings around it."""
    streaks: Array
    """(2,) outliers in a row."""


@pytree
@dataclass(frozen=True)
class Weighing:
    """Thrust over some seconds, in axes that the gyroscope alone carries along."""

    rotation: Array
    """(3, 3) from body axes."""
    force: Array
    """(3,) integral of the rotors' force, N s."""
    time: Array
    """() s."""
    rate: Array
    """(3,) integral of the rate, body axes, rad."""

    @classmethod
    def zero(cls) -> "Weighing":
        """Nothing yet."""
        return cls(jnp.eye(3), jnp.zeros(3), jnp.zeros(()), jnp.zeros(3))


@pytree
@dataclass(frozen=True)
class CogPrediction:
    """What has been predicted and waits for the IMU's reading of that moment."""

    speeds: Array
    """(R,) as in `CogReading`, `targets` and `joint_angles` too."""
    targets: Array
    joint_angles: Array | None
    dt: Array
    """() s since the prediction before."""


@pytree
@dataclass(frozen=True)
class CogBelief:
    """The filter between two ticks."""

    state: Gaussian
    """After the last window."""
    rivals: Rivals
    """What else the last windows may be."""
    quiet: Array
    """() windows since the last mark, event or gap."""
    windows: Windows
    noise: NoiseLevels
    admitted: Array
    """(3,) variance of slow torques and the vertical force since the beginning that the state allows for."""
    rotors: RotorTrack
    gate: Gate
    weighing: Weighing
    time: Array
    """() s since the beginning."""
    since: Array
    """() s since the last mark or event, or the beginning."""
    elapsed: Array
    """() s since the last window."""
    events: Array
    """() changes found without a mark."""
    nominal: Array
    """(3,) nominal centre of mass at the last joint angles, body axes, m."""
    axes: Array
    """(3, 3) columns: two axes across the thrust, and the thrust."""
    counts: Array
    """(reasons,) how often each `Reason` was raised."""
    prediction: CogPrediction | None = None
    """Between a prediction and its correction."""

    @property
    def mean(self) -> Array:
        """(23 + R,)."""
        return self.state.mean

    @property
    def cov(self) -> Array:
        """(23 + R, 23 + R)."""
        return self.state.cov


@pytree
@dataclass(frozen=True)
class CogEstimate:
    """The answers of the filter; body axes, m."""

    trim: Array
    """(3,) where the rotors must think the centre of mass for the vehicle to be in balance now, whatever the cause."""
    trim_cov: Array
    """(3, 3)."""
    com: Array
    """(3,) centre of mass; its component along the thrust is nominal where it is not observable."""
    cov: Array
    """(3, 3) of it, with what rotors unlike the airframe file leave open."""
    offset: Array
    """(3,) of it from its nominal position."""
    change: Array
    """(3,) of the centre of mass since the last mark or event, or the beginning."""
    change_cov: Array
    """(3, 3)."""
    axis: Array
    """(3,) direction of the thrust."""
    observable: Array
    """() whether the component along the thrust has been estimated; the two across it always are."""
    mass: Array
    """() kg."""
    mass_sigma: Array
    """() kg."""
    mass_change: Array
    """() kg since the last mark or event."""
    mass_change_sigma: Array
    """() kg."""
    lifted_mass: Array
    """() kg that rotors as strong as in the airframe file would lift: what the mixer needs, whatever the cause."""
    since: Array
    """() s since the last mark or event."""
    events: Array
    """() changes found without a mark."""

    @property
    @double_precision()
    def sigma(self) -> Array:
        """(3,) deviation of each component of `com`, m."""
        return to_numpy(_root(self.cov))

    @property
    @double_precision()
    def trim_sigma(self) -> Array:
        """(3,) deviation of each component of `trim`, m."""
        return to_numpy(_root(self.trim_cov))

    @property
    @double_precision()
    def change_sigma(self) -> Array:
        """(3,) deviation of each component of `change`, m."""
        return to_numpy(_root(self.change_cov))

    @property
    @double_precision()
    def sigma_across(self) -> Array:
        """() largest deviation of a component of the trim across the thrust, m."""
        across = self.trim_cov - (self.axis @ self.trim_cov @ self.axis) * jnp.outer(self.axis, self.axis)
        return to_numpy(jnp.sqrt(jnp.maximum(jnp.max(jnp.diagonal(across)), 0.0)))


def _root(cov: Array) -> Array:
    return jnp.sqrt(jnp.maximum(jnp.diagonal(cov), 0.0))
