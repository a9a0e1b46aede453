"""A vehicle let go in the air: an initial condition and no reference."""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.dynamics import Model, State
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3
from haltere.trajectory.reference import Values, numbers


@pytree
@dataclass(frozen=True)
class Throw:
    """Where, how fast and how it turns when the hand lets go."""

    position: Array
    """(3,) body origin, world axes, m."""
    velocity: Array
    """(3,) of the body origin, world axes, m/s."""
    spin: Array
    """(3,) angular velocity, body axes, rad/s."""
    wxyz: Array
    """(4,) attitude q_WB."""
    duration: Array
    """() s that the flight is watched."""

    def state(self, model: Model, joint_angles: ArrayLike | None = None) -> State:
        """The state at release, rotors still."""
        rest = State.rest(model)
        unit = self.wxyz / jnp.sqrt(self.wxyz @ self.wxyz)
        velocity_B = so3.from_wxyz(unit).T @ self.velocity
        return State(
            position=jnp.asarray(self.position, model.dtype),
            wxyz=jnp.asarray(unit, model.dtype),
            twist=jnp.asarray(jnp.concatenate([velocity_B, self.spin]), model.dtype),
            joint_angles=rest.joint_angles
            if joint_angles is None
            else jnp.asarray(joint_angles, model.dtype),
            joint_rates=rest.joint_rates,
            rotor_angles=rest.rotor_angles,
            rotor_rates=rest.rotor_rates,
        )


def throw(
    position: Values = (0.0, 0.0, 1.5),
    velocity: Values = (1.0, 0.0, 4.0),
    spin: Values = (1.0, 2.0, 0.5),
    wxyz: Values = (1.0, 0.0, 0.0, 0.0),
    duration: Values = 3.0,
) -> Throw:
    """A throw from plain numbers; see `Throw` for frames and units."""
    return Throw(*(numbers(x) for x in (position, velocity, spin, wxyz, duration)))
