"""The numbers of the identification methods, one frozen class for each method: unit, meaning and reason.

Deviations are standard deviations. "Floors" are added to what the scatter of a fit says: intervals from scatter alone
cover a third of the true values, because laws leave out inflow, flapping blades and calibration errors of sensors.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class EffectivenessSettings:
    """Numbers of the method for rotor speeds, and of what becomes absolute by something known."""

    cutoff: float = 25.0
    """Cutoff of the low-pass, Hz, where the log allows it: above the motion, below motor and frame vibration."""
    cutoff_ratios: tuple[float, ...] = (0.6, 1.0, 1.5)
    """Cutoffs that are compared, over the chosen one; what they differ by is part of the deviation; the middle
    one counts."""
    delays: tuple[float, float, int] = (-0.012, 0.024, 19)
    """First and last delay of the rotor speeds behind the motion that is tried, s, and how many: telemetry is late, and
    so are gyro filters."""
    lags: tuple[float, ...] = (0.0, 0.004, 0.008, 0.013, 0.018)
    """Time constants of the second-order filter that an accelerometer may have passed, s, tried."""
    lag_gain: float = 0.9
    """Unexplained variance with a lag over that without, below which the lag is believed: a lag fits noise, too."""
    follows: float = 0.5
    """R2 of the motor model above which commands are instruments: a worse one is correlated with nothing."""
    force_floor: float = 0.02
    """Floor of force rows, relative to the largest number of the row fz: inflow and scale of the accelerometer."""
    torque_floor: float = 0.03
    """Floor of torque rows, relative to the largest number of the row."""
    nominal_position_sigma: float = 0.005
    """Deviation of an IMU from its position in the airframe file, m: boards are placed by hand."""
    smallest_r_squared: float = 0.5
    """R2 about an axis below which its row is not identified: the rest is the air's, and rotors answer it."""
    largest_position_sigma: float = 0.02
    """Deviation of the IMU position above which it is not identified, m: the size of the board."""
    mass_floor: float = 0.02
    """Relative floor of a mass: scale of an accelerometer, and the thrust law in moving air."""
    mass_floor_from_pose: float = 0.002
    """The same where the specific force was computed from gravity and pose, whose scale is right."""
    one_sided_misfit: float = 0.5
    """Fraction of the thrust law's residual that may act in one direction and so be mistaken for mass."""
    rotor_position_sigma: float = 0.002
    """Deviation of a rotor from its position in the airframe file, m."""
    nominal_mass_sigma: float = 0.1
    """Prior relative sigma of the nominal mass."""
    lifting: float = 0.3
    """Fraction of a rotor's thrust along z above which the force along z identifies its coefficient."""
    largest_inertia_sigma: float = 0.5
    """Relative deviation of a moment of inertia above which it is not identified: it is the reciprocal of a row."""
    inertia_coupling_floor: float = 0.1
    """Floor of the inertia coupling Q: air torques that go with the product of rates."""
    log_ratio_sigma: float = 2.0
    """Prior deviation of the logarithms of ratios of second moments: wide, and nothing runs away."""
    largest_ratio_sigma: float = 0.35
    """Relative deviation of a ratio of inertias above which it is not identified."""


