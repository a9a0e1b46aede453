"""How a vehicle hovers: with which of its axes up, at which speeds, and how far it can push sideways meanwhile.

Up at hover is the direction n in which the vehicle lifts with the least relative squared speed while all
torques vanish. With K = (K_f, K_t) = the allocation about the centre of mass, D = diag(high), P = 1 -
pinv(K_t D) K_t D:

    n = `axis` = first left singular vector of K_f D P                                                    (1)

The hover frame H has its z along n and its x as near to the body's x as can be: R_BH = `frame`. There

    u_h = `command` = pinv(K_H) (0, 0, m g, 0, 0, 0)                                                      (2)

and `lateral` is the largest force that can be added in every sideways direction before a rotor meets its
limit, times a share kept for torques; zero for vehicles that must tilt. All of it is JAX. `thrust_to_weight` is a
linear program in SciPy: the largest s for which limits allow the force s m g n without torque; below 1 the
vehicle cannot hover.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import linprog

from haltere.dynamics.rigid import RigidVehicle
from haltere.foundation.arrays import Array, pytree

DIRECTIONS = 24
"""Sideways directions in which the lateral force is tried."""
LATERAL_FRACTION = 0.6
"""Part of the lateral force that is used; the rest is for torques."""
LEAST_LATERAL = 0.05
"""Lateral force over weight below which a vehicle counts as one that must tilt."""
MARGIN = 0.05
"""Lift beyond the weight without which hovering leaves nothing to steer with."""

STRAIGHT = 1e-4
"""Sideways force over weight that counts as none: the hover axis is known to rounding only."""


@pytree
@dataclass(frozen=True)
class HoverPoint:
    """The hover of one vehicle."""

    frame: Array
    """(3, 3) R_BH."""
    command: Array
    """(R,) squared rotor speeds, inside the limits."""
    lateral: Array
    """() N."""

    @property
    def axis(self) -> Array:
        """(3,) direction of the body that points up at hover."""
        return self.frame[:, 2]

    def allocation(self, vehicle: RigidVehicle) -> Array:
        """(6, R) wrench about the centre of mass in hover axes, force first, per squared speed."""
        table = vehicle.allocation_at_com
        return jnp.concatenate([self.frame.T @ table[:3], self.frame.T @ table[3:]])


@jax.jit
def hover_point(vehicle: RigidVehicle) -> HoverPoint:
    """Equations (1) and (2)."""
    table = vehicle.allocation_at_com
    frame = _frame(_axis(table * vehicle.high, vehicle.lever))
    point = HoverPoint(frame, vehicle.high, jnp.zeros_like(vehicle.mass))
    scale = jnp.stack([jnp.ones_like(vehicle.mass)] * 3 + [1.0 / vehicle.lever] * 3) / vehicle.weight
    rows = scale[:, None] * point.allocation(vehicle) * vehicle.high
    tolerance = 1e3 * float(np.finfo(rows.dtype).eps)
    inverse = vehicle.high[:, None] * jnp.linalg.pinv(rows, rtol=tolerance)
    command = jnp.clip(inverse[:, 2], vehicle.low, vehicle.high)
    return HoverPoint(frame, command, vehicle.weight * _lateral(vehicle, rows, inverse, command))


def _axis(relative: Array, lever: Array) -> Array:
    """(3,) of equation (1); `relative` (6, R) is K D."""
    torque = relative[3:] / lever
    size = jnp.sqrt(jnp.sum(relative**2))
    tolerance = 1e3 * float(np.finfo(relative.dtype).eps)
    free = jnp.eye(relative.shape[1], dtype=relative.dtype) - jnp.linalg.pinv(torque, rtol=tolerance) @ torque
    lift = relative[:3] @ free / size
    tie = jnp.diag(jnp.asarray([0.0, 0.0, 1e-7], lift.dtype))  # among equals, z of the body
    _, vectors = jnp.linalg.eigh(lift @ lift.T + tie)
    axis: Array = vectors[:, -1]
    return axis * jnp.where(axis @ jnp.sum(lift, axis=1) < 0.0, -1.0, 1.0)


def _frame(axis: Array) -> Array:
    """(3, 3) R_BH with z along `axis` and x near the body's x (near its -z where the axis lies along x)."""
    x, z = jnp.asarray([1.0, 0.0, 0.0], axis.dtype), jnp.asarray([0.0, 0.0, 1.0], axis.dtype)
    ahead = jnp.where(jnp.abs(axis[0]) > 0.9, -jnp.sign(axis[0]) * z, x)
    left = jnp.cross(axis, ahead)
    left = left / jnp.sqrt(left @ left)
    return jnp.stack([jnp.cross(left, axis), left, axis], axis=1)


