"""The flight controller of the world: a plain cascaded PID and a mixer, for a whole batch.

Position -> velocity -> attitude -> rate, each a P or PID loop, and the pseudo-inverse of the drawing's
effectiveness. A caller may pass others in: a controller is called as `controller(measured, sticks)` and returns the
upward acceleration (N) m/s2 along the body's z axis and the angular acceleration (3, N) rad/s2 that it wants; a
mixer is called as `mixer(measured, lift, angular)` and returns commands (R, N) from 0 to 1. Both are called every 2
ms and may keep a memory of their own. They know the drawing, not the true vehicle.
"""

from dataclasses import dataclass

import numpy as np
from tests.world.drawings import Drawing
from tests.world.rigid import GRAVITY
from tests.world.vectors import (
    conjugate,
    cross,
    multiply,
    quaternion_of_euler,
    rotation_matrix,
    vector_of_quaternion,
    yaw_of,
)

PERIOD = 0.002  # s between two commands
MOST_TILT = 0.6  # rad, sticks and position hold together
MOST_RATE = 2.5  # rad/s, of what an error of attitude asks for


@dataclass(frozen=True)
class Measured:
    """What a flight controller has, for N flights: IMU, rotor speeds, and its estimates of attitude,
    position and velocity."""

    time: float
    gyro: np.ndarray  # (3, N) rad/s, filtered and noisy, IMU axes
    accel: np.ndarray  # (3, N) m/s2, noisy, IMU axes
    speed: np.ndarray  # (R, N) rad/s
    wxyz: np.ndarray  # (4, N) body to world
    position: np.ndarray  # (3, N) m, world
    velocity: np.ndarray  # (3, N) m/s, world
    voltage: np.ndarray  # (N) of the full one
    joints: np.ndarray | None = None  # (J, N) rad


class Pilot:
    """Cascaded PID; gains follow from the drawing's rotor lag."""

    def __init__(self, drawing: Drawing, count: int, height: float):
        lag = 1.3 * float(drawing.time_constant.mean()) + 0.012
        self.rate_gain = np.array([0.52, 0.52, 0.30])[:, None] / lag
        self.attitude_gain = self.rate_gain / 2.5
        self.rate_integral_gain = self.rate_gain * 3.0
        self.damping = 0.06
        self.height = np.full(count, float(height))
        self.yaw = np.zeros(count)
        self.lowest = 0.5 * height
        self.rate_integral = np.zeros((3, count))
        self.lift_integral = np.zeros(count)
        self.gyro_low = np.zeros((3, count))
        self.last_sticks = np.zeros((4, count))

    def __call__(self, measured: Measured, sticks):
        """Wanted acceleration along the body's z axis (N) and angular acceleration (3, N)."""
        turn = (sticks - self.last_sticks) / PERIOD
        self.last_sticks = sticks
        heading = yaw_of(measured.wxyz)
        ahead = np.remainder(self.yaw + sticks[2] * PERIOD - heading + np.pi, 2 * np.pi) - np.pi
        self.yaw = heading + np.clip(ahead, -0.6, 0.6)  # a reference that runs away is not followed
        lift = self._lift(measured, sticks[3])
        return lift, self._angular(measured, sticks, turn, lift / GRAVITY)

    def _lift(self, measured, climb):
        self.height = np.maximum(self.height + climb * PERIOD, self.lowest)
        wanted = 1.5 * np.clip(self.height - measured.position[2], -1.5, 1.5) + climb
        error = wanted - measured.velocity[2]
        self.lift_integral = np.clip(self.lift_integral + 1.5 * error * PERIOD, -5.0, 5.0)
        upright = rotation_matrix(measured.wxyz)[2, 2]
        return (GRAVITY + 3.5 * error + self.lift_integral) / np.clip(upright, 0.6, 1.0)

    def _angular(self, measured, sticks, turn, thrust):
        away = np.clip(measured.position[:2], -5.0, 5.0)
        hold = np.clip(-0.3 * away - 1.0 * measured.velocity[:2], -6.0, 6.0) / GRAVITY
        heading = yaw_of(measured.wxyz)
        c, s = np.cos(heading), np.sin(heading)
        pitch = sticks[1] + c * hold[0] + s * hold[1]  # positive pitch tips the nose down: forward
        roll = sticks[0] + s * hold[0] - c * hold[1]
        shrink = MOST_TILT / np.maximum(np.sqrt(roll * roll + pitch * pitch), MOST_TILT)
        wanted = quaternion_of_euler(shrink * roll, shrink * pitch, self.yaw)
        error = vector_of_quaternion(multiply(conjugate(measured.wxyz), wanted))
        forward = np.stack([0.4 * turn[0], 0.4 * turn[1], sticks[2]])
        asked = np.clip(self.attitude_gain * error, -MOST_RATE, MOST_RATE)
        rate_error = asked + forward - measured.gyro
        self.rate_integral = np.clip(
            self.rate_integral + self.rate_integral_gain * rate_error * PERIOD,
            -300.0,
            300.0,
        )
        change = (measured.gyro - self.gyro_low) * (2 * np.pi * 30.0)  # derivative through a 30 Hz low-pass
        self.gyro_low = self.gyro_low + change * PERIOD
        # What is off centre turns the vehicle in proportion to the thrust, so the integral counts per thrust.
        return self.rate_gain * rate_error + thrust * self.rate_integral - self.damping * change


