"""Motors: from a command between 0 and 1 to rotor speed, with curve, lag, idle speed, limits and transport delay.

With share y of the way from idle to full speed and curve constant k ([Blaha2024], its method paper):

    kind "kappa":      y = k d + (1 - k) sqrt(d)                                                       (1)
    kind "quadratic":  y = sqrt(k d^2 + (1 - k) d)                                                     (2)
    w' = (w_target - w) / tau,   w_target = w_idle + (w_max - w_idle) y(d(t - delay))                  (3)

k = 1 makes the speed linear in the command in both. Speeds of a rotor without limits come from
`haltere.trajectory.speed_limits`; a rotor without `time_constant` follows within 1 ms.
"""

from dataclasses import dataclass
from typing import Self

import jax.numpy as jnp

from haltere.airframe import Airframe
from haltere.dynamics.rigid import speed_limits
from haltere.foundation.arrays import Array, pytree

FASTEST = 1e-3
"""Time constant in s of a motor whose file names none."""


@pytree
@dataclass(frozen=True)
class Motors:
    """All motors of a vehicle; shapes (R,)."""

    time_constant: Array
    """s."""
    curve: Array
    """k of equations (1) and (2)."""
    kappa_kind: Array
    """1 where the curve is of kind "kappa", 0 where it is "quadratic"."""
    idle_speed: Array
    """Speed at command 0, rad/s."""
    max_speed: Array
    delay: Array
    """From command to motor, s."""

    @classmethod
    def from_airframe(cls, airframe: Airframe, gravity: float = 9.81) -> Self:
        """The motors as the file describes them."""
        rotors, limits = airframe.rotors, speed_limits(airframe, gravity)
        return cls(
            jnp.asarray([r.time_constant or FASTEST for r in rotors], float),
            jnp.asarray([r.curve.value if r.curve else 1.0 for r in rotors], float),
            jnp.asarray([float(r.curve is not None and r.curve.kind == "kappa") for r in rotors], float),
            jnp.asarray([low for low, _ in limits], float),
            jnp.asarray([high for _, high in limits], float),
            jnp.asarray([r.delay or 0.0 for r in rotors], float),
        )

    def target(self, command: Array) -> Array:
        """(R,) speed in rad/s at which each motor settles for commands (R,) in 0..1; beyond that it saturates."""
        d = jnp.clip(command, 0.0, 1.0)
        k = self.curve
        root = jnp.sqrt(jnp.maximum(d, 1e-12)) * (d > 0.0)
        inside = k * d * d + (1.0 - k) * d
        quadratic = jnp.sqrt(jnp.maximum(inside, 1e-12)) * (d > 0.0)
        share = self.kappa_kind * (k * d + (1.0 - k) * root) + (1.0 - self.kappa_kind) * quadratic
        return self.idle_speed + (self.max_speed - self.idle_speed) * share

    def command(self, speed: Array) -> Array:
        """(R,) command in 0..1 that settles at `speed` (R,) rad/s: the inverse of `target`, saturated."""
        share = jnp.clip((speed - self.idle_speed) / (self.max_speed - self.idle_speed), 0.0, 1.0)
        y = self.kappa_kind * share + (1.0 - self.kappa_kind) * share * share
        k = self.curve
        root = 2.0 * y / ((1.0 - k) + jnp.sqrt((1.0 - k) ** 2 + 4.0 * k * y) + 1e-300)
        return jnp.clip(self.kappa_kind * root * root + (1.0 - self.kappa_kind) * root, 0.0, 1.0)

    def acceleration(self, speed: Array, target: Array) -> Array:
        """(R,) rotor acceleration in rad/s2 by equation (3)."""
        return (target - speed) / self.time_constant
