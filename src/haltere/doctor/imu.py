"""Checks of units and axes of accelerometer, gyroscope and attitude, against each other and against gravity.

With gyro w in body axes and attitude R of the body, whatever the vehicle, w = w_q(R): the attitude rotates as the gyro
says. Each convention that logs are known to get wrong is tried, and the one that makes this hold best is compared
with the record as it stands; an IMU that is rotated by any angle shows as one rotation that makes it hold. The length
of the mean force tells g from m/s2.

Gravity tells which way is up, and in which unit the gyro reads. With specific force f in body axes, position p and
up e_z:

    (1)  mean(R f) = g e_z       over seconds a vehicle that neither leaves nor falls accelerates little
    (2)  p'' = R f - g e_z

Where (1) comes out as -g e_z, the sign in (2), or that of the torques that the nominal rotors exert, tells axes
that point down from an accelerometer with its sign reversed. Without attitude a force rotated by the integrated
gyro must still keep its direction over seconds, which a gyro in deg/s taken as rad/s destroys.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.finding import Finding, Mend, Undecided, mapped, rotated, scaled
from haltere.doctor.motion import (
    DOWN,
    IMU,
    RATE,
    UNITS,
    AttitudeReading,
    SmoothedMotion,
    finite_rows,
    in_body,
    low_pass_over_gaps,
    read_as,
    smooth,
    smoothed_motion,
)
from haltere.flight import Flight
from haltere.flight.rotations import angular_rates, matrices_from_wxyz, unwrap
from haltere.foundation.constants import STANDARD_GRAVITY as G
from haltere.foundation.numbers import Bools, Floats

FASTEST = np.deg2rad(2000.0)
"""rad/s, the range of the gyros that vehicles carry: numbers beyond it are in deg/s."""


def check_gravity(
    flight: Flight,
    motion: SmoothedMotion,
    reading: AttitudeReading,
    force: Floats,
    nominal: RigidAirframe | None,
) -> Iterator[Finding | Undecided]:
    """Yield what the mean force in world axes, eq. (1), says of the accelerometer."""
    R = matrices_from_wxyz(read_as(motion.wxyz, reading.order, reading.inverse))  # type: ignore[arg-type]
    body = force @ DOWN if reading.down else force
    world = np.einsum("tij,tj->ti", R, body)
    good = finite_rows(world)
    mean = np.mean(world[good], axis=0)
    span = good.sum() / RATE
    if np.linalg.norm(mean) < 0.35 * G and span > 6.0:
        yield Finding(
            "gravity-missing",
            f"imu.accel: rotated into the world it averages to {np.linalg.norm(mean):.2f} m/s2 over {span:.0f} s, "
            "which a vehicle that does not fall cannot have; gravity was taken off",
            f"add {G} m/s2 along the attitude's vertical, or log the raw accelerometer",
            True,
            ("imu.accel",),
        )
    elif mean[2] < -0.6 * G:
        sign = _force_sign(motion, world)
        torque = _torque_signs(flight, motion, nominal) if sign is None else None
        yield _downward(flight, motion, mean[2], sign, torque)


def without_attitude(
    flight: Flight, motion: SmoothedMotion, nominal: RigidAirframe | None, force: Floats | None
) -> Iterator[Finding | Undecided]:
    """Yield what magnitudes and signs alone tell."""
    if force is None:
        return
    good = finite_rows(force) & _in_flight(flight, motion)
    mean = np.mean(force[good], axis=0) if good.sum() > 3.0 * RATE else np.zeros(3)
    if motion.gyro is not None:
        gain = _torque_gain(flight, motion, nominal, force)
        if gain is not None and 25.0 < gain < 130.0:
            yield Finding(
                "gyro-unit", f"imu.gyro: its derivative is {gain:.0f} times what the nominal rotors and inertia give: "
                "it is in deg/s", "multiply by pi/180", True, ("imu.gyro",), scaled(("imu.gyro",), UNITS["deg/s"]),
            )  # fmt: skip
        elif gain is None:
            yield from _gyro_unit(motion.gyro, force)
    if mean[2] < -0.6 * G:
        yield _downward(flight, motion, float(mean[2]), None, _torque_signs(flight, motion, nominal))
    yield Undecided(
        "attitude-axes",
        "there is no attitude that rotates enough to compare the axes of the IMU with",
        "log an attitude or a pose, and fly so that the vehicle tilts and yaws",
    )


def _force_sign(motion: SmoothedMotion, world: Floats) -> float | None:
    """Return the sign with which the horizontal force drives the horizontal motion, eq. (2); None if unseen."""
    if motion.position is None:
        return None
    place = low_pass_over_gaps(motion.position, 1.5)
    pushed = np.gradient(np.gradient(place, 1.0 / RATE, axis=0), 1.0 / RATE, axis=0)
    smooth_force = low_pass_over_gaps(world, 1.5)
    good = finite_rows(pushed, smooth_force)
    edge = int(RATE)
    good[:edge] = good[-edge:] = False
    if good.sum() < 100:
        return None
    a, b = pushed[good][:, :2], smooth_force[good][:, :2]
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    correlation = float(np.sum(a * b) / max(np.sqrt(np.sum(a * a) * np.sum(b * b)), 1e-12))
    return float(np.sign(correlation)) if abs(correlation) > 0.4 else None


def _torque_signs(flight: Flight, motion: SmoothedMotion, nominal: RigidAirframe | None) -> Floats | None:
    """Return the sign (3,) with which the nominal torques rotate the vehicle about each axis; 0 where unseen."""
    speed = flight.channels.get("rotors.speed") or flight.channels.get("rotors.command")
    if nominal is None or speed is None or motion.angular_acceleration is None or speed.values.ndim != 2:
        return None
    if speed.values.shape[1] != len(nominal.names):
        return None
    expected = low_pass_over_gaps(nominal.accelerations(smooth(speed, motion.time) ** 2), 8.0)
    measured = low_pass_over_gaps(motion.angular_acceleration, 8.0)
    good = finite_rows(expected, measured)
    if good.sum() < 100:
        return None
    a, b = expected[good] - expected[good].mean(axis=0), measured[good] - measured[good].mean(axis=0)
    c = np.sum(a * b, axis=0) / np.maximum(np.sqrt(np.sum(a * a, axis=0) * np.sum(b * b, axis=0)), 1e-12)
    return np.asarray(np.where(np.abs(c) > 0.35, np.sign(c), 0.0))


def _torque_gain(
    flight: Flight, motion: SmoothedMotion, nominal: RigidAirframe | None, force: Floats
) -> float | None:
    """Return how many times larger roll and pitch accelerate than the nominal torques say; None if unseen.

    Speeds of any unit do: the nominal force, compared with the measured one, takes their scale out.
    """
    speed = flight.channels.get("rotors.speed")
    if (
        nominal is None
        or speed is None
        or motion.angular_acceleration is None
        or speed.values.shape[1:] != (len(nominal.names),)
    ):
        return None
    squares = smooth(speed, motion.time) ** 2
    expected, measured = (
        low_pass_over_gaps(nominal.accelerations(squares), 8.0)[:, :2],
        low_pass_over_gaps(motion.angular_acceleration, 8.0)[:, :2],
    )
    good = finite_rows(expected, measured, force) & _in_flight(flight, motion)
    if good.sum() < 200:
        return None
    pull = np.linalg.norm(nominal.specific_forces(squares[good]), axis=1)
    scale = float(np.median(np.linalg.norm(force[good], axis=1) / np.maximum(pull, 1e-12)))
    a, b = expected[good] - expected[good].mean(axis=0), measured[good] - measured[good].mean(axis=0)
    correlation = abs(float(np.sum(a * b))) / np.sqrt(float(np.sum(a * a) * np.sum(b * b)) + 1e-30)
    if correlation < 0.6:
        return None
    return float(np.sqrt(np.sum(b * b) / np.sum(a * a))) / scale


def _downward(
    flight: Flight, motion: SmoothedMotion, mean: float, sign: float | None, torque: Floats | None
) -> Finding:
    """Return the finding for a force that points down: axes, or the sign of the accelerometer."""
    evidence = f"imu.accel: the mean force in level flight is {mean:.2f} m/s2 along z, where +{G:.2f} is to be expected"
    if sign is not None and sign < 0.0:
        return Finding(
            "gravity-sign", f"{evidence}, and it drives the vehicle the wrong way", "reverse its sign", True,
            ("imu.accel",), scaled(("imu.accel",), -1.0),
        )  # fmt: skip
    if torque is not None and np.all(torque[:2] != 0.0):
        if torque[0] > 0.0 and torque[1] < 0.0:
            return Finding(
                "imu-axes", f"{evidence}, and pitch answers the rotors with the wrong sign: FRD axes",
                "reverse y and z", True, IMU, rotated(IMU, DOWN),
            )  # fmt: skip
        if torque[0] > 0.0 and torque[1] > 0.0:
            return Finding(
                "gravity-sign", f"{evidence}, while roll and pitch answer the rotors rightly", "reverse its sign", True,
                ("imu.accel",), scaled(("imu.accel",), -1.0),
            )  # fmt: skip
    if sign is not None and motion.wxyz is not None:
        return Finding(
            "axes-ned", f"{evidence}, and the motion agrees: all of it is in FRD and NED axes",
            "reverse y and z of the IMU, rotate attitude and position into ENU and FLU", True,
            (*IMU, motion.attitude_name), _from_ned(motion.attitude_name),
        )  # fmt: skip
    return Finding(
        "gravity-sign",
        f"{evidence}: either its sign is reversed, or the IMU is in FRD axes; a mirror image of the "
        "vehicle would move alike, so this log cannot tell which",
        "give the airframe (rotor positions distinguish the two), or a log with attitude and position",
        False,
        ("imu.accel",),
        scaled(("imu.accel",), -1.0),
    )


def _from_ned(attitude: str) -> Mend:
    place = f"{attitude.rsplit('.', 1)[0]}.position"
    half = np.sqrt(0.5)

    def turn(q: Floats) -> Floats:
        w, x, y, z = q.T
        # (0, h, h, 0) * q * (0, 1, 0, 0): NED to ENU on the left, FRD to FLU on the right
        left = half * np.stack([-x - y, w + z, w - z, y - x], axis=1)
        a, b, c, d = left.T
        return np.stack([-b, a, d, -c], axis=1)

    def mend(flight: Flight) -> Flight:
        flight = rotated(IMU, DOWN)(flight)
        flight = mapped((attitude,), turn)(flight)
        return mapped((place,), lambda p: np.asarray(p[:, [1, 0, 2]] * [1.0, 1.0, -1.0]))(flight)

    return mend


def _in_flight(flight: Flight, motion: SmoothedMotion) -> Bools:
    """Where the rotors work, as far as the record tells; a body that is held in a hand may point anywhere."""
    for name in ("rotors.speed", "rotors.command"):
        if name in flight and flight[name].values.ndim == 2 and len(flight[name]) > 20:
            total = np.nansum(smooth(flight[name], motion.time), axis=1)
            return np.asarray(total > max(0.4 * float(np.nanpercentile(total, 90)), 1e-6))
    return np.ones(len(motion.time), bool)


def _gyro_unit(gyro: Floats, force: Floats) -> Iterator[Finding | Undecided]:
    """Yield whether the gyro is in deg/s, by the force that it rotates."""
    as_is, as_deg = _steadiness(gyro, force), _steadiness(gyro * UNITS["deg/s"], force)
    squares = np.sum(gyro**2, axis=1)
    rms = float(np.sqrt(np.mean(squares[np.isfinite(squares)]))) if np.any(np.isfinite(squares)) else 0.0
    kept = f"{100 * as_is:.0f} % of its length over 2 s, {100 * as_deg:.0f} % if in deg/s"
    said = f"rotated by the integrated gyro, the force keeps {kept}"
    if as_is < 0.75 and as_deg > 0.9 and rms > 2.0:
        # A vehicle that tumbles under thrust keeps the force to its own axes, too, but no gyro turns that fast.
        peak = float(np.nanmax(np.abs(gyro), initial=0.0))
        yield Finding(
            "gyro-unit", f"imu.gyro is in deg/s: {said}, and its size is {rms:.1f} rms", "multiply by pi/180",
            peak > FASTEST,
            ("imu.gyro",), scaled(("imu.gyro",), UNITS["deg/s"]),
        )  # fmt: skip
    elif rms < 0.05:
        yield Undecided(
            "gyro-unit", f"the vehicle hardly rotates ({rms:.3f} rms)", "fly so that it tilts and yaws"
        )


def _steadiness(gyro: Floats, force: Floats, span: float = 2.0) -> float:
    """Return the median over windows of |mean(R f)| / mean|f| with R integrated from the gyro."""
    window = int(span * RATE)
    shares = []
    for start in range(0, len(gyro) - window, window):
        w, f = gyro[start : start + window], force[start : start + window]
        if not (np.all(np.isfinite(w)) and np.all(np.isfinite(f))):
            continue
        R, total = np.eye(3), np.zeros(3)
        for rate, push in zip(w / RATE, f, strict=True):
            angle = float(np.linalg.norm(rate))
            K = np.array([[0.0, -rate[2], rate[1]], [rate[2], 0.0, -rate[0]], [-rate[1], rate[0], 0.0]])
            a = np.sinc(angle / np.pi)
            b = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
            R = R @ (np.eye(3) + a * K + b * K @ K)
            total += R @ push
        shares.append(float(np.linalg.norm(total)) / max(float(np.sum(np.linalg.norm(f, axis=1))), 1e-9))
        if len(shares) >= 12:
            break
    return float(np.median(shares)) if shares else 1.0


BAND = 2.0
"""Frequencies below this, Hz, are compared: attitudes are sampled slowly and their derivative is noisy above."""
LIVELY = 0.05
"""Angular rate, rad/s rms, below which the axes cannot be compared."""
LAGS = range(-20, 21, 2)
FIT, WORSE = 0.35, 2.5


def check_imu(
    flight: Flight, airframe: Airframe | None, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield what is wrong with units and axes."""
    nominal = RigidAirframe.from_airframe(airframe) if airframe is not None else None
    motion = smoothed_motion(flight)
    if motion is None:
        return
    if nominal is not None:
        motion = in_body(motion, nominal)
    units = list(_accel_unit(motion, measures))
    yield from units
    factor = G if any(f.kind == "accel-unit" for f in units) else 1.0
    force = None if motion.accel is None else motion.accel * factor
    best, asis = _best(motion)
    if best is None or asis is None:
        yield from without_attitude(flight, motion, nominal, force)
        return
    measures["attitude.unexplained"] = asis.residual
    yield from _readings(flight, motion, best, asis, force)
    trusted = best if best.residual < FIT else asis
    if force is not None and trusted.residual < FIT:
        yield from check_gravity(flight, motion, trusted, force, nominal)


