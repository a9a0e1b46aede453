"""Readings as the filters take them: arrays checked once, in 64-bit numbers; what is being traced passes unchanged."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from haltere.foundation import HaltereError
from haltere.foundation.arrays import ArrayLike, to_float64

Pose = ArrayLike | tuple[ArrayLike, ArrayLike | None]
"""Position (3,) in m, or (position (3,), wxyz (4,))."""
ImuReading = ArrayLike | tuple[ArrayLike, ArrayLike]
"""(accel (3,) in m/s2, gyro (3,) in rad/s), or both in one array (6,)."""


class ReadingError(HaltereError):
    """A reading that a filter cannot take."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What sensors read at one time; any part may be missing.

    Attributes:
        time: stamp, s.
        imu: `(accel, gyro)` in the IMU's axes: specific force (3,) in m/s2, angular rate (3,) in rad/s.
        rotor_speeds: (N,) rad/s, in the airframe's order of rotors.
        commands: (N,) of the motors, 0 to 1.
        pose: `(position, wxyz)` of the pose sensor in the world: position (3,) in m, attitude (4,).
        position: (3,) of the position sensor in the world, m.
        magnetometer: (3,) in its axes.
        joints: (J,) angles, rad.
    """

    time: float
    imu: ImuReading | None = None
    rotor_speeds: ArrayLike | None = None
    commands: ArrayLike | None = None
    pose: Pose | None = None
    position: ArrayLike | None = None
    magnetometer: ArrayLike | None = None
    joints: ArrayLike | None = None


def check_reading(what: str, values: ArrayLike, shape: tuple[int, ...]) -> Any:
    """The values in 64 bits.

    Raises:
        ReadingError: they have another shape.
    """
    found = to_float64(values)
    if found.shape != shape:
        raise ReadingError(f"got {what} of shape {found.shape}, {shape} is expected")
    return found


def split_pose(pose: Pose) -> tuple[Any, Any]:
    """Position (3,), and wxyz (4,) or None."""
    position, wxyz = pose if isinstance(pose, tuple | list) and len(pose) == 2 else (pose, None)
    turned = None if wxyz is None else check_reading("wxyz", wxyz, (4,))
    return check_reading("a position", position, (3,)), turned


def join_imu(imu: ImuReading) -> Any:
    """(6,) specific force and angular rate."""
    if not (isinstance(imu, tuple | list) and len(imu) == 2):
        return check_reading("an IMU reading", imu, (6,))
    parts = [check_reading(name, part, (3,)) for name, part in zip(("accel", "gyro"), imu, strict=True)]
    plain = all(isinstance(part, np.ndarray) for part in parts)
    return np.concatenate(parts) if plain else jnp.concatenate(parts)
