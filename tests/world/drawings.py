"""The vehicles as drawn: a table of four, and any airframe file; what is handed to the program as its nominal
airframe.

A drawing holds mass, centre of gravity and inertia of the whole vehicle, rotors included. In an airframe file they
are those of the body alone, so the rotors' share is taken off when it is written and added when it is read; links
are merged into the body at the joint angles given. Axes are forward, left, up; inertia is xx yy zz xy xz yz.

Propellers: thrust k = C_T rho D^4 / (2 pi)^2 and torque over thrust C_P D / (2 pi C_T), with C_T and C_P of Brandt
and Selig, Propeller Performance Data at Low Reynolds Numbers (AIAA 2011-1255): 10 x 4.7 inch C_T 0.11, C_P 0.045; 5
inch with three blades of steep pitch C_T 0.155, C_P 0.08.
"""

import tomllib
from dataclasses import dataclass, replace

import numpy as np
from tests.world.vectors import (
    apply,
    multiply,
    point_inertia,
    quaternion_of_vector,
    rotation_matrix,
    six_of,
    symmetric,
)

DENSITY = 1.225  # kg/m3
INCH = 0.0254  # m


@dataclass(frozen=True)
class Drawing:
    """A vehicle as drawn: numbers of the whole, arrays over its R rotors, and its sensors; SI units, body axes."""

    name: str
    mass: float
    com: np.ndarray  # (3,)
    inertia: np.ndarray  # (3, 3) about the com
    rotor_names: tuple[str, ...]
    position: np.ndarray  # (3, R)
    axis: np.ndarray  # (3, R), direction of thrust
    spin: np.ndarray  # (R,), +1 for ccw
    thrust_coefficient: np.ndarray  # (R,) N/(rad/s)^2
    torque_ratio: np.ndarray  # (R,) m
    time_constant: np.ndarray  # (R,) s
    idle_speed: np.ndarray  # (R,) rad/s
    max_speed: np.ndarray  # (R,) rad/s
    curve: np.ndarray  # (R,)
    quadratic: np.ndarray  # (R,) bool: the form of the curve, else kappa
    radius: np.ndarray  # (R,) m, of the propeller
    rotor_mass: np.ndarray  # (R,) kg
    spin_inertia: np.ndarray  # (R,) kg m2 about the axis
    across_inertia: np.ndarray  # (R,) kg m2 across the axis
    imu_position: np.ndarray  # (3,)
    imu_wxyz: np.ndarray  # (4,)
    pose_position: np.ndarray  # (3,)
    pose_wxyz: np.ndarray  # (4,)
    drag_area: np.ndarray  # (3,) m2, drag coefficient times area per axis

    @property
    def arm(self) -> float:
        """Largest distance of a rotor from the middle of the rotors, m."""
        middle = self.position.mean(axis=1, keepdims=True)
        return float(np.sqrt(((self.position - middle) ** 2).sum(axis=0)).max())

    @property
    def hover_speed(self) -> float:
        """Common rotor speed at which the thrusts carry the weight, rad/s."""
        return float(np.sqrt(self.mass * 9.80665 / (self.thrust_coefficient * self.axis[2]).sum()))


def rotor_inertias(drawing: Drawing):
    """Inertia (3, 3, R) of each rotor about its own centre: J a a^T + J' (1 - a a^T)."""
    outer = drawing.axis[:, None] * drawing.axis[None, :]
    return drawing.spin_inertia * outer + drawing.across_inertia * (np.eye(3)[:, :, None] - outer)


def body_alone(drawing: Drawing):
    """Mass, centre of gravity (3,) and inertia (3, 3) of the body without its rotors."""
    mass = drawing.mass - drawing.rotor_mass.sum()
    com = (drawing.mass * drawing.com - (drawing.rotor_mass * drawing.position).sum(axis=1)) / mass
    about_origin = drawing.inertia + point_inertia(drawing.mass, drawing.com)
    about_origin = about_origin - rotor_inertias(drawing).sum(axis=-1)
    about_origin = about_origin - point_inertia(drawing.rotor_mass, drawing.position).sum(axis=-1)
    return mass, com, about_origin - point_inertia(mass, com)


