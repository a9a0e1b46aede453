"""The vehicle of [Boehm2022] in its own state vector: numbers at the centre of mass, on principal axes, and its motion.

With mass m, moments of inertia I = diag(Ix, Iy, Iz), twist (v, w) in body axes and rotor i at r_i with thrust axis a_i
of inclination psi and azimuth theta ([Boehm2022] eq. (4)), thrust coefficient k_f and torque ratio k_m:

    m (v' + w x v) = sum_i k_f a_i s_i + m R^T g                                                          (1)
    I w' + w x I w = sum_i k_f (r_i x a_i - e_i k_m a_i) s_i,   s = squared speeds, e = spins             (2)

from `haltere.dynamics`. A step is the classical Runge-Kutta method with the rotor speeds held. Derivatives are taken
in reverse, of these functions as they stand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.dynamics import Model
from haltere.dynamics.integrator import STAGES
from haltere.dynamics.loads import rotor_wrench
from haltere.dynamics.rigid import MassProperties
from haltere.dynamics.sensors.imu import specific_force_at
from haltere.dynamics.solve import newton_euler
from haltere.estimation.core.space import Block, Mean, Space
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array
from haltere.foundation.constants import GRAVITY
from haltere.lie import so3

MOTION = ("position", "velocity", "attitude", "rates")
"""The blocks that a step moves."""
ROTATIONS = ("attitude", "pose_rotation", "imu_rotation")


class PaperNoise(NamedTuple):
    """Standard deviations."""

    imu: Array
    """(6,) of a reading: m/s2, rad/s."""
    walk: Array
    """(6,) of the biases' random walk: m/s2/sqrt(s), rad/s/sqrt(s)."""
    speed: Array
    """() of a rotor's speed about the reported one, once in each step, rad/s."""
    pose: Array
    """(6,) of a pose: m, rad."""

    @classmethod
    def from_airframe(cls, airframe: Airframe, speed: float) -> Self:
        """What the file states for its IMU and pose sensor; `speed` in rad/s."""
        imu, pose = airframe.imu[0], airframe.pose[0]
        pairs = (
            (imu.sigma_accel, imu.sigma_gyro),
            (imu.sigma_accel_walk, imu.sigma_gyro_walk),
            (pose.sigma_position, pose.sigma_rotation),
        )
        reading, walk, pose_sigma = (jnp.asarray(np.repeat([a or 0.0, b or 0.0], 3)) for a, b in pairs)
        return cls(reading, walk, jnp.asarray(float(speed)), pose_sigma)


