"""What a vehicle does at one instant, what drives its joints, and the world around it.

Twist and acceleration are linear first, at the body origin, in body axes: V = (v_WB_B, w_WB_B) = `twist`.
`Motion.acceleration` is the time derivative of the twist's components; the acceleration of the body origin against
the world is its linear part plus w x v (`Motion.inertial_acceleration`).
"""

from dataclasses import dataclass
from typing import Self

import jax.numpy as jnp

from haltere.dynamics.model import Model
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3


@pytree
@dataclass(frozen=True)
class State:
    """Configuration and velocity of every body."""

    position: Array
    """(3,) p_WB, m."""
    wxyz: Array
    """(4,) q_WB, unit."""
    twist: Array
    """(6,) m/s and rad/s, body axes."""
    joint_angles: Array
    """(J,) rad."""
    joint_rates: Array
    rotor_angles: Array
    """(R,) rad, in each rotor's own spin direction."""
    rotor_rates: Array

    @classmethod
    def rest(cls, model: Model) -> Self:
        """At the world's origin, level, nothing moving."""
        joints, rotors = (jnp.zeros(n, model.dtype) for n in (model.topology.joints, model.topology.rotors))
        level = jnp.asarray([1, 0, 0, 0], model.dtype)
        return cls(
            jnp.zeros(3, model.dtype), level, jnp.zeros(6, model.dtype), joints, joints, rotors, rotors
        )

    @property
    def R_WB(self) -> Array:
        """(3, 3) body axes in the world."""
        return so3.from_wxyz(self.wxyz)

    def displaced(self, configuration: Array, velocity: Array) -> "State":
        """The state a first-order step away: both (6+J+R,), rotation on the right, translation in body axes."""
        joints = self.joint_angles.shape[0]
        half = jnp.concatenate([jnp.ones(1, self.wxyz.dtype), 0.5 * configuration[3:6]])
        return State(
            position=self.position + self.R_WB @ configuration[:3],
            wxyz=so3.multiply_wxyz(self.wxyz, half),
            twist=self.twist + velocity[:6],
            joint_angles=self.joint_angles + configuration[6 : 6 + joints],
            joint_rates=self.joint_rates + velocity[6 : 6 + joints],
            rotor_angles=self.rotor_angles + configuration[6 + joints :],
            rotor_rates=self.rotor_rates + velocity[6 + joints :],
        )


@pytree(static=("joint_torque_given", "rotor_torque_given"))
@dataclass(frozen=True)
class Drive:
    """What moves each joint and rotor: its acceleration (rad/s2), or its torque (N m) where the flag is set."""

    joints: Array
    rotors: Array
    joint_torque_given: tuple[bool, ...]
    rotor_torque_given: tuple[bool, ...]

    @classmethod
    def accelerations(cls, model: Model, joints: ArrayLike = 0.0, rotors: ArrayLike = 0.0) -> Self:
        """All joints and rotors follow the accelerations given (one number holds for all)."""
        return cls._uniform(model, joints, rotors, torque_given=False)

    @classmethod
    def torques(cls, model: Model, joints: ArrayLike = 0.0, rotors: ArrayLike = 0.0) -> Self:
        """All joints and rotors are driven by the torques given."""
        return cls._uniform(model, joints, rotors, torque_given=True)

    @classmethod
    def _uniform(cls, model: Model, joints: ArrayLike, rotors: ArrayLike, *, torque_given: bool) -> Self:
        n_joints, n_rotors = model.topology.joints, model.topology.rotors
        return cls(
            jnp.broadcast_to(jnp.asarray(joints, model.dtype), (n_joints,)),
            jnp.broadcast_to(jnp.asarray(rotors, model.dtype), (n_rotors,)),
            (torque_given,) * n_joints,
            (torque_given,) * n_rotors,
        )


@pytree
@dataclass(frozen=True)
class Environment:
    """Gravity and wind as world vectors (m/s2, m/s), air density in kg/m3."""

    gravity: ArrayLike | tuple[float, float, float] = (0.0, 0.0, -9.81)
    wind: ArrayLike | tuple[float, float, float] = (0.0, 0.0, 0.0)
    air_density: ArrayLike = 1.225


@pytree
@dataclass(frozen=True)
class Motion:
    """How everything accelerates, and the torque that each joint carries."""

    acceleration: Array
    joint_accelerations: Array
    rotor_accelerations: Array
    joint_torques: Array
    rotor_torques: Array

    def inertial_acceleration(self, state: State) -> Array:
        """(3,) acceleration of the body origin against the world, in body axes, m/s2."""
        return self.acceleration[:3] + so3.hat(state.twist[3:]) @ state.twist[:3]
