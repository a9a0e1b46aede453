"""The answer to what can be known at all: rank, directions, a verdict and a remedy for every parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from haltere.airframe import Airframe, load_airframe
from haltere.foundation.arrays import double_precision
from haltere.foundation.memory import bound_programs
from haltere.foundation.tables import TextTable, html_lines, text_lines
from haltere.observability.rank.directions import Direction, named_directions, restrict_to_known
from haltere.observability.rank.parameters import (
    HandMeasurementChoices,
    VehicleParameter,
    VehicleParameters,
    Verdict,
    verdict,
)
from haltere.observability.rank.rank import (
    ExactMatrix,
    FloatMatrix,
    ObservabilityMatrix,
    Question,
    count_rank,
    exact_matrices,
    float_matrix,
)
from haltere.observability.rank.rational_vehicle import RationalVehicle
from haltere.observability.rank.winged import matrix_builder


@dataclass(frozen=True)
class ParameterVerdict:
    """What can be said about one parameter.

    Attributes:
        name: of the parameter.
        verdict: observable, combination or unobservable.
        fix: hand measurements that make it observable; empty where none is needed, None where none helps.
    """

    name: str
    verdict: Verdict
    fix: tuple[str, ...] | None

    def to_dict(self) -> dict[str, Any]:
        """Name, verdict and fix as JSON knows them."""
        fix = None if self.fix is None else list(self.fix)
        return {"name": self.name, "verdict": str(self.verdict), "fix": fix}


@dataclass(frozen=True, repr=False)
class Observability:
    """What sensors and knowledge can say about a vehicle.

    Attributes:
        vehicle: the vehicle.
        question: sensors and conventions.
        known: names of what was taken as known.
        norms: convention for unit lengths, see `haltere.observability.rank.rank`.
        states: the paper's count, 40 + 7N.
        error_states: 37 + 7N.
        rank: among `states`.
        directions: the unobservable ones.
        remedies: for each direction, the smallest sets of hand measurements that restore it.
        restore_all: a smallest set that restores as much as hand measurements can, and what then is left.
        parameters: a verdict for each.
        motion: the same for the moving state.
        matrix: the matrix with what is known: exact, or in floating-point numbers for vehicles with wings or drag.
        floating: the floating-point one beside it.
    """

    vehicle: RationalVehicle
    question: Question
    known: tuple[str, ...]
    norms: str
    states: int
    error_states: int
    rank: int
    directions: tuple[Direction, ...]
    remedies: tuple[tuple[tuple[str, ...], ...], ...]
    restore_all: tuple[tuple[str, ...], int]
    parameters: tuple[ParameterVerdict, ...]
    motion: tuple[ParameterVerdict, ...]
    matrix: ObservabilityMatrix
    floating: FloatMatrix

    @property
    def notes(self) -> tuple[str, ...]:
        """What the answer leaves out."""
        marked = "wings or drag: the rank is that of floating-point numbers alone"
        return self.vehicle.notes if self.is_exact else (*self.vehicle.notes, marked)

    @property
    def is_exact(self) -> bool:
        """Whether the rank was decided without a tolerance."""
        return isinstance(self.matrix, ExactMatrix)

    @property
    def agrees(self) -> bool:
        """Whether the floating-point rank is the exact one."""
        return self.floating.rank == self.matrix.rank

    def to_dict(self) -> dict[str, Any]:
        """The answer in plain numbers and text, as `haltere observe --json` prints it."""
        last, first = self.floating.gap
        return {
            "airframe": self.vehicle.name,
            "sensors": list(self.question.sensors),
            "known": list(self.known),
            "axes": self.question.axes,
            "norms": self.norms,
            "states": self.states,
            "error_states": self.error_states,
            "rank": self.rank,
            "exact": self.is_exact,
            "directions": [
                {
                    "kind": direction.kind,
                    "members": [{"name": name, "share": share} for name, share in direction.members],
                    "explanation": direction.explanation,
                    "fix": [list(names) for names in remedy],
                }
                for direction, remedy in zip(self.directions, self.remedies, strict=True)
            ],
            "parameters": [parameter.to_dict() for parameter in self.parameters],
            "motion": [parameter.to_dict() for parameter in self.motion],
            "remedy": {"measure": list(self.restore_all[0]), "left": self.restore_all[1]},
            "floating_point": {
                "rank": self.floating.rank + self.rank - self.matrix.rank,
                "agrees": self.agrees,
                "smallest_counted": last,
                "largest_neglected": first,
            },
            "notes": list(self.notes),
        }

    @property
    def heading(self) -> str:
        """Vehicle, sensors and rank in one line."""
        how = "exact" if self.is_exact else "floating-point numbers alone"
        return (
            f"{self.vehicle.name}, {' + '.join(self.question.sensors)}: rank {self.rank} of {self.states} states "
            f"({how}; {len(self.directions)} unobservable directions of {self.error_states} error states)"
        )

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """The unobservable directions, if there are any; the parameters that are not observable."""
        directions = [
            (d.kind, d.explanation, " or ".join(" + ".join(names) for names in remedy[:2]) or None)
            for d, remedy in zip(self.directions, self.remedies, strict=True)
        ]
        unclear = [
            (p.name, str(p.verdict), " + ".join(p.fix) if p.fix else None)
            for p in self.parameters
            if p.verdict is not Verdict.OBSERVABLE
        ]
        title = f"Parameters: {len(self.parameters) - len(unclear)} observable, {len(unclear)} not"
        parameters = TextTable(title, ("name", "verdict", "measure by hand"), unclear)
        if not directions:
            return (parameters,)
        columns = ("kind", "what moves", "measure by hand")
        return TextTable("Unobservable directions", columns, directions), parameters

    @property
    def advice(self) -> str | None:
        """What to measure by hand, and what is left then; None where hand measurements change nothing."""
        names, left = self.restore_all
        if not names:
            return None
        then = f"{left} directions then stay" if left else "then everything is observable"
        return f"measure {', '.join(names)}; {then}"

    def __repr__(self) -> str:
        lines = [self.heading, *(f"note: {note}" for note in self.notes)]
        return text_lines([*lines, *self.tables, *([self.advice] if self.advice else [])])

    def _repr_html_(self) -> str:
        tables = "".join(table.html() for table in self.tables)
        return (
            html_lines([self.heading, *self.notes])
            + tables
            + html_lines([self.advice] if self.advice else [])
        )


@double_precision()
def observe(
    airframe: Airframe | str | PathLike[str],
    sensors: Sequence[str] = ("pose", "imu"),
    *,
    known: Sequence[str] = (),
    axes: str = "sphere",
    norms: str = "all",
    frozen_imu: bool = False,
    seed: int = 0,
) -> Observability:
    """Find which parameters of a vehicle sensors and hand measurements can determine, whatever is flown.

    Args:
        airframe: the vehicle, its name in the catalogue, or its file.
        sensors: one or more of `pose`, `position`, `imu`.
        known: names, beginnings of names or patterns of parameters measured by hand, such as `mass`,
            `rotors.*.position.z` or `distance.front.left`.
        axes: how a rotor's axis is written: as a tangent vector (`sphere`), or azimuth and inclination (`spherical`).
        norms: whose unit length counts in the rank: `all` quaternions, or those `determined` by the sensors.
        frozen_imu: treat rotor speeds as constant in the IMU's equations, as [Boehm2022] did.
        seed: of random points and inputs; the answer does not depend on it.

    Raises:
        HaltereError: a sensor, name or convention is not known, or the model cannot describe the vehicle.
    """
    bound_programs()
    question = Question(tuple(sensors), axes, frozen_imu)
    vehicle = RationalVehicle.from_airframe(load_airframe(airframe), question.exteroceptive)
    return analyse(vehicle, question, known, norms, np.random.default_rng(seed))


@double_precision()
def analyse(
    vehicle: RationalVehicle,
    question: Question,
    known: Sequence[str] = (),
    norms: str = "all",
    rng: np.random.Generator | None = None,
) -> Observability:
    """`observe` for a vehicle in rational numbers.

    Args:
        vehicle: the vehicle.
        question: sensors and conventions.
        known: names or patterns of parameters measured by hand.
        norms: `all` or `determined`.
        rng: for points and inputs; the answer does not depend on it.
    """
    rng = rng or np.random.default_rng(0)
    by_flights = matrix_builder(vehicle)
    base: ObservabilityMatrix
    if by_flights is not None:
        base = alone = by_flights(question, rng)
    else:
        base = exact_matrices(vehicle, [question], rng)[0]
        alone = float_matrix(vehicle, question, rng)
    parameters = VehicleParameters(vehicle, base.motion, question.axes)
    rows, names = parameters.rows(known)
    matrix, floating = base.extended(rows), alone.extended(rows)
    named = named_directions(vehicle, base, question.axes, alone)
    directions = restrict_to_known(vehicle, named, rows, question.axes)
    choices = HandMeasurementChoices.of(vehicle, parameters, directions) if directions else None
    remedies = tuple(tuple(choices.for_direction(k)) for k in range(len(directions))) if choices else ()
    c = vehicle.coordinates
    return Observability(
        vehicle=vehicle,
        question=question,
        known=tuple(names),
        norms=norms,
        states=c.states,
        error_states=c.errors,
        rank=count_rank(matrix, vehicle, norms),
        directions=tuple(directions),
        remedies=remedies,
        restore_all=choices.for_all() if choices else ((), 0),
        parameters=tuple(_finding(p, matrix, choices) for p in parameters.reported),
        motion=tuple(_finding(p, matrix, choices) for p in parameters.motion),
        matrix=matrix,
        floating=floating,
    )


def _finding(
    parameter: VehicleParameter, matrix: ObservabilityMatrix, choices: HandMeasurementChoices | None
) -> ParameterVerdict:
    found = verdict(parameter, matrix)
    if found is Verdict.OBSERVABLE or choices is None:
        return ParameterVerdict(parameter.name, found, ())
    return ParameterVerdict(parameter.name, found, choices.for_row(choices.change(parameter)))
