"""Flights of catalogue vehicles with known truth, integrated here in NumPy: none of the package's physics is in them.

A vehicle is a rigid body, all links held at their angles: mass, centre of mass M and inertia are added up from its
parts. The truth differs from the file by draws. It flies figures by a controller of its own, and each motor is shaken
with tones of its own so that it is felt. Sensors are white noise about the truth and constant biases.
"""

from dataclasses import dataclass, replace

import numpy as np

from haltere.airframe import Imu, PoseSensor, from_catalogue
from haltere.flight import Channel, Flight, nanoseconds

STEP, EVERY, POSE_EVERY = 2.5e-3, 2, 8
"""s of the plant; steps for each sample of IMU and telemetry (200 Hz), and for each pose (50 Hz)."""
G = 9.81
DEGREE = np.pi / 180
SPEED_SIGMA = np.pi
"""rad/s, of telemetry."""
LAP = 12.0
"""s, in which the figure closes."""
LEAD = 2.0
"""How much faster than its time constant a motor is driven."""
TONES = np.array([2.3, 3.1, 4.1, 5.3, 6.1, 7.3, 8.9, 10.3])


def equipped(name):
    """The vehicle of the catalogue with an IMU and a pose sensor whose noise is stated; logged at 200 and 50 Hz."""
    airframe = from_catalogue(name)
    imu = airframe.imu[0] if airframe.imu else Imu(position=(0.01, -0.005, 0.002))
    pose = airframe.pose[0] if airframe.pose else PoseSensor(position=(0.02, 0.01, 0.03))
    changes = {"sigma_accel_density": None, "sigma_gyro_density": None, "rate": 1 / (STEP * EVERY)}
    changes |= {"sigma_accel": imu.sigma_accel or 0.3, "sigma_gyro": imu.sigma_gyro or 0.01}
    stated = {"rate": 1 / (STEP * POSE_EVERY), "sigma_position": 1e-3, "sigma_rotation": 2e-3}
    sensors = {
        "imu": (imu.model_copy(update=changes),),
        "pose": (pose.model_copy(update=stated),),
        "position": (),
    }
    return airframe.model_copy(update=sensors)


