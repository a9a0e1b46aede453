"""Position servos on joints: duty from the quantised error, friction that depends on load and direction, real sticking.

With the airframe file's numbers (`haltere.airframe.airframe`), angle q, rate q', goal g, the torque t = h + M q''
that the gears carry to the load, and the stick state z in [-1, 1]:

    d = clip(k (step(g) - step(q)) / T, +-1) = duty                                                       (1)
    drive = T (V d - q' / w_0)                                                                            (2)
    F_+ = (1 + r sin(n q + p)) loss_+ |t| (|t| / t_0)^(e - 1) + c,   loss_+ = up where t > 0, else down   (3)
    friction = -(1 + s exp(-(q'/v_s)^2)) (F_+ max(z, 0) + F_- min(z, 0)),   z' = q' / presliding within [-1, 1]  (4)

F_- is (3) with up and down exchanged. z is elastic until it reaches +-1 and does not change while nothing moves: a load
that stays within the friction is held for ever, without creep. The servo reports d behind a first-order lag, in steps
of 1/1023 of the stall torque, and q in whole steps.
"""

from dataclasses import dataclass, replace
from typing import Self

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, AirframeError, Servo
from haltere.dynamics.solve import ldl_solve
from haltere.foundation.arrays import Array, ArrayLike, pytree

RIPPLES = 36.0
"""Periods of the ripple in a revolution, n of equation (3): teeth of the last wheel."""
REFERENCE_LOAD = 0.4
"""t_0 of equation (3), N m: where all exponents agree."""
STRIBECK = 0.02
"""v_s of equation (4), rad/s."""
ROUNDS = 3
"""To find friction and acceleration, which need each other: a round leaves less than half of what is missing."""
REPORT_STEPS = 1023.0
"""Steps of the reported load to the stall torque (ROBOTIS e-Manual)."""


@pytree
@dataclass(frozen=True)
class Servos:
    """The servos of J joints; (J,) each, in the units of the airframe file."""

    stall_torque: Array
    no_load_speed: Array
    resolution: Array
    stiffness: Array
    loss_up: Array
    loss_down: Array
    coulomb: Array
    static_excess: Array
    presliding: Array
    ripple: Array
    lag: Array
    inertia: Array
    phase: Array
    """(J,) p of equation (3), rad."""
    exponent: Array
    """(J,) e of equation (3); 1 where losses are proportional to the load."""
    voltage: Array
    """(J,) supply over the rated one."""

    @classmethod
    def from_airframe(cls, airframe: Airframe) -> Self:
        """Those of all moving joints, in the order of the model; every one of them needs a `servo` table."""
        moving = [link for i in airframe.link_order() if not (link := airframe.links[i]).joint.fixed]
        bare = [link.name for link in moving if link.joint.servo is None]
        if bare or not moving:
            what = f"joint of link {bare[0]!r} has no servo" if bare else "no link has a moving joint"
            msg = (
                f"airframe {airframe.name!r}: {what}; give joint.servo a table as in the catalogue's quad-arm"
            )
            raise AirframeError(msg)
        found = [link.joint.servo for link in moving if link.joint.servo is not None]
        columns = {
            name: jnp.asarray([getattr(servo, name) for servo in found]) for name in Servo.model_fields
        }
        one = jnp.ones(len(found))
        return cls(**columns, phase=0.0 * one, exponent=one, voltage=one)

    def changed(self, **factors: ArrayLike) -> Self:
        """With the named numbers multiplied by factors (J,) or ()."""
        return replace(self, **{name: getattr(self, name) * value for name, value in factors.items()})


@pytree
@dataclass(frozen=True)
class ServoState:
    """Angle (J,) rad, rate (J,) rad/s, stick state z (J,), lagged duty (J,)."""

    angle: Array
    rate: Array
    stick: Array
    report: Array


def whole_steps(servos: Servos, angle: Array) -> Array:
    """(J,) rad: the angle as the encoder counts it."""
    return jnp.round(angle / servos.resolution) * servos.resolution


def duty(servos: Servos, angle: Array, goal: Array) -> Array:
    """(J,) of equation (1)."""
    error = whole_steps(servos, goal) - whole_steps(servos, angle)
    return jnp.clip(servos.stiffness * error / servos.stall_torque, -1.0, 1.0)


def friction_levels(servos: Servos, angle: Array, load: Array) -> tuple[Array, Array]:
    """F_+ and F_- of equation (3), (J,) N m, at an angle (J,) rad under a load (J,) N m."""
    size = jnp.abs(load)
    shape = size * ((size + 1e-9) / REFERENCE_LOAD) ** (servos.exponent - 1.0)
    rippled = shape * (1.0 + servos.ripple * jnp.sin(RIPPLES * angle + servos.phase))
    against = jnp.where(load > 0.0, servos.loss_up, servos.loss_down)
    along = jnp.where(load > 0.0, servos.loss_down, servos.loss_up)
    return rippled * against + servos.coulomb, rippled * along + servos.coulomb


def joint_torque(servos: Servos, state: ServoState, load: Array, d: Array) -> Array:
    """(J,) N m that reach the joint at duty d, without the share that depends on the rate: (2) and (4)."""
    plus, minus = friction_levels(servos, state.angle, load)
    excess = 1.0 + servos.static_excess * jnp.exp(-((state.rate / STRIBECK) ** 2))
    held = excess * (plus * jnp.maximum(state.stick, 0.0) + minus * jnp.minimum(state.stick, 0.0))
    return servos.stall_torque * servos.voltage * d - held


def servo_step(
    servos: Servos, state: ServoState, goal: Array, mass_matrix: Array, load: Array, dt: float
) -> ServoState:
    """The state `dt` seconds later.

    Args:
        servos: their numbers.
        state: now.
        goal: (J,) rad.
        mass_matrix: (J, J) kg m2 of what hangs on the joints, without the servos' own inertia.
        load: (J,) N m that the joints need to keep their rates: weight, base acceleration and velocity terms.
        dt: s, a millisecond or less.

    The rate is taken at the end of the step in the damping, at the beginning elsewhere.
    """
    d = duty(servos, state.angle, goal)
    damping = servos.stall_torque / servos.no_load_speed
    inertia = mass_matrix + jnp.diag(servos.inertia)
    resisted = inertia + dt * jnp.diag(damping)
    change = jnp.zeros_like(load)
    for _ in range(ROUNDS):
        carried = load + mass_matrix @ change
        push = joint_torque(servos, state, carried, d) - load - damping * state.rate
        change = ldl_solve(resisted, push)
    rate = state.rate + dt * change
    angle = state.angle + dt * rate
    stick = jnp.clip(state.stick + dt * rate / servos.presliding, -1.0, 1.0)
    report = state.report + (d - state.report) * (1.0 - jnp.exp(-dt / jnp.maximum(servos.lag, 1e-6)))
    return ServoState(angle, rate, stick, report)


def reported(servos: Servos, state: ServoState) -> tuple[Array, Array]:
    """What the servo tells: angle (J,) rad and load (J,) as a share of the stall torque."""
    return whole_steps(servos, state.angle), jnp.round(state.report * REPORT_STEPS) / REPORT_STEPS


def counts(servos: Servos) -> np.ndarray:
    """(J,) N m: torque of one step of the encoder, by which readings jump."""
    return np.asarray(servos.stiffness * servos.resolution)
