"""Servos of an arm: a position loop, a geared motor, friction with a memory, and what the servo reports.

    (1)  u = clip(s (goal - angle) / T_s, -1, 1)                  share of the voltage, stall torque T_s, stiffness s
    (2)  T_m = T_s (u - rate / w_0)                               geared motor with no-load speed w_0
    (3)  dz = v - s_0 |v| z / g,  g = F_c + F_x exp(-(v / v_s)^2),  F_c = c + l |T_load|
    (4)  T_f = s_0 z + s_1 v exp(-(v / v_s)^2) + s_2 v            friction
    (5)  T = T_m - T_f,  with the motor's inertia J seen through the gear at the joint

(3), (4): LuGre of Canudas de Wit et al. (IEEE Trans. Autom. Control 40, 1995): the bristles z hold an arm at rest
against its weight, so what is reported depends on how the pose was reached. A gear's loss grows with its load (l).
Reported are the angle (quantized), the rate, the load (u through a first-order lag, in steps of 1/1023) and an effort
from the current (T_m with noise), in the joint's own direction.
"""

from dataclasses import dataclass

import numpy as np
from tests.world.draws import clipped_normal


@dataclass(frozen=True)
class Servo:
    """Constants of the servos of a batch: arrays (J, N), SI units."""

    stall_torque: np.ndarray
    no_load_speed: np.ndarray
    stiffness: np.ndarray  # N m/rad of the position loop
    inertia: np.ndarray  # kg m2 at the joint
    coulomb: np.ndarray  # N m
    static_excess: np.ndarray  # N m
    load_loss: np.ndarray  # of the load
    viscous: np.ndarray  # N m s/rad
    bristle: np.ndarray  # N m/rad
    slip_rate: np.ndarray  # rad/s, v_s
    resolution: np.ndarray  # rad
    report_lag: np.ndarray  # s

    def duty(self, goal, angle):
        """Share of the voltage (J, N), (1)."""
        return np.clip(self.stiffness * (goal - angle) / self.stall_torque, -1.0, 1.0)

    def motor_torque(self, duty, rate):
        """Torque of the motor at the joint (J, N), (2)."""
        return self.stall_torque * (duty - rate / self.no_load_speed)

    def friction(self, bristles, rate):
        """Friction torque (J, N), (4)."""
        slow = np.exp(-((rate / self.slip_rate) ** 2))
        damping = 0.6 * np.sqrt(self.bristle * self.inertia)
        return self.bristle * bristles + (damping * slow + self.viscous) * rate

    def advance_bristles(self, bristles, rate, load, step: float):
        """Bristles (J, N) after a step, (3) solved exactly at constant rate and load."""
        limit = self.coulomb + self.load_loss * np.abs(load)
        limit = limit + self.static_excess * np.exp(-((rate / self.slip_rate) ** 2))
        bound = limit / self.bristle
        decay = np.exp(-np.abs(rate) * step / bound)
        return np.sign(rate) * bound * (1 - decay) + bristles * decay


def draw_servos(rng, joints: list[dict]) -> Servo:
    """Servos (J) around the data of their makers; friction is each servo's own, within a factor of about 1.5."""

    def spread(size):
        return 1 + size * clipped_normal(rng, len(joints))

    def given(key):
        return np.array([joint[key] for joint in joints])

    stall = given("stall_torque") * spread(0.03)
    coulomb = 0.010 * stall * spread(0.2)
    return Servo(
        stall_torque=stall,
        no_load_speed=given("no_load_speed") * spread(0.03),
        stiffness=given("stiffness") * spread(0.05),
        inertia=given("inertia") * spread(0.05),
        coulomb=coulomb,
        static_excess=0.4 * coulomb * spread(0.2),
        load_loss=0.30 * spread(0.15),
        viscous=0.02 * stall / given("no_load_speed") * spread(0.2),
        bristle=coulomb / 0.002,
        slip_rate=np.full(len(joints), 0.05),
        resolution=given("resolution"),
        report_lag=np.full(len(joints), 0.02),
    )