def propeller(inches: float, thrust: float, power: float):
    """Thrust coefficient N/(rad/s)^2, torque over thrust m, and radius m of a propeller."""
    diameter = inches * INCH
    coefficient = thrust * DENSITY * diameter**4 / (2 * np.pi) ** 2
    return coefficient, power * diameter / (2 * np.pi * thrust), diameter / 2


def _table(
    name,
    mass,
    inertia,
    positions,
    spins,
    prop,
    lag,
    top,
    prop_mass,
    spin_inertia,
    drag,
    tilts=None,
    scale=None,
):
    positions = np.array(positions, float).T
    count = positions.shape[1]
    coefficient, ratio, radius = prop
    axis = np.tile([[0.0], [0.0], [1.0]], count)
    if tilts is not None:  # about the rotor's own arm
        arms = positions * np.array([[1.0], [1.0], [0.0]])
        arms = arms / np.sqrt((arms**2).sum(axis=0))
        axis = apply(rotation_matrix(quaternion_of_vector(arms * np.array(tilts))), axis)
    every = np.ones(count)
    return Drawing(
        name=name, mass=mass, com=np.zeros(3), inertia=symmetric(np.array([*inertia, 0.0, 0.0, 0.0])),
        rotor_names=tuple(f"m{i + 1}" for i in range(count)),
        position=positions, axis=axis, spin=np.array(spins, float),
        thrust_coefficient=coefficient * every * (1.0 if scale is None else np.array(scale)),
        torque_ratio=ratio * every, time_constant=lag * every,
        idle_speed=0.05 * top * every, max_speed=top * every, curve=0.5 * every,
        quadratic=np.zeros(count, bool), radius=radius * every,
        rotor_mass=prop_mass * every, spin_inertia=spin_inertia * every, across_inertia=0.55 * spin_inertia * every,
        imu_position=np.array([0.012, -0.008, 0.004]), imu_wxyz=np.array([1.0, 0.0, 0.0, 0.0]),
        pose_position=np.array([-0.02, 0.03, 0.05]), pose_wxyz=np.array([1.0, 0.0, 0.0, 0.0]),
        drag_area=np.array(drag),
    )  # fmt: skip


def _ring(radius, degrees, height=0.0):
    return [(radius * np.cos(np.deg2rad(a)), radius * np.sin(np.deg2rad(a)), height) for a in degrees]


QUADROTOR = _table(
    "quadrotor-x", 0.5, (1.9e-3, 2.2e-3, 3.6e-3), _ring(0.11, (-45, 135, 45, -135), 0.012), (1, 1, -1, -1),
    propeller(5, 0.155, 0.08), 0.025, 2300.0, 0.006, 6e-6, (0.010, 0.012, 0.020),
)  # fmt: skip
HEXAROTOR = _table(
    "hexarotor", 3.0, (0.046, 0.049, 0.083), _ring(0.275, (30, 90, 150, 210, 270, 330), 0.03), (1, -1, 1, -1, 1, -1),
    propeller(10, 0.11, 0.045), 0.045, 1000.0, 0.03, 9e-5, (0.035, 0.04, 0.08),
)  # fmt: skip
TILTED = _table(
    "tilted-quadrotor", 1.5, (0.016, 0.0175, 0.030), _ring(0.21, (-45, 135, 45, -135), 0.02), (1, 1, -1, -1),
    propeller(9, 0.11, 0.045), 0.035, 1150.0, 0.02, 5.5e-5, (0.02, 0.024, 0.045),
    tilts=np.deg2rad([12.0, 12.0, -12.0, -12.0]),
)  # fmt: skip
COAXIAL_Y = _table(
    "coaxial-y", 1.1, (8.6e-3, 9.0e-3, 0.0150),
    [*_ring(0.2, (60, 180, -60), 0.03), *_ring(0.2, (60, 180, -60), -0.03)], (1, -1, 1, -1, 1, -1),
    propeller(6, 0.13, 0.06), 0.03, 2000.0, 0.009, 1.1e-5, (0.016, 0.018, 0.035),
    scale=[1.0, 1.0, 1.0, 0.8, 0.8, 0.8],  # the lower rotors work in the wash of the upper ones
)  # fmt: skip
DRAWINGS = {drawing.name: drawing for drawing in (QUADROTOR, HEXAROTOR, TILTED, COAXIAL_Y)}


