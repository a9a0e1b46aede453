"""The true vehicle: drawn at random around its drawing, alone or stacked into a batch, with the truth by name."""

from dataclasses import dataclass, fields, replace

import numpy as np
from tests.world.drawings import Drawing
from tests.world.draws import clipped_normal, generator
from tests.world.levels import Level
from tests.world.rigid import MassProperties
from tests.world.vectors import apply, cross, multiply, point_inertia, quaternion_of_vector, rotation_matrix

TICK = 0.001  # s: sensors and commands live on this grid


@dataclass(frozen=True)
class Damage:
    """A damaged rotor: factors of its thrust, its torque and its unbalance."""

    rotor: int
    thrust: float = 0.8
    torque: float = 0.95
    unbalance: float = 4.0


@dataclass(frozen=True)
class Vehicle:
    """A true vehicle as arrays, SI units, body axes; in a batch of N flights each has N as a last axis."""

    mass: np.ndarray
    com: np.ndarray  # (3,)
    inertia: np.ndarray  # (3, 3) about the com
    position: np.ndarray  # (3, R)
    axis: np.ndarray  # (3, R)
    spin: np.ndarray  # (R,)
    thrust_coefficient: np.ndarray  # (R,)
    torque_coefficient: np.ndarray  # (R,) N m/(rad/s)^2
    lag_up: np.ndarray  # (R,) s
    lag_down: np.ndarray  # (R,) s
    dead_time: np.ndarray  # s, a multiple of a millisecond
    idle_speed: np.ndarray  # (R,)
    max_speed: np.ndarray  # (R,) at full voltage
    curve: np.ndarray  # (R,)
    quadratic: np.ndarray  # (R,)
    radius: np.ndarray  # (R,)
    spin_inertia: np.ndarray  # (R,)
    unbalance: np.ndarray  # (R,) factor of the vibration
    sag: np.ndarray  # relative loss of voltage per second
    imu_position: np.ndarray  # (3,)
    imu_wxyz: np.ndarray  # (4,) IMU to body
    pose_position: np.ndarray  # (3,)
    pose_wxyz: np.ndarray  # (4,)
    drag_area: np.ndarray  # (3,)
    drag_center: np.ndarray  # (3,) centre of pressure of the body
    weighed: np.ndarray  # kg, what the scale says

    @property
    def mass_properties(self) -> MassProperties:
        return MassProperties.of(self.mass, self.com, self.inertia)


def draw_vehicle(drawing: Drawing, level: Level, seed: int, damage: Damage | None = None) -> Vehicle:
    """The true vehicle of a seed; the scale weighs to 0.5 %."""
    rng = generator(seed, "vehicle")
    count = len(drawing.rotor_names)

    def spread():
        return 1 + level.rotor_spread * clipped_normal(rng, count)

    mass = drawing.mass * (1 + 0.05 * clipped_normal(rng))
    weighed = mass * (1 + 0.005 * clipped_normal(rng))
    thrust, torque, lag = drawing.thrust_coefficient * spread(), spread(), drawing.time_constant * spread()
    torque = torque * drawing.thrust_coefficient * drawing.torque_ratio
    position = drawing.position + level.position_error * clipped_normal(rng, (3, count))
    axis = tilt(drawing.axis, level.axis_error * clipped_normal(rng, (3, count)))
    com = drawing.com + level.com_offset * drawing.arm * clipped_normal(rng, 3)
    inertia = draw_inertia(drawing.inertia * mass / drawing.mass, level, rng)
    imu_position = drawing.imu_position + level.position_error * clipped_normal(rng, 3)
    imu_turn = quaternion_of_vector(level.imu_misalignment * clipped_normal(rng, 3))
    pose_position = drawing.pose_position + level.position_error * clipped_normal(rng, 3)
    pose_turn = quaternion_of_vector(level.axis_error * clipped_normal(rng, 3))
    dead_time = level.dead_time * rng.uniform(0.7, 1.3)
    drag = drawing.drag_area * rng.uniform(0.8, 1.25, 3)
    drag_center = drawing.com + drawing.arm * np.array([0.06, 0.06, 0.10]) * clipped_normal(rng, 3)
    unbalance = rng.uniform(0.4, 1.6, count)
    unbalance = unbalance / np.sqrt((unbalance**2).mean())
    if damage is not None:
        chosen = np.arange(count) == damage.rotor
        thrust = np.where(chosen, damage.thrust * thrust, thrust)
        torque = np.where(chosen, damage.torque * torque, torque)
        unbalance = np.where(chosen, damage.unbalance * unbalance, unbalance)
    return Vehicle(
        mass=np.array(mass), com=com, inertia=inertia, position=position, axis=axis, spin=drawing.spin,
        thrust_coefficient=thrust, torque_coefficient=torque,
        lag_up=lag * (1 - level.lag_difference / 2), lag_down=lag * (1 + level.lag_difference / 2),
        dead_time=np.array(np.round(dead_time / TICK) * TICK),
        idle_speed=drawing.idle_speed, max_speed=drawing.max_speed, curve=drawing.curve, quadratic=drawing.quadratic,
        radius=drawing.radius, spin_inertia=drawing.spin_inertia, unbalance=unbalance, sag=np.array(level.sag / 60),
        imu_position=imu_position, imu_wxyz=multiply(drawing.imu_wxyz, imu_turn),
        pose_position=pose_position, pose_wxyz=multiply(drawing.pose_wxyz, pose_turn),
        drag_area=drag, drag_center=drag_center, weighed=np.array(weighed),
    )  # fmt: skip


