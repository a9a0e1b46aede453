"""Readings as the filters take them: arrays checked once, in 64-bit numbers; what is being traced passes unchanged."""

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