@dataclass(frozen=True)
class CommandSettings:
    """Numbers of the method for motor commands without rotor speeds."""

    cutoff: float = 20.0
    """Cutoff of the low-pass, Hz, where the log allows it."""
    curves: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Shapes k of the thrust curve that are tried: every curve between square root and line."""
    time_constants: tuple[float, ...] = (0.01, 0.022, 0.035, 0.05, 0.065, 0.085, 0.12)
    """Lags of a motor that are tried, s: from racing to large propellers."""
    dead_times: tuple[float, ...] = (0.0, 0.01, 0.02)
    """Dead times that are tried, s: finer steps cannot be distinguished from a lag."""
    independent_samples: float = 8.0
    """n of equation (3) of `command_fit`: few, because the error is one of form and more data do not decide it."""
    smallest_r_squared: float = 0.75
    """R2 about an axis below which it is not identified: in a calm flight the controller's answer to gusts looks like a
    law, too."""
    inflow_sigma: float = 0.5
    """Prior deviation of C, the loss of thrust with the climb, 1/s."""
    climb_leak: float = 0.5
    """L, 1/s: the climb that commands alone give is forgotten after two seconds, before its error counts."""
    correlated_samples: float = 40.0
    """Neighbouring samples that count as one against the priors: residuals are those of a wrong form, not of noise."""
    smallest_sag: float = 0.05
    """Change of the battery voltage over its mean below which its effect is not fitted."""
    floor: float = 0.03
    """Relative floor of authority and thrust over weight."""
    thrust_floor: float = 0.15
    """Relative floor of the thrust of a single rotor: commands hardly distinguish rotors."""
    lag_floor: float = 0.12
    """Relative floor of a lag: motors speed up faster than they slow down."""
    curve_floor: float = 0.12
    """Floor of the shape of the thrust curve: half of a step of the grid."""
    mass_floor: float = 0.02
    """Relative floor of what counts with the mass: scale of the accelerometer."""
    inertia_floor: float = 0.1
    """Relative floor of a moment of inertia: the form of the curve moves it by a third."""


@dataclass(frozen=True)
class ThrowMethodSettings:
    """Numbers of the method for throws.

    Floors are from simulated throws with exact truth and from throws of one vehicle after the other.
    """

    driving_command: float = 0.2
    """Command above which a rotor is driven, of full command: above the idle of any motor."""
    stopped_command: float = 0.05
    """Command below which a rotor is not driven, of full command."""
    alone: float = 0.03
    """Time that one rotor alone is driven in an excitation, s: a test of the motors at arming is one sample."""
    free_fall: float = 0.75
    """Specific force over gravity below which a vehicle falls: in the hand and in flight it is about one."""
    before: float = 0.05
    """Time taken from before the first rotor is driven, s."""
    after: float = 0.3
    """Time left out before the rotors are stopped, s: the vehicle may be caught."""
    shortest: float = 1.3
    """Time from the first rotor driven to the last command below which there is no flight, s."""
    longest: float = 10.0
    """Time of flight that is looked at, s: enough for the rows, and bounded in cost."""
    spin_up: float = 3.0
    """Time after the excitation begins in which motors are fitted, s: they go from rest to full command there."""
    cutoff: float = 20.0
    """Cutoff of the low-pass, Hz."""
    delay_steps: tuple[int, int] = (-12, 9)
    """First and last (excluded) delay of the rotor speeds behind the gyro that is tried, in `delay_step`; negative
    where the gyro is the later one."""
    delay_step: float = 5e-4
    """Step of the delays and dead times that are tried, s: half a sample of a log at 1 kHz."""
    lags: tuple[float, ...] = (0.0, 0.004, 0.008, 0.011, 0.013, 0.015, 0.018)
    """Time constants of the second-order filter that an accelerometer may have passed, s, tried."""
    outlier: float = 2.0
    """Robust deviations from which on a residual has less weight (Huber)."""
    force_rounds: int = 6
    """Rounds of robust weights of the force rows."""
    torque_rounds: int = 8
    """Gauss-Newton steps and rounds of weights of the torque rows."""
    search_rounds: int = 5
    """The same while delays are compared: enough to tell them apart."""
    spacing: float = 0.01
    """Time between samples of the torque rows, s: the low-pass leaves nothing between them."""
    inertia_sigma: float = 0.2
    """Prior deviation of the entries of the inertia of trace 3 from those of a ball."""
    product_sigma: float = 0.1
    """The same of the products of inertia where the axes of the log are about the principal ones."""
    gyroscopic_sigma: float = 1.0
    """Prior deviation of the rotors' gyroscopic torque from its physical value, relative: simulators leave it out."""
    floors: tuple[float, ...] = (0.03, 0.03, 0.05, 0.05, 0.06, 0.08, 0.06, 0.06, 0.05)
    """Floors of fx fy fz p q r p_dot q_dot r_dot over the largest number of the row (of fz and r_dot for those
    across)."""
    imu_position_sigma: float = 0.003
    """Deviation of the IMU position, m, per axis."""
    dead_time_steps: int = 17
    """Dead times of the motors that are tried, in `delay_step` from zero."""
    motor_steps: int = 25
    """Damped Gauss-Newton steps of the motor fit."""
    slew_unit: float = 4e4
    """Unit of the slew limits in the fit, rad/s2: about what such motors reach."""
    speed_resolution: float = 2.0
    """Smallest robust deviation of rotor speeds, rad/s: telemetry counts in such steps."""


@dataclass(frozen=True)
class VehicleSettings:
    """Numbers of the methods for a log with pose."""

    exact_sigma: float = 1e-4
    """Relative deviation of a number that was given as exact: a filter needs one."""
    attempts: int = 3
    """Fits with larger noise before a log is refused."""
    diverged_rejected: float = 0.2
    """Fraction of rejected poses above which the filter has diverged."""
    diverged_nis: float = 4.0
    """NIS ratio above which the filter has diverged."""
    prior_scale: float = 3.0
    """Factor on the prior deviations where the nominal airframe does not fit."""
    shaking_imu: tuple[float, ...] = (0.3, 0.3, 0.3, 0.02, 0.02, 0.02)
    """Least noise of an IMU on a vehicle that shakes, m/s2 and rad/s; taken where less does not fit."""
    start_samples: float = 1000.0
    """IMU samples that are smoothed before the filter begins: what rotates all axes together is hardly visible, and a
    filter that begins early takes it for known."""
    start_seconds: tuple[float, float] = (2.0, 5.0)
    """Shortest and longest time of that, s."""
    start_iterations: int = 8
    """Gauss-Newton iterations of it."""
    joint_at_rest: float = 0.05
    """Angle up to which a joint counts as at rest, rad."""
    cutoff: float = 20.0
    """Cutoff of the low-pass of held-out predictions, Hz."""
    misfit_floor: float = 0.02
    """Relative deviation added where the model does not fit."""
