"""The parameters of a vehicle after a flight, with deviations and verdicts, and how well the model fitted."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.estimation.core.consistency import Fit
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.estimation.vehicle.steps import VehicleBelief
from haltere.estimation.vehicle.verdicts import EstimateVerdict, assign_verdicts, sentences
from haltere.foundation.arrays import Array, double_precision, to_numpy
from haltere.foundation.programs import CachedProgram, program_by_kind
from haltere.foundation.verdict import Verdict
from haltere.lie import so3

INSIDE = 1e-6
"""How far beyond the edge of what is possible an estimate is moved, of the way to it."""


class EstimatedParameter(NamedTuple):
    """One estimated number."""

    name: str
    value: float
    sigma: float
    verdict: Verdict
    partners: tuple[str, ...]
    """The numbers that it is known together with, if it is a combination."""


@dataclass(frozen=True, repr=False)
class VehicleEstimate:
    """The parameters of a vehicle with their uncertainty, and how well the model fitted; it prints as its table."""

    coordinates: VehicleCoordinates
    belief: VehicleBelief
    prior_sigma: np.ndarray
    """(19 + 7 N,) of the physical numbers, before flight and hand measurements."""
    rejected: int
    """Poses beyond the gate after the smoothed start."""
    fit: Fit
    """How the readings after the smoothed start fitted."""
    notes: tuple[str, ...]
    """What was odd, and what stays open."""
    early: VehicleBelief | None = None
    """What was believed at an earlier moment, where that was asked for."""

    @cached_property
    @double_precision()
    def physical(self) -> Mean:
        """The constants in physical numbers, at the centre of mass on principal axes; see `impossible`."""
        found, row, excess = self._in_physical[0], *self._excess
        if excess <= 0.0:
            return to_numpy(found)
        toward = self.physical_cov @ row
        moved = self.coordinates.physical.plus(
            found, jnp.asarray(-(1.0 + INSIDE) * excess / (row @ toward) * toward)
        )
        return to_numpy(moved)

    @cached_property
    def physical_cov(self) -> np.ndarray:
        """Covariance of the errors of the physical numbers, 19 + 7 N of them, more with effects."""
        return self._in_physical[1]

    @cached_property
    @double_precision()
    def _in_physical(self) -> tuple[Mean, np.ndarray]:
        """Physical numbers and the covariance of their errors, as the filter believes them."""
        first = self.coordinates.moving.dimension
        constants = self.coordinates.constants(self.belief.mean)
        physical, slopes = _charted(self.coordinates.kind)(self.coordinates.numbers, constants)
        back = np.linalg.inv(np.asarray(slopes))
        return physical, back @ np.asarray(self.belief.cov)[first:, first:] @ back.T

    @cached_property
    def _excess(self) -> tuple[np.ndarray, float]:
        """By how much the largest moment of inertia is above the two others together, as a row and as a number."""
        moments = np.asarray(self._in_physical[0]["inertia"])
        row = np.zeros(self.coordinates.physical.dimension)
        signs = np.where(np.arange(3) == np.argmax(moments), 1.0, -1.0)
        row[self.coordinates.physical.slices["inertia"]] = signs
        return row, float(signs @ moments)

    def verdicts(self) -> list[EstimateVerdict]:
        """Whether each physical number was identified."""
        return assign_verdicts(
            self.coordinates, self.physical, self.physical_cov, np.asarray(self.prior_sigma)
        )

    def open(self) -> list[str]:
        """What the flight left open, a sentence for each group of numbers."""
        return sentences(self.coordinates.names, self.verdicts())

    def impossible(self) -> str | None:
        """In a sentence, if the filter's moments of inertia are of no body: the largest is above the sum of the others.

        The physical numbers are then the likeliest of which that is not true.
        """
        row, excess = self._excess
        if excess <= 0.0:
            return None
        sigma = float(np.sqrt(row @ self.physical_cov @ row))
        axis = "xyz"[int(np.argmax(row[self.coordinates.physical.slices["inertia"]]))]
        return (
            f"inertia.{axis}{axis} came out larger than the two others together, by {excess:.2g} kg m2 (sigma "
            f"{sigma:.2g}), which no body has: the likeliest possible numbers are given; fly more about this axis, or "
            "give a hand measurement"
        )

    @double_precision()
    def thrust_axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Thrust axes (N, 3) along principal axes, and their slopes (N, 3, N, 2) over the tilts."""
        axes, slopes = _leaning(self.coordinates.kind)(self.coordinates.numbers, self.physical["rotor_tilt"])
        return np.asarray(axes), np.asarray(slopes)

    @double_precision()
    def table(self) -> list[EstimatedParameter]:
        """Every physical number with its standard deviation and verdict; rotations as rotation vectors in rad."""
        physical = {name: np.asarray(value) for name, value in self.physical.items()}
        turning = [block.name for block in self.coordinates.physical.blocks if block.kind == "rotation"]
        turns = np.asarray(_turns(np.stack([physical[name] for name in turning])))
        physical.update(zip(turning, turns, strict=True))
        values = np.concatenate(
            [physical[block.name].reshape(-1) for block in self.coordinates.physical.blocks]
        )
        sigmas = np.sqrt(np.diagonal(self.physical_cov))
        rows = zip(self.coordinates.names, values, sigmas, self.verdicts(), strict=True)
        return [EstimatedParameter(n, float(v), float(s), j.verdict, j.partners) for n, v, s, j in rows]

    def __repr__(self) -> str:
        """The table as text, and the notes."""
        rows = self.table()
        width = max(len(row.name) for row in rows)
        lines = [f"{r.name:{width}}  {r.value:12.5g} +- {r.sigma:<10.2g} {r.verdict}" for r in rows]
        return "\n".join([*lines, *self.notes])


@program_by_kind(lambda kind: ({block.name: 0 for block in kind.physical.blocks}, 0), fast_compile=True)
def _charted(kind: VehicleCoordinates, numbers: tuple[Array, Array], constants: Mean) -> tuple[Mean, Array]:
    coordinates = kind.of_numbers(numbers)
    physical = coordinates.to_physical(constants)
    return physical, coordinates.jacobian(physical)


def prepare(coordinates: VehicleCoordinates, constants: Mean) -> None:
    """Compile, or load, what tables in such coordinates will ask for."""
    _charted(coordinates.kind).prepare(coordinates.numbers, constants)
    _leaning(coordinates.kind).prepare(coordinates.numbers, np.zeros((coordinates.count, 2)))
    _turns.prepare(np.zeros((2, 4)))


@program_by_kind(lambda _: (0, 0), fast_compile=True)
def _leaning(kind: VehicleCoordinates, numbers: tuple[Array, Array], tilt: Array) -> tuple[Array, Array]:
    coordinates = kind.of_numbers(numbers)
    return coordinates.thrust_axes(tilt), jax.jacfwd(coordinates.thrust_axes)(tilt)


def _logarithms(wxyz: Array) -> Array:
    return jax.vmap(so3.log_wxyz)(wxyz)


_turns = CachedProgram(_logarithms, None, 0, fast_compile=True)
"""(m, 3) rotation vectors of quaternions (m, 4)."""
