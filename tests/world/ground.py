"""The ground: feet with springs, dampers and friction; a controller that takes off and lands.

A foot at depth d below z = 0, sinking at v, is pushed up by max(0, k d + c v) and held back by friction mu N against
its sliding velocity u, N u / (|u| + u_0) (Coulomb, regularized). The springs carry the weight at 4 mm.
"""

import numpy as np
from tests.world.drawings import Drawing
from tests.world.pilot import Measured, Pilot
from tests.world.rigid import GRAVITY, Motion
from tests.world.vectors import apply, apply_transposed, cross
from tests.world.vehicles import Vehicle

SINK = 0.004  # m at rest
FRICTION = 0.7
SLIDING = 0.03  # m/s: below it friction is viscous
FEET = 4


class Ground:
    """Contact forces of a batch of vehicles on four feet."""

    def __init__(self, vehicle: Vehicle, drawing: Drawing):
        corner = 0.7 * drawing.arm / np.sqrt(2)
        self.depth = 0.08 + float(-min(drawing.position[2].min(), 0.0))
        corners = [(corner * x, corner * y, -self.depth) for x in (1, -1) for y in (1, -1)]
        self.feet = np.array(corners).T[:, :, None]
        self.stiffness = vehicle.mass * GRAVITY / (FEET * SINK)
        self.damping = 2 * 0.5 * np.sqrt(self.stiffness * vehicle.mass / FEET)

    @property
    def height(self) -> float:
        """Height of the origin when the vehicle stands, m."""
        return self.depth - SINK

    def __call__(self, time: float, motion: Motion, attitude):
        """Force and torque about the origin (3, N), body axes."""
        feet = np.broadcast_to(self.feet, (3, FEET, motion.position.shape[1]))
        depth = -(motion.position[2] + apply(attitude[:, :, None], feet)[2])
        moving = cross(motion.rate[:, None], feet)
        velocity = motion.velocity[:, None] + apply(attitude[:, :, None], moving)
        push = np.where(depth > 0, np.maximum(self.stiffness * depth - self.damping * velocity[2], 0.0), 0.0)
        sliding = np.sqrt(velocity[0] ** 2 + velocity[1] ** 2)
        drag = -FRICTION * push / (sliding + SLIDING)
        world = np.stack([drag * velocity[0], drag * velocity[1], push])
        body = apply_transposed(attitude[:, :, None], world)
        return body.sum(axis=1), cross(feet, body).sum(axis=1)


def take_off_and_land(takeoff: float, landing: float, ground_height: float):
    """A controller's maker: stands until `takeoff` s, flies at the height given, comes down from `landing` s on."""

    class GroundPilot(Pilot):
        """The pilot with its height led from the ground and back."""

        def __init__(self, drawing: Drawing, count: int, height: float):
            super().__init__(drawing, count, height)
            self.top = height
            self.lowest = ground_height - 1.0
            self.down = np.zeros(count, bool)

        def __call__(self, measured: Measured, sticks):
            time = measured.time
            if time < takeoff:
                self.height[:] = ground_height
                self.rate_integral[:] = self.lift_integral[:] = 0.0
            elif time < landing:
                self.height = np.minimum(self.height + 1.0 * 0.002, max(self.top, ground_height))
            else:
                self.height = np.maximum(self.height - 0.5 * 0.002, ground_height - 0.5)
            airborne = takeoff + 1.0 <= time < landing
            lift, angular = super().__call__(measured, sticks if airborne else np.zeros_like(sticks))
            if time > landing:
                self.down |= measured.position[2] < ground_height + 0.01
            standing = self.down | (time < takeoff)
            return np.where(standing, 0.0, lift), np.where(standing, 0.0, angular)

    return GroundPilot
