"""Flights made by inverse dynamics in NumPy: a flat figure, and the rotor speeds that a quadrotor needs for it.

Nothing here comes from the package's own dynamics or simulator. World ENU, body FLU; rotors in a plus or cross at
arm `ARM`, thrust k w^2 along z, drag torque against the spin. Rotors lag their command by `TAU`.
"""

import numpy as np

from haltere.airframe import loads
from haltere.flight import Channel, Flight, nanoseconds

MASS, INERTIA, ARM, K, RATIO, TAU, GRAVITY = (
    0.7,
    np.array([7e-3, 7.5e-3, 1.25e-2]),
    0.17,
    8.5e-6,
    0.016,
    0.02,
    9.81,
)
PLACES = np.array([[ARM, 0, 0], [0, ARM, 0], [-ARM, 0, 0], [0, -ARM, 0]])
SPINS = np.array([1.0, -1.0, 1.0, -1.0])  # counter-clockwise seen from above: positive
NAMES = ("front", "left", "back", "right")
RATE = 1000.0


def airframe(spins=SPINS, places=PLACES):
    rotors = "".join(
        f'[[rotors]]\nname = "{n}"\nposition = {p.tolist()}\naxis = [0, 0, 1]\nspin = "{"ccw" if s > 0 else "cw"}"\n'
        f"thrust_coefficient = {K}\ntorque_ratio = {RATIO}\n"
        for n, p, s in zip(NAMES, places, spins, strict=True)
    )
    body = f"[body]\nmass = {MASS}\ninertia = {[*INERTIA.tolist(), 0, 0, 0]}\n"
    return loads(f'name = "made"\n{body}{rotors}[imu]\nposition = [0, 0, 0]\n', "made")


def figure(rng, t, lively):
    """Position (T, 3) with its second derivative, and yaw: sums of three sines each."""
    place, push = np.zeros((len(t), 3)), np.zeros((len(t), 3))
    yaw = np.zeros(len(t))
    for axis in range(4):
        for f in rng.uniform(0.15, 1.2, 3):
            w, phase = 2 * np.pi * f, rng.uniform(0, 2 * np.pi)
            size = lively * rng.uniform(0.5, 1.0)
            if axis < 3:
                place[:, axis] += size * np.sin(w * t + phase) / w**2
                push[:, axis] -= size * np.sin(w * t + phase)
            else:
                yaw += 0.5 * size * np.sin(w * t + phase) / w
    return place + np.array([0, 0, 3.0]), push, yaw


def made(seed, duration=8.0, pose=True, lively=1.5):
    """A flight; one that would need a rotor to pull backwards is flown more gently."""
    rng = np.random.default_rng(seed)
    state = rng.bit_generator.state
    while True:
        rng.bit_generator.state = state
        t = np.arange(0.0, duration, 1 / RATE)
        place, push, yaw = figure(rng, t, lively)
        R, w, force, squares = flown(push, yaw)
        inner = slice(50, -50)  # differences are one-sided at the ends
        if np.min(squares[inner]) > 100.0**2:
            break
        lively *= 0.8
    speed = np.sqrt(np.maximum(squares, 1.0))
    command = (speed + TAU * np.gradient(speed, 1 / RATE, axis=0)) / 900.0
    return record(rng, *(x[inner] for x in (t, place, R, w, force, speed, command)), pose)


def flown(push, yaw):
    """Attitude, rates (body), force (world) and squared speeds that an acceleration and a yaw need."""
    force = push + np.array([0, 0, GRAVITY])
    z = force / np.linalg.norm(force, axis=1, keepdims=True)
    heading = np.column_stack([np.cos(yaw), np.sin(yaw), 0 * yaw])
    y = np.cross(z, heading)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    R = np.stack([np.cross(y, z), y, z], axis=2)
    dR = np.gradient(R, 1 / RATE, axis=0)
    W = np.einsum("tji,tjk->tik", R, dR)
    w = np.column_stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]])
    alpha = np.gradient(w, 1 / RATE, axis=0)
    torque = alpha * INERTIA + np.cross(w, w * INERTIA)
    thrust = MASS * np.linalg.norm(force, axis=1)
    effect = np.vstack([np.ones(4), PLACES[:, 1], -PLACES[:, 0], -SPINS * RATIO]) * K
    return R, w, force, np.linalg.solve(effect, np.column_stack([thrust, torque]).T).T


def record(rng, t, place, R, w, force, speed, command, pose):
    """What sensors say: 200 Hz IMU and rotors, 50 Hz pose, with noise and biases."""
    imu = slice(None, None, 5)
    stamps = nanoseconds(t[imu] + 5.0)
    f = np.einsum("tji,tj->ti", R, force)[imu]
    accel = f + 0.3 * rng.normal(size=f.shape) + 0.1 * rng.normal(size=3)
    gyro = w[imu] + 0.013 * rng.normal(size=f.shape) + 0.01 * rng.normal(size=3)
    channels = [
        Channel("imu.accel", stamps, accel, "m/s2", "imu"),
        Channel("imu.gyro", stamps, gyro, "rad/s", "imu"),
        Channel("rotors.speed", stamps, np.round(speed[imu] * 2) / 2, "rad/s", "", NAMES),
        Channel("rotors.command", stamps, np.clip(command[imu], 0, 1), "1", "", NAMES),
    ]
    if pose:
        slow = slice(None, None, 20)
        q = wxyz(R[slow])
        q += 1e-3 * rng.normal(size=q.shape)
        q /= np.linalg.norm(q, axis=1, keepdims=True)
        when = nanoseconds(t[slow] + 5.0)
        channels.append(
            Channel("pose.position", when, place[slow] + 1e-3 * rng.normal(size=(len(when), 3)), "m", "world")
        )
        channels.append(Channel("pose.wxyz", when, q, "1", "world"))
    return Flight.of(*channels)


def wxyz(R):
    w = 0.5 * np.sqrt(np.maximum(1 + np.trace(R, axis1=1, axis2=2), 1e-12))
    return np.column_stack(
        [
            w,
            (R[:, 2, 1] - R[:, 1, 2]) / (4 * w),
            (R[:, 0, 2] - R[:, 2, 0]) / (4 * w),
            (R[:, 1, 0] - R[:, 0, 1]) / (4 * w),
        ]
    )
