"""A plan for one vehicle: what to measure by hand, what to fly, and what it will be worth.

The deviation is predicted for the flight with everything known that `known` names; where the wanted parameters cannot
be seen even so, the smallest hand measurements that restore them are added and named. It is compared with random
Lissajous figures of the same length, the default flight.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import numpy as np

from haltere.airframe import Airframe
from haltere.observability.answer import observe
from haltere.observability.information.excitation import missing
from haltere.observability.information.fisher import Information, Noise
from haltere.observability.manoeuvres.flat_flight import Limits, Pilot
from haltere.observability.manoeuvres.manoeuvre import Designer, Manoeuvre
from haltere.observability.rank.parameters import Verdict
from haltere.observability.rank.rank import Question
from haltere.observability.rank.subject import ObservabilityError, Subject
from haltere.observability.rank.winged import refuse_wings
from haltere.trajectory import bounded, random_lissajous


@dataclass(frozen=True)
class Plan:
    """What to measure and to fly.

    Attributes:
        designer: the question.
        manoeuvre: the answer.
        assumed: hand measurements that were added so that the parameters can be seen.
        lissajous: median predicted deviation of random Lissajous figures by parameter; None where none says anything.
        findings: sentences about what stays weak.
    """

    designer: Designer
    manoeuvre: Manoeuvre
    assumed: tuple[str, ...]
    lissajous: dict[str, float | None]
    findings: tuple[str, ...]


def plan(
    airframe: Airframe,
    sensors: Sequence[str],
    names: Sequence[str],
    known: Sequence[str] = (),
    limits: Limits | None = None,
    seconds: float = 30.0,
    criterion: str = "a",
    rng: np.random.Generator | None = None,
    iterations: int = 60,
    compared: int = 5,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Design the manoeuvre for the parameters `names` (names, beginnings of names, patterns).

    Args:
        airframe: the vehicle; it must be able to hover.
        sensors: of `pose`, `position`, `imu`.
        names: what is to be known.
        known: what is measured by hand, exactly.
        limits: of the manoeuvre.
        seconds: length of the flight.
        criterion: `a` or `d`, see `haltere.observability.manoeuvres.manoeuvre`.
        rng: for starts and Lissajous figures.
        iterations: of the search.
        compared: Lissajous figures to compare with.
        progress: called with a sentence before each part.
    """
    rng = rng or np.random.default_rng(0)
    refuse_wings(airframe, "the information of a manoeuvre")
    question = Question(tuple(sensors))
    subject = Subject.from_airframe(airframe, question.exteroceptive)
    pilot = Pilot.of(airframe, subject, limits or Limits())
    before = observe(subject, question, known, rng=rng)
    verdicts = {finding.name: finding for finding in before.parameters}
    wanted = Information(subject, Noise.of(airframe, sensors), ()).wanted(names)
    assumed: list[str] = []
    for name in wanted:
        if verdicts[name].verdict is Verdict.OBSERVABLE:
            continue
        fix = verdicts[name].fix
        if fix is None or name in fix:
            raise ObservabilityError(
                f"{name} cannot be seen with {', '.join(sensors)} whatever is flown; measure it by hand or add a sensor"
            )
        assumed += [measurement for measurement in fix if measurement not in assumed]
    # What nobody asked for and nobody can see is held too: it does not touch the wanted parameters.
    held = (*before.known, *before.restore_all[0])
    information = Information(subject, Noise.of(airframe, sensors), tuple(dict.fromkeys(held)))
    designer = Designer(information, pilot, tuple(wanted), seconds, criterion=criterion)
    manoeuvre = designer.search(rng, iterations=iterations, progress=progress)
    if progress:
        progress(f"comparing with {compared} Lissajous figures")
    figures = []
    for _ in range(compared):
        key = jax.random.key(int(rng.integers(2**31)))
        path, _note = bounded(pilot.vehicle, random_lissajous(key, seconds, centre=pilot.limits.centre))
        figures.append(designer.along(path))
    lissajous = {name: _median([figure[name] for figure in figures]) for name in wanted}
    return Plan(designer, manoeuvre, tuple(assumed), lissajous, _findings(designer, manoeuvre))


def _median(values: Sequence[float | None]) -> float | None:
    seen = [np.inf if value is None else value for value in values]
    middle = float(np.median(seen)) if seen else np.inf
    return middle if np.isfinite(middle) else None


def _findings(designer: Designer, manoeuvre: Manoeuvre) -> tuple[str, ...]:
    """What stays weak, and the excitation that it would need."""
    sentences = (
        missing(name, sigma, designer.information.size(name), manoeuvre.excitation)
        for name, sigma in manoeuvre.sigma.items()
    )
    return tuple(sentence for sentence in sentences if sentence is not None)
