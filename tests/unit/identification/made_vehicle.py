"""Lively flights of random quadrotors with known truth, integrated here in NumPy: no code of the package is in them.

Rigid body about its centre of mass with a rate controller, motors with curve, lag and dead time, reaction to rotor
acceleration, an IMU off the centre. Attitude and place do not enter: nothing without pose can see them.
"""

from dataclasses import dataclass

import numpy as np

from haltere.flight import Channel, Flight, nanoseconds

STEP = 1e-3
NAMES = ("m1", "m2", "m3", "m4")
SIDES = np.array([[1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
TURNED = np.array([[1, 2, 0], [2, 0, 1]])
SPINS = np.array([1.0, -1.0, 1.0, -1.0])


@dataclass(frozen=True)
class Truth:
    mass: float
    inertia: np.ndarray
    places: np.ndarray
    k: np.ndarray
    ratio: float
    spin_inertia: float
    top: float
    idle: float
    share: float
    tau: float
    dead: float
    imu: np.ndarray

    @property
    def lift(self):
        return self.k / self.mass

    @property
    def torque(self):
        x, y = self.places.T
        return np.array([self.k * y, -self.k * x, -SPINS * self.ratio * self.k]) / self.inertia[:, None]

    @property
    def spin(self):
        return -SPINS * self.spin_inertia / self.inertia[2]

    def speed(self, d):
        return self.idle + (self.top - self.idle) * (self.share * d + (1 - self.share) * np.sqrt(d))


def draw(rng):
    mass = rng.uniform(0.3, 1.2)
    arm = 0.08 + 0.1 * mass
    Ixx = 0.08 * mass * arm**2 * rng.uniform(0.9, 1.4)
    Iyy = Ixx * rng.uniform(0.9, 1.3)
    top = rng.uniform(1500, 3000)
    k = mass * 9.81 * rng.uniform(2.2, 3.5) / 4 / top**2 * rng.uniform(0.95, 1.05, 4)
    return Truth(
        mass, np.array([Ixx, Iyy, rng.uniform(1.5, 1.8) * Ixx]), SIDES * arm * rng.uniform(0.9, 1.1, (4, 2)), k,
        rng.uniform(0.01, 0.02), 5e-4 * Ixx, top, 0.08 * top, rng.uniform(0.3, 0.8), rng.uniform(0.015, 0.04),
        rng.uniform(0.0, 0.004), rng.uniform(-0.02, 0.02, 3),
    )  # fmt: skip


def fly(rng, truth, duration=15.0, lively=1.0):
    """(time, rates, force at the IMU, speeds, commands) at 1 / STEP."""
    count = int(duration / STEP)
    T, spin, J = truth.torque, truth.spin, truth.inertia
    mix = np.linalg.pinv(np.vstack([truth.lift, T]))
    w = np.full(4, np.sqrt(9.81 / truth.lift.sum()))
    grid = np.linspace(0.0, 1.0, 2001)
    curve = truth.speed(grid)
    W, wish, thrust = np.zeros(3), np.zeros(3), 9.81
    late = max(round(truth.dead / STEP), 1)
    queue = [np.interp(w, curve, grid)] * late
    rows = []
    for step in range(count):
        if step % 150 == 0:  # there and back, so that the vehicle stays about level as one that does not fall
            wish = -wish if step % 300 else lively * rng.uniform(-1.0, 1.0, 3) * [4.0, 4.0, 2.0]
        if step % 500 == 0:
            thrust = 9.81 * (1.0 + lively * rng.uniform(-0.25, 0.35))
        if step % 2 == 0:
            wanted = mix @ np.array([thrust, *(12.0 * (wish - W))])
            command = np.interp(np.sqrt(np.clip(wanted, (0.15 * truth.top) ** 2, truth.top**2)), curve, grid)
        queue.append(command)
        rise = (np.interp(queue.pop(0), grid, curve) - w) / truth.tau
        turn = T @ w**2 - W[TURNED[0]] * W[TURNED[1]] * (J[TURNED[1]] - J[TURNED[0]]) / J
        turn[2] += spin @ rise
        rows.append((W, turn, w, command))
        W, w = W + STEP * turn, w + STEP * rise
    W, turn, w, command = (np.array(x) for x in zip(*rows, strict=True))
    force = np.cross(turn, truth.imu) + np.cross(W, np.cross(W, truth.imu))
    force[:, 2] += w**2 @ truth.lift
    return np.arange(count) * STEP, W, force, w, command


def record(rng, truth, duration=15.0, lively=1.0, rate=500.0, speeds=True, noise=1.0):
    t, W, force, w, command = fly(rng, truth, duration, lively)
    step = round(1 / (rate * STEP))
    stamps = nanoseconds(np.round(t[::step] + 3.0, 6))

    def noisy(x, sigma):
        return x[::step] + noise * sigma * rng.normal(size=x[::step].shape)

    channels = [
        Channel("imu.gyro", stamps, noisy(W, 0.01), "rad/s", "imu"),
        Channel("imu.accel", stamps, noisy(force, 0.2), "m/s2", "imu"),
        Channel("rotors.command", stamps, command[::step], "1", "", NAMES),
    ]
    if speeds:
        channels.append(Channel("rotors.speed", stamps, noisy(w, 0.003 * truth.top), "rad/s", "", NAMES))
    return Flight.of(*channels)
