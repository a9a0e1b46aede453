"""Whether a vehicle can fly a trajectory, and the same trajectory slowed until it can.

Along the trajectory, flatness gives the wrench and the least-norm allocation the squared speeds u. With hover
u_h, the part of the room between hover and limits that is used is

    q = max over time and rotors of (u - u_h) / (high - u_h)  and  (u_h - u) / (u_h - low)                (1)

and the trajectory fits if q <= 1 - `margin` and no tilt is beyond `tilt_limit`. Slowed by a factor k the n-th
derivative shrinks with k^-n, so a large enough k always fits where the vehicle can hover; the least one is
found by bisection. The least-norm allocation is the only one for four rotors, and a little careful for
vehicles with more.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from haltere.dynamics.rigid import RigidVehicle
from haltere.foundation.arrays import Array, pytree
from haltere.trajectory.flatness import flat_motion, flat_wrench
from haltere.trajectory.hovering import HoverPoint, hover_fault, hover_point
from haltere.trajectory.pace import Paced
from haltere.trajectory.reference import ORDER, Reference, Trajectory, TrajectoryError

MARGIN = 0.15
"""Part of the room between hover and limits that feedback keeps."""
TILT_LIMIT = 1.05
"""Largest tilt of a trajectory, rad."""
SAMPLES = 2048
"""Instants at which a trajectory is tried."""
SLOWEST = 100.0
"""Largest factor by which a trajectory is slowed."""
_BISECTIONS = 24


@pytree
@dataclass(frozen=True)
class Needs:
    """What a trajectory asks of a vehicle at N instants."""

    command: Array
    """(N, R) squared rotor speeds, (rad/s)^2."""
    use: Array
    """(N, R) part of the room between hover and limits, equation (1)."""
    tilt: Array
    """(N,) angle of the hover axis to the vertical, rad."""
    thrust: Array
    """(N,) force of the rotors, N."""
    torque: Array
    """(N, 3) about the centre of mass, hover axes, N m."""


@jax.jit
def _needs(
    vehicle: RigidVehicle, hover: HoverPoint, derivatives: Array, tilts: Array | None, factor: Array
) -> Needs:
    table = hover.allocation(vehicle)
    scale = jnp.sqrt(jnp.sum(table**2, axis=1, keepdims=True))
    rows = table / jnp.where(scale > 1e-9 * jnp.max(scale), scale, 1.0)
    inverse = jnp.linalg.pinv(rows, rtol=1e3 * float(np.finfo(rows.dtype).eps))
    slow = factor ** -jnp.arange(ORDER + 1.0, dtype=factor.dtype)[:, None]

    def one(flat: Array, tilt: Array | None) -> Needs:
        reference = Reference.from_derivatives(flat * slow, tilt)
        motion = flat_motion(vehicle, hover, reference)
        wrench = flat_wrench(vehicle, hover, motion)
        u = inverse @ (wrench / jnp.where(scale[:, 0] > 1e-9 * jnp.max(scale), scale[:, 0], 1.0))
        room = jnp.where(u > hover.command, vehicle.high - hover.command, hover.command - vehicle.low)
        use = jnp.abs(u - hover.command) / jnp.maximum(room, 1e-6 * vehicle.high)
        angle = jnp.arccos(jnp.clip(motion.R_WH[2, 2], -1.0, 1.0))
        return Needs(u, use, angle, jnp.sqrt(wrench[:3] @ wrench[:3]), wrench[3:])

    asked: Needs = jax.vmap(one)(derivatives, tilts)
    return asked


@jax.jit
def _sampled(trajectory: Trajectory) -> tuple[Array, Array | None]:
    """(N, 5, 4) flat outputs and (N, 4) tilts, or None, at N instants from start to end."""
    times = jnp.linspace(0.0, trajectory.duration, SAMPLES)

    def one(t: Array) -> tuple[Array, Array | None]:
        return trajectory.derivatives(t), trajectory.tilt(t)

    derivatives, tilts = jax.vmap(one)(times)
    return derivatives, tilts


def needs(vehicle: RigidVehicle, trajectory: Trajectory) -> Needs:
    """What the trajectory asks of the vehicle, at `SAMPLES` instants from start to end."""
    derivatives, tilts = _sampled(trajectory)
    one = jnp.ones((), vehicle.mass.dtype)
    asked: Needs = _needs(vehicle, hover_point(vehicle), derivatives, tilts, one)
    return asked


def bounded(
    vehicle: RigidVehicle, trajectory: Trajectory, margin: float = MARGIN, tilt_limit: float = TILT_LIMIT
) -> tuple[Trajectory, str | None]:
    """The trajectory, slowed by the least factor with which the vehicle can fly it, and a sentence if it was.

    Args:
        vehicle: what flies.
        trajectory: what is to be flown.
        margin: part of the room between hover and rotor limits that is kept for feedback.
        tilt_limit: largest tilt, rad.

    Returns:
        The trajectory itself and None where it fits; else one that takes longer, and why.

    Raises:
        TrajectoryError: the vehicle cannot hover, or the trajectory fits at no pace.
    """
    fault = hover_fault(vehicle)
    if fault is not None:
        raise TrajectoryError(fault)
    duration = float(trajectory.duration)
    if not (np.isfinite(duration) and duration > 0.0):
        raise TrajectoryError(f"duration: got {duration:g} s; give a time above zero")
    hover = hover_point(vehicle)
    derivatives, tilts = _sampled(trajectory)
    if not bool(jnp.all(jnp.isfinite(derivatives))):
        raise TrajectoryError("the trajectory is not finite everywhere; check its numbers")

    def asks(factor: float) -> Needs:
        asked: Needs = _needs(vehicle, hover, derivatives, tilts, jnp.asarray(factor, vehicle.mass.dtype))
        return asked

    def fits(needed: Needs) -> bool:
        return bool(jnp.max(needed.use) <= 1.0 - margin) and bool(jnp.max(needed.tilt) <= tilt_limit)

    as_given = asks(1.0)
    if fits(as_given):
        return trajectory, None
    if not fits(asks(SLOWEST)):
        msg = (
            f"the trajectory asks for more than the vehicle has even {SLOWEST:g} times slower: "
            f"{_reason(vehicle, asks(SLOWEST), margin, tilt_limit)}; let it hold another attitude"
        )
        raise TrajectoryError(msg)
    low, high = 0.0, float(np.log(SLOWEST))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if fits(asks(float(np.exp(middle)))) else (middle, high)
    factor = float(np.exp(high))
    sentence = (
        f"the trajectory was slowed by a factor of {factor:.3g} ({duration:.3g} s became {duration * factor:.3g} s): "
        f"{_reason(vehicle, as_given, margin, tilt_limit)}"
    )
    rate = jnp.asarray(1.0 / factor, derivatives.dtype)
    return Paced(trajectory, rate, jnp.zeros_like(rate)), sentence


def _reason(vehicle: RigidVehicle, needed: Needs, margin: float, tilt_limit: float) -> str:
    """What the limit was: the rotor that was short, or the tilt."""
    use, command = np.asarray(needed.use), np.asarray(needed.command)
    if float(np.max(use)) <= 1.0 - margin:
        worst, most = np.degrees(float(jnp.max(needed.tilt))), np.degrees(tilt_limit)
        return f"it would tilt by {worst:.3g} deg, at most {most:.3g} deg are allowed"
    instant, rotor = np.unravel_index(int(np.argmax(use)), use.shape)
    wanted, low, high = (float(x) for x in (command[instant, rotor], vehicle.low[rotor], vehicle.high[rotor]))
    turn = f"turn at {np.sqrt(wanted):.4g} rad/s" if wanted > 0.0 else "pull backwards"
    return (
        f"rotor {int(rotor) + 1} would have to {turn}, its limits are {np.sqrt(low):.4g} to "
        f"{np.sqrt(high):.4g} rad/s with {100.0 * margin:.0f} % of the room kept for feedback"
    )