def _lateral(vehicle: RigidVehicle, rows: Array, inverse: Array, command: Array) -> Array:
    """() lateral force over weight that fits in all directions, already reduced by `LATERAL_FRACTION`."""
    angles = np.linspace(0.0, 2.0 * np.pi, DIRECTIONS, endpoint=False)
    wishes = jnp.asarray(np.stack([np.cos(angles), np.sin(angles), *np.zeros((4, DIRECTIONS))]), rows.dtype)
    change = inverse @ wishes
    met = jnp.max(jnp.abs(rows @ (change / vehicle.high[:, None]) - wishes)) < 1e-2
    room = jnp.where(
        change > 0.0, vehicle.high[:, None] - command[:, None], command[:, None] - vehicle.low[:, None]
    )
    reach = jnp.min(room / jnp.maximum(jnp.abs(change), 1e-9 * vehicle.high[:, None]))
    usable = LATERAL_FRACTION * jnp.maximum(reach, 0.0)
    return jnp.where(met & (usable > LEAST_LATERAL), usable, 0.0)


def thrust_to_weight(vehicle: RigidVehicle) -> float:
    """The largest s with which the vehicle gives the force s m g along its hover axis and no torque."""
    table, low, high = (np.asarray(x, float) for x in (vehicle.allocation_at_com, vehicle.low, vehicle.high))
    if not all(np.all(np.isfinite(x)) for x in (table, low, high)) or not np.any(table):
        return 0.0
    frame = np.asarray(hover_point(vehicle).frame, float)
    scale = np.repeat([1.0, 1.0 / float(vehicle.lever)], 3) / float(vehicle.weight)
    rows = scale[:, None] * table * high
    sideways, up = (frame.T @ rows[:3])[:2], frame[:, 2] @ rows[:3]
    none = np.zeros((2, 1))
    solution = linprog(
        np.append(np.zeros(high.size), -1.0),
        A_eq=np.vstack([np.append(up, -1.0), np.column_stack([rows[3:], np.zeros(3)])]),
        b_eq=np.zeros(4),
        A_ub=np.vstack([np.hstack([sideways, none]), np.hstack([-sideways, none])]),
        b_ub=np.full(4, STRAIGHT),
        bounds=[*zip(low / high, np.ones(high.size), strict=True), (0.0, None)],
    )
    return float(-solution.fun) if solution.success else 0.0


def can_hover(vehicle: RigidVehicle, margin: float = MARGIN) -> bool:
    """Whether the limits allow (1 + margin) times the weight without torque."""
    return thrust_to_weight(vehicle) >= 1.0 + margin


def hover_fault(vehicle: RigidVehicle, margin: float = MARGIN) -> str | None:
    """Why the vehicle cannot hover, in one line, or None where it can."""
    share = thrust_to_weight(vehicle)
    if share >= 1.0 + margin:
        return None
    lift, weight = share * float(vehicle.weight), float(vehicle.weight)
    what = (
        f"its rotors lift {lift:.3g} N without torque"
        if share > 0.0
        else "its rotors cannot lift without torque"
    )
    return (
        f"the vehicle cannot hover: {what}, {(1.0 + margin) * weight:.3g} N are expected "
        f"(weight {weight:.3g} N and {100.0 * margin:.0f} % to steer); check mass, rotor axes, spins and speed_limits"
    )
