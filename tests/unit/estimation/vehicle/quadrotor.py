"""A quadrotor that the tests of the smoother share, and its motion by equations that share no code with ours.

Newton and Euler about the centre of mass, the rotors' momentum h = sum e J w n included:

    m v' = R (F + m f) + m g,   R' = R [w],   I w' = M + I a - h' - w x (I w + h)
"""

from dataclasses import dataclass
from functools import lru_cache

import jax
import numpy as np
from scipy.integrate import quad_vec, solve_ivp
from tests.world.drawings import QUADROTOR, nominal_toml

from haltere.airframe import loads
from haltere.estimation.vehicle.motion import STATE
from haltere.estimation.vehicle.parameters import NominalVehicle, vehicle_of

AIRFRAME = loads(nominal_toml(QUADROTOR))
NAMES = tuple(rotor.name for rotor in AIRFRAME.rotors)


@lru_cache
def nominal_vehicle():
    return NominalVehicle.from_airframe(AIRFRAME)


@lru_cache
def vehicle_program():
    """Coordinates z (n,) to the vehicle, compiled."""
    nominal = nominal_vehicle()
    return jax.jit(lambda z: vehicle_of(nominal.layout, nominal, z))


def some_vehicle(seed=1):
    """A vehicle that deviates from the nominal one in every number."""
    z = np.random.default_rng(seed).normal(size=nominal_vehicle().layout.size)
    return jax.tree.map(np.asarray, vehicle_program()(z))


@dataclass(frozen=True)
class Speeds:
    """Rotor speeds base + swing sin(pace t + phase), (R,) each, rad/s."""

    base: np.ndarray
    swing: np.ndarray
    pace: np.ndarray
    phase: np.ndarray

    def __call__(self, t):
        return self.base + self.swing * np.sin(self.pace * t + self.phase)

    def slope(self, t):
        return self.swing * self.pace * np.cos(self.pace * t + self.phase)

    def inputs(self, t, step):
        """(6, R) rotor inputs of a step from t on, by quadrature."""

        def mean(f):
            return quad_vec(f, 0.0, step, epsabs=1e-12, epsrel=1e-12)[0] / step

        square = mean(lambda s: self(t + s) ** 2)
        early = mean(lambda s: 2.0 * (1.0 - s / step) * self(t + s) ** 2)
        speed = mean(lambda s: self(t + s))
        return np.stack([square, early, speed, self(t) ** 2, self(t), self.slope(t)])


def some_speeds(seed=2, swing=60.0):
    """Speeds around hover that swing by `swing` rad/s at 2 to 5 Hz."""
    rng = np.random.default_rng(seed)
    nominal = nominal_vehicle()
    hover = np.sqrt(9.81 * float(nominal.mass) / float(np.sum(nominal.thrust)))
    pace = 2.0 * np.pi * rng.uniform(2.0, 5.0, 4)
    return Speeds(hover * rng.uniform(0.95, 1.05, 4), swing * np.ones(4), pace, rng.uniform(0.0, 6.28, 4))


def hat(w):
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def rotation(wxyz):
    w, x, y, z = wxyz
    K = hat([x, y, z])
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K


def some_state(seed=3):
    """(31,) a state of a vehicle in a turn; disturbances and biases are not zero."""
    rng = np.random.default_rng(seed)
    q = np.array([1.0, *rng.uniform(-0.3, 0.3, 3)])
    x = np.empty(STATE)
    x[:6] = rng.uniform(-2.0, 2.0, 6)
    x[6:10] = q / np.linalg.norm(q)
    x[10:13] = rng.uniform(-2.0, 2.0, 3)
    x[13:25] = np.repeat([0.5, 3.0, 2.0, 1.0], 3) * rng.uniform(-1.0, 1.0, 12)
    x[25:] = np.repeat([0.2, 0.03], 3) * rng.uniform(-1.0, 1.0, 6)
    return x


def wrench(vehicle, speeds, v, w):
    """Force and moment of the air on a vehicle that moves at v against it, body axes, rotor by rotor."""
    force, moment = np.zeros(3), np.zeros(3)
    for i, speed in enumerate(speeds):
        n, e, arm = vehicle.axis[i], vehicle.spin[i], vehicle.position[i] - vehicle.com
        u = v + np.cross(w, arm)
        along = np.dot(n, u)
        across = u - along * n
        axial, hub, rolling = vehicle.inflow[i]
        thrust = vehicle.thrust[i] * speed**2 - axial * speed * along + vehicle.cross[i] * across @ across
        own = thrust * n - hub * speed * across
        force += own
        moment += np.cross(arm, own) - e * vehicle.torque_ratio[i] * vehicle.thrust[i] * speed**2 * n
        moment += speed * (vehicle.pitching[i] * np.cross(n, across) - e * rolling * across)
    drag = -vehicle.mass * (vehicle.linear_drag + vehicle.quadratic_drag * np.linalg.norm(v)) * v
    return force + drag, moment + np.cross(vehicle.pressure, drag)


def momentum(vehicle, speeds):
    """(3,) of the rotors."""
    return sum(
        e * J * s * n
        for e, J, s, n in zip(vehicle.spin, vehicle.spin_inertia, speeds, vehicle.axis, strict=True)
    )


def fly(vehicle, x, speeds, times):
    """Position, velocity (T, 3), attitude (T, 3, 3) and rate (T, 3) at times of one sign, from x (31,) at 0."""
    air, force_left, turn_left = x[16:19], x[13:16], x[19:22] + x[22:25]

    def slopes(t, y):
        v, R, w = y[3:6], y[6:15].reshape(3, 3), y[15:]
        force, moment = wrench(vehicle, speeds(t), R.T @ (v - air), w)
        whole = vehicle.inertia @ w + momentum(vehicle, speeds(t))
        moment = (
            moment + vehicle.inertia @ turn_left - momentum(vehicle, speeds.slope(t)) - np.cross(w, whole)
        )
        a = R @ (force / vehicle.mass + force_left) + vehicle.gravity
        return np.concatenate([v, a, (R @ hat(w)).ravel(), np.linalg.solve(vehicle.inertia, moment)])

    w = x[10:13] - np.linalg.solve(vehicle.inertia, momentum(vehicle, speeds(0.0)))
    begin = np.concatenate([x[:6], rotation(x[6:10]).ravel(), w])
    times = np.atleast_1d(times)
    found = solve_ivp(
        slopes, (0.0, times[-1]), begin, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13
    ).y.T
    return found[:, :3], found[:, 3:6], found[:, 6:15].reshape(-1, 3, 3), found[:, 15:]
