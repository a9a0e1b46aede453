"""Motors: from command to rotor speed.

    (1)  target = w0 + (w1 V / V0 - w0) (k d + (1 - k) sqrt(d))      steady speed at command d, voltage V
    (2)  dW = (target - W) / lag,  lag = lag_up while speeding up, lag_down while slowing down
    (3)  V / V0 = 1 - sag t

The command acts after a dead time. Between two commands the target is constant, so (2) is solved exactly:
W(t + h) = target + (W - target) exp(-h / lag); it does not change sides on the way. Different lags up and down as in
RotorS (Furrer et al., RotorS - A Modular Gazebo MAV Simulator Framework, 2016), where a first-order filter has two
constants; `with_rotors_motors` gives a vehicle those of its hummingbird.
"""

from dataclasses import replace

import numpy as np
from tests.world.vehicles import TICK, Vehicle

ROTORS_LAG_UP = 0.0125  # s, hummingbird.xacro of RotorS
ROTORS_LAG_DOWN = 0.025  # s


def with_rotors_motors(vehicle: Vehicle) -> Vehicle:
    """The vehicle with the motor constants of RotorS: no dead time, lags of 12.5 ms up and 25 ms down."""
    lag = np.ones_like(vehicle.lag_up)
    return replace(
        vehicle,
        lag_up=ROTORS_LAG_UP * lag,
        lag_down=ROTORS_LAG_DOWN * lag,
        dead_time=np.zeros_like(vehicle.dead_time),
    )


def steady_speed(vehicle: Vehicle, command, voltage):
    """Speed (R, N) rad/s that a command (R, N) from 0 to 1 leads to at a relative voltage (N), (1).

    A motor with a command below 0 stops.
    """
    standing = command < 0
    command = np.minimum(np.maximum(command, 0.0), 1.0)
    root = np.sqrt(command)
    kappa = vehicle.curve * command + (1 - vehicle.curve) * root
    quadratic = root * np.sqrt(vehicle.curve * command + (1 - vehicle.curve))
    fraction = np.where(vehicle.quadratic, quadratic, kappa)
    speed = vehicle.idle_speed + (vehicle.max_speed * voltage - vehicle.idle_speed) * fraction
    return np.where(standing, 0.0, speed)


class Motors:
    """The motors of a batch, with the dead time as a queue of commands on the grid of ticks."""

    def __init__(self, vehicle: Vehicle, step: float):
        self.vehicle = vehicle
        self.step = step
        self.decay = {
            part: (np.exp(-part * step / vehicle.lag_up), np.exp(-part * step / vehicle.lag_down))
            for part in (0.5, 1.0)
        }
        self.dead_ticks = np.round(vehicle.dead_time / TICK).astype(int)
        self.queue = np.zeros((int(self.dead_ticks.max()) + 1, *vehicle.lag_up.shape))
        self.flights = np.arange(vehicle.lag_up.shape[1])
        self.tick = 0

    def fill(self, command):
        """Start as if `command` (R, N) had been given for a long time."""
        self.queue[:] = command

    def push(self, command):
        """Give the command (R, N) of this tick; returns the one that reaches the motors now."""
        length = len(self.queue)
        self.queue[self.tick % length] = command
        past = (self.tick - self.dead_ticks) % length
        self.tick += 1
        return self.queue[past, :, self.flights].T

    def respond(self, speed, target, part: float = 1.0):
        """Speed (R, N) after a `part` (0.5 or 1) of the step, (2) solved exactly."""
        up, down = self.decay[part]
        return target + (speed - target) * np.where(target > speed, up, down)

    def acceleration(self, speed, target):
        """Rotor acceleration (R, N) rad/s2, (2)."""
        return (target - speed) / np.where(target > speed, self.vehicle.lag_up, self.vehicle.lag_down)

    def advance_angle(self, angle, speed, target):
        """Angle (R, N) after a step: the integral of (2)."""
        up, down = self.decay[1.0]
        rising = target > speed
        lag = np.where(rising, self.vehicle.lag_up, self.vehicle.lag_down)
        return angle + target * self.step + (speed - target) * lag * (1 - np.where(rising, up, down))