def _accel_unit(motion: SmoothedMotion, measures: dict[str, float]) -> Iterator[Finding]:
    """Yield whether the accelerometer is in g, by the length of its steady part."""
    if motion.accel is None:
        return
    force = motion.accel[finite_rows(motion.accel)]
    if len(force) < 100:
        return
    size = np.linalg.norm(force, axis=1)
    steady = float(np.linalg.norm(np.mean(force, axis=0)))
    measures["imu.accel.mean"] = float(np.mean(size))
    if (
        0.5 < float(np.mean(size)) < 2.0
        and 0.4 < float(np.median(size)) < 2.0
        and steady > 0.5 * float(np.mean(size))
    ):
        yield Finding(
            "accel-unit",
            f"imu.accel: its mean length is {np.mean(size):.3f}, where {G:.2f} m/s2 are expected in flight: it is in g",
            f"multiply by {G}",
            True,
            ("imu.accel",),
            scaled(("imu.accel",), G),
        )


def _best(motion: SmoothedMotion) -> tuple[AttitudeReading | None, AttitudeReading | None]:
    """Return the reading that fits best and the one as the record stands; None if the axes cannot be compared."""
    if motion.wxyz is None or motion.gyro is None:
        return None, None
    gyro = low_pass_over_gaps(motion.gyro, BAND)
    readings: list[AttitudeReading] = []
    for order, inverse in product(("wxyz", "xyzw"), (False, True)):
        measured = low_pass_over_gaps(angular_rates(unwrap(read_as(motion.wxyz, order, inverse)), RATE), BAND)
        for down, unit in product((False, True), UNITS):
            expected = gyro * UNITS[unit] @ (DOWN if down else np.eye(3))
            readings.append(AttitudeReading(order, inverse, down, unit, _unexplained(measured, expected)))
    asis = next(
        r for r in readings if (r.order, r.inverse, r.down, r.unit) == ("wxyz", False, False, "rad/s")
    )
    best = min(readings, key=lambda r: r.residual)
    best = asis if asis.residual < FIT or asis.residual < WORSE * best.residual else best
    return (best, asis) if np.isfinite(asis.residual) else (None, None)


