"""What is estimated once for a flight: the numbers of the vehicle, of its sensors and of the air, and their prior.

The n coordinates z are whitened: with prior mean mu and deviation s, mu + s z deviates from the nominal vehicle by

    factors exp(u)       mass, gravity, thrust, torque ratios, spin inertia, moments of inertia, drag and inflow
    differences          positions, centre of mass, delays, other coefficients of the air, wind, scale errors
    rotations exp([u])   of the sensors, and tilts of the rotor axes along two tangents

so what is positive stays positive. The inertia I is described by the second moments of the mass, s_i = int x_i^2 dm,
which are positive for every body that there is:

    I_xx = s_y + s_z  and so on,   I_xy = r_xy sqrt(s_x s_y)  and so on                                        (1)

-r are correlations of the mass. They are those of a body if r_xy, r_xz and the partial correlation of y and z are
between -1 and 1 (Joe 2006, Generating random correlation matrices based on partial correlations):

    r_yz = t sqrt((1 - r_xy^2) (1 - r_xz^2)) - r_xy r_xz,   |t| < 1                                             (2)

Moments of inertia deviate from the nominal one by factors. Where s is less than 2 e, with e = `THINNEST` of the mean of
the nominal s, it becomes 4 e^2 / (4 e - s), so it stays positive where factors leave the triangle inequality. All
numbers are in body axes, positions from the airframe's origin.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeVar

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.dynamics import Model
from haltere.dynamics.rigid import MassProperties
from haltere.estimation.vehicle.held_bodies import HeldBodies
from haltere.foundation.arrays import Array, pytree
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats
from haltere.foundation.verdict import USUAL_ARM, arm_length
from haltere.lie import so3

THINNEST = 0.01
"""Second moment of the mass along an axis over the mean of the three, where the moments of inertia say none."""
MOST_CORRELATED = 0.99
"""Bound of r_xy, r_xz and t: with 1 a body would be a thin rod, which has no inertia about its axis."""
AIR_DENSITY = 1.225  # kg/m3
THRUST_NUMBER = 0.1
"""C_T = thrust / (rho n^2 D^4) of a usual propeller, from which its diameter follows."""
AXIAL = 7.0
"""Loss of thrust with axial flow over k |w|, times the diameter: usual, from blade element theory."""
HUB = 2.1
"""Hub force over k |w| v, times the diameter: usual."""
CROSS = 30.0
"""Gain of thrust with flow across over k v^2, times the squared diameter: usual, translational lift included."""
LINEAR_DRAG = 0.1  # 1/s, usual
QUADRATIC_DRAG = 0.02  # 1/m, usual
SPIN_INERTIA = 0.12
"""kg/m3: inertia of propeller and bell about their axis over D^5; 5 inch 4e-6, 10 inch 1.3e-4, Crazyflie 2e-8 kg m2."""
SPIN_INERTIA_WIDTH = 0.7
UNSTATED_POSITION = 0.5
"""Prior deviation of the position of a sensor that the file does not have, over the arm."""
UNSTATED_ROTATION = 0.3
"""rad, of its rotation."""
Numbers = TypeVar("Numbers", Floats, Array)
PAIRS = ((0, 1), (0, 2), (1, 2))
VehicleModel = Literal["full", "paper"]
"""All that is estimated, or the state vector of [Boehm2022]: still air, no delays, rotors without inertia, an IMU
without scale errors, and nothing that disturbs."""
NOT_IN_PAPER = (
    "spin_inertia", "spin_inertia_spread", "pose_delay", "rotor_delay", "accel_delay", "axial", "hub", "cross",
    "flapping", "linear_drag", "quadratic_drag", "pressure", "wind", "accel_rotation", "accel_scale", "gyro_scale",
)  # fmt: skip
"""Blocks of coordinates that the paper's state vector does not have."""
DELAYS = ("pose_delay", "rotor_delay", "accel_delay")
NO_AIR = -50.0
"""Logarithm of coefficients of the air that are not in the model."""


