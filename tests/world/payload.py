"""A payload that is gripped and dropped in flight: mass, centre of gravity and inertia change at a moment.

At that moment the payload moves with the vehicle, so velocity and rate go on unchanged.
"""

from dataclasses import dataclass

import numpy as np
from tests.world.rigid import MassProperties
from tests.world.vehicles import Vehicle, stack, with_payload


@dataclass(frozen=True)
class Payload:
    """A ball of `mass` kg and radius `size` m at `position` (3) m, body axes, from `gripped` to `dropped` s."""

    mass: float
    position: tuple[float, float, float]
    gripped: float
    dropped: float = float("inf")
    size: float = 0.03

    def truth(self) -> dict:
        """Truth by name."""
        parts = {f"payload.position.{k}": v for k, v in zip("xyz", self.position, strict=True)}
        return {
            "payload.mass": self.mass,
            **parts,
            "payload.gripped": self.gripped,
            "payload.dropped": self.dropped,
        }


class ChangingMass:
    """Mass properties of a batch over time; called with the time in s."""

    def __init__(self, vehicles: list[Vehicle], payloads: list[Payload]):
        loaded = [
            with_payload(vehicle, payload.mass, payload.position, payload.size)
            for vehicle, payload in zip(vehicles, payloads, strict=True)
        ]
        self.bare, self.loaded = stack(vehicles).mass_properties, stack(loaded).mass_properties
        self.gripped = np.array([payload.gripped for payload in payloads])
        self.dropped = np.array([payload.dropped for payload in payloads])
        self.carried = None
        self.now = self.bare

    def __call__(self, time: float) -> MassProperties:
        carried = (time >= self.gripped - 1e-9) & (time < self.dropped - 1e-9)
        if self.carried is None or (carried != self.carried).any():
            self.carried = carried
            parts = zip(vars(self.loaded).values(), vars(self.bare).values(), strict=True)
            self.now = MassProperties(*(np.where(carried, a, b) for a, b in parts))
        return self.now
