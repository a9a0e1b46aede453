"""The one tuning of the centre-of-gravity filter, in units of the vehicle's own size, and the reasons it can raise.

Lengths count in l = `RigidVehicle.lever`, angular accelerations of a disturbance in g m / I l, what an offset of one
lever would do: so one set of numbers serves a Crazyflie and a Neo.
"""

from dataclasses import dataclass, replace
from enum import IntEnum


class Mode(IntEnum):
    """How the centre of gravity may move; the filter weighs the three against each other at every tick."""

    AT_REST = 0
    """It rests: long memory, quiet."""
    MOVING = 1
    """It travels at a slowly changing velocity: no lag on a sweep."""
    JUMP = 2
    """It has just stepped: short memory."""


class Reason(IntEnum):
    """Why a reading or an estimate was not used; `sentence` says it with a remedy."""

    NONE = 0
    GYRO_MISSING = 1
    ACCEL_MISSING = 2
    GYRO_OUTLIER = 3
    ACCEL_OUTLIER = 4
    SPEED_MISSING = 5
    SPEED_OUTLIER = 6
    TARGET_MISSING = 7
    DIVERGED = 8
    ESTIMATE_NOT_FINITE = 9
    ESTIMATE_TOO_FAR = 10
    ESTIMATE_UNSURE = 11
    ESTIMATE_NOT_FLYABLE = 12

    @property
    def sentence(self) -> str:
        """What happened and what to look at."""
        return _SENTENCES[self]


_SENTENCES = {
    Reason.NONE: "all is well",
    Reason.GYRO_MISSING: "the gyroscope gave no number; the rate is predicted, check the IMU link",
    Reason.ACCEL_MISSING: "the accelerometer gave no number; the tick does without, check the IMU link",
    Reason.GYRO_OUTLIER: "a gyroscope reading is far from the model and was left out; check for shocks",
    Reason.ACCEL_OUTLIER: "an accelerometer reading is far from the model and was left out; check for shocks",
    Reason.SPEED_MISSING: "a rotor speed is missing; it is predicted from the command, check the ESC telemetry",
    Reason.SPEED_OUTLIER: "a rotor speed is far from command and lag and was left out; check the ESC telemetry",
    Reason.TARGET_MISSING: "a rotor command is not a number; the last speed is held, check the mixer",
    Reason.DIVERGED: "the filter's new belief was not finite and was dropped; check the readings before it",
    Reason.ESTIMATE_NOT_FINITE: "the estimate is not finite; the mixer keeps the last good one",
    Reason.ESTIMATE_TOO_FAR: "the estimate is outside its limits; the mixer keeps the last good one, check the load",
    Reason.ESTIMATE_UNSURE: "the estimate is too uncertain; the mixer keeps the last good one until it settles",
    Reason.ESTIMATE_NOT_FLYABLE: "no hover within the limits for this estimate; the mixer keeps the last good one",
}


@dataclass(frozen=True)
class CogSettings:
    """Every number of the filter; deviations, of which variances are made in one place."""

    period: float = 1.0 / 220.0
    """s between ticks."""
    torque_noise: float = 0.148
    """White angular acceleration, rad/s2/sqrt(Hz): 0.01 rad/s per step at 220 Hz, Q of [Fresk2017]."""
    still_walk: float = 2.5e-4
    """Walk of a resting offset, lever/sqrt(s): a gain that never dies, small because a rest is a rest."""
    jump_walk: float = 0.03
    """Walk of a jumping offset, lever/sqrt(s)."""
    speed_walk: float = 6e-3
    """Walk of the velocity of a moving offset, lever/s/sqrt(s)."""
    first_speed: float = 0.015
    """Deviation of the velocity with which a motion may begin, lever/s."""
    speed_memory: float = 20.0
    """s over which a moving offset keeps its velocity."""
    along_walk: float = 4e-4
    """Walk of the component along the thrust in every mode, lever/sqrt(s)."""
    first_offset: float = 0.1
    """Deviation of the offset at the beginning, lever."""
    mass: float = 0.1
    """Deviation of the relative mass at the beginning."""
    mass_walk: float = 1e-3
    """Its walk, 1/sqrt(s)."""
    mass_jump: float = 0.03
    """Its walk while the offset jumps: what comes or goes has mass, 1/sqrt(s)."""
    thrust: float = 0.01
    """Deviation of one rotor's relative thrust; rotors of one batch differ by that."""
    torque: float = 1e-3
    """Deviation of a lasting torque about the axes across the thrust, lever."""
    torque_along: float = 5e-3
    """The same along the thrust, where propeller drag is known less well, lever."""
    torque_memory: float = 2.0
    """s over which a torque lasts."""
    stay: tuple[tuple[float, float], tuple[float, float], tuple[float, float]] = (
        (0.07, 0.02),  # still to moving, to jump
        (0.01, 0.02),  # moving to still, to jump
        (6.0, 3.0),  # jump to still, to moving
    )
    """Rates at which the modes change, 1/s."""
    speed_sigma: float = 0.003
    """Noise of a measured rotor speed, share of top speed."""
    speed_drift: float = 0.02
    """What command and lag leave unsaid of a rotor speed, share of top speed."""
    gate: float = 6.0
    """Deviations beyond which a single reading is an outlier."""
    patience: int = 3
    """Outliers in a row after which readings are believed again."""
    noise_gain: float = 0.01
    """How fast the level of the torque noise is learnt, per tick."""
    noise_range: tuple[float, float] = (0.01, 30.0)
    """Limits of that level, as a factor on the variance."""
    excitation_memory: float = 20.0
    """s over which information about the component along the thrust counts."""
    excitation: float = 0.02
    """Deviation of that component, from this information alone, below which it is released, lever."""

    def with_joints(self) -> "CogSettings":
        """For a filter that reads the joint angles: the nominal centre moves with them, so less is left to explain."""
        return replace(self, speed_walk=9e-4, first_speed=3e-3)