@dataclass(frozen=True)
class PaperVehicle:
    """The kind of vehicle: how many rotors it has, what they are called and how they spin."""

    rotors: tuple[str, ...]
    spins: tuple[float, ...]

    @cached_property
    def moving(self) -> Space:
        """What changes in flight: 18 errors, those that a step moves first."""
        return Space(tuple(_block(name) for name in (*MOTION, "accel_bias", "gyro_bias")))

    @cached_property
    def motion(self) -> Space:
        """What a step moves: 12 errors."""
        return Space(tuple(_block(name) for name in MOTION))

    @cached_property
    def physical(self) -> Space:
        """The numbers of the vehicle: 19 + 7 N errors for N rotors."""
        N = len(self.rotors)
        shapes = {
            "mass": (1,),
            "inertia": (3,),
            "gravity": (3,),
            "rotor_position": (N, 3),
            "rotor_tilt": (N, 2),
        }
        shapes |= {"thrust_coefficient": (N,), "torque_ratio": (N,)}
        sensors = ("pose_position", "pose_rotation", "imu_position", "imu_rotation")
        return Space((*map(_block, sensors), *(Block(name, shape=shape) for name, shape in shapes.items())))

    @cached_property
    def space(self) -> Space:
        """The whole state."""
        return Space((*self.moving.blocks, *self.physical.blocks))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the numbers, in the order of their errors."""
        sensors = [
            f"{s}.{part}.{c}" for s in ("pose", "imu") for part in ("position", "rotation") for c in "xyz"
        ]
        body = ["mass", *(f"inertia.{c}{c}" for c in "xyz"), *(f"gravity.{c}" for c in "xyz")]
        rotors = [f"rotors.{r}.position.{c}" for r in self.rotors for c in "xyz"]
        rotors += [f"rotors.{r}.axis.{c}" for r in self.rotors for c in ("inclination", "azimuth")]
        rotors += [f"rotors.{r}.{k}" for k in ("thrust_coefficient", "torque_ratio") for r in self.rotors]
        return (*sensors, *body, *rotors)

    def wrench(self, state: Mean, speeds: Array) -> Array:
        """(6,) force and moment of the rotors at speeds (N,) rad/s, body axes."""
        axes, spins, still = thrust_axes(state["rotor_tilt"]), jnp.asarray(self.spins), jnp.zeros(3)
        thrust = state["thrust_coefficient"]
        wrenches = jax.vmap(rotor_wrench, in_axes=(0, None, 0, 0, 0, 0, None, 0, 0, None))(
            spins[:, None] * axes, jnp.zeros(6), state["rotor_position"], spins, thrust,
            thrust * state["torque_ratio"], still, speeds * jnp.abs(speeds), jnp.abs(speeds), still,
        )  # fmt: skip
        return jnp.sum(wrenches, axis=0)

    def step(self, state: Mean, speeds: Array, dt: Array) -> Mean:
        """The blocks of the motion `dt` s later, with the speeds (N,) held."""
        wrench = self.wrench(state, speeds)

        def slope(x: Array) -> Array:
            wxyz, twist = x[3:7], x[7:]
            R, spin = so3.from_wxyz(wxyz), jnp.concatenate([jnp.zeros(1), twist[3:]])
            fall = jnp.concatenate([R.T @ state["gravity"], jnp.zeros(3)])
            turn = 0.5 * so3.multiply_wxyz(wxyz, spin)
            return jnp.concatenate([R @ twist[:3], turn, _proper_acceleration(state, twist, wrench) + fall])

        begin = jnp.concatenate([state[name] for name in ("position", "attitude", "velocity", "rates")])
        total, change = jnp.zeros(13), jnp.zeros(13)
        for ahead, weight in STAGES:
            change = slope(begin + ahead * dt * change)
            total = total + weight * dt * change
        end = begin + total
        wxyz = end[3:7] / jnp.sqrt(end[3:7] @ end[3:7])
        return {"position": end[:3], "velocity": end[7:10], "attitude": wxyz, "rates": end[10:]}

    def imu(self, state: Mean, speeds: Array) -> Array:
        """(6,) specific force and rate that the IMU reads."""
        twist = jnp.concatenate([state["velocity"], state["rates"]])
        acceleration = _proper_acceleration(state, twist, self.wrench(state, speeds))
        R_MI = so3.from_wxyz(state["imu_rotation"])
        read = jnp.concatenate(specific_force_at(acceleration, twist, R_MI, state["imu_position"]))
        return read + jnp.concatenate([state["accel_bias"], state["gyro_bias"]])

    def pose_residual(self, state: Mean, position: Array, wxyz: Array) -> Array:
        """(6,) a pose at position (3,), wxyz (4,) minus the one that is expected."""
        place = state["position"] + so3.from_wxyz(state["attitude"]) @ state["pose_position"]
        turn = so3.multiply_wxyz(state["attitude"], state["pose_rotation"])
        return jnp.concatenate([position - place, so3.box_minus_wxyz(wxyz, turn)])


def describe_paper_vehicle(airframe: Airframe) -> tuple[PaperVehicle, Mean]:
    """The vehicle of an airframe file and its numbers.

    Raises:
        HaltereError: the file's origin is not the centre of mass, or its axes are not the principal ones.
    """
    model = Model.from_airframe(airframe)
    body = MassProperties.of(model, None)
    apart = np.abs(body.inertia - np.diag(np.diag(body.inertia))).max() / np.trace(body.inertia)
    if np.linalg.norm(body.com) > 1e-9 or apart > 1e-9:
        raise HaltereError(
            f"{airframe.name}: centre of mass at {np.round(body.com, 6).tolist()}; the paper's state vector is "
            "expected to begin there, on principal axes: move the origin of the file"
        )
    rotors, pose, imu = airframe.rotors, airframe.pose[0], airframe.imu[0]
    axis = np.asarray([rotor.axis for rotor in rotors], float)
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    inclination = np.arctan2(np.hypot(axis[:, 0], axis[:, 1]), axis[:, 2])
    azimuth = np.where(inclination > 1e-9, np.arctan2(axis[:, 1], axis[:, 0]), 0.0)
    numbers = {
        "pose_position": pose.position, "pose_rotation": pose.wxyz, "imu_position": imu.position,
        "imu_rotation": imu.wxyz, "mass": [body.mass], "inertia": np.diag(body.inertia),
        "gravity": [0.0, 0.0, -GRAVITY], "rotor_position": [rotor.position for rotor in rotors],
        "rotor_tilt": np.stack([inclination, azimuth], axis=1),
        "thrust_coefficient": [rotor.thrust_coefficient for rotor in rotors],
        "torque_ratio": [rotor.torque_ratio for rotor in rotors],
    }  # fmt: skip
    vehicle = PaperVehicle(tuple(r.name for r in rotors), tuple(float(r.spin_sign) for r in rotors))
    return vehicle, {name: jnp.asarray(np.asarray(value, float)) for name, value in numbers.items()}


def thrust_axes(tilt: Array) -> Array:
    """(N, 3) directions of thrust from inclination and azimuth (N, 2)."""
    sine, azimuth = jnp.sin(tilt[:, 0]), tilt[:, 1]
    return jnp.stack([sine * jnp.cos(azimuth), sine * jnp.sin(azimuth), jnp.cos(tilt[:, 0])], axis=1)


def slopes(space: Space, function: Callable[[Mean], Array], state: Mean) -> Array:
    """(k, n) derivative of a function (k,) of a state by the error of the state."""
    found: Array = jax.jacrev(lambda error: function(space.plus(state, error)))(jnp.zeros(space.dimension))
    return found


def _block(name: str) -> Block:
    return Block(name, "rotation" if name in ROTATIONS else "vector")


def _proper_acceleration(state: Mean, twist: Array, wrench: Array) -> Array:
    """(6,) spatial acceleration against free fall, equations (1) and (2) without gravity."""
    diagonal = jnp.concatenate([jnp.repeat(state["mass"], 3), state["inertia"]])
    return -newton_euler(jnp.diag(diagonal), twist, jnp.zeros(6), wrench) / diagonal
