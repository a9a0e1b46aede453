"""The result of a log on one page: the vehicle, its numbers, how well they predict, and what to do next."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.identification.result import Identification
from haltere.report import fits
from haltere.report.page import Fact, Page, Picture, Section, Table
from haltere.report.rotors_from_above import effectiveness, from_above
from haltere.report.tables import nice, number, parameter_tables

METHODS = {
    "effectiveness": "from rotor speeds and IMU, without pose",
    "command": "from motor commands and IMU, without rotor speeds",
    "throw": "from a throw",
    "filter": "by the self-calibrating filter, with pose",
    "batch": "by the batch smoother, with pose",
}
HELD_OUT = "On time that the fit has not seen. "
WHITE = 0.5
"""Correlation of neighbouring residuals from which they are called coloured."""
ONE_COLUMN = 24
"""Most numbers whose errors are drawn in one column."""
FAR = 12.0
"""Largest deviation from truth that is drawn, sigma."""


def identification_page(result: Identification, truth: Mapping[str, float] | None = None) -> Page:
    """The whole page; with `truth` by name (of a simulated flight) also how far off the numbers are."""
    sections: list[Section | None] = [_vehicle(result), _numbers(result)]
    if truth is not None:
        sections.append(_truth(result, truth))
    sections += [_prediction(result), _excitation(result), _doctor(result), _next(result)]
    counts = Counter(str(p.verdict) for p in result.parameters)
    told = counts["identified"] + counts["weak"]
    how = METHODS.get(result.method, f"by the method {result.method}")
    first = f" What would help most: {_sentence(result.next_steps[0])}" if result.next_steps else ""
    return Page(
        title=f"The vehicle of {result.source}",
        text=(
            f"Identified {how}, from {result.duration:.0f} s of flight: {told} of {len(result.parameters)} numbers, "
            f"each with a 95 % interval.{first}"
        ),
        facts=_facts(result, counts),
        sections=[section for section in sections if section is not None],
    )


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def _facts(result: Identification, counts: Counter[str]) -> list[Fact]:
    found = [Fact(f"{counts['identified']} of {len(result.parameters)}", "", "numbers identified")]
    mass = result.parameters.get("mass")
    if mass is not None and mass.value is not None and mass.known:
        doubt = "" if mass.sigma is None else f", ± {mass.sigma:.2g}"
        found.append(Fact(number(mass.value, mass.sigma), "kg", f"mass{doubt}"))
    rotors = {p.name.split(".")[1] for p in result.parameters if p.name.startswith("rotors.")}
    if rotors:
        found.append(Fact(str(len(rotors)), "", "rotors"))
    found.append(Fact(f"{result.duration:.1f}", "s", "of flight"))
    shares = [p.fraction for p in result.predictions]
    known = [s for s in shares if s is not None]
    if known:
        found.append(Fact(f"{100.0 * float(np.median(known)):.0f}", "%", "unpredicted, median signal"))
    found.append(Fact(str(len(result.findings)), "", "findings of the doctor"))
    return found


def _vehicle(result: Identification) -> Section:
    items: list[Picture | Table] = []
    shown = _picture(result)
    if shown is not None:
        items.append(shown)
    items += _strengths(result)
    text = (
        "As far as this log shows it; positions are in the body frame, x forward, y left, z up."
        if result.airframe is not None
        else "Without pose and a known mass a log shows ratios: how strongly each rotor accelerates the vehicle."
    )
    return Section("The vehicle", text, items)


def _picture(result: Identification) -> Picture | None:
    """The vehicle in 3D, or its rotors from above; None if the result has neither."""
    if result.airframe is None:
        return from_above(result)
    from haltere.report.vehicle_picture import draw_identified  # noqa: PLC0415 - JAX takes a second to import

    return draw_identified(result, result.airframe)


def _strengths(result: Identification) -> list[Picture | Table]:
    """What each rotor does at the speed that carries the weight, if the log shows it."""
    rotors = effectiveness(result)
    lift = sum(r.get("fz", 0.0) for r in rotors.values())
    if not rotors or lift <= 0.0:
        return []
    square = STANDARD_GRAVITY / lift
    found: list[Picture | Table] = []
    for key, title, unit, words in (
        ("fz", "Upward acceleration at hover", "m/s²", "Together they carry the weight, 9.81 m/s²."),
        ("p", "Rolling", "rad/s²", "Right rotors roll the vehicle to the left, which is negative here."),
        (
            "q",
            "Pitching",
            "rad/s²",
            "Front rotors lift the nose, which is negative about an axis that points left.",
        ),
        (
            "r",
            "Yawing",
            "rad/s²",
            "Rotors that rotate clockwise push the nose to the left, which is positive.",
        ),
    ):
        values = {n: square * r[key] for n, r in rotors.items() if key in r}
        if len(values) == len(rotors):
            sigmas = {n: square * _sigma(result, f"rotors.{n}.effectiveness.{key}") for n in values}
            found.append(
                Picture(
                    title,
                    fits.bars(values, unit, sigmas),
                    f"{words} Whiskers are 95 % intervals.",
                    wide=False,
                )
            )
    return found


def _sigma(result: Identification, name: str) -> float:
    p = result.parameters.get(name)
    return 0.0 if p is None or p.sigma is None else p.sigma


def _numbers(result: Identification) -> Section:
    counts = Counter(str(p.verdict) for p in result.parameters)
    said = ", ".join(f"{counts[v]} {v}" for v in fits.VERDICTS if counts[v])
    bar = Picture(
        "Verdicts", fits.verdict_chart(counts), f"Of {len(result.parameters)} numbers: {said}.", wide=True
    )
    return Section(
        "The numbers",
        "Each with its standard deviation, systematic errors included, and its verdict.",
        [bar, *parameter_tables(result)],
    )


def _truth(result: Identification, truth: Mapping[str, float]) -> Section | None:
    """How far the numbers are from the simulated vehicle's own."""
    names, errors, colours = [], [], []
    for p in result.parameters:
        if p.name in truth and p.value is not None and p.sigma and p.known:
            names.append(p.name.removeprefix("rotors."))
            errors.append((p.value - truth[p.name]) / p.sigma)
            colours.append(fits.VERDICTS[p.verdict])
    if not names:
        return None
    inside = int(np.sum(np.abs(errors) <= 1.96))
    shown = [float(x) for x in np.clip(errors, -FAR, FAR)]
    half = len(names) if len(names) <= ONE_COLUMN else -(-len(names) // 2)
    items = []
    for first in range(0, len(names), half):
        part = slice(first, first + half)
        words = f"Numbers {first + 1} to {min(first + half, len(names))}; intervals that include zero hold the truth."
        chart = fits.interval_chart(
            names[part],
            shown[part],
            [1.96] * len(names[part]),
            colours[part],
            "error, in standard deviations",
        )
        items.append(Picture("Error of each number", chart, words, wide=half == len(names)))
    return Section(
        "Against the truth",
        "This flight was simulated, so the truth is known; the identification has not seen it. "
        f"{inside} of {len(names)} intervals of 95 % hold it.",
        items,
    )


def _prediction(result: Identification) -> Section | None:
    if not result.predictions:
        return None
    items: list[Picture | Table] = []
    for p in result.predictions:
        share = p.fraction
        part = "" if share is None else f", {100.0 * share:.0f} % of the signal's own deviation"
        words = f"{HELD_OUT}Residual: {p.rms:.3g} {nice(p.unit)} rms{part}."
        items.append(Picture(p.name, fits.prediction_chart(p), words))
    coloured = [p.name for p in result.predictions if abs(p.whiteness) > WHITE]
    words = "White residuals stay in the grey band: the model leaves nothing unexplained."
    if coloured:
        words = (
            f"Neighbouring residuals of {', '.join(coloured)} are alike: something slow is not in the model, "
            "such as wind, and the intervals allow for it."
        )
    items.append(Picture("Residuals: are they white?", fits.whiteness_chart(result.predictions), words))
    return Section("Measured and predicted", "What the identified vehicle predicts for held-out time.", items)


def _excitation(result: Identification) -> Section | None:
    if not result.excitation:
        return None
    by_unit: dict[str, dict[str, float]] = {}
    for name, value in result.excitation.items():
        head, _, unit = name.replace(", ", " ").rpartition(" ")
        by_unit.setdefault(unit if head else "", {})[head or name] = float(value)
    items: list[Picture | Table] = []
    for unit, values in by_unit.items():
        least = min(values, key=lambda n: values[n])
        words = (
            f"{_sentence(least)[:-1]} moved least."
            if len(values) > 1
            else "Standard deviation over the flight."
        )
        items.append(Picture(f"In {nice(unit)}", fits.bars(values, nice(unit)), words))
    return Section(
        "Excitation",
        "What does not move cannot be identified: how much each axis moved, as a standard deviation.",
        items,
    )


def _doctor(result: Identification) -> Section | None:
    if not result.findings and not result.undecided:
        return Section(
            "The log's health", "The doctor found nothing wrong in the log, and decided every check."
        )
    items: list[Picture | Table] = []
    if result.findings:
        rows = [
            (str(f["kind"]), str(f["evidence"]), str(f["remedy"]), "yes" if f.get("certain") else "no")
            for f in result.findings
        ]
        items.append(
            Table(
                "Findings",
                ("what", "evidence", "remedy", "certain"),
                rows,
                "Certain ones were mended before identification.",
                wide=True,
                prose=True,
            )
        )
    if result.undecided:
        lines = [(str(u["kind"]), str(u["reason"]), str(u["remedy"])) for u in result.undecided]
        items.append(
            Table(
                "What the log cannot decide",
                ("what", "why", "what would help"),
                lines,
                "None of these is a fault; the data do not show them.",
                wide=True,
                prose=True,
            )
        )
    return Section("The log's health", "What the doctor found in the data.", items)


def _next(result: Identification) -> Section | None:
    points = [_sentence(step) for step in result.next_steps]
    points += [f"Note: {_sentence(note)}" for note in result.notes]
    if not points:
        return None
    return Section("What to do next", "The most useful first.", (), points)