def nominal_toml(drawing: Drawing, mass: float | None = None) -> str:
    """The airframe file of a drawing, with the mass of the whole as weighed where it is given."""
    if mass is not None:
        drawing = replace(drawing, mass=mass, inertia=drawing.inertia * mass / drawing.mass)
    body, com, inertia = body_alone(drawing)

    def numbers(values):
        return "[" + ", ".join(f"{float(v):.12g}" for v in values) + "]"

    lines = [f'name = "{drawing.name}"', "", "[body]", f"mass = {body:.12g}", f"com = {numbers(com)}"]
    lines += [f"inertia = {numbers(six_of(inertia))}"]
    own = six_of(rotor_inertias(drawing))
    for i, name in enumerate(drawing.rotor_names):
        kind = "quadratic" if drawing.quadratic[i] else "kappa"
        lines += [
            "", "[[rotors]]", f'name = "{name}"', f"position = {numbers(drawing.position[:, i])}",
            f"axis = {numbers(drawing.axis[:, i])}", f'spin = "{"ccw" if drawing.spin[i] > 0 else "cw"}"',
            f"thrust_coefficient = {drawing.thrust_coefficient[i]:.12g}",
            f"torque_ratio = {drawing.torque_ratio[i]:.12g}", f"time_constant = {drawing.time_constant[i]:.12g}",
            f"speed_limits = {numbers((drawing.idle_speed[i], drawing.max_speed[i]))}",
            f"idle_speed = {drawing.idle_speed[i]:.12g}",
            f'curve = {{ kind = "{kind}", value = {drawing.curve[i]:.12g} }}',
        ]  # fmt: skip
        if drawing.rotor_mass[i] > 0:
            lines += [f"mass = {drawing.rotor_mass[i]:.12g}", f"inertia = {numbers(own[:, i])}"]
    for name in ("imu", "pose"):
        position, wxyz = getattr(drawing, f"{name}_position"), getattr(drawing, f"{name}_wxyz")
        lines += ["", f"[{name}]", f"position = {numbers(position)}", f"wxyz = {numbers(wxyz)}"]
    return "\n".join(lines) + "\n"


def read_drawing(text: str, angles: dict[str, float] | None = None) -> Drawing:
    """The drawing of an airframe file, its joints held at `angles` (rad by link, default zero), links merged."""
    data = tomllib.loads(text)
    frames, parts = _merge_links(data, angles or {})
    rotors = [_read_rotor(rotor, frames, data) for rotor in data["rotors"]]

    def over(key):
        return np.array([rotor[key] for rotor in rotors])

    for rotor in rotors:
        parts.append((rotor["rotor_mass"], rotor["position"] + rotor["offset"], rotor["inertia"]))
    mass = sum(part[0] for part in parts)
    com = sum(part[0] * part[1] for part in parts) / mass
    inertia = sum(part[2] + point_inertia(part[0], part[1] - com) for part in parts)
    axis, position = over("axis").T, over("position").T
    arm = np.sqrt((position**2).sum(axis=0)).max()
    hover = np.sqrt(mass * 9.80665 / (over("thrust_coefficient") * np.maximum(axis[2], 0.1)).sum())
    top = over("top")
    imu, pose = _sensor(data, "imu", frames), _sensor(data, "pose", frames)
    return Drawing(
        name=data["name"], mass=mass, com=com, inertia=inertia,
        rotor_names=tuple(rotor["name"] for rotor in rotors), position=position, axis=axis, spin=over("spin"),
        thrust_coefficient=over("thrust_coefficient"), torque_ratio=over("torque_ratio"),
        time_constant=over("time_constant"), idle_speed=over("idle"), max_speed=np.where(top > 0, top, 2 * hover),
        curve=over("curve"), quadratic=over("quadratic"),
        radius=(over("thrust_coefficient") * (2 * np.pi) ** 2 / (0.11 * DENSITY)) ** 0.25 / 2,
        rotor_mass=over("rotor_mass"), spin_inertia=over("spin_inertia"), across_inertia=over("across"),
        imu_position=imu[0], imu_wxyz=imu[1], pose_position=pose[0], pose_wxyz=pose[1],
        drag_area=np.array([0.35, 0.4, 0.8]) * arm**2,
    )  # fmt: skip