def _unexplained(measured: Floats, expected: Floats) -> float:
    """Return the smallest |seen - expected|^2 / |seen|^2 over small delays; NaN if there is too little motion."""
    good = finite_rows(measured, expected)
    if good.sum() < 100:
        return np.nan
    power = float(np.mean(measured[good] ** 2)) * 3.0
    if power < LIVELY**2:
        return np.nan
    left = []
    for lag in LAGS:
        late = np.roll(expected, lag, axis=0)
        use = good & np.roll(good, lag)
        use[: abs(lag)] = use[len(use) - abs(lag) :] = False
        apart = measured[use] - late[use]
        left.append(float(np.mean((apart - np.mean(apart, axis=0)) ** 2)) * 3.0 / power)
    return min(left)


def _readings(
    flight: Flight, motion: SmoothedMotion, best: AttitudeReading, asis: AttitudeReading, force: Floats | None
) -> Iterator[Finding | Undecided]:
    """Yield findings for each way in which the best reading differs from the record."""
    name = motion.attitude_name
    if_so, as_is = 100 * (1 - best.residual), 100 * max(0, 1 - asis.residual)
    shares = f"{if_so:.0f} % of the angular rate if so, to {as_is:.0f} % as it stands"
    said = f"{name} and imu.gyro agree to {shares}"
    if best is asis or best.residual > FIT:
        yield from _rotated(motion, name, asis.residual)
        return
    if best.unit == "deg/s":
        yield Finding(
            "gyro-unit", f"imu.gyro is in deg/s: {said}", "multiply by pi/180", True, ("imu.gyro",),
            scaled(("imu.gyro",), np.pi / 180.0),
        )  # fmt: skip
    if best.order == "xyzw":
        yield Finding(
            "quaternion-order", f"{name} is ordered x, y, z, w: {said}", "put w first", True, (name,),
            mapped((name,), lambda v: np.asarray(v[:, [3, 0, 1, 2]])),
        )  # fmt: skip
    if best.inverse:
        yield Finding(
            "quaternion-inverse", f"{name} rotates the world into the body: {said}", "take its inverse", True, (name,),
            mapped((name,), lambda v: np.asarray(v * [1.0, -1.0, -1.0, -1.0])),
        )  # fmt: skip
    if best.down:
        whose: tuple[str, ...] = IMU
        if force is not None:
            R = matrices_from_wxyz(read_as(motion.wxyz, best.order, best.inverse))  # type: ignore[arg-type]
            good = finite_rows(R, force)
            whose = (
                IMU if np.mean(np.einsum("tij,tj->ti", R, force)[good], axis=0)[2] < 0.0 else ("imu.gyro",)
            )
        yield Finding(
            "imu-axes", f"{' and '.join(whose)} are in FRD axes, the attitude in FLU: {said}", "reverse y and z", True,
            whose, rotated(whose, DOWN),
        )  # fmt: skip


