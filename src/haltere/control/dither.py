"""Rotor speeds that change one against the other while the wrench stays: so a weak rotor shows itself.

At hover a rotor that is too strong acts on the vehicle exactly as a centre of mass that is moved. The two part when the
rotors' shares change. With K the rows of the allocation that the controller holds, their sizes made one, a =
`fraction` of the hover's mean squared speed u_h, and a sine of its own frequency and phase for every rotor i,

    N = 1 - K^T (K K^T)^-1 K,   u + a u_h N v(t),   v_i = sin(2 pi f_i t + p_i)                              (1)

changes no force and torque that is controlled. N has R - 4 dimensions for rotors that all push along one axis (sideways
forces are left out where the vehicle cannot push sideways). A quadrotor has none; there yaw does the same.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from haltere.control.controller import GeometricController
from haltere.dynamics.solve import ldl_solve
from haltere.foundation.arrays import Array, ArrayLike, pytree

PHASE = 2.4
"""rad between the waves of one rotor and the next: no two begin alike."""


@pytree
@dataclass(frozen=True)
class Dither:
    """How strongly and how fast."""

    fraction: ArrayLike = 0.2
    """a of equation (1); 0 switches it off."""
    frequency_hz: ArrayLike = 0.5
    """f of the first rotor; the others are spread over the octave above."""


def dithered(controller: GeometricController, u: Array, time: ArrayLike, dither: Dither) -> Array:
    """Equation (1) for squared speeds `u` (R,) at a time in s, inside the limits; still where the room is too small."""
    vehicle, hover = controller.vehicle, controller.hover
    number = jnp.arange(u.shape[0])
    octave = 2.0 ** (number / u.shape[0])
    waves = jnp.sin(2.0 * jnp.pi * dither.frequency_hz * octave * time + PHASE * number)
    shift = dither.fraction * jnp.mean(hover.command) * without_wrench(controller, waves)
    wall = jnp.where(shift > 0.0, vehicle.high - u, u - vehicle.low)
    room = jnp.min(wall / jnp.maximum(jnp.abs(shift), 1e-9 * vehicle.high))
    return u + jnp.clip(room, 0.0, 1.0) * shift


def without_wrench(controller: GeometricController, change: Array) -> Array:
    """(R,) the part N `change` of equation (1), which the controlled rows of the wrench do not feel."""
    table = controller.hover.allocation(controller.vehicle)
    sideways = jnp.asarray([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], table.dtype)
    rows = table * jnp.where(controller.hover.lateral > 0.0, 1.0, 1.0 - sideways)[:, None]
    size = jnp.sqrt(jnp.sum(rows**2, axis=1, keepdims=True))
    rows = rows / jnp.where(size > 1e-9 * jnp.max(size), size, jnp.inf)
    damping = 1e2 * float(np.finfo(rows.dtype).eps)
    kernel = rows @ rows.T + damping * jnp.eye(6, dtype=rows.dtype)
    return change - rows.T @ ldl_solve(kernel, rows @ change)
