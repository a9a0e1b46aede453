"""One step of a flying vehicle: rigid bodies, motors and tilt servos together, by the classical Runge-Kutta method.

The targets of motors and servos are held over the step. A servo moves its joint towards the target with a first-order
approach whose rate is limited, and reaches that rate with a quarter of its time constant:

    q'_ref = clip((q_target - q) / T, +-rate_limit),   q'' = (q'_ref - q') / (T / 4)                     (1)
"""

from dataclasses import dataclass
from typing import Self

import jax
import jax.numpy as jnp

from haltere.airframe import Airframe
from haltere.algebra import join_single, soa, split_single
from haltere.dynamics import Drive, Environment, Model, Motion, State, forward_dynamics
from haltere.dynamics.integrator import STAGES, rate_of_change
from haltere.dynamics.motors import Motors
from haltere.foundation.arrays import Array, pytree


@pytree(static=("passive",))
@dataclass(frozen=True)
class TiltServos:
    """The servos of all moving joints; shapes (J,), see equation (1). Passive joints swing freely instead."""

    time_constant: Array
    rate_limit: Array
    low: Array
    high: Array
    damping: Array | float = 0.0
    """Torque per rate of a passive joint, N m/(rad/s)."""
    passive: tuple[bool, ...] = ()
    """Which joints no servo holds; none where empty."""

    @classmethod
    def from_airframe(cls, airframe: Airframe, time_constant: float = 0.05, rate_limit: float = 6.0) -> Self:
        """One servo per moving joint, within the limits of its joint, in the order of the model."""
        ordered = (airframe.links[i] for i in airframe.link_order())
        limits = [link.joint.limits or (-jnp.inf, jnp.inf) for link in ordered if not link.joint.fixed]
        n = len(limits)
        return cls(
            jnp.full(n, time_constant),
            jnp.full(n, rate_limit),
            jnp.asarray([low for low, _ in limits], float),
            jnp.asarray([high for _, high in limits], float),
        )

    def acceleration(self, angle: Array, rate: Array, target: Array) -> Array:
        """(J,) joint acceleration in rad/s2 towards `target` (J,) rad."""
        goal = jnp.clip(target, self.low, self.high)
        wanted = jnp.clip((goal - angle) / self.time_constant, -self.rate_limit, self.rate_limit)
        return (wanted - rate) / (0.25 * self.time_constant)


@pytree
@dataclass(frozen=True)
class Vehicle:
    """A model with its actuators."""

    model: Model
    motors: Motors
    servos: TiltServos

    @classmethod
    def from_airframe(cls, airframe: Airframe) -> Self:
        """Everything that the airframe file says."""
        return cls(
            Model.from_airframe(airframe), Motors.from_airframe(airframe), TiltServos.from_airframe(airframe)
        )


def accelerations(
    vehicle: Vehicle,
    state: State,
    speed_target: Array,
    joint_target: Array,
    environment: Environment,
    link_wrenches: Array | None = None,
) -> Motion:
    """How everything accelerates while motors and servos pull towards their targets (R,) rad/s and (J,) rad.

    `link_wrenches` (L, 6) are further wrenches at each link's origin in its axes, force first (N, N m).
    """
    model, servos = vehicle.model, vehicle.servos
    joints = servos.acceleration(state.joint_angles, state.joint_rates, joint_target)
    rotors = vehicle.motors.acceleration(state.rotor_rates, speed_target)
    drive = Drive.accelerations(model, joints, rotors)
    if any(servos.passive):
        loose = jnp.where(jnp.asarray(servos.passive), -servos.damping * state.joint_rates, joints)
        drive = Drive(loose, drive.rotors, servos.passive, drive.rotor_torque_given)
    return forward_dynamics(model, state, drive, environment, link_wrenches)


def step_vehicle(
    vehicle: Vehicle,
    state: State,
    speed_target: Array,
    joint_target: Array,
    environment: Environment,
    dt: float,
    link_wrenches: Array | None = None,
) -> tuple[State, Motion]:
    """The state `dt` seconds later, and the motion at the beginning of the step; `link_wrenches` (L, 6) are held.

    The physics is evaluated scalar by scalar (`haltere.algebra.soa`): compiled code without small matrices, in which
    the structural zeros of a known vehicle cost nothing, and which `vmap` makes whole-batch arithmetic.
    """
    scalars = soa(accelerations_and_slope)
    held = (speed_target, joint_target, environment)
    targets = split_single(held if link_wrenches is None else (*held, link_wrenches))
    start = split_single(state)

    def stage(carry: tuple[State, State], weights: Array) -> tuple[tuple[State, State], Motion]:
        slope, total = carry
        at = jax.tree.map(lambda x, k: x + weights[0] * dt * k, start, slope)
        motion, slope = scalars(vehicle, at, *targets)
        return (slope, jax.tree.map(lambda sum_, k: sum_ + weights[1] * dt * k, total, slope)), motion

    still = jax.tree.map(jnp.zeros_like, start)
    (_, change), motions = jax.lax.scan(stage, (still, still), jnp.asarray(STAGES, vehicle.model.dtype))
    later = join_single(jax.tree.map(jnp.add, start, change))
    unit = later.wxyz / jnp.sqrt(later.wxyz @ later.wxyz)
    begin = join_single(jax.tree.map(lambda x: x[0], motions))
    return State(later.position, unit, *jax.tree.leaves(later)[2:]), begin


def motion_now(
    vehicle: Vehicle,
    state: State,
    speed_target: Array,
    joint_target: Array,
    environment: Environment,
    link_wrenches: Array | None = None,
) -> Motion:
    """`accelerations` as `step_vehicle` evaluates it, scalar by scalar."""
    held = (state, speed_target, joint_target, environment)
    given = split_single(held if link_wrenches is None else (*held, link_wrenches))
    motion: Motion = join_single(soa(accelerations)(vehicle, *given))
    return motion


def accelerations_and_slope(
    vehicle: Vehicle,
    state: State,
    speed_target: Array,
    joint_target: Array,
    environment: Environment,
    link_wrenches: Array | None = None,
) -> tuple[Motion, State]:
    """`accelerations` and, from it, the `rate_of_change` of the state."""
    motion = accelerations(vehicle, state, speed_target, joint_target, environment, link_wrenches)
    return motion, rate_of_change(state, motion)