def _rotated(motion: SmoothedMotion, name: str, asis: float) -> Iterator[Finding | Undecided]:
    """Yield by which rotation the IMU differs from the attitude's body, where one explains the difference."""
    measured = low_pass_over_gaps(angular_rates(motion.wxyz, RATE), BAND)  # type: ignore[arg-type]
    gyro = low_pass_over_gaps(motion.gyro, BAND)  # type: ignore[arg-type]
    good = finite_rows(measured, gyro)
    a, b = measured[good] - measured[good].mean(axis=0), gyro[good] - gyro[good].mean(axis=0)
    U, _, Vt = np.linalg.svd(a.T @ b)
    M = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    left = float(np.sum((a - b @ M.T) ** 2) / np.sum(a**2))
    angle = float(np.degrees(np.arccos(np.clip((np.trace(M) - 1.0) / 2.0, -1.0, 1.0))))
    if left < min(FIT, 0.25 * asis) and angle > 8.0:
        axis = np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])
        axis = axis / max(float(np.linalg.norm(axis)), 1e-12)
        yield Finding(
            "imu-rotated",
            f"imu.gyro is rotated against {name} by {angle:.0f} deg about ({axis[0]:.2f}, {axis[1]:.2f}, "
            f"{axis[2]:.2f}) in body axes; so rotated they agree to {100 * (1 - left):.0f} %",
            "give the IMU's wxyz in the airframe, or let this rotation be applied",
            left < 0.5 * FIT,
            IMU,
            rotated(IMU, M),
        )
    elif asis > 2.0 * FIT:
        yield Finding(
            "attitude-mismatch",
            f"{name} does not rotate as imu.gyro says, however both are read ({100 * left:.0f} % stay unexplained)",
            "check that both belong to the same vehicle and clock",
            False,
            (name, "imu.gyro"),
        )