def tilt(axis, vector):
    """Unit axes (3, R) rotated by the part of the vectors (3, R) across them, rad."""
    across = vector - axis * (vector * axis).sum(axis=0)
    return apply(rotation_matrix(quaternion_of_vector(across)), axis)


def draw_inertia(nominal, level: Level, rng):
    """Moments and products off the drawing, drawn again until a rigid body can have them."""
    moments = np.diag(nominal)
    for _ in range(100):
        drawn = moments * (1 + level.inertia_error * clipped_normal(rng, 3))
        roots = np.sqrt(np.outer(drawn, drawn))
        products = np.zeros((3, 3))
        products[np.triu_indices(3, 1)] = level.inertia_products * clipped_normal(rng, 3)
        off = nominal - np.diag(moments) + roots * (products + products.T)
        inertia = np.diag(drawn) + off
        principal = np.linalg.eigvalsh(inertia)
        if principal[0] > 0 and principal[0] + principal[1] > 1.02 * principal[2]:
            return inertia
    raise ValueError("no rigid body found near the drawn inertia; make inertia_error smaller")


def with_payload(vehicle: Vehicle, mass: float, position, size: float = 0.03) -> Vehicle:
    """The vehicle with a ball of uniform density, `mass` kg and radius `size` m, at `position` (3,)."""
    position = np.asarray(position, float)
    total = vehicle.mass + mass
    com = (vehicle.mass * vehicle.com + mass * position) / total
    inertia = vehicle.inertia + point_inertia(vehicle.mass, vehicle.com - com)
    inertia = inertia + point_inertia(np.array(mass), position - com) + 0.4 * mass * size**2 * np.eye(3)
    return replace(vehicle, mass=total, com=com, inertia=inertia)


def with_battery_moved(vehicle: Vehicle, shift, fraction: float = 0.3) -> Vehicle:
    """The vehicle with its battery, a `fraction` of the mass at the centre of gravity, moved by `shift` (3,) m."""
    shift = np.asarray(shift, float)
    moved = vehicle.com + fraction * shift
    inertia = vehicle.inertia + point_inertia(vehicle.mass * fraction * (1 - fraction), shift)
    return replace(vehicle, com=moved, inertia=inertia)


def stack(vehicles: list[Vehicle]) -> Vehicle:
    """A batch: every array with the flights as its last axis."""
    columns = {f.name: np.stack([getattr(v, f.name) for v in vehicles], axis=-1) for f in fields(Vehicle)}
    return Vehicle(**columns)


def effectiveness(vehicle: Vehicle):
    """Specific force (3, R) m/s2 and angular acceleration (3, R) rad/s2 per (rad/s)^2, and the latter per rad/s2.

    The specific force is that of the centre of gravity; about it the torque is r x F - s Q a.
    """
    lever = vehicle.position - vehicle.com[:, None]
    force = vehicle.thrust_coefficient * vehicle.axis
    torque = cross(lever, force) - vehicle.spin * vehicle.torque_coefficient * vehicle.axis
    reaction = -vehicle.spin * vehicle.spin_inertia * vehicle.axis
    inverse = np.linalg.inv(vehicle.inertia)
    return force / vehicle.mass, inverse @ torque, inverse @ reaction