@dataclass(frozen=True)
class Widths:
    """Prior deviations of the coordinates: how well a drawing, a calliper and a data sheet tell them.

    Relative where the number is positive, otherwise SI; `arm` and `air` mean multiples of the arm and of 1/D, D the
    rotor's diameter.
    """

    mass: float = 0.03
    thrust: float = 0.055
    torque_ratio: float = 0.08
    spin_inertia: float = 0.10
    spin_inertia_spread: float = 0.04
    position: float = 0.0028
    com_arm: float = 0.055
    tilt: float = 0.009
    moment: float = 0.11
    product: float = 0.035
    imu_position: float = 0.003
    imu_rotation: float = 0.03
    pose_position: float = 0.005
    pose_rotation: float = 0.05
    gravity_tilt: float = 0.010
    gravity: float = 0.0015
    pose_delay: float = 0.015
    rotor_delay: float = 0.012
    accel_delay: float = 0.004
    axial: float = 0.6
    hub: float = 0.7
    cross_air: float = 30.0
    flapping_air: float = 1.05
    linear_drag: float = 1.0
    quadratic_drag: float = 1.0
    pressure_arm: float = 0.3
    wind: tuple[float, float, float] = (3.0, 3.0, 0.7)
    accel_rotation: float = 0.010
    accel_scale: float = 0.008
    gyro_scale: float = 0.006

    @classmethod
    def from_airframe(cls, airframe: Airframe) -> Self:
        """Those of an airframe: wide for the sensors that its file does not have."""
        arm = arm_length(RigidAirframe.from_airframe(airframe).positions) or USUAL_ARM
        widths = cls()
        if not airframe.imu:
            widths = replace(widths, imu_position=UNSTATED_POSITION * arm, imu_rotation=UNSTATED_ROTATION)
        if not airframe.pose:
            widths = replace(widths, pose_position=UNSTATED_POSITION * arm, pose_rotation=UNSTATED_ROTATION)
        return widths


