"""An arm with servos on a base with given motion: what its servos report.

Weight, base acceleration and mass matrix come from `haltere.dynamics.arm`, the servos from `haltere.dynamics.servo`.
What the arm holds is added to the ten inertial parameters of the link that holds it, in shares between 0 and 1 that may
change with time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

from haltere.algebra import join_single, soa, split_single
from haltere.dynamics.arm import Arm, effort
from haltere.dynamics.servo import Servos, ServoState, reported, servo_step
from haltere.foundation.arrays import Array, pytree

SUBSTEP = 1e-3
"""s, the longest step of the servos."""


@pytree
@dataclass(frozen=True)
class ArmDrive:
    """What is done to the arm at each of T reports.

    Attributes:
        goal: (T, J) rad.
        force: (T, 3) specific force of the body origin, body axes, m/s2.
        rate: (T, 3) rad/s.
        angular: (T, 3) rad/s2.
        attached_fraction: (T,) of the payload that hangs on the arm, 0 to 1.
    """

    goal: Array
    force: Array
    rate: Array
    angular: Array
    attached_fraction: Array


@pytree
@dataclass(frozen=True)
class ArmTrace:
    """At each report, (T, J): `angle` rad and `load` as reported; true angle and the torque the load asks for, N m."""

    angle: Array
    load: Array
    true_angle: Array
    torque: Array


Tracer = Callable[[Servos, Array, Array, ArmDrive, ServoState], tuple[ServoState, ArmTrace]]


def arm_tracer(arm: Arm, period: float = 0.01) -> Tracer:
    """A function of (servos, bodies, payload, drive, start) that gives what the servos report every `period` seconds.

    Its arguments: the servos' numbers; (L, 10) the links' inertial parameters; (10,) those of what the arm holds, in
    the frame of the link that holds it; T reports of what is done; the servos at the beginning, see `at_rest`. It
    gives the servos at the end, too, so that a long record can be made in pieces. It is pure: compile and map it.
    """
    substeps = max(1, round(period / SUBSTEP))
    dt = period / substeps
    known = partial(effort, jax.tree.map(jnp.asarray, arm.model))

    def trace(
        servos: Servos, bodies: Array, payload: Array, drive: ArmDrive, start: ServoState
    ) -> tuple[ServoState, ArmTrace]:
        def report(state: ServoState, given: ArmDrive) -> tuple[ServoState, ArmTrace]:
            now_bodies = bodies.at[arm.link].add(given.attached_fraction * payload)
            fixed = split_single((given.force, given.rate, given.angular))
            masses = split_single(now_bodies)

            def small(_: int, carry: tuple[ServoState, Array]) -> tuple[ServoState, Array]:
                now = carry[0]
                joints = split_single((now.angle, now.rate))
                load, mass_matrix = join_single(soa(known)(masses, *joints, *fixed))
                return servo_step(servos, now, given.goal, mass_matrix, load, dt), load

            state, load = jax.lax.fori_loop(0, substeps, small, (state, jnp.zeros_like(state.angle)))
            angle, share = reported(servos, state)
            return state, ArmTrace(angle, share, state.angle, load)

        return jax.lax.scan(report, start, drive)

    return trace


def at_rest(angle: Array) -> ServoState:
    """Servos that stand at an angle (..., J), rad, without friction in play; half a second later they have settled."""
    zero = jnp.zeros_like(angle)
    return ServoState(angle, zero, zero, zero)