def _merge_links(data, angles):
    body = data["body"]
    frames = {"body": (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))}
    parts = [
        (
            body["mass"],
            np.array(body.get("com", [0, 0, 0]), float),
            symmetric(np.array(body["inertia"], float)),
        )
    ]
    waiting = list(data.get("links", []))
    while waiting:
        link = waiting.pop(0)
        if link["parent"] not in frames:
            waiting.append(link)
            continue
        origin, wxyz = frames[link["parent"]]
        joint = link["joint"]
        axis = np.array(joint.get("axis", [0, 0, 1]), float)
        turn = angles.get(link["name"], 0.0) * axis / np.sqrt((axis**2).sum())
        frame = (
            origin + apply(rotation_matrix(wxyz), np.array(joint["origin"], float)),
            multiply(wxyz, quaternion_of_vector(turn)),
        )
        frames[link["name"]] = frame
        rotation = rotation_matrix(frame[1])
        inertia = rotation @ symmetric(np.array(link["inertia"], float)) @ rotation.T
        parts.append(
            (link["mass"], frame[0] + rotation @ np.array(link.get("com", [0, 0, 0]), float), inertia)
        )
    return frames, parts


def _read_rotor(rotor, frames, data):
    origin, wxyz = frames[rotor.get("link", "body")]
    rotation = rotation_matrix(wxyz)
    axis = rotation @ np.array(rotor["axis"], float)
    axis = axis / np.sqrt((axis**2).sum())
    inertia = rotation @ symmetric(np.array(rotor.get("inertia", [0.0] * 6), float)) @ rotation.T
    about = float(axis @ inertia @ axis)
    across = (float(np.trace(inertia)) - about) / 2  # averaged over a revolution
    outer = np.outer(axis, axis)
    curve = rotor.get("curve", {"kind": "kappa", "value": 1.0})
    limits = rotor.get("speed_limits", [0.0, 0.0])
    return {
        "name": rotor["name"],
        "position": origin + rotation @ np.array(rotor["position"], float),
        "offset": rotation @ np.array(rotor.get("com", [0, 0, 0]), float),
        "axis": axis,
        "spin": 1.0 if rotor["spin"] == "ccw" else -1.0,
        "thrust_coefficient": rotor["thrust_coefficient"],
        "torque_ratio": rotor["torque_ratio"],
        "time_constant": rotor.get("time_constant", 0.02),
        "idle": rotor.get("idle_speed", 0.0),
        "top": limits[1],
        "curve": curve["value"],
        "quadratic": curve["kind"] == "quadratic",
        "rotor_mass": rotor.get("mass", 0.0),
        "spin_inertia": about,
        "across": across,
        "inertia": about * outer + across * (np.eye(3) - outer),
    }


def _sensor(data, kind, frames):
    sensor = data.get(kind, {})
    sensor = sensor[0] if isinstance(sensor, list) else sensor
    origin, wxyz = frames[sensor.get("link", "body")]
    own = np.array(sensor.get("wxyz", [1, 0, 0, 0]), float)
    position = origin + rotation_matrix(wxyz) @ np.array(sensor.get("position", [0, 0, 0]), float)
    return position, multiply(wxyz, own / np.sqrt((own**2).sum()))
