"""The rotation of all axes of a vehicle together, and how a filter stays as unsure of it as it is.

Nothing but the inequality of its moments of inertia shows how the principal axes lie in a vehicle. If they are turned
by a small theta against what is believed, velocity, rates, rotors and sensors all look turned back by it:

    vectors v:  e = v x theta,      sensors turned by R:  e = -R^T theta                                  (1)

The direction (1) depends on the estimate. A filter that moves its estimate from v to v + d after it has forgotten the
earlier readings takes the difference of the two directions for knowledge of theta that it does not have. So with the
estimate goes the covariance: e' = e + C theta with, for vectors and sensors,

    C = hat(d),     C = R^T - (R Exp(d))^T                                                                (2)

which is the same as to count errors from axes that turn with theta, as invariant filters do ([Barrau2017]). The paper's
"spherical" axes are left as they are in the paper: C = 0.
"""

import jax.numpy as jnp

from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.foundation.arrays import Array
from haltere.lie import so3

VECTORS = ("velocity", "rates", "pose_position", "imu_position", "torque", "force")
"""Blocks of vectors in the vehicle's axes."""
MOUNTINGS = ("pose_rotation", "imu_rotation")
"""Blocks of how sensors are rotated against them."""


def turning(coordinates: VehicleCoordinates, before: Mean, after: Mean) -> Array:
    """(n, 3) C of equation (2) for an estimate that moves from `before` to `after`."""
    if coordinates.axes == "spherical":
        return jnp.zeros((coordinates.space.dimension, 3))
    rows = []
    for block in coordinates.space.blocks:
        if block.name in MOUNTINGS:
            rows.append((so3.from_wxyz(before[block.name]) - so3.from_wxyz(after[block.name])).T)
        elif block.name in VECTORS:
            rows += [so3.hat(v) for v in (after[block.name] - before[block.name]).reshape(-1, 3)]
        else:
            rows.append(jnp.zeros((block.size, 3)))
    return jnp.concatenate(rows)


def rotate_covariance(coordinates: VehicleCoordinates, cov: Array, C: Array, gain: Array, B: Array) -> Array:
    """The covariance of e + C theta after an update by gain (n, k) and B (k, n) of `haltere.estimation.core.kalman`.

    `cov` and `gain` may have more rows than the state; they stay where they are. Both changes are one product.
    """
    theta, n = coordinates.space.slices["attitude"], C.shape[0]
    rows = cov[theta] - gain[theta] @ B - B[:, theta].T @ gain.T
    C = jnp.pad(C, ((0, cov.shape[0] - n), (0, 0)))
    half = rows + 0.5 * rows[:, theta] @ C.T
    change = jnp.concatenate([gain, -C], axis=1) @ jnp.concatenate([B, half])
    return cov - change - change.T
