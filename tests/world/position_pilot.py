"""A pilot that holds a moving setpoint: position, velocity, attitude and rates, with the nominal mass and inertia.

    (1)  a = a_ref + k_p e + k_v de + k_i int(e),      e = setpoint - position
    (2)  lift = m (a + g) . z_B
    (3)  torque = I (k_w (k_a e_R + w_ref - w) - k_d dw) + w x I w,      dw and the yaw torque through low-passes

The only integral is the slow one of the position, so that a wrong centre of gravity shows as an error of position
until that has settled. The pilot knows the true motion. Sticks do not tilt the vehicle but accelerate the setpoint,
which a spring and a damper hold at the start: p'' = g (pitch, -roll) - 2 d w p' - w^2 p along the heading.
"""

from dataclasses import dataclass

import numpy as np
from tests.world.drawings import Drawing
from tests.world.rigid import GRAVITY, Motion
from tests.world.sticks import STEP, draw_sticks
from tests.world.vectors import apply, apply_transposed, cross, dot, norm, rotation_matrix

PERIOD = 0.004  # s between two commands
SPRING = 0.7  # rad/s, of the setpoint
DAMPING = 0.8
SETTLING = 4.0  # s, position gain over integral gain
DELAY = 0.008  # s: dead time and sampling
LEAD = np.array([[0.4], [0.4], [0.0]])  # k_d, of the angular acceleration
CUTOFF = 30.0  # Hz, of its low-pass
MOST_TILT = 0.6  # rad; also of the error of the heading that is heeded
MOST_RATE = 2.5  # rad/s, of what an error of attitude asks for


@dataclass(frozen=True)
class Setpoints:
    """Setpoints of a batch every 4 ms, world axes: position, velocity, acceleration, jerk (K, 3, N); yaw (K, N)."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    yaw: np.ndarray
    yaw_rate: np.ndarray


def draw_setpoints(profile: str, seeds, duration: float, start, yaw) -> Setpoints:
    """The setpoints of a stick profile from `start` (3, N) m with the heading `yaw` (N) rad."""
    sticks = draw_sticks(profile, seeds, duration)[:: round(PERIOD / STEP)]
    sticks = np.concatenate([sticks, sticks[-1:], sticks[-1:]])
    heading = yaw + np.cumsum(sticks[:, 2], axis=0) * PERIOD
    c, s = np.cos(heading), np.sin(heading)
    forward, left = GRAVITY * sticks[:, 1], -GRAVITY * sticks[:, 0]
    push = np.stack([c * forward - s * left, s * forward + c * left], axis=1)
    position, velocity, acceleration = (np.zeros((len(sticks), *np.shape(start))) for _ in range(3))
    now, speed = np.zeros_like(push[0]), np.zeros_like(push[0])
    for k, pushed in enumerate(push):
        change = pushed - 2 * DAMPING * SPRING * speed - SPRING**2 * now
        position[k, :2], velocity[k, :2], acceleration[k, :2] = now, speed, change
        speed = speed + change * PERIOD
        now = now + speed * PERIOD
    velocity[:, 2] = sticks[:, 3]
    position[:, 2] = np.cumsum(sticks[:, 3], axis=0) * PERIOD
    acceleration[:, 2] = np.gradient(sticks[:, 3], PERIOD, axis=0)
    jerk = np.gradient(acceleration, PERIOD, axis=0)
    jerk[:, 2] = 0.0  # steps of the climb stick are no reason to rotate
    return Setpoints(position + start, velocity, acceleration, jerk, heading, sticks[:, 2])


def kick_time(drawing: Drawing) -> float:
    """Time constant (s) of the low-pass that takes the kick of accelerated rotors out of the yaw torque.

    At hover the rotors' drag gives yaw torque by 2 k c W per speed and their acceleration by J per acceleration, so
    that a quick command acts J / (2 k c W) s too early; light vehicles with large propellers mostly yaw by it.
    """
    drag = 2 * drawing.thrust_coefficient * drawing.torque_ratio * drawing.hover_speed
    return float((drawing.spin_inertia / drag).mean())


class PositionPilot:
    """The pilot of a batch; gains follow from the drawing's rotor lag."""

    def __init__(self, drawing: Drawing, count: int):
        lag = float(drawing.time_constant.mean()) + DELAY
        self.mass, self.inertia = drawing.mass, drawing.inertia[:, :, None]
        roll, yaw = min(0.85 / lag, 25.0), min(0.4 / lag, 6.0)
        self.rate_gain = np.array([[roll], [roll], [yaw]])
        self.attitude_gain = self.rate_gain / 3.0
        self.velocity_gain = min(float(self.attitude_gain[0, 0]) / 2.2, 3.0)
        self.position_gain = self.velocity_gain**2 / 3.0
        self.integral = np.zeros((3, count))
        self.slow_rate = np.zeros((3, count))
        self.yaw_torque = np.zeros(count)
        self.yaw_part = PERIOD / (PERIOD + kick_time(drawing))

    def __call__(self, motion: Motion, points: Setpoints, index: int):
        """Lift (N) along the body's z axis and torque (3, N) N m, body axes, for the setpoint of this index."""
        error = points.position[index] - motion.position
        change = points.velocity[index] - motion.velocity
        rate_of_integral = self.position_gain / SETTLING * error
        self.integral = np.clip(self.integral + rate_of_integral * PERIOD, -4.0, 4.0)
        wanted = np.clip(self.position_gain * error + self.velocity_gain * change, -5.0, 5.0) + self.integral
        wanted = wanted + points.acceleration[index]
        wanted[2] = np.maximum(wanted[2] + GRAVITY, 0.3 * GRAVITY)
        side = np.hypot(wanted[0], wanted[1])
        wanted[:2] *= np.minimum(1.0, np.tan(MOST_TILT) * wanted[2] / np.maximum(side, 1e-9))
        attitude = rotation_matrix(motion.wxyz)
        lift = self.mass * np.maximum(dot(wanted, attitude[:, 2]), 0.2 * GRAVITY)
        return lift, self._torque(motion.rate, attitude, wanted, points, index)

    def _torque(self, rate, attitude, wanted, points, index):
        up = wanted / norm(wanted)
        heading = np.arctan2(attitude[1, 0], attitude[0, 0])
        ahead = np.remainder(points.yaw[index] - heading + np.pi, 2 * np.pi) - np.pi
        yaw = heading + np.clip(ahead, -MOST_TILT, MOST_TILT)
        left = cross(up, np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)]))
        left = left / norm(left)
        columns = (cross(left, up), left, up)
        error = 0.5 * sum(cross(attitude[:, i], column) for i, column in enumerate(columns))
        error = apply_transposed(attitude, error)
        jerk = points.jerk[index] / norm(wanted)
        forward = apply_transposed(attitude, cross(up, jerk))
        forward[2] = forward[2] + points.yaw_rate[index]
        asked = np.clip(self.attitude_gain * error, -MOST_RATE, MOST_RATE) + forward
        change = (rate - self.slow_rate) * (2 * np.pi * CUTOFF)
        self.slow_rate = self.slow_rate + change * PERIOD
        wanted_angular = self.rate_gain * (asked - rate) - LEAD * change
        torque = apply(self.inertia, wanted_angular) + cross(rate, apply(self.inertia, rate))
        self.yaw_torque = self.yaw_torque + self.yaw_part * (torque[2] - self.yaw_torque)
        return np.stack([torque[0], torque[1], self.yaw_torque])
