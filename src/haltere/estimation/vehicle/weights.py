"""How much each pose and IMU reading of a flight counts: less, the farther it is from the motion.

With the deviation s of such readings and the residual r, the weight is

    min(1, (c s / r)^4)                                                                                         (1)

so outliers lose their say and nothing else does.
"""

import numpy as np

from haltere.foundation.numbers import Bools, Floats

POSE_TAIL = 3.0
"""c of the poses."""
LEAST_USUAL = 0.5
"""Deviation of the poses over the median of their residuals, at least: half of them cannot be outliers."""
IMU_TAIL = 5.0
"""c of the IMU."""
FAR_POSE = (0.2, 0.3)
"""m and rad from the first guess of the motion from which on a pose counts for nothing in the first iteration."""
NEGLIGIBLE = 1e-4
"""Weight of a reading below which it is left out."""


def weigh_imu(residual: Floats, valid: Bools, deviations: Floats, *, known: bool) -> Floats:
    """(K, 6) weights of gyro and accelerometer; zero where they were not read.

    Args:
        residual: (K, 6) from the motion.
        valid: (K,) where they were read.
        deviations: (2,) of their noise.
        known: whether these are known well enough to tell an outlier.
    """
    found = np.ones((len(residual), 2))
    if known:
        for k, deviation in enumerate(deviations):
            size = np.linalg.norm(residual[:, 3 * k : 3 * k + 3], axis=1) / np.sqrt(3.0)
            found[:, k] = np.minimum(1.0, (IMU_TAIL * deviation / np.maximum(size, 1e-300)) ** 4)
    found = np.where((found > NEGLIGIBLE) & valid[:, None], found, 0.0)
    return np.repeat(found, 3, axis=1)


def weigh_poses(residuals: Floats, present: Bools, deviations: Floats, *, far: bool) -> Floats:
    """(K, P, 2) weights of positions and attitudes of poses that are `residuals` (K, P, 6) from the motion."""
    size = np.stack(
        [np.linalg.norm(residuals[..., own], axis=-1) for own in (slice(0, 3), slice(3, 6))], axis=-1
    )
    read = was_read(residuals, present)
    if far:
        near = ((size < np.asarray(FAR_POSE)) | ~read).all(axis=-1, keepdims=True)
        weights = np.where(near, 1.0, 0.0) * np.ones(2)
    else:
        size = size / np.sqrt(3.0)
        usual = np.array(
            [np.median(size[..., k][read[..., k]]) if read[..., k].any() else 0.0 for k in (0, 1)]
        )
        scale = POSE_TAIL * np.maximum(deviations, LEAST_USUAL * usual) / np.maximum(size, 1e-300)
        weights = np.minimum(1.0, scale) ** 4
    return np.where(read, weights, 0.0)


def was_read(residuals: Floats, present: Bools) -> Bools:
    """(K, P, 2) whether position and attitude of a pose were read; `residuals` (K, P, 6) are not finite otherwise."""
    both = [np.isfinite(residuals[..., own]).all(axis=-1) for own in (slice(0, 3), slice(3, 6))]
    return np.asarray(present[..., None] & np.stack(both, axis=-1))