@dataclass(frozen=True)
class CoordinateLayout:
    """Where the coordinates stand: what is fixed when a program is traced.

    Attributes:
        rotors: how many.
        model: what is estimated.
    """

    rotors: int
    model: VehicleModel = "full"

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each block of coordinates, in order."""
        left_out = NOT_IN_PAPER if self.model == "paper" else ()
        return {name: shape for name, shape in self.all_shapes.items() if name not in left_out}

    @cached_property
    def all_shapes(self) -> dict[str, tuple[int, ...]]:
        """Those of the full model."""
        R = self.rotors
        return {
            "mass": (1,), "thrust": (R,), "torque_ratio": (R,), "spin_inertia": (1,), "spin_inertia_spread": (R,),
            "position": (R, 3), "com": (3,),
            "tilt": (R, 2), "moment": (3,), "product": (3,), "imu_position": (3,), "imu_rotation": (3,),
            "pose_position": (3,), "pose_rotation": (3,), "gravity_tilt": (2,), "gravity": (1,), "pose_delay": (1,),
            "rotor_delay": (1,), "accel_delay": (1,), "axial": (1,), "hub": (1,), "cross": (1,), "flapping": (2,),
            "linear_drag": (3,), "quadratic_drag": (3,), "pressure": (3,), "wind": (3,), "accel_rotation": (3,),
            "accel_scale": (3,), "gyro_scale": (3,),
        }  # fmt: skip

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Position of each block."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])
        starts = [0, *ends[:-1].tolist()]
        return {
            name: slice(start, int(end)) for name, start, end in zip(self.shapes, starts, ends, strict=True)
        }

    @property
    def size(self) -> int:
        """Number of coordinates, n."""
        return int(sum(np.prod(shape) for shape in self.shapes.values()))

    def split(self, values: Array) -> dict[str, Array]:
        """The blocks of (n,) numbers, in their shapes; zero where the model has none."""
        own = {name: values[block].reshape(self.shapes[name]) for name, block in self.slices.items()}
        return {name: jnp.zeros(shape) for name, shape in self.all_shapes.items()} | own

    def indices(self, names: Iterable[str]) -> list[int]:
        """Coordinates of some blocks, without those that the model does not have."""
        kept = (self.slices[name] for name in names if name in self.slices)
        return [place for block in kept for place in range(block.start, block.stop)]


@pytree(static=("model",))
@dataclass(frozen=True)
class NominalVehicle:
    """The nominal vehicle as one rigid body with R rotors, and the prior of the coordinates around it."""

    mass: Array
    """() kg."""
    com: Array
    """(3,) m."""
    inertia: Array
    """(3, 3) about the centre of mass, kg m2."""
    position: Array
    """(R, 3) m."""
    axis: Array
    """(R, 3) unit direction of thrust."""
    tangents: Array
    """(R, 2, 3) across it."""
    spin: Array
    """(R,) +1 where a rotor spins right-handed about its axis."""
    thrust: Array
    """(R,) N/(rad/s)^2."""
    torque_ratio: Array
    """(R,) m."""
    spin_inertia: Array
    """(R,) kg m2."""
    diameter: Array
    """() m, of the rotors."""
    imu_position: Array
    imu_wxyz: Array
    pose_position: Array
    pose_wxyz: Array
    mean: Array
    """(n,) of the coordinates before whitening."""
    sigma: Array
    """(n,) their deviation."""
    measured: Array
    """(n,) 1 where the deviation is that of a measurement by hand, 0 where it is that of a drawing or a data sheet."""
    model: VehicleModel = "full"

    @classmethod
    def from_airframe(
        cls,
        airframe: Airframe,
        joint_angles: Floats | None = None,
        widths: Widths | None = None,
        model: VehicleModel = "full",
    ) -> Self:
        """The numbers of an airframe with one IMU and one pose sensor, its joints held."""
        bodies = Model.from_airframe(airframe)
        body = MassProperties.of(bodies, joint_angles)
        rotors = airframe.rotors
        held = HeldBodies.at(bodies, joint_angles)
        axis, position, spin_inertia = held.rotors()
        widths = widths or Widths()
        k = np.array([rotor.thrust_coefficient for rotor in rotors])
        diameter = float((4.0 * np.pi**2 * k.mean() / (THRUST_NUMBER * AIR_DENSITY)) ** 0.25)
        if not np.any(spin_inertia > 0.0) and model == "full":  # the file does not say
            spin_inertia = np.full(len(k), SPIN_INERTIA * diameter**5)
            widths = replace(widths, spin_inertia=SPIN_INERTIA_WIDTH)
        arm = arm_length(position) or USUAL_ARM
        layout = CoordinateLayout(len(rotors), model)
        imu, pose = held.sensor(airframe.imu[0]), held.sensor(airframe.pose[0])
        mean, sigma = _prior(layout, widths, body.inertia, arm, 1.0 / diameter)
        tangents = np.stack([np.linalg.svd(a[None])[2][1:] for a in axis])
        spin = [rotor.spin_sign for rotor in rotors]
        torque_ratio = [rotor.torque_ratio for rotor in rotors]
        numbers = (
            body.mass, body.com, body.inertia, position, axis, tangents, spin, k, torque_ratio, spin_inertia, diameter,
            *imu, *pose, mean, sigma, np.zeros(layout.size),
        )  # fmt: skip
        fields: Any = [*(np.asarray(x, np.float64) for x in numbers), model]
        return cls(*fields)

    @property
    def layout(self) -> CoordinateLayout:
        """Of the coordinates."""
        return CoordinateLayout(len(self.thrust), self.model)

    def delays(self, z: Floats) -> tuple[float, float, float]:
        """Of poses, rotor speeds and accelerometer at coordinates z (n,), s; zero where the model has none."""
        values = np.asarray(self.mean) + np.asarray(self.sigma) * np.asarray(z)
        pose, rotor, accel = (float(np.sum(values[self.layout.indices([name])])) for name in DELAYS)
        return pose, rotor, accel


def _prior(
    layout: CoordinateLayout, widths: Widths, inertia: Floats, arm: float, air: float
) -> tuple[Floats, Floats]:
    """(n,) mean and deviation of the coordinates."""
    moments = np.diag(inertia)
    second = second_moments(moments)
    floor = hold_positive(second, float(THINNEST * second.mean()))
    products = [widths.product * np.sqrt(moments[i] * moments[j] / (floor[i] * floor[j])) for i, j in PAIRS]
    w = widths
    sigma = {
        "mass": w.mass, "thrust": w.thrust, "torque_ratio": w.torque_ratio, "spin_inertia": w.spin_inertia,
        "spin_inertia_spread": w.spin_inertia_spread,
        "position": w.position, "com": w.com_arm * arm, "tilt": w.tilt, "moment": w.moment, "product": products,
        "imu_position": w.imu_position, "imu_rotation": w.imu_rotation, "pose_position": w.pose_position,
        "pose_rotation": w.pose_rotation, "gravity_tilt": w.gravity_tilt, "gravity": w.gravity,
        "pose_delay": w.pose_delay, "rotor_delay": w.rotor_delay, "accel_delay": w.accel_delay,
        "axial": w.axial, "hub": w.hub, "cross": w.cross_air * air**2, "flapping": w.flapping_air * air,
        "linear_drag": w.linear_drag, "quadratic_drag": w.quadratic_drag, "pressure": w.pressure_arm * arm,
        "wind": w.wind, "accel_rotation": w.accel_rotation, "accel_scale": w.accel_scale, "gyro_scale": w.gyro_scale,
    }  # fmt: skip
    at = {
        "axial": np.log(AXIAL * air),
        "hub": np.log(HUB * air),
        "cross": CROSS * air**2,
        "linear_drag": np.log(LINEAR_DRAG),
        "quadratic_drag": np.log(QUADRATIC_DRAG),
        "product": np.arctanh(
            partial_correlations([inertia[i, j] / np.sqrt(floor[i] * floor[j]) for i, j in PAIRS])
        ),
    }
    sizes = {name: block.stop - block.start for name, block in layout.slices.items()}
    mean = [np.broadcast_to(np.asarray(at.get(name, 0.0), float), size) for name, size in sizes.items()]
    spread = [np.broadcast_to(np.asarray(sigma[name], float), size) for name, size in sizes.items()]
    return np.concatenate(mean), np.concatenate(spread)


def second_moments(moments: Numbers) -> Numbers:
    """(3,) of the mass along the axes, from the moments of inertia (3,)."""
    half: Numbers = 0.5 * (moments[0] + moments[1] + moments[2]) - moments
    return half


def hold_positive(second: Numbers, floor: Numbers | float) -> Numbers:
    """(3,) second moments as they are, or positive where they are less than twice the floor."""
    low = 0.5 * (second + 2.0 * floor - abs(second - 2.0 * floor))  # the smaller of both
    held: Numbers = second - low + 4.0 * floor**2 / (4.0 * floor - low)
    return held


def partial_correlations(r: Sequence[float]) -> Floats:
    """r_xy, r_xz and t of (2) from r_xy, r_xz and r_yz, over their bound."""
    xy, xz = np.clip(r[:2], -(MOST_CORRELATED**2), MOST_CORRELATED**2)
    t = (r[2] + xy * xz) / np.sqrt((1.0 - xy**2) * (1.0 - xz**2))
    return np.clip(np.array([xy, xz, t]) / MOST_CORRELATED, -MOST_CORRELATED, MOST_CORRELATED)


@pytree
@dataclass(frozen=True)
class VehicleNumbers:
    """Physical numbers of the flight; fields as in `NominalVehicle`, and the rest of the coordinates."""

    mass: Array
    com: Array
    inertia: Array
    position: Array
    axis: Array
    spin: Array
    thrust: Array
    torque_ratio: Array
    spin_inertia: Array
    imu_position: Array
    R_BI: Array
    pose_position: Array
    pose_wxyz: Array
    inverse_inertia: Array
    """(3, 3) 1/(kg m2)."""
    gravity: Array
    """(3,) in the world, m/s2."""
    pose_delay: Array
    """() s, of poses against the gyro's clock."""
    rotor_delay: Array
    """() s, of rotor speeds."""
    accel_delay: Array
    """() s, of the accelerometer."""
    inflow: Array
    """(R, 3) coefficients of equations (2), (3) of `haltere.dynamics.loads`."""
    cross: Array
    """(R,) thrust per squared flow across the rotor, N/(m/s)^2."""
    pitching: Array
    """(R,) moment about n x v_t, N m/(rad/s)/(m/s)."""
    linear_drag: Array
    """(3,) per mass, 1/s."""
    quadratic_drag: Array
    """(3,) per mass, 1/m."""
    pressure: Array
    """(3,) where drag attacks, from the centre of mass, m."""
    wind: Array
    """(3,) in the world, m/s."""
    accel_gain: Array
    """(3, 3) of the accelerometer: scale and misalignment against the gyro."""
    gyro_gain: Array
    """(3,) scale."""


