"""The answer to what can be known at all: rank, directions, a verdict and a remedy for every parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haltere.foundation.arrays import double_precision
from haltere.foundation.memory import bound_programs
from haltere.observability.rank.directions import Direction, named_directions, respecting
from haltere.observability.rank.parameters import Menu, Parameter, Parameters, Verdict, verdict
from haltere.observability.rank.rank import (
    ExactMatrix,
    FloatMatrix,
    Question,
    counted,
    exact_matrices,
    float_matrix,
)
from haltere.observability.rank.subject import Subject
from haltere.observability.rank.winged import winged


@dataclass(frozen=True)
class Finding:
    """What can be said about one parameter.

    Attributes:
        name: of the parameter.
        verdict: observable, combination or unobservable.
        fix: hand measurements that make it observable; empty where none is needed, None where none helps.
    """

    name: str
    verdict: Verdict
    fix: tuple[str, ...] | None


@dataclass(frozen=True)
class Observability:
    """What sensors and knowledge can say about a vehicle.

    Attributes:
        subject: the vehicle.
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

    subject: Subject
    question: Question
    known: tuple[str, ...]
    norms: str
    states: int
    error_states: int
    rank: int
    directions: tuple[Direction, ...]
    remedies: tuple[tuple[tuple[str, ...], ...], ...]
    restore_all: tuple[tuple[str, ...], int]
    parameters: tuple[Finding, ...]
    motion: tuple[Finding, ...]
    matrix: ExactMatrix | FloatMatrix
    floating: FloatMatrix

    @property
    def notes(self) -> tuple[str, ...]:
        """What the answer leaves out."""
        marked = "wings or drag: the rank is that of floating-point numbers alone"
        return self.subject.notes if self.is_exact else (*self.subject.notes, marked)

    @property
    def is_exact(self) -> bool:
        """Whether the rank was decided without a tolerance."""
        return isinstance(self.matrix, ExactMatrix)

    @property
    def agrees(self) -> bool:
        """Whether the floating-point rank is the exact one."""
        return self.floating.rank == self.matrix.rank


@double_precision()
def observe(
    subject: Subject,
    question: Question,
    known: Sequence[str] = (),
    norms: str = "all",
    rng: np.random.Generator | None = None,
) -> Observability:
    """What the sensors and the knowledge say about the vehicle.

    Args:
        subject: the vehicle.
        question: sensors and conventions.
        known: names or patterns of parameters measured by hand.
        norms: `all` or `determined`.
        rng: for points and inputs; the answer does not depend on it.
    """
    bound_programs()
    rng = rng or np.random.default_rng(0)
    by_flights = winged(subject)
    base: ExactMatrix | FloatMatrix
    if by_flights is not None:
        base = alone = by_flights(question, rng)
    else:
        base = exact_matrices(subject, [question], rng)[0]
        alone = float_matrix(subject, question, rng)
    parameters = Parameters(subject, base.motion, question.axes)
    rows, names = parameters.rows(known)
    matrix, floating = base.extended(rows), alone.extended(rows)
    named = named_directions(subject, base, question.axes, alone)
    directions = respecting(subject, named, rows, question.axes)
    menu = Menu.of(subject, parameters, directions) if directions else None
    remedies = tuple(tuple(menu.for_direction(k)) for k in range(len(directions))) if menu else ()
    c = subject.coordinates
    return Observability(
        subject=subject,
        question=question,
        known=tuple(names),
        norms=norms,
        states=c.states,
        error_states=c.errors,
        rank=counted(matrix, subject, norms),
        directions=tuple(directions),
        remedies=remedies,
        restore_all=menu.for_all() if menu else ((), 0),
        parameters=tuple(_finding(p, matrix, menu) for p in parameters.reported),
        motion=tuple(_finding(p, matrix, menu) for p in parameters.motion),
        matrix=matrix,
        floating=floating,
    )


def _finding(parameter: Parameter, matrix: ExactMatrix | FloatMatrix, menu: Menu | None) -> Finding:
    found = verdict(parameter, matrix)
    if found is Verdict.OBSERVABLE or menu is None:
        return Finding(parameter.name, found, ())
    return Finding(parameter.name, found, menu.for_row(menu.change(parameter)))


def as_mapping(result: Observability) -> dict[str, Any]:
    """The result in plain numbers and text, as `haltere observe --json` prints it."""
    last, first = result.floating.gap
    return {
        "airframe": result.subject.name,
        "sensors": list(result.question.sensors),
        "known": list(result.known),
        "axes": result.question.axes,
        "norms": result.norms,
        "states": result.states,
        "error_states": result.error_states,
        "rank": result.rank,
        "exact": result.is_exact,
        "directions": [
            {
                "kind": direction.kind,
                "members": [{"name": name, "share": share} for name, share in direction.members],
                "explanation": direction.explanation,
                "fix": [list(names) for names in remedy],
            }
            for direction, remedy in zip(result.directions, result.remedies, strict=True)
        ],
        "parameters": [_plain(finding) for finding in result.parameters],
        "motion": [_plain(finding) for finding in result.motion],
        "remedy": {"measure": list(result.restore_all[0]), "left": result.restore_all[1]},
        "floating_point": {
            "rank": result.floating.rank + result.rank - result.matrix.rank,
            "agrees": result.agrees,
            "smallest_counted": last,
            "largest_neglected": first,
        },
        "notes": list(result.notes),
    }


def _plain(finding: Finding) -> dict[str, Any]:
    fix = None if finding.fix is None else list(finding.fix)
    return {"name": finding.name, "verdict": str(finding.verdict), "fix": fix}
