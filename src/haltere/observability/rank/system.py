"""The system whose observability is asked: dynamics and sensors as functions of the numbers z and the input u.

Input are the squared rotor speeds ([Boehm2022] Section V). The physics is that of `haltere.dynamics` for a rigid
body in its centre of mass on principal axes with massless rotors, and the sensors are those of the simulator:

    x' = f(x, u)                                                     [Boehm2022] eqs. (11)-(14) = slope    (1)
    y = (r + R r_MP, q q_MP, specific force + b_a, rate + b_w)       [Boehm2022] eqs. (15)-(17) = outputs  (2)

The specific force takes its rotor speeds from an argument of its own: the paper's reading holds them fixed.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from haltere.algebra.program import Program
from haltere.dynamics import Drive, Environment, Model, Motion, State, Topology
from haltere.dynamics.integrator import rate_of_change
from haltere.dynamics.model import DragNumbers, Links, Rotors
from haltere.dynamics.rotor import rotor_wrenches
from haltere.dynamics.sensors.readings import felt, sensor_frame
from haltere.dynamics.solve import gravity_in_body, solve_forward
from haltere.dynamics.tree import kinematics
from haltere.foundation.arrays import Array, require_x64
from haltere.lie import so3
from haltere.observability.rank.coordinates import BASE, MOTION

#: Places of each sensor's readings among the outputs.
POSITION, ATTITUDE, ACCEL, GYRO = range(3), range(3, 7), range(7, 10), range(10, 13)
OUTPUTS = 13
#: Inputs of the program after z: a wrench on the body.
WRENCH = 6


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


def motion(model: Model, state: State, u: Array, gravity: Array, wrench: Array) -> Motion:
    """How the vehicle moves at squared rotor speeds u (N,) with a further wrench (6,) on the body, force first."""
    nodes = kinematics(model, state)
    on_rotors = rotor_wrenches(model, nodes, jnp.zeros_like(gravity), u, jnp.zeros_like(u))
    fall = gravity_in_body(model, state, Environment(gravity=gravity))
    wrenches = jnp.concatenate([wrench[None], on_rotors])
    return solve_forward(model, nodes, Drive.accelerations(model), model.bodies, wrenches, fall)


def equations(z: Array, wrench: Array, spin: Array, u: Array, u_imu: Array) -> Array:
    """(26,) the slope of the moving state, equation (1), then the outputs, equation (2).

    Args:
        z: (40 + 8N,) see `haltere.observability.rank.coordinates`, SI units.
        wrench: (6,) of wings or drag on the body at its centre of mass, principal axes, force first.
        spin: (N,) +1 or -1.
        u: (N,) squared rotor speeds that drive the vehicle, (rad/s)^2.
        u_imu: (N,) squared rotor speeds that the specific force is computed with; u, unless it is held fixed.
    """
    model = rigid_model(z, spin)
    rest = State.rest(model)
    twist = jnp.concatenate([z[3:6], z[10:13]])
    state = State(
        z[0:3], z[6:10], twist, rest.joint_angles, rest.joint_rates, rest.rotor_angles, rest.rotor_rates
    )
    gravity = z[37:40]
    slope = rate_of_change(state, motion(model, state, u, gravity, wrench))
    _, p_MP = sensor_frame(model, state, 0, z[13:16], so3.from_wxyz(z[16:20]))
    sensed = motion(model, state, u_imu, gravity, wrench)
    force, rate = felt(model, state, sensed, gravity, 0, z[20:23], so3.from_wxyz(z[23:27]))
    return jnp.concatenate(
        [
            slope.position,
            slope.twist[:3],
            slope.wxyz,
            slope.twist[3:],
            state.position + state.R_WB @ p_MP,
            so3.multiply_wxyz(state.wxyz, z[16:20]),
            force + z[27:30],
            rate + z[30:33],
        ]
    )


@lru_cache(maxsize=16)
def program(rotors: int) -> Program:
    """The equations for this number of rotors as a program, with their derivatives by z and the wrench."""
    require_x64()
    numbers = BASE + 8 * rotors
    shapes = (numbers, WRENCH, rotors, rotors, rotors)
    examples = [jax.ShapeDtypeStruct((size,), jnp.float64) for size in shapes]
    return Program.record(equations, *examples, wanted=numbers + WRENCH)


def slope_rows() -> range:
    """Places of the slope among the results."""
    return range(MOTION)


def output_rows() -> range:
    """Places of the outputs among the results."""
    return range(MOTION, MOTION + OUTPUTS)
