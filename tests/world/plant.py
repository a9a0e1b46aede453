"""The plant of a batch: motors, air, rigid body, advanced together.

A tick is a millisecond. In it the gyro is sampled, the controller is called every second tick, and the plant moves
on by one or more steps. The rotor speeds are exact between commands; the body takes a step of the midpoint rule,
with the wrench at the start and at the middle. The tests show that half the step changes no record by more than a
twentieth of the noise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from tests.world.aero import Air
from tests.world.levels import Level
from tests.world.motors import Motors, steady_speed
from tests.world.rigid import MassProperties, Motion, Wrench, derivative
from tests.world.vectors import apply_transposed, rotation_matrix
from tests.world.vehicles import TICK, Vehicle
from tests.world.wind import Wind


@dataclass
class Plant:
    """State and constants of a batch of N flights.

    Each of `contacts` is called with (time, motion, attitude) and gives a further force and torque about the origin
    (3, N), body axes: a hand, the ground. `masses(time)` gives mass properties where they change in flight.
    """

    vehicle: Vehicle
    level: Level
    wind: Wind
    motion: Motion
    speed: np.ndarray  # (R, N)
    substeps: int = 1
    air_model: str = "blade"
    contacts: tuple = ()
    masses: Callable | None = None

    def __post_init__(self):
        self.step = TICK / self.substeps
        self.motors = Motors(self.vehicle, self.step)
        blown = self.level.aero == 0.0 and not self.wind.calm
        self.air = Air(self.vehicle, replace(self.level, aero=1.0) if blown else self.level, self.air_model)
        self.body: MassProperties = self.vehicle.mass_properties
        self.angle = np.zeros_like(self.speed)
        self.specific_force = np.zeros((3, self.speed.shape[1]))
        self.angular = np.zeros_like(self.specific_force)

    def voltage(self, time: float):
        """Battery voltage (N) of the full one."""
        return 1 - self.vehicle.sag * max(time, 0.0)

    def slope(self, time: float, motion: Motion, speed, target):
        """Derivative of the motion at a state, with specific force and angular acceleration."""
        attitude = rotation_matrix(motion.wxyz)
        wrench = self.wrench(time, motion, speed, self.motors.acceleration(speed, target), attitude)
        return derivative(self.body, motion, wrench, attitude)

    def wrench(self, time: float, motion: Motion, speed, acceleration, attitude) -> Wrench:
        """All forces at a state."""
        wind, rotation = self.wind.at(max(time, 0.0))
        moving = self.level.aero > 0  # without it only the wind is air that moves
        velocity = apply_transposed(attitude, motion.velocity - wind if moving else -wind)
        rate = motion.rate - rotation if moving else -rotation
        force, torque = self.air.loads(speed, velocity, rate, motion.position[2], attitude)
        for contact in self.contacts:
            more_force, more_torque = contact(time, motion, attitude)
            force, torque = force + more_force, torque + more_torque
        spin = (self.air.spin_map * speed).sum(axis=1)
        spin_rate = (self.air.spin_map * acceleration).sum(axis=1)
        return Wrench(force, torque, spin, spin_rate)

    def advance(self, time: float, command):
        """One tick with the command (R, N) that the controller gave at its start.

        Leaves specific force and angular acceleration of the start in `specific_force` and `angular`.
        """
        if self.masses is not None:
            self.body = self.masses(time)
        target = steady_speed(self.vehicle, self.motors.push(command), self.voltage(time))
        for part in range(self.substeps):
            now = time + part * self.step
            speed, motion = self.speed, self.motion
            slope, force, angular = self.slope(now, motion, speed, target)
            if part == 0:
                self.specific_force, self.angular = force, angular
            half = motion.along(slope, self.step / 2).normalized()
            middle = self.motors.respond(speed, target, 0.5)
            slope, _, _ = self.slope(now + self.step / 2, half, middle, target)
            self.motion = motion.along(slope, self.step).normalized()
            self.angle = self.motors.advance_angle(self.angle, speed, target)
            self.speed = self.motors.respond(speed, target)
            self.after_step()

    def after_step(self) -> None:
        """What a plant with more states does at the end of each step; here nothing."""
