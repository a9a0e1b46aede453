"""The system whose observability is asked: dynamics and sensors as functions of the numbers z and the input u.

Input are the squared rotor speeds ([Boehm2022] Section V). The physics is `haltere.dynamics.core_dynamics` of a rigid
body in its centre of mass on principal axes with massless rotors, and the sensors are those of the simulator:

    x' = f(x, u)                                                     [Boehm2022] eqs. (11)-(14) = slope    (1)
    y = (r + R r_MP, q q_MP, specific force + b_a, rate + b_w)       [Boehm2022] eqs. (15)-(17) = outputs  (2)

The specific force takes its rotor speeds from an argument of its own: the paper's reading holds them fixed.
"""

from collections.abc import Callable
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from haltere.algebra.program import Program
from haltere.dynamics import Drive, Model, Motion, State, Topology, core_dynamics
from haltere.dynamics.model import DragNumbers, Links, Rotors
from haltere.foundation.arrays import Array, require_x64
from haltere.lie import so3
from haltere.observability.coordinates import BASE, MOTION
from haltere.simulation import Command, Trace
from haltere.simulation.sensors import sensor_frame, specific_force_and_rate
from haltere.simulation.step import rate_of_change

#: Places of each sensor's readings among the outputs.
POSITION, ATTITUDE, ACCEL, GYRO = range(3), range(3, 7), range(7, 10), range(10, 13)
OUTPUTS = 13

Physics = Callable[[Model, State, Array, Array], Motion]


def rigid_model(z: Array, spin: Array) -> Model:
    """The vehicle of z (40 + 8N,): one rigid body, rotors without mass; spin (N,) is +-1."""
    n = spin.shape[0]

    def zeros(*shape: int) -> Array:
        return jnp.zeros(shape, z.dtype)

    rotors = z[BASE:]
    k_f, k_m = rotors[6 * n : 7 * n], rotors[7 * n :]
    return Model(
        Topology(("body",), (-1,), (), tuple(f"r{i}" for i in range(n)), (0,) * n, (), (), ()),
        Links(
            zeros(1, 3), zeros(1, 3), z[33:34], zeros(1, 3), (z[34:37, None] * np.eye(3, dtype=z.dtype))[None]
        ),
        Rotors(
            position=rotors[: 3 * n].reshape(n, 3),
            axis=rotors[3 * n : 6 * n].reshape(n, 3),
            spin=spin,
            thrust_coefficient=k_f,
            drag_coefficient=k_f * k_m,
            inflow=zeros(n, 3),
            mass=zeros(n),
            com=zeros(n, 3),
            inertia=zeros(n, 3, 3),
        ),
        (),
        DragNumbers(*(zeros(0, 3) for _ in range(4))),
    )


def polynomial_physics(model: Model, state: State, u: Array, gravity: Array) -> Motion:
    """The motion in still air without wings and drag, at squared rotor speeds u (N,)."""
    return core_dynamics(model, state, Drive.accelerations(model), u, jnp.zeros_like(u), gravity)


def equations(
    z: Array,
    spin: Array,
    u: Array,
    u_imu: Array,
    model: Model | None = None,
    physics: Physics = polynomial_physics,
) -> Array:
    """(26,) the slope of the moving state, equation (1), then the outputs, equation (2).

    Args:
        z: (40 + 8N,) see `haltere.observability.coordinates`, SI units.
        spin: (N,) +1 or -1.
        u: (N,) squared rotor speeds that drive the vehicle, (rad/s)^2.
        u_imu: (N,) squared rotor speeds that the specific force is computed with; u, unless it is held fixed.
        model: the vehicle of z where it has more than `rigid_model` gives it.
        physics: how it moves.
    """
    model = rigid_model(z, spin) if model is None else model
    rest = State.rest(model)
    twist = jnp.concatenate([z[3:6], z[10:13]])
    state = State(z[0:3], z[6:10], twist, rest.joint_angles, rest.joint_rates, rest.rotor_angles, rest.rotor_rates)
    gravity = z[37:40]
    slope = rate_of_change(state, physics(model, state, u, gravity))
    R_MP, p_MP = sensor_frame(model, state, 0, z[13:16], so3.from_wxyz(z[16:20]))
    del R_MP  # the quaternion itself is the output
    sensed = physics(model, state, u_imu, gravity)
    force, rate = specific_force_and_rate(
        model, _instant(state, sensed), gravity, 0, z[20:23], so3.from_wxyz(z[23:27])
    )
    return jnp.concatenate(
        [
            slope.position,
            slope.twist[:3],
            slope.wxyz,
            slope.twist[3:],
            state.position + state.R_WB @ p_MP,
            so3.multiply_wxyz(state.wxyz, z[16:20]),
            force[0] + z[27:30],
            rate[0] + z[30:33],
        ]
    )


def _instant(state: State, motion: Motion) -> Trace:
    """A flight of one sample."""
    one = jax.tree.map(lambda x: x[None], (state, motion))
    none = jnp.zeros((1, 0))
    return Trace(jnp.zeros(1), one[0], one[1], Command(none, none), jnp.zeros((1, 3)), jnp.ones(1))


@lru_cache(maxsize=16)
def program(rotors: int) -> Program:
    """The equations for this number of rotors as a program, with their derivatives by z."""
    require_x64()
    shapes = (BASE + 8 * rotors, rotors, rotors, rotors)
    examples = [jax.ShapeDtypeStruct((size,), jnp.float64) for size in shapes]
    return Program.record(equations, *examples, wanted=BASE + 8 * rotors)


def slope_rows() -> range:
    """Places of the slope among the results."""
    return range(MOTION)


def output_rows() -> range:
    """Places of the outputs among the results."""
    return range(MOTION, MOTION + OUTPUTS)
