"""How well the rotation of a flight tells its rotors, which disturbances and noise of their speeds make look weaker.

Where something rotates the vehicle the controller answers, and where rotors hardly change what is logged of them is
mostly noise. With the share s of the angular acceleration about an axis that is disturbance, and the share v of its
variance that noise and rounding of the rotor speeds would make, rows and moments of that axis get a relative deviation

    sqrt((ANSWERED s^2)^2 + v^2),   at most 1                                                                     (1)

The rows of roll and pitch tell most of the thrust of each rotor, too, and with it its torque ratio, axis and position,
and how late its speed is read: these get that of the worse axis, relative or times their deviation before the flight.

A centre of mass aside and rotors of unlike thrust look alike to it, too. With arms r and the relative deviation t of
each of n rotors before the flight, x and y of the centre get sqrt(sum (r t)^2) / n, times that of the worse axis.
Its z and the positions of sensors get theirs before the flight, times the same.

Sensors that are tilted and a steady wind look alike to a vehicle that does not rotate, so rotations of the sensors
about x and y get this times `TILT`. What rotors do between two samples of their speed is unknown, so reactions to
their acceleration get a relative deviation of `SAMPLED` more at a period of `SAMPLED_PERIOD`, which falls with the
square of the period.
"""

from dataclasses import dataclass, replace

import numpy as np

from haltere.estimation.vehicle.motion import NODE
from haltere.estimation.vehicle.numbers import Numbers
from haltere.estimation.vehicle.smoother import SmoothedFlight
from haltere.foundation.numbers import Floats

ANSWERED = 0.3
TILT = 0.1
"""rad."""
SAMPLED = 0.03
SAMPLED_PERIOD = 0.01
"""s."""
LEAST_ACCELERATION = 1e-18
"""(rad/s2)^2, of an angular acceleration at least."""
ROWS = ("p", "q", "r")
OF_ROTORS = ("rotors.", "telemetry.")
"""How names of numbers begin that only what the rotors do can tell."""


@dataclass(frozen=True)
class Excitation:
    """What a flight leaves uncertain.

    Attributes:
        torque: (3,) variance of the disturbance of the angular acceleration about each axis, (rad/s2)^2.
        acceleration: (3,) variance of the angular acceleration, (rad/s2)^2.
        by_noise: (3,) the part of it that noise of the rotor speeds would make, (rad/s2)^2.
        sampled: relative deviation of reactions to rotor acceleration.
        nodes: how many nodes the variances are of.
    """

    torque: Floats
    acceleration: Floats
    by_noise: Floats
    sampled: float
    nodes: int = 0

    @classmethod
    def of(cls, flight: SmoothedFlight, numbers: Numbers) -> "Excitation":
        """That of a smoothed flight with these numbers."""
        torque = flight.states[:, 19:22] + flight.states[:, 22:25]
        made = []
        for row in ROWS:
            ends = f".effectiveness.{row}"
            own = [x for name, x in zip(numbers.names, numbers.values, strict=True) if name.endswith(ends)]
            made.append(np.sum((np.array(own) * flight.rotor_noise[: len(own)]) ** 2))
        return cls(
            np.var(torque, axis=0),
            np.var(np.gradient(flight.states[:, 10:13], NODE, axis=0), axis=0),
            np.array(made),
            SAMPLED * (flight.rotor_period / SAMPLED_PERIOD) ** 2,
            len(flight.states),
        )

    def after(self, gyro: Floats, gyro_noise: float, torque: Floats) -> "Excitation":
        """That of the flight and more nodes: their gyro (K, 3) with its white noise, and the disturbance (3,) there."""
        more = len(gyro)
        if more < 3:
            return self
        squares = ((gyro[2:] - gyro[:-2]) / (2.0 * NODE)) ** 2
        acceleration = np.maximum(squares.mean(axis=0) - 0.5 * (gyro_noise / NODE) ** 2, 0.0)
        share = more / (self.nodes + more)
        return replace(
            self,
            torque=self.torque + share * (torque**2 - self.torque),
            acceleration=self.acceleration + share * (acceleration - self.acceleration),
            nodes=self.nodes + more,
        )

    @property
    def disturbed(self) -> Floats:
        """(3,) deviation of the disturbance over that of the angular acceleration, about each axis."""
        return np.sqrt(self.torque / np.maximum(self.acceleration, LEAST_ACCELERATION))

    @property
    def noise(self) -> Floats:
        """(3,) variance of the angular acceleration that noise of the rotor speeds would make, over its variance."""
        return self.by_noise / np.maximum(self.acceleration, LEAST_ACCELERATION)

    @property
    def tells_nothing(self) -> bool:
        """Whether noise of the rotor speeds would rotate the vehicle about x and y as much as it rotates."""
        return bool(self.noise[:2].min() >= 1.0)

    def sigma(self, numbers: Numbers) -> Floats:
        """(N,) deviations of numbers that look different than they are, equation (1)."""
        value = dict(zip(numbers.names, np.abs(numbers.values), strict=True))
        largest: dict[str, float] = {}
        for name, x in value.items():
            row = name.rpartition(".effectiveness.")[2]
            largest[row] = max(largest.get(row, 0.0), float(x))
        unsure = np.minimum(np.hypot(ANSWERED * self.disturbed**2, self.noise), 1.0)
        tilted = float(unsure[:2].max())
        found = np.zeros(len(numbers.names))
        for i, (name, before) in enumerate(zip(numbers.names, numbers.prior_sigma, strict=True)):
            last = name.rpartition(".")[2]
            if last.endswith("_dot"):
                found[i] = max(np.hypot(unsure.max(), self.sampled) * value[name], unsure.max() * before)
            elif ".effectiveness." in name:
                found[i] = (
                    unsure[ROWS.index(last)] * largest[last] if last in ROWS else tilted * largest["fz"]
                )
            elif name.endswith((".rotation.x", ".rotation.y")):
                found[i] = TILT * tilted
            elif name.endswith(".rotation.z"):
                found[i] = unsure.max() * before
            elif name in ("com.x", "com.y"):
                found[i] = tilted * _unlike_rotors(numbers, last)
            elif name == "com.z" or (".position." in name and not name.startswith(OF_ROTORS)):
                found[i] = tilted * before
            elif last == "spin_inertia":
                found[i] = np.hypot(unsure.max(), self.sampled) * value[name]
            elif last == "thrust_coefficient":
                found[i] = tilted * value[name]
            elif last == "torque_ratio":
                found[i] = unsure.max() * value[name]
            elif name.startswith(OF_ROTORS):
                found[i] = tilted * before
            elif name.startswith("inertia."):
                j, k = ("xyz".index(axis) for axis in last)
                size = np.sqrt(value[f"inertia.{last[0] * 2}"] * value[f"inertia.{last[1] * 2}"])
                found[i] = unsure[[j, k]].max() * size * (1.0 if j == k else 0.1)
        return found


def _unlike_rotors(numbers: Numbers, axis: str) -> float:
    """Deviation of the centre of mass along x or y that looks like rotors of unlike thrust, m."""
    found, rotors = 0.0, 0
    before = dict(zip(numbers.names, numbers.prior_sigma, strict=True))
    value = dict(zip(numbers.names, numbers.values, strict=True))
    for name in numbers.names:
        if name.endswith(".thrust_coefficient"):
            arm = value[f"{name.rpartition('.')[0]}.position.{axis}"] - value[f"com.{axis}"]
            found += (arm * before[name] / value[name]) ** 2
            rotors += 1
    return float(np.sqrt(found)) / max(rotors, 1)
