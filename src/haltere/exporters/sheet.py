"""A list of settings to be written: value and deviation of each, and what had to be left out, with the reason.

A setting is a function of the named numbers. Its deviation follows from theirs, taken as independent,

    sigma^2 = sum over numbers i of (f(x + sigma_i e_i) - f(x))^2                                          (1)

and a setting that changes when a direction that the log left open is moved is not known, so it is left out; its whole
family goes with it, because half a geometry is worse than none. Ratios that motion shows though their parts are known
together only (the effectiveness of a rotor) may be written; their deviation is then not told.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from haltere.identification.described import Left, Numbers, Subject

Compute = Callable[[Numbers], float]
MOVED = 1e-3
"""Change of a setting, relative to its family's size, from which it depends on an open direction."""
STRETCH = 1.1
"""By this the numbers of an open combination are multiplied to see what depends on them."""
NUDGE = 0.01
"""By this an open number of value zero and no deviation is moved."""


@dataclass(frozen=True)
class Entry:
    """A setting to be written, if it is known."""

    name: str
    family: str
    compute: Compute
    ratio: bool = False
    """Whether motion shows it though its parts may be known together only."""


@dataclass(frozen=True)
class Line:
    """A setting that is known."""

    name: str
    value: float
    sigma: float | None
    told: bool
    """Whether it rests on what a log told, not on what was given alone."""
    family: str


@dataclass(frozen=True)
class Omission:
    """A family of settings that is left out."""

    family: str
    names: tuple[str, ...]
    reason: str
    missing: tuple[str, ...]
    """The numbers that are not known."""

    @property
    def sentence(self) -> str:
        """For comments and notes."""
        return f"{self.family} ({_short(self.names)}) left out: {self.reason}"


@dataclass(frozen=True)
class Sheet:
    """All settings of one file."""

    lines: tuple[Line, ...]
    omissions: tuple[Omission, ...]

    def of(self, family: str) -> tuple[Line, ...]:
        """The lines of a family."""
        return tuple(line for line in self.lines if line.family == family)


def gather(subject: Subject, entries: Iterable[Entry]) -> Sheet:
    """Values, deviations and omissions of `entries`, in their order."""
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        families.setdefault(entry.family, []).append(entry)
    lines: list[Line] = []
    omissions: list[Omission] = []
    for family, members in families.items():
        names = tuple(entry.name for entry in members)
        missing = _missing(subject, members)
        left = [] if missing else _hindrances(subject, members)
        if missing or left:
            wanted = tuple(dict.fromkeys((*missing, *(n for one in left for n in one.names))))
            omissions.append(Omission(family, names, _reason(missing, left), wanted))
            continue
        for entry in members:
            value = entry.compute(subject.numbers)
            lines.append(Line(entry.name, value, *_known(subject, entry, value), family=family))
    return Sheet(tuple(lines), tuple(omissions))


def _missing(subject: Subject, members: list[Entry]) -> tuple[str, ...]:
    """Numbers that nobody told but that the family needs."""
    missing: dict[str, None] = {}
    for entry in members:
        try:
            if not np.isfinite(entry.compute(subject.numbers)):
                missing.setdefault(entry.name)
        except KeyError as error:
            missing.setdefault(str(error.args[0]))
    return tuple(missing)


def _hindrances(subject: Subject, members: list[Entry]) -> list[Left]:
    """The open directions that move the family."""
    here = np.array([entry.compute(subject.numbers) for entry in members])
    size = float(np.max(np.abs(here))) or 1.0
    ratio = members[0].ratio
    found = []
    for left in subject.open:
        if left.together and ratio:
            continue
        there = np.array([entry.compute(_moved(subject, left)) for entry in members])
        if float(np.max(np.abs(there - here))) > MOVED * size:
            found.append(left)
    return found


def _moved(subject: Subject, left: Left) -> Mapping[str, float]:
    """The numbers with an open direction moved."""
    moved = dict(subject.numbers)
    for name in left.names:
        if name not in moved:
            continue
        value = moved[name]
        if left.together:
            centre = moved.get(f"com.{name[-1]}", 0.0) if ".position." in name else 0.0
            moved[name] = centre + STRETCH * (value - centre)
        else:
            moved[name] = value + (subject.sigma.get(name) or (STRETCH - 1.0) * abs(value) or NUDGE)
    return moved


def _known(subject: Subject, entry: Entry, value: float) -> tuple[float | None, bool]:
    """Equation (1), None where parts are known together only; and whether a log told anything of it."""
    total, told, parts = 0.0, False, False
    together = {name for left in subject.open if left.together for name in left.names}
    for name, sigma in subject.sigma.items():
        if name in subject.numbers and sigma > 0.0:
            change = entry.compute({**subject.numbers, name: subject.numbers[name] + sigma}) - value
            if change != 0.0:
                told, parts = True, parts or name in together
                total += change**2
    return (float(np.sqrt(total)) if told and not parts else None), told


def _reason(missing: tuple[str, ...], left: list[Left]) -> str:
    if missing:
        return f"{_short(missing)} {'is' if len(missing) == 1 else 'are'} not told"
    parts = []
    for one in left:
        open_ = "known only together" if one.together else "not observable in this log"
        parts.append(f"{_short(one.names)} {open_}" + (f" ({one.fix})" if one.fix else ""))
    return "; ".join(dict.fromkeys(parts))


def _short(names: tuple[str, ...], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
