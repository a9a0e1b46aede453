"""A recorded `Flight` as the frames that the vehicle filter takes: one pose, then some IMU steps.

The IMU's stamps are the clock. A pose belongs to the IMU sample nearest to the moment it shows (its stamp less a known
delay). Rotor speeds are averaged over each step, from the samples at its two ends. Frames have a fixed number of steps;
shorter ones are filled with steps of no length, longer gaps without pose become frames without pose. A reading that is
not finite is marked invalid, so that the filter skips it.
"""

from typing import Any, NamedTuple, cast

import jax
import numpy as np

from haltere.estimation.vehicle.rotor_acceleration import smooth_differences
from haltere.estimation.vehicle.steps import Frames, Steps
from haltere.flight import Flight
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array

SECOND = 1_000_000_000


class FlightFaultError(HaltereError):
    """A flight that the filter cannot use as it stands."""


class Framed(NamedTuple):
    """Frames with their clock, and what was noticed on the way."""

    frames: Frames
    time: np.ndarray
    """(K,) s from the first IMU sample, at the beginning of each frame."""
    notes: tuple[str, ...]
    first: int
    """Stamp of that sample, ns."""
    rotor_acceleration_sigma: float
    """Standard deviation of the rotor accelerations, rad/s2."""


def frames_from_flight(
    flight: Flight,
    rotors: tuple[str, ...],
    imu: str = "imu",
    outer: str = "pose",
    pose_delay: float = 0.0,
) -> Framed:
    """The frames of a flight.

    Args:
        flight: with `<imu>.accel`, `<imu>.gyro`, `rotors.speed` and `<outer>.position`, and perhaps `<outer>.wxyz`.
        rotors: names of the rotors in the filter's order.
        imu: name of the IMU.
        outer: name of the pose or position sensor.
        pose_delay: how long a pose takes to arrive, s; its stamp is its arrival.

    Raises:
        FlightFaultError: a channel is missing or too short.
    """
    wanted = (f"{imu}.accel", f"{imu}.gyro", "rotors.speed", f"{outer}.position")
    for name in wanted:
        if name not in flight.names:
            raise FlightFaultError(
                f"the flight has no channel '{name}'; the vehicle filter needs {', '.join(wanted)}"
            )
    accel, gyro, speed = (flight[name] for name in wanted[:3])
    position = flight[wanted[3]]
    missing = [r for r in rotors if speed.columns and r not in speed.columns]
    if missing:
        raise FlightFaultError(
            f"rotors.speed has no column '{missing[0]}'; it has {', '.join(speed.columns)}"
        )
    order = [speed.columns.index(r) for r in rotors] if speed.columns else list(range(len(rotors)))
    clock = accel.time
    if len(clock) < 3 or len(position.time) < 2:
        raise FlightFaultError(
            f"got {len(clock)} IMU samples and {len(position.time)} poses; give a longer flight"
        )
    notes: list[str] = []
    rates = np.stack([np.interp(clock, gyro.time, gyro.values[:, i]) for i in range(3)], axis=1)
    readings = np.concatenate([accel.values, rates], axis=1)
    speeds = np.stack([np.interp(clock, speed.time, speed.values[:, i]) for i in order], axis=1)
    broken = ~np.isfinite(speeds).all(axis=1)
    if broken.any():
        notes.append(f"{int(broken.sum())} samples without a finite rotor speed use the last one known")
        good = np.maximum.accumulate(np.where(broken, 0, np.arange(len(speeds))))
        speeds = np.nan_to_num(speeds[good])
    held = 0.5 * (speeds[:-1] + speeds[1:])
    dt = np.diff(clock) / SECOND
    differences, unsure = smooth_differences(speeds)
    rotor_accelerations = differences / np.where(dt > 0.0, dt, np.inf)[:, None]
    finite = np.isfinite(readings).all(axis=1)
    if not finite.all():
        notes.append(f"{int((~finite).sum())} IMU samples are not finite and are skipped")
    shown = position.time - round(pose_delay * SECOND)
    at = np.searchsorted(clock, shown + np.diff(clock, append=clock[-1]).max() // 2).clip(1, len(clock)) - 1
    first_pose: dict[int, int] = {}
    for pose, sample in enumerate(at):
        if shown[pose] >= clock[0] - SECOND // 1000:
            first_pose.setdefault(int(sample), pose)
    gaps = np.diff(sorted(first_pose))
    n = max(int(np.median(gaps)) if len(gaps) else 4, 1)
    starts = _starts(sorted(first_pose), len(held), n)
    attitude = flight[f"{outer}.wxyz"].values if f"{outer}.wxyz" in flight.names else None
    return Framed(
        _gathered(
            starts,
            n,
            dt,
            (held, rotor_accelerations),
            readings,
            finite,
            position.values,
            attitude,
            first_pose,
        ),
        (clock[np.asarray(starts)] - clock[0]) / SECOND,
        tuple(notes),
        int(clock[0]),
        unsure / max(float(np.median(dt)), 1e-9),
    )


def _starts(poses: list[int], steps: int, n: int) -> list[int]:
    """Where each frame begins: at every pose, and after n steps without one."""
    edges = sorted({0, *(p for p in poses if p < steps)})
    starts: list[int] = []
    for edge, end in zip(edges, [*edges[1:], steps], strict=True):
        starts += range(edge, end, n)
    return starts


def _gathered(
    starts: list[int],
    n: int,
    dt: np.ndarray,
    rotors: tuple[np.ndarray, np.ndarray],
    readings: np.ndarray,
    finite: np.ndarray,
    position: np.ndarray,
    attitude: np.ndarray | None,
    poses: dict[int, int],
) -> Frames:
    K, (held, rotor_accelerations) = len(starts), rotors
    shapes = ((), held.shape[1:], (6,), (), held.shape[1:])
    length, speeds, imu, seen, framed = (np.zeros((K, n, *shape)) for shape in shapes)
    where, turn = np.zeros((K, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (K, 1))
    valid = np.zeros((K, 6), bool)
    for k, (a, b) in enumerate(zip(starts, [*starts[1:], len(dt)], strict=True)):
        span = slice(a, b)
        length[k, : b - a] = dt[span]
        speeds[k] = held[a]
        speeds[k, : b - a] = held[span]
        framed[k, : b - a] = rotor_accelerations[span]
        imu[k, : b - a] = np.where(finite[span, None], readings[span], 0.0)
        seen[k, : b - a] = finite[span]
        if a in poses:
            pose = poses[a]
            where[k] = np.nan_to_num(position[pose])
            valid[k, :3] = np.isfinite(position[pose]).all()
            if attitude is not None and np.isfinite(attitude[pose]).all():
                turn[k] = attitude[pose]
                valid[k, 3:] = True
    steps = Steps(*(_kept(x) for x in (length, speeds, imu, seen > 0.0, framed)))
    return Frames(_kept(where), _kept(turn), _kept(valid), steps)


def _kept(values: Any) -> Array:
    """The values in NumPy's hands, where taking a part of them compiles nothing."""
    return cast("Array", np.asarray(values))


def filled(frames: Frames, multiple: int) -> Frames:
    """The flight with frames of no length and no reading at its end, up to a multiple of frames."""
    count = frames.position.shape[0]
    more = -count % multiple
    longer: Frames = jax.tree.map(
        lambda x: _kept(np.concatenate([x, np.broadcast_to(x[-1:], (more, *x.shape[1:]))])), frames
    )
    real = _kept(np.arange(count + more) < count)[:, None]
    steps = longer.steps._replace(dt=longer.steps.dt * real, imu_valid=longer.steps.imu_valid & real)
    return longer._replace(pose_valid=longer.pose_valid & real, steps=steps)
