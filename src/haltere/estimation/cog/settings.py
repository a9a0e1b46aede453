"""The one tuning of the centre-of-gravity filter, in units of the vehicle's own size, and the reasons it can raise.

Lengths count in l = `RigidVehicle.lever`: so one set of numbers serves a Crazyflie and a Neo.
"""

from dataclasses import dataclass
from enum import IntEnum


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
    GYRO_STUCK = 13
    ACCEL_STUCK = 14
    SPEED_STUCK = 15
    ACCEL_IMPLAUSIBLE = 16
    READINGS_LOST = 17
    STAMPS_BACK = 18
    FORCE_JUMP = 19

    @property
    def sentence(self) -> str:
        """What happened and what to look at."""
        return _SENTENCES[self]


_SENTENCES = {
    Reason.NONE: "all is well",
    Reason.GYRO_MISSING: "the gyroscope gave no number; the window does without, check the IMU link",
    Reason.ACCEL_MISSING: "the accelerometer gave no number; the window does without, check the IMU link",
    Reason.GYRO_OUTLIER: "a gyroscope reading is far from those around it and was left out; check for shocks",
    Reason.ACCEL_OUTLIER: "an accelerometer reading is far from those around it and was left out; check for shocks",
    Reason.SPEED_MISSING: "a rotor speed is missing; it is predicted from the command, check the ESC telemetry",
    Reason.SPEED_OUTLIER: "a rotor speed is far from command and lag and was left out; check the ESC telemetry",
    Reason.TARGET_MISSING: "a rotor command is not a number; the last speed is held, check the mixer",
    Reason.DIVERGED: "the filter's new belief was not finite and was dropped; check the readings before it",
    Reason.ESTIMATE_NOT_FINITE: "the estimate is not finite; the mixer keeps the last good one",
    Reason.ESTIMATE_TOO_FAR: "the estimate is outside its limits; the mixer keeps the last good one, check the load",
    Reason.ESTIMATE_UNSURE: "the estimate is too uncertain; the mixer keeps the last good one until it settles",
    Reason.ESTIMATE_NOT_FLYABLE: "no hover within the limits for this estimate; the mixer keeps the last good one",
    Reason.GYRO_STUCK: "the gyroscope repeats one value or stands at a limit; its window was left out, check the IMU",
    Reason.ACCEL_STUCK: "the accelerometer repeats one value or stands at a limit; its window was left out, "
    "check the IMU",
    Reason.SPEED_STUCK: "a rotor speed stands still while its command moves; it is predicted from the command, "
    "check the ESC telemetry",
    Reason.ACCEL_IMPLAUSIBLE: "the accelerometer disagrees with any thrust the rotors can have; its window was left "
    "out, check its scale",
    Reason.READINGS_LOST: "too few readings arrived for a window; it was left out, check the IMU link",
    Reason.STAMPS_BACK: "a stamp lies before the one before it; the reading was left out, check the clock",
    Reason.FORCE_JUMP: "the specific force jumped and no torque did: a load at the centre, or another bias of the "
    "accelerometer; mass is unsure until the flight tells which",
}


@dataclass(frozen=True)
class CogSettings:
    """All constants of the filter; deviations, not variances."""

    period: float = 1.0 / 220.0
    """s between ticks, where a reading does not come with its own."""
    window: float = 0.2
    """s of readings that are averaged; a window closes at every half of it."""
    rotor_spread: float = 0.04
    """Relative deviation of one rotor's thrust from the airframe file."""
    placement: float = 0.002
    """Deviation of a rotor's position from the airframe file, m."""
    first_offset: float = 0.1
    """Deviation of the offset at the beginning, lever."""
    walk: float = 2e-5
    """Walk of a resting offset, lever/sqrt(s)."""
    mass: float = 0.1
    """Deviation of thrust over mass at the beginning, relative."""
    mass_walk: float = 1e-4
    """Its walk, 1/sqrt(s)."""
    opened_offset: float = 0.3
    """Deviation of the change at a grip or drop across the thrust, lever."""
    opened_along: float = 0.1
    """The same along the thrust, lever."""
    opened_mass: float = 0.3
    """The same of thrust over mass, relative."""
    opened_air: float = 0.4
    """The same of the air's vertical force, while another load makes the vehicle sink or climb, m/s2."""
    likely: float = 0.4
    """Share of these that a change has which nobody marked."""
    first_air: float = 1.0
    """Deviation of the air's vertical force at the beginning, m/s2."""
    accel_bias: float = 0.3
    """Deviation of each component of the accelerometer's bias, m/s2."""
    bias_jump: float = 2.0
    """Deviation of a sudden change of it, m/s2."""
    inertia: float = 0.1
    """Relative deviation of the vehicle's inertia."""
    spin_inertia: float = 0.3
    """Relative deviation of the rotors' inertia."""
    delay: float = 0.006
    """Deviation of the delay of rotor speeds behind the gyroscope, s."""
    imu_position: float = 0.003
    """Deviation of the IMU's position, m."""
    wind_height: float = 0.1
    """Deviation of the height above the centre of mass at which wind acts, lever."""
    fast: float = 0.5
    """Memory of fast disturbances, s."""
    torque_noise: float = 0.002
    """What is believed of the torque's disturbance before it has been seen, lever."""
    force_noise: float = 0.1
    """The same of specific force, m/s2."""
    noise_memory: float = 15.0
    """s over which noise is learnt."""
    speed_change: float = 1.5
    """Deviation of the vehicle's vertical speed, m/s."""
    block: float = 2.0
    """s over which weight is compared with thrust."""
    settling: float = 2.0
    """s after which the shares of the rotors in the thrust are held and changes are looked for."""
    dithered: bool = False
    """The rotors are dithered on purpose, which shows which of them are weak."""
    gust: float = 1.7
    """How many times more than usual a gust changes the disturbances within a window."""
    speed_sigma: float = 0.003
    """Noise of a measured rotor speed, share of top speed."""
    speed_drift: float = 0.02
    """What command and lag leave unsaid of a rotor speed, share of top speed."""
    gate: float = 8.0
    """Deviations beyond which a single reading is an outlier."""
    patience: int = 5
    """Outliers in a row after which readings are believed again."""
    adopt: float = 10.0
    """By how much the logarithm of its likelihood must exceed that of no change before a change is believed."""
    margin: float = 4.0
    """By how much it must exceed that of a gust."""