def hat(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def turn(v):
    """Rodrigues' formula."""
    angle = np.linalg.norm(v)
    if angle < 1e-12:
        return np.eye(3) + hat(v)
    K = hat(v / angle)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def matrix(q):
    w, v = q[0], np.asarray(q[1:])
    return np.eye(3) * (w * w - v @ v) + 2 * np.outer(v, v) + 2 * w * hat(v)


def six(numbers):
    xx, yy, zz, xy, xz, yz = numbers
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@dataclass(frozen=True)
class Rigid:
    """All numbers of a vehicle; places from the body's origin, in body axes."""

    names: tuple
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    place: np.ndarray
    axis: np.ndarray
    k: np.ndarray
    ratio: np.ndarray
    spin: np.ndarray
    spin_inertia: np.ndarray
    tau: np.ndarray
    idle: np.ndarray
    top: np.ndarray
    share: np.ndarray
    kappa: np.ndarray
    imu_place: np.ndarray
    imu_turn: np.ndarray
    pose_place: np.ndarray
    pose_turn: np.ndarray

    @property
    def principal(self):
        """R_BM and the moments: the axes in which the inertia is diagonal, nearest to the body's."""
        if np.max(np.abs(self.inertia - np.diag(np.diag(self.inertia)))) < 1e-9 * np.trace(self.inertia):
            return np.eye(3), np.diag(self.inertia).copy()
        moments, V = np.linalg.eigh(self.inertia)
        order = np.argmax(np.abs(V), axis=1)
        V, moments = V[:, order], moments[order]
        return V * np.sign(np.diag(V)), moments

    @property
    def rows(self):
        """(3, N) specific force, (3, N) angular acceleration, (3, N) answer to rotor acceleration, body axes."""
        force = (self.k[:, None] * self.axis).T
        torque = np.cross(self.place - self.com, force.T) - (self.spin * self.ratio)[:, None] * force.T
        answer = -(self.spin * self.spin_inertia)[:, None] * self.axis
        return (
            force / self.mass,
            np.linalg.solve(self.inertia, torque.T),
            np.linalg.solve(self.inertia, answer.T),
        )

    def speed(self, d):
        """Steady speeds of commands."""
        d = np.clip(d, 0, 1)
        k = self.share
        y = np.where(self.kappa, k * d + (1 - k) * np.sqrt(d), np.sqrt(k * d * d + (1 - k) * d))
        return self.idle + (self.top - self.idle) * y

    def command(self, speed):
        """The inverse."""
        y = np.clip((speed - self.idle) / (self.top - self.idle), 0, 1)
        k, y = self.share, np.where(self.kappa, y, y * y)
        root = np.where(k < 1e-9, y, (-(1 - k) + np.sqrt((1 - k) ** 2 + 4 * k * y)) / np.maximum(2 * k, 1e-9))
        return np.where(self.kappa, root * root, root)


def rigid(airframe, angles=None):
    """The numbers of an airframe file, links at angles by name, rad, zero if none is given."""
    origin, facing = {"body": np.zeros(3)}, {"body": np.eye(3)}
    waiting = list(airframe.links)
    while waiting:
        link = waiting.pop(0)
        if link.parent in origin:
            up = facing[link.parent]
            origin[link.name] = origin[link.parent] + up @ np.asarray(link.joint.origin)
            swing = (angles or {}).get(link.name, 0.0) * np.asarray(link.joint.axis or (0, 0, 1), float)
            facing[link.name] = up @ turn(swing)
        else:
            waiting.append(link)
    rotors = airframe.rotors
    carrier = [facing[r.link] for r in rotors]
    place = np.array(
        [origin[r.link] + A @ np.asarray(r.position) for A, r in zip(carrier, rotors, strict=True)]
    )
    axis = np.array(
        [A @ np.asarray(r.axis) / np.linalg.norm(r.axis) for A, r in zip(carrier, rotors, strict=True)]
    )
    parts = [(airframe.body.mass, np.asarray(airframe.body.com), six(airframe.body.inertia))]
    parts += [
        (x.mass, origin[x.name] + (A := facing[x.name]) @ np.asarray(x.com), A @ six(x.inertia) @ A.T)
        for x in airframe.links
    ]
    parts += [
        (r.mass, p + A @ np.asarray(r.com), A @ six(r.inertia) @ A.T)
        for A, r, p in zip(carrier, rotors, place, strict=True)
    ]
    mass = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / mass
    inertia = sum(J - m * hat(c - com) @ hat(c - com) for m, c, J in parts)
    limits = [r.speed_limits or (0.0, 1000.0) for r in rotors]
    imu, pose = airframe.imu[0], airframe.pose[0]
    return Rigid(
        tuple(r.name for r in rotors), mass, com, inertia, place, axis,
        np.array([r.thrust_coefficient for r in rotors]), np.array([r.torque_ratio for r in rotors]),
        np.array([1.0 if r.spin == "ccw" else -1.0 for r in rotors]),
        np.array([a @ A @ six(r.inertia) @ A.T @ a for a, A, r in zip(axis, carrier, rotors, strict=True)]),
        np.array([r.time_constant or 0.02 for r in rotors]), np.array([r.idle_speed or 0.0 for r in rotors]),
        np.array([high for _, high in limits]), np.array([r.curve.value if r.curve else 1.0 for r in rotors]),
        np.array([bool(r.curve and r.curve.kind == "kappa") for r in rotors]),
        origin[imu.link] + imu.position, matrix(imu.wxyz), origin[pose.link] + pose.position, matrix(pose.wxyz),
    )  # fmt: skip


@dataclass(frozen=True)
class Spread:
    """Deviations of a true vehicle from its file; relative where no unit is named."""

    mass: float = 0.03
    inertia: float = 0.1
    k: float = 0.1
    ratio: float = 0.1
    arm: float = 0.1
    height: float = 5e-3
    tilt: float = 3 * DEGREE
    spin: float = 0.2
    sensor: float = 5e-3
    turned: float = 3 * DEGREE


PRIOR = Spread()
"""What the vehicle filter believes of a file."""
DRAWING = Spread(ratio=0.03, arm=5e-3, height=1e-3, tilt=0.0, sensor=5e-3, turned=0.0)
"""A vehicle built as drawn."""


def drawn(nominal, rng, spread):
    """A true vehicle that can hover with all its rotors, drawn about the file."""
    while True:
        found = _drawn(nominal, rng, spread)
        squares = _mix(found) @ [G, 0, 0, 0]
        even = G / found.rows[0][2].sum()
        if np.all(squares > 0.6 * even) and np.all(squares < np.minimum(1.5 * even, 0.75 * found.top**2)):
            return found


def _mix(vehicle):
    """Squared speeds for a specific force along z and an angular acceleration."""
    return np.linalg.pinv(np.vstack([vehicle.rows[0][2], vehicle.rows[1]]))


def _drawn(nominal, rng, spread):
    """The true vehicle, drawn about the file in principal axes."""
    n = len(nominal.k)
    R, moments = nominal.principal
    while True:
        changed = moments * (1 + spread.inertia * rng.normal(size=3))
        if 2 * changed.max() < changed.sum():
            break

    def around(values, sigma):
        return values + sigma * rng.normal(size=np.shape(values))

    arm = np.max(np.abs((nominal.place - nominal.com) @ R))
    place = (
        nominal.place + rng.normal(size=(n, 3)) * [spread.arm * arm, spread.arm * arm, spread.height] @ R.T
    )
    axis = []
    for a in nominal.axis:
        lean = spread.tilt * np.cross(a, rng.normal(size=3))
        axis.append(turn(lean) @ a)
    reach = np.maximum(0.1 * np.abs((nominal.pose_place - nominal.com) @ R), 5e-3) * (spread.sensor / 5e-3)
    return replace(
        nominal,
        mass=nominal.mass * (1 + spread.mass * rng.normal()),
        inertia=R @ np.diag(changed) @ R.T,
        place=place,
        axis=np.array(axis),
        k=nominal.k * around(np.ones(n), spread.k),
        ratio=nominal.ratio * around(np.ones(n), spread.ratio),
        spin_inertia=nominal.spin_inertia * around(np.ones(n), spread.spin),
        imu_place=around(nominal.imu_place, spread.sensor),
        imu_turn=nominal.imu_turn @ turn(spread.turned * rng.normal(size=3)),
        pose_place=nominal.pose_place + R @ (reach * rng.normal(size=3)),
        pose_turn=nominal.pose_turn @ turn(spread.turned * rng.normal(size=3)),
    )  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """What happened: at each sample of the IMU, the centre of mass M in the world, body axes."""

    vehicle: Rigid
    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    attitude: np.ndarray
    rates: np.ndarray
    turning: np.ndarray
    force: np.ndarray
    speeds: np.ndarray
    rises: np.ndarray
    commands: np.ndarray


def fly(truth, rng, duration=12.0, shake=0.06):
    """A figure with shaken motors; gains follow from how slow the motors are."""
    n, count = len(truth.k), round(duration / STEP)
    T, L = truth.rows[1], truth.rows[0]
    mix = _mix(truth)
    bodies = (truth.inertia, np.linalg.inv(truth.inertia))
    spun = (truth.spin * truth.spin_inertia)[:, None] * truth.axis
    hover = mix @ [G, 0, 0, 0]
    phases, tones = (
        rng.uniform(0, 2 * np.pi, (3, n)),
        np.stack([rng.permutation(TONES)[:n] for _ in range(3)]),
    )
    figure = (
        2 * np.pi / LAP * np.array([3.0, 4.0, 5.0]),
        rng.uniform(0, 2 * np.pi, 3),
        np.array([0.6, 0.6, 0.2]),
    )
    turns = 2 * np.pi / LAP * 3.0
    # A rotor that speeds up turns the vehicle at once, by more than its drag does later: yaw has to be gentle then.
    at_once = LEAD * truth.spin_inertia / (truth.tau * 2 * truth.ratio * truth.k * np.sqrt(np.abs(hover)))
    stiff = min(0.3 * LEAD / np.max(truth.tau), 14.0) * np.array(
        [1.0, 1.0, 0.3 / (1 + 0.3 * np.max(at_once))]
    )
    strong = [0.2, 0.2, 0.08] * (np.abs(T) @ hover)
    pace = min(0.12 * stiff[0], 2.0)
    p, v, R, w = np.zeros(3), np.zeros(3), np.eye(3), np.zeros(3)
    v = figure[0] * figure[2] * np.cos(figure[1])
    p = figure[2] * np.sin(figure[1])
    u = np.sqrt(np.maximum(hover, 0))
    rows, command = [], truth.command(u)

    def rate_of(w, u, rise):
        torque = -np.cross(w, bodies[0] @ w + u @ spun) - rise @ spun
        return T @ (u * u) + bodies[1] @ torque

    for step in range(count):
        t = step * STEP
        angle = figure[0] * t + figure[1]
        ref = (
            figure[2] * np.sin(angle),
            figure[0] * figure[2] * np.cos(angle),
            -(figure[0] ** 2) * figure[2] * np.sin(angle),
        )
        want = ref[2] + pace**2 * (ref[0] - p) + 1.6 * pace * (ref[1] - v) + [0, 0, G]
        z = want / np.linalg.norm(want)
        yaw = 0.5 * np.sin(turns * t)
        y = np.cross(z, [np.cos(yaw), np.sin(yaw), 0.0])
        y /= np.linalg.norm(y)
        Rd = np.stack([np.cross(y, z), y, z], axis=1)
        E = R.T @ Rd
        lean = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        turning = np.clip(stiff * (0.35 * stiff * lean - w), -strong, strong)
        squares = mix @ [want @ R[:, 2], *turning]
        squares = squares * (1 + shake * np.sum(np.sin(2 * np.pi * tones * t + phases), axis=0))
        wanted = np.sqrt(np.clip(squares, 0.1 * hover, (0.95 * truth.top) ** 2))
        command = truth.command(u + LEAD * (wanted - u))
        target = truth.speed(command)
        keep = np.exp(-STEP / truth.tau)
        later = target + (u - target) * keep
        rise = (target - u) / truth.tau
        a = rate_of(w, u, rise)
        if step % EVERY == 0:
            rows.append((t, p, v, R, w, a, L @ (u * u), u, rise, command))
        b = rate_of(w + STEP * a, later, (target - later) / truth.tau)
        mean = w + 0.5 * STEP * (0.5 * (a + b))
        middle = R @ turn(0.5 * STEP * mean)
        pull = middle @ (L @ (0.25 * (u + later) ** 2)) - [0, 0, G]
        p = p + STEP * v + 0.5 * STEP**2 * pull
        v, w, u = v + STEP * pull, w + 0.5 * STEP * (a + b), later
        R = R @ turn(STEP * mean)
    columns = [np.array(x) for x in zip(*rows, strict=True)]
    return Truth(truth, *columns)


def quaternions(R):
    """wxyz (T, 4) of matrices (T, 3, 3) by the eigenvector of Bar-Itzhack's matrix."""
    K = np.zeros((len(R), 4, 4))
    trace = np.trace(R, axis1=1, axis2=2)
    K[:, 0, 0] = trace
    axial = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    K[:, 0, 1:] = K[:, 1:, 0] = axial
    K[:, 1:, 1:] = R + R.transpose(0, 2, 1) - trace[:, None, None] * np.eye(3)
    q = np.linalg.eigh(K)[1][:, :, -1]
    return q * np.sign(q[:, :1] + 1e-300)


def record(truth, airframe, rng, names=None):
    """The flight as the sensors of the airframe saw it."""
    x, imu, pose = truth.vehicle, airframe.imu[0], airframe.pose[0]
    lever = x.imu_place - x.com
    w, dw = truth.rates, truth.turning
    felt = truth.force + np.cross(dw, lever) + np.cross(w, np.cross(w, lever))
    stamps = nanoseconds(np.round(truth.time + 1.0, 6))

    def noisy(values, sigma, bias=0.0):
        return values + sigma * rng.normal(size=values.shape) + bias * rng.normal(size=values.shape[-1])

    seen = slice(None, None, POSE_EVERY // EVERY)
    R = truth.attitude[seen]
    place = truth.position[seen] + R @ (x.pose_place - x.com)
    turned = np.stack([A @ x.pose_turn @ turn(pose.sigma_rotation * rng.normal(size=3)) for A in R])
    labels = names or x.names
    return Flight.of(
        Channel("imu.accel", stamps, noisy(felt @ x.imu_turn, imu.sigma_accel, 0.1), "m/s2", "imu"),
        Channel("imu.gyro", stamps, noisy(w @ x.imu_turn, imu.sigma_gyro, 0.01), "rad/s", "imu"),
        Channel("rotors.speed", stamps, noisy(truth.speeds, SPEED_SIGMA), "rad/s", "", labels),
        Channel("rotors.command", stamps, truth.commands, "1", "", labels),
        Channel("pose.position", stamps[seen], noisy(place, pose.sigma_position), "m", "world"),
        Channel("pose.wxyz", stamps[seen], quaternions(turned), "1", "world"),
        Channel("battery.voltage", stamps[seen], np.full(len(R), 15.0), "V", ""),
    )
