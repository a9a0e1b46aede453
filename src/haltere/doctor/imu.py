"""Checks of units and axes of accelerometer, gyroscope and attitude against each other.

With gyro w in body axes and attitude R of the body, whatever the vehicle, w = w_q(R): the attitude turns as the gyro
says. Each convention that logs are known to get wrong is tried, and the one that makes this hold best is compared with
the record as it stands; an IMU that is turned by any angle shows as one turn that makes it hold. The length of the mean
force tells g from m/s2. What gravity tells is in `doctor_gravity`.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.rigid import nominal_of
from haltere.doctor.finding import Finding, Unknown, mapped, scaled, turned
from haltere.doctor.gravity import check_gravity, without_attitude
from haltere.doctor.motion import Motion, finite_rows, low_pass, matrices, motion, rates_of, unwound
from haltere.doctor.reading import DOWN, IMU, UNITS, Reading, in_body, read_as
from haltere.flight import Flight
from haltere.foundation.constants import STANDARD_GRAVITY as G
from haltere.foundation.numbers import Floats

BAND = 2.0
"""Frequencies below this, Hz, are compared: attitudes are sampled slowly and their derivative is noisy above."""
LIVELY = 0.05
"""Rate of turn, rad/s rms, below which the axes cannot be compared."""
LAGS = range(-20, 21, 2)
FIT, WORSE = 0.35, 2.5


def check_imu(
    flight: Flight, airframe: Airframe | None, measures: dict[str, float]
) -> Iterator[Finding | Unknown]:
    """Yield what is wrong with units and axes."""
    nominal = nominal_of(airframe) if airframe is not None else None
    moved = motion(flight)
    if moved is None:
        return
    if nominal is not None:
        moved = in_body(moved, nominal)
    units = list(_accel_unit(moved, measures))
    yield from units
    factor = G if any(f.kind == "accel-unit" for f in units) else 1.0
    force = None if moved.accel is None else moved.accel * factor
    best, asis = _best(moved)
    if best is None or asis is None:
        yield from without_attitude(flight, moved, nominal, force)
        return
    measures["attitude.unexplained"] = asis.left
    yield from _readings(flight, moved, best, asis, force)
    trusted = best if best.left < FIT else asis
    if force is not None and trusted.left < FIT:
        yield from check_gravity(flight, moved, trusted, force, nominal)


def _accel_unit(moved: Motion, measures: dict[str, float]) -> Iterator[Finding]:
    """Yield whether the accelerometer is in g, told by the length of its steady part."""
    if moved.accel is None:
        return
    force = moved.accel[finite_rows(moved.accel)]
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


def _best(moved: Motion) -> tuple[Reading | None, Reading | None]:
    """Return the reading that fits best and the one as the record stands; None if the axes cannot be compared."""
    if moved.wxyz is None or moved.gyro is None:
        return None, None
    gyro = low_pass(moved.gyro, BAND)
    readings: list[Reading] = []
    for order, inverse in product(("wxyz", "xyzw"), (False, True)):
        seen = low_pass(rates_of(unwound(read_as(moved.wxyz, order, inverse))), BAND)
        for down, unit in product((False, True), UNITS):
            expected = gyro * UNITS[unit] @ (DOWN if down else np.eye(3))
            readings.append(Reading(order, inverse, down, unit, _unexplained(seen, expected)))
    asis = next(
        r for r in readings if (r.order, r.inverse, r.down, r.unit) == ("wxyz", False, False, "rad/s")
    )
    best = min(readings, key=lambda r: r.left)
    best = asis if asis.left < FIT or asis.left < WORSE * best.left else best
    return (best, asis) if np.isfinite(asis.left) else (None, None)


def _unexplained(seen: Floats, expected: Floats) -> float:
    """Return the smallest |seen - expected|^2 / |seen|^2 over small delays; NaN if there is too little motion."""
    good = finite_rows(seen, expected)
    if good.sum() < 100:
        return np.nan
    power = float(np.mean(seen[good] ** 2)) * 3.0
    if power < LIVELY**2:
        return np.nan
    left = []
    for lag in LAGS:
        late = np.roll(expected, lag, axis=0)
        use = good & np.roll(good, lag)
        use[: abs(lag)] = use[len(use) - abs(lag) :] = False
        apart = seen[use] - late[use]
        left.append(float(np.mean((apart - np.mean(apart, axis=0)) ** 2)) * 3.0 / power)
    return min(left)


def _readings(
    flight: Flight, moved: Motion, best: Reading, asis: Reading, force: Floats | None
) -> Iterator[Finding | Unknown]:
    """Yield findings for each way in which the best reading differs from the record."""
    name = moved.attitude_name
    shares = f"{100 * (1 - best.left):.0f} % of the turning if so, to {100 * max(0, 1 - asis.left):.0f} % as it stands"
    said = f"{name} and imu.gyro agree to {shares}"
    if best is asis or best.left > FIT:
        yield from _rotated(moved, name, asis.left)
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
            "quaternion-inverse", f"{name} turns the world into the body: {said}", "take its inverse", True, (name,),
            mapped((name,), lambda v: np.asarray(v * [1.0, -1.0, -1.0, -1.0])),
        )  # fmt: skip
    if best.down:
        whose: tuple[str, ...] = IMU
        if force is not None:
            R = matrices(read_as(moved.wxyz, best.order, best.inverse))  # type: ignore[arg-type]
            good = finite_rows(R, force)
            whose = (
                IMU if np.mean(np.einsum("tij,tj->ti", R, force)[good], axis=0)[2] < 0.0 else ("imu.gyro",)
            )
        yield Finding(
            "imu-axes", f"{' and '.join(whose)} are in FRD axes, the attitude in FLU: {said}", "reverse y and z", True,
            whose, turned(whose, DOWN),
        )  # fmt: skip


def _rotated(moved: Motion, name: str, asis: float) -> Iterator[Finding | Unknown]:
    """Yield by which turn the IMU differs from the attitude's body, where one turn explains the difference."""
    seen, gyro = low_pass(rates_of(moved.wxyz), BAND), low_pass(moved.gyro, BAND)  # type: ignore[arg-type]
    good = finite_rows(seen, gyro)
    a, b = seen[good] - seen[good].mean(axis=0), gyro[good] - gyro[good].mean(axis=0)
    U, _, Vt = np.linalg.svd(a.T @ b)
    M = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    left = float(np.sum((a - b @ M.T) ** 2) / np.sum(a**2))
    angle = float(np.degrees(np.arccos(np.clip((np.trace(M) - 1.0) / 2.0, -1.0, 1.0))))
    if left < min(FIT, 0.25 * asis) and angle > 8.0:
        axis = np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])
        axis = axis / max(float(np.linalg.norm(axis)), 1e-12)
        yield Finding(
            "imu-rotated",
            f"imu.gyro is turned against {name} by {angle:.0f} deg about ({axis[0]:.2f}, {axis[1]:.2f}, {axis[2]:.2f}) "
            f"in body axes; so turned they agree to {100 * (1 - left):.0f} %",
            "give the IMU's wxyz in the airframe, or let this turn be applied",
            left < 0.5 * FIT,
            IMU,
            turned(IMU, M),
        )
    elif asis > 2.0 * FIT:
        yield Finding(
            "attitude-mismatch",
            f"{name} does not turn as imu.gyro says, however both are read ({100 * left:.0f} % stay unexplained)",
            "check that both belong to the same vehicle and clock",
            False,
            (name, "imu.gyro"),
        )
