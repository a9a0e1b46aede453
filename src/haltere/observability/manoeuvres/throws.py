"""Throws for the IMU's position: how many, about which axes, and how well it will be known.

A vehicle thrown with still rotors falls freely, and its accelerometer reads nothing but its own position ([Blaha2024]):

    f = R_MI^T (w' x r + w x (w x r)) + b,    I w' = -w x I w                                            (1)

One throw about a principal axis a says nothing about r along a: M = w^2 (a a^T - 1). The information of throws adds up,
so the best set of a given size is found by trying all sets of axes out of `AXES`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from os import PathLike
from typing import Any

import numpy as np

from haltere.airframe import Airframe, load_airframe
from haltere.algebra.series import Reals, Tape
from haltere.foundation.arrays import double_precision
from haltere.foundation.numbers import Numbers
from haltere.foundation.tables import TextTable
from haltere.observability.information.fisher import RATE, WINDOW, Information, ReadingNoise
from haltere.observability.rank import system
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.observability.rank.system import MOTION

NAMES = ("imu.position.x", "imu.position.y", "imu.position.z")
#: Everything but the position of the IMU; the accelerometer's bias is calibrated at rest.
KNOWN = ("mass", "inertia", "gravity", "pose", "rotors", "imu.rotation", "imu.accel_bias", "imu.gyro_bias")
AXES = ("x", "y", "z", "xy", "xz", "yz")


@dataclass(frozen=True)
class ThrowPlan:
    """A set of throws.

    Attributes:
        axes: of spin, in principal axes; `xy` lies between x and y.
        spins: (n, 3) rad/s.
        sigma: predicted deviation of the IMU's position by name, m; None where nothing is learnt.
    """

    axes: tuple[str, ...]
    spins: Numbers
    sigma: dict[str, float | None]

    @property
    def worst(self) -> float:
        """The largest deviation; infinite where one component stays unknown."""
        return max(np.inf if sigma is None else sigma for sigma in self.sigma.values())


@dataclass(frozen=True, repr=False)
class ThrowPlans:
    """The best set of throws of each size.

    Attributes:
        airframe: name of the vehicle.
        rate: spin, rad/s.
        plans: sets of one throw, two throws, ...
    """

    airframe: str
    rate: float
    plans: tuple[ThrowPlan, ...]

    @property
    def sigma(self) -> dict[str, float | None]:
        """Predicted deviation of the IMU's position after the largest set, m."""
        return self.plans[-1].sigma

    def to_dict(self) -> dict[str, Any]:
        """The plans in plain numbers, as `haltere design --throws --json` prints them."""
        return {
            "airframe": self.airframe,
            "trajectory": [
                {
                    "kind": "throw",
                    "axes": list(plan.axes),
                    "spins": plan.spins.tolist(),
                    "predicted_sigma": plan.sigma,
                }
                for plan in self.plans
            ],
            "predicted_sigma": self.sigma,
        }

    @property
    def sigma_table(self) -> TextTable:
        """The predicted deviations of every set."""
        title = f"Position of the IMU from throws at {self.rate:g} rad/s, one sigma in m"
        rows = [(len(plan.axes), ", ".join(plan.axes), *plan.sigma.values()) for plan in self.plans]
        return TextTable(title, ("throws", "spin about (principal axes)", "x", "y", "z"), rows)

    def __repr__(self) -> str:
        return self.sigma_table.text()

    def _repr_html_(self) -> str:
        return self.sigma_table.html()


@double_precision()
def design_throws(
    airframe: Airframe | str | PathLike[str], rate: float, most: int = 3, seconds: float = 0.8
) -> ThrowPlans:
    """The best set of throws of each size from one to `most`.

    Args:
        airframe: the vehicle with the noise of its IMU, a name of the catalogue, or a file.
        rate: spin, rad/s.
        most: largest number of throws.
        seconds: of free fall in each throw.
    """
    airframe = load_airframe(airframe)
    information, matrices, spins = _choices(airframe, rate, seconds)
    if most < 1:
        raise ObservabilityError(f"got {most} throws, expected at least one; try 2")
    best = (
        min(
            (
                _predict(information, matrices, spins, chosen)
                for chosen in combinations_with_replacement(range(len(AXES)), count)
            ),
            key=lambda plan: plan.worst,
        )
        for count in range(1, most + 1)
    )
    return ThrowPlans(airframe.name, rate, tuple(best))


@double_precision()
def judge_throws(airframe: Airframe, axes: Sequence[str], rate: float, seconds: float = 0.8) -> ThrowPlan:
    """What throws about the given axes, of `AXES`, are worth."""
    for axis in axes:
        if axis not in AXES:
            raise ObservabilityError(f"axis {axis!r} is not known; choose from {', '.join(AXES)}")
    return _predict(*_choices(airframe, rate, seconds), [AXES.index(axis) for axis in axes])


def _choices(airframe: Airframe, rate: float, seconds: float) -> tuple[Information, list[Numbers], Numbers]:
    """The question, the information of one throw about each axis, and the spins."""
    if not (rate > 0.0 and np.isfinite(rate)):
        raise ObservabilityError(f"got a spin of {rate:g} rad/s, expected more than zero; try 12")
    if not (seconds > 0.0 and np.isfinite(seconds)):
        raise ObservabilityError(f"got throws of {seconds:g} s, expected more than zero; try 0.8")
    vehicle = RationalVehicle.from_airframe(airframe)
    information = Information(vehicle, ReadingNoise.of(airframe, ("imu",)), KNOWN)
    spins = np.asarray([rate * _direction(axis) for axis in AXES])
    still = np.zeros((WINDOW, len(vehicle.spin)))
    share = seconds * RATE / WINDOW
    return (
        information,
        [share * information.matrix(m, still) for m in simulate_falls(information, spins)],
        spins,
    )


def _predict(
    information: Information, matrices: Sequence[Numbers], spins: Numbers, chosen: Sequence[int]
) -> ThrowPlan:
    total = np.sum([matrices[i] for i in chosen], axis=0)
    sigma = information.sigmas(total, NAMES)
    return ThrowPlan(tuple(AXES[i] for i in chosen), spins[list(chosen)], sigma)


def _direction(axis: str) -> Numbers:
    vector = np.asarray([float(name in axis) for name in "xyz"])
    return np.asarray(vector / np.linalg.norm(vector))


def simulate_falls(information: Information, spins: Numbers) -> list[Numbers]:
    """For each spin (n, 3) the motion (WINDOW, 13) of a fall with still rotors, by the classical Runge-Kutta method."""
    n = len(information.vehicle.spin)
    points, dt = len(spins), 1.0 / RATE
    rest = np.concatenate(
        [
            information.constants,
            np.zeros(system.WRENCH),
            np.asarray(information.vehicle.spin, float),
            np.zeros(2 * n),
        ]
    )

    def slope(x: Numbers) -> Numbers:
        tape = Tape(system.program(n), Reals(), points, 0)
        tape.advance(0, np.concatenate([x.T, np.repeat(rest[:, None], points, 1)]))
        return tape.outputs(0)[:MOTION].T

    x = np.zeros((points, MOTION))
    x[:, 6], x[:, 10:] = 1.0, spins
    path = []
    for _ in range(WINDOW):
        path.append(x)
        k1 = slope(x)
        k2 = slope(x + 0.5 * dt * k1)
        k3 = slope(x + 0.5 * dt * k2)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(x + dt * k3))
    return [np.stack([state[i] for state in path]) for i in range(points)]