def vehicle_of(layout: CoordinateLayout, nominal: NominalVehicle, z: Array) -> VehicleNumbers:
    """The physical numbers at coordinates z (n,)."""
    u = layout.split(nominal.mean + nominal.sigma * z)
    axis = nominal.axis + jnp.einsum("rt,rti->ri", u["tilt"], nominal.tangents)
    axis = axis / jnp.sqrt(jnp.sum(axis**2, axis=1, keepdims=True))
    thrust = nominal.thrust * jnp.exp(u["thrust"])
    inertia = _inertia(nominal, u["moment"], u["product"])
    if layout.model == "paper":
        u |= {
            name: jnp.full_like(u[name], NO_AIR) for name in ("axial", "hub", "linear_drag", "quadratic_drag")
        }
    tilt = u["gravity_tilt"]
    down = jnp.concatenate([tilt, jnp.ones(1)]) / jnp.sqrt(1.0 + tilt @ tilt)
    coefficients = jnp.concatenate(
        [jnp.exp(u["axial"]), jnp.exp(u["hub"]), u["flapping"][1:] * nominal.diameter]
    )
    return VehicleNumbers(
        mass=nominal.mass * jnp.exp(u["mass"][0]),
        com=nominal.com + u["com"],
        inertia=inertia,
        inverse_inertia=_inverse(inertia),
        position=nominal.position + u["position"],
        axis=axis,
        spin=nominal.spin,
        thrust=thrust,
        torque_ratio=nominal.torque_ratio * jnp.exp(u["torque_ratio"]),
        spin_inertia=nominal.spin_inertia * jnp.exp(u["spin_inertia"] + u["spin_inertia_spread"]),
        imu_position=nominal.imu_position + u["imu_position"],
        R_BI=so3.from_wxyz(so3.box_plus_wxyz(nominal.imu_wxyz, u["imu_rotation"])),
        pose_position=nominal.pose_position + u["pose_position"],
        pose_wxyz=so3.box_plus_wxyz(nominal.pose_wxyz, u["pose_rotation"]),
        gravity=-STANDARD_GRAVITY * jnp.exp(u["gravity"][0]) * down,
        pose_delay=u["pose_delay"][0],
        rotor_delay=u["rotor_delay"][0],
        accel_delay=u["accel_delay"][0],
        inflow=thrust[:, None] * coefficients,
        cross=thrust * u["cross"],
        pitching=thrust * u["flapping"][0] * nominal.diameter,
        linear_drag=jnp.exp(u["linear_drag"]),
        quadratic_drag=jnp.exp(u["quadratic_drag"]),
        pressure=u["pressure"],
        wind=u["wind"],
        accel_gain=(jnp.eye(3) + so3.hat(u["accel_rotation"])) * (1.0 + u["accel_scale"])[:, None],
        gyro_gain=1.0 + u["gyro_scale"],
    )


def _inertia(nominal: NominalVehicle, moment: Array, product: Array) -> Array:
    """(3, 3) by equations (1) and (2)."""
    least = THINNEST * jnp.mean(second_moments(jnp.diagonal(nominal.inertia)))
    second = hold_positive(second_moments(jnp.diagonal(nominal.inertia) * jnp.exp(moment)), least)
    inertia = jnp.diag(jnp.sum(second) - second)
    xy, xz, t = MOST_CORRELATED * jnp.tanh(product)
    yz = t * jnp.sqrt((1.0 - xy**2) * (1.0 - xz**2)) - xy * xz
    for r, (i, j) in zip((xy, xz, yz), PAIRS, strict=True):
        value = r * jnp.sqrt(second[i] * second[j])
        inertia = inertia.at[i, j].set(value).at[j, i].set(value)
    return inertia


def _inverse(matrix: Array) -> Array:
    """(3, 3) of a symmetric one, by cross products of its rows: cheaper than a factorisation, and so is its slope."""
    rows = jnp.stack([jnp.cross(matrix[i - 2], matrix[i - 1]) for i in range(3)])
    return rows / (matrix[0] @ rows[0])