class Mixer:
    """Thrusts by the pseudo-inverse of the drawing's effectiveness, within limits; yaw gives way first, then lift."""

    def __init__(self, drawing: Drawing, mass):
        self.drawing = drawing
        self.mass = np.asarray(mass)
        lever = drawing.position - drawing.com[:, None]
        torque = cross(lever, drawing.axis) - drawing.spin * drawing.torque_ratio * drawing.axis
        angular = np.linalg.inv(drawing.inertia) @ torque * drawing.mass
        self.inverse = np.linalg.pinv(
            np.concatenate([drawing.axis[2:3], angular])
        )  # (R, 4), per unit of mass
        self.most = (drawing.thrust_coefficient * (0.97 * drawing.max_speed) ** 2)[:, None]
        self.least = np.maximum(
            drawing.thrust_coefficient * (1.5 * drawing.idle_speed) ** 2, 0.02 * self.most[:, 0]
        )
        self.least = self.least[:, None]

    def __call__(self, measured: Measured, lift, angular):
        """Commands (R, N) from 0 to 1."""
        columns = self.inverse[:, :, None] * self.mass
        tilt = columns[:, 1] * angular[0] + columns[:, 2] * angular[1]
        thrust = columns[:, 0] * lift + tilt
        low, high = (self.least - thrust).max(axis=0), (self.most - thrust).min(axis=0)
        thrust = thrust + np.where(
            high < 0, high, np.where(low > 0, np.minimum(low, np.maximum(high, 0)), 0.0)
        )
        yaw = columns[:, 3] * angular[2]
        room = np.where(yaw > 0, self.most - thrust, thrust - self.least)
        scale = np.clip((room / np.maximum(np.abs(yaw), 1e-9)).min(axis=0), 0.0, 1.0)
        thrust = np.clip(thrust + scale * yaw, self.least, self.most)
        return command_of_thrust(self.drawing, thrust)


def command_of_thrust(drawing: Drawing, thrust):
    """Commands (R, N) that give thrusts (R, N) by the drawing, at full voltage: the curve turned round."""
    speed = np.sqrt(np.maximum(thrust, 0.0) / drawing.thrust_coefficient[:, None])
    idle, top = drawing.idle_speed[:, None], drawing.max_speed[:, None]
    fraction = np.clip((speed - idle) / (top - idle), 0.0, 1.0)
    k, quadratic = drawing.curve[:, None], drawing.quadratic[:, None]
    value = np.where(quadratic, fraction**2, fraction)
    # positive root of k x^2 + (1 - k) x = value in the form that holds for k = 0 too
    root = 2 * value / ((1 - k) + np.sqrt((1 - k) ** 2 + 4 * k * value) + 1e-300)
    return np.clip(np.where(quadratic, root, root**2), 0.0, 1.0)
