"""The system whose observability is asked: its numbers z, and dynamics and sensors as functions of z and the input u.

Input are the squared rotor speeds ([Boehm2022] Section V). The physics is that of `haltere.dynamics` for a rigid
body in its centre of mass on principal axes with massless rotors, and the sensors are those of the simulator:

    x' = f(x, u)                                                     [Boehm2022] eqs. (11)-(14) = slope    (1)
    y = (r + R r_MP, q q_MP, specific force + b_a, rate + b_w)       [Boehm2022] eqs. (15)-(17) = outputs  (2)

The specific force takes its rotor speeds from an argument of its own: the paper's reading holds them fixed.
`Coordinates` has the numbers z that these equations contain, and the error state on their manifold.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from haltere.algebra.program import Program
from haltere.dynamics import Drive, Environment, Model, Motion, State, Topology
from haltere.dynamics.integrator import rate_of_change
from haltere.dynamics.loads import rotor_wrenches
from haltere.dynamics.model import DragNumbers, Links, Rotors
from haltere.dynamics.sensors.imu import sense_motion, sensor_frame
from haltere.dynamics.solve import gravity_in_body, solve_forward
from haltere.dynamics.tree import kinematics
from haltere.foundation.arrays import Array, double_precision
from haltere.lie import so3

XYZ = ("x", "y", "z")
MOMENTS = ("xx", "yy", "zz")
#: Numbers of the moving state, of which the first 13 of z consist.
MOTION = 13
#: Numbers of z and entries of the error state that do not belong to rotors.
BASE, ERRORS = 40, 37
#: Places in z of the three quaternions: attitude, pose sensor, IMU.
QUATERNIONS = (6, 16, 23)

_FIRST = (
    ("state.position", XYZ, 0), ("state.velocity", XYZ, 3), ("state.attitude", XYZ, None), ("state.rate", XYZ, 10),
    ("pose.position", XYZ, 13), ("pose.rotation", XYZ, None), ("imu.position", XYZ, 20), ("imu.rotation", XYZ, None),
    ("imu.accel_bias", XYZ, 27), ("imu.gyro_bias", XYZ, 30), ("mass", ("",), 33), ("inertia", MOMENTS, 34),
    ("gravity", XYZ, 37),
)  # fmt: skip


@dataclass(frozen=True)
class Coordinates:
    """Where everything stands in z and in the error state, for a vehicle with the given rotors.

    [Boehm2022] eqs. (3)-(6) with the rotor axis as a unit vector. The equations contain 40 + 8N numbers z:

        z = (r, v, q, w | r_MP, q_MP, r_MI, q_MI, b_a, b_w | m, i, g | r_R (N, 3), n_R (N, 3), k_f (N,), k_m (N,)) (3)

    of which each quaternion and each axis has one constraint. An error state of 37 + 7N entries lists the directions
    that are left, in the order of [Boehm2022] eq. (6); `states` counts 40 + 7N as the paper does, four numbers for
    each quaternion.

    Attributes:
        rotors: their names.
        sensor: `pose` or `position`: what the exteroceptive sensor P is called.
    """

    rotors: tuple[str, ...]
    sensor: str = "pose"

    @property
    def numbers(self) -> int:
        """How many numbers the equations contain: 40 + 8N."""
        return BASE + 8 * len(self.rotors)

    @property
    def states(self) -> int:
        """The paper's count, 40 + 7N."""
        return BASE + 7 * len(self.rotors)

    @property
    def errors(self) -> int:
        """Entries of the error state, 37 + 7N."""
        return ERRORS + 7 * len(self.rotors)

    def rotor_number(self, rotor: int, quantity: str) -> int:
        """Index in z of a rotor's first number of `position`, `axis`, `thrust_coefficient` or `torque_ratio`."""
        n = len(self.rotors)
        offset, width = {
            "position": (0, 3), "axis": (3 * n, 3), "thrust_coefficient": (6 * n, 1), "torque_ratio": (7 * n, 1),
        }[quantity]  # fmt: skip
        return BASE + offset + width * rotor

    def rotor_error(self, rotor: int, quantity: str) -> int:
        """Index in the error state of a rotor's first entry of `quantity`."""
        offset = {"position": 0, "axis": 3, "thrust_coefficient": 5, "torque_ratio": 6}[quantity]
        return ERRORS + 7 * rotor + offset

    @cached_property
    def entries(self) -> tuple[str, ...]:
        """The name of each entry of the error state; the two of an axis end in `.1` and `.2`."""
        names = [f"{self._named(group)}.{part}".rstrip(".") for group, parts, _ in _FIRST for part in parts]
        for rotor in self.rotors:
            names += [f"rotors.{rotor}.position.{axis}" for axis in XYZ]
            names += [f"rotors.{rotor}.axis.{i}" for i in (1, 2)]
            names += [f"rotors.{rotor}.thrust_coefficient", f"rotors.{rotor}.torque_ratio"]
        return tuple(names)

    def _named(self, group: str) -> str:
        return group.replace("pose.", f"{self.sensor}.", 1) if group.startswith("pose.") else group

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each entry of the error state by its name."""
        return {name: i for i, name in enumerate(self.entries)}

    @cached_property
    def straight(self) -> tuple[tuple[int, int], ...]:
        """Pairs (index in z, index in the error state) of all that is neither rotation nor axis."""
        pairs, error = [], 0
        for _, parts, number in _FIRST:
            if number is not None:
                pairs += [(number + i, error + i) for i in range(len(parts))]
            error += len(parts)
        for i in range(len(self.rotors)):
            for part, width in (("position", 3), ("thrust_coefficient", 1), ("torque_ratio", 1)):
                z, e = self.rotor_number(i, part), self.rotor_error(i, part)
                pairs += [(z + k, e + k) for k in range(width)]
        return tuple(pairs)

    @cached_property
    def rotations(self) -> tuple[tuple[int, int], ...]:
        """Pairs (index in z, index in the error state) of the three quaternions."""
        return tuple(zip(QUATERNIONS, (6, 15, 21), strict=True))

    def number_units(self, mass: float, length: float, time: float, square: float) -> list[float]:
        """The unit of each number of z that follows from units of mass, length, time and squared rotor speed."""
        speed, acceleration = length / time, length / time**2
        n = len(self.rotors)
        force = mass * acceleration
        return [
            *[length] * 3, *[speed] * 3, *[1.0] * 4, *[1.0 / time] * 3,
            *[length] * 3, *[1.0] * 4, *[length] * 3, *[1.0] * 4, *[acceleration] * 3, *[1.0 / time] * 3,
            mass, *[mass * length**2] * 3, *[acceleration] * 3,
            *[length] * (3 * n), *[1.0] * (3 * n), *[force / square] * n, *[length] * n,
        ]  # fmt: skip

    def error_units(self, mass: float, length: float, time: float, square: float) -> list[float]:
        """The unit of each entry of the error state; angles count in radians."""
        numbers = self.number_units(mass, length, time, square)
        units = [1.0] * self.errors
        for number, error in self.straight:
            units[error] = numbers[number]
        return units


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
        z: (40 + 8N,) of equation (3), SI units.
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
    force, rate = sense_motion(model, state, sensed, gravity, 0, z[20:23], so3.from_wxyz(z[23:27]))
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
@double_precision()
def program(rotors: int) -> Program:
    """The equations for this number of rotors as a program, with their derivatives by z and the wrench."""
    numbers = BASE + 8 * rotors
    shapes = (numbers, WRENCH, rotors, rotors, rotors)
    examples = [jax.ShapeDtypeStruct((size,), jnp.float64) for size in shapes]
    return Program.record(equations, *examples, wanted=numbers + WRENCH)


def slope_rows() -> range:
    """Indices of the slope among the results."""
    return range(MOTION)


def output_rows() -> range:
    """Indices of the outputs among the results."""
    return range(MOTION, MOTION + OUTPUTS)
