"""A vehicle that changes in flight: process noise on mass, centre of mass and inertia, mapped into the filter's state.

A battery slides, a gripper closes: rotors and sensors stay where they are on the airframe and as strong as they were,
but the body is another. In physical numbers, whose reference is the centre of mass, with a shift dc of that centre:

    m' = m + dm,   I' = I + dI,   r' = r - dc of every rotor and sensor                                   (1)
    p' = p + R dc,   v' = v + w x dc                                                                      (2)

So a white dm/m, dc, dI/I of given strength walks in the filter's state along seven directions G, of which those of the
constants are columns of the Jacobian of the coordinates. Without this noise the filter holds m and k_f for constant
together, and a change of k_f/m says nothing about which of the two it was.
"""

import jax.numpy as jnp

from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.foundation.arrays import Array
from haltere.lie import so3

POSITIONS = ("pose_position", "imu_position", "rotor_position")


def change_spread(coordinates: VehicleCoordinates, mean: Mean, change: Array) -> Array:
    """(n, n) covariance that a second of change adds.

    Args:
        coordinates: those of the filter.
        mean: the state.
        change: (3,) strength: mass in 1/sqrt(s), centre of mass in m/sqrt(s), moments of inertia in 1/sqrt(s).
    """
    physical = coordinates.to_physical(coordinates.constants(mean))
    rows = {block.name: jnp.zeros((block.size, 7)) for block in coordinates.physical.blocks}
    rows["mass"] = rows["mass"].at[:, 0].set(change[0] * physical["mass"])
    for name in POSITIONS:
        points = rows[name].shape[0] // 3
        rows[name] = rows[name].at[:, 1:4].set(jnp.tile(-change[1] * jnp.eye(3), (points, 1)))
    rows["inertia"] = rows["inertia"].at[:, 4:].set(change[2] * jnp.diag(physical["inertia"]))
    constants = coordinates.jacobian(physical) @ jnp.concatenate(
        [rows[b.name] for b in coordinates.physical.blocks]
    )
    moving = jnp.zeros((coordinates.moving.dimension, 7))
    moving = moving.at[:3, 1:4].set(change[1] * so3.from_wxyz(mean["attitude"]))
    moving = moving.at[3:6, 1:4].set(change[1] * so3.hat(mean["rates"]))
    G = jnp.concatenate([moving, constants])
    return G @ G.T
