"""A list of settings to be written: value and deviation of each, and what had to be left out, with the reason.

A setting is a function of the named numbers. Its deviation follows from theirs, taken as independent,

    sigma^2 = sum over numbers i of (f(x + sigma_i e_i) - f(x))^2                                          (1)

and a setting that changes along a direction that the log left open is not known, so it is left out; its whole
family goes with it, because half a geometry is worse than none. Ratios that motion shows though their parts are known
jointly only (the effectiveness of a rotor) may be written, without a deviation.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from haltere.identification.described import DescribedVehicle, Numbers, OpenDirection

Compute = Callable[[Numbers], float]
DEPENDENT = 1e-3
"""Change of a setting, relative to its family's size, from which it depends on an open direction."""
STRETCH = 1.1
"""By this the numbers of an open combination are multiplied to see what depends on them."""
NUDGE = 0.01
"""By this an open number of value zero and no deviation is shifted."""


@dataclass(frozen=True)
class SettingFormula:
    """How a setting follows from the numbers of a vehicle; it is written if they are known."""

    name: str
    family: str
    compute: Compute
    ratio: bool = False
    """Whether motion shows it even where only a combination of its parts is known."""


@dataclass(frozen=True)
class KnownSetting:
    """A setting with its value."""

    name: str
    value: float
    sigma: float | None
    from_log: bool
    """Whether it depends on an identified number, not on those of an airframe file alone."""
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

    settings: tuple[KnownSetting, ...]
    omissions: tuple[Omission, ...]

    def of(self, family: str) -> tuple[KnownSetting, ...]:
        """The settings of a family."""
        return tuple(setting for setting in self.settings if setting.family == family)


def gather(vehicle: DescribedVehicle, formulas: Iterable[SettingFormula]) -> Sheet:
    """Values, deviations and omissions of `formulas`, in their order."""
    families: dict[str, list[SettingFormula]] = {}
    for formula in formulas:
        families.setdefault(formula.family, []).append(formula)
    settings: list[KnownSetting] = []
    omissions: list[Omission] = []
    for family, members in families.items():
        names = tuple(formula.name for formula in members)
        missing = _missing(vehicle, members)
        open_ = [] if missing else _hindrances(vehicle, members)
        if missing or open_:
            wanted = tuple(dict.fromkeys((*missing, *(n for direction in open_ for n in direction.names))))
            omissions.append(Omission(family, names, _reason(missing, open_), wanted))
            continue
        for formula in members:
            value = formula.compute(vehicle.numbers)
            settings.append(
                KnownSetting(formula.name, value, *_sigma(vehicle, formula, value), family=family)
            )
    return Sheet(tuple(settings), tuple(omissions))


def _missing(vehicle: DescribedVehicle, members: list[SettingFormula]) -> tuple[str, ...]:
    """Numbers that the family needs but that are not known."""
    missing: dict[str, None] = {}
    for formula in members:
        try:
            if not np.isfinite(formula.compute(vehicle.numbers)):
                missing.setdefault(formula.name)
        except KeyError as error:
            missing.setdefault(str(error.args[0]))
    return tuple(missing)


def _hindrances(vehicle: DescribedVehicle, members: list[SettingFormula]) -> list[OpenDirection]:
    """The open directions that move the family."""
    here = np.array([formula.compute(vehicle.numbers) for formula in members])
    size = float(np.max(np.abs(here))) or 1.0
    ratio = members[0].ratio
    found = []
    for direction in vehicle.open:
        if direction.is_combination and ratio:
            continue
        there = np.array([formula.compute(_shifted(vehicle, direction)) for formula in members])
        if float(np.max(np.abs(there - here))) > DEPENDENT * size:
            found.append(direction)
    return found


def _shifted(vehicle: DescribedVehicle, direction: OpenDirection) -> Mapping[str, float]:
    """The numbers shifted along an open direction."""
    shifted = dict(vehicle.numbers)
    for name in direction.names:
        if name not in shifted:
            continue
        value = shifted[name]
        if direction.is_combination:
            centre = shifted.get(f"com.{name[-1]}", 0.0) if ".position." in name else 0.0
            shifted[name] = centre + STRETCH * (value - centre)
        else:
            shifted[name] = value + (vehicle.sigma.get(name) or (STRETCH - 1.0) * abs(value) or NUDGE)
    return shifted


def _sigma(vehicle: DescribedVehicle, formula: SettingFormula, value: float) -> tuple[float | None, bool]:
    """Equation (1), None where only combinations of its parts are known; and whether it depends on a log at all."""
    total, from_log, joint = 0.0, False, False
    combined = {name for direction in vehicle.open if direction.is_combination for name in direction.names}
    for name, sigma in vehicle.sigma.items():
        if name in vehicle.numbers and sigma > 0.0:
            change = formula.compute({**vehicle.numbers, name: vehicle.numbers[name] + sigma}) - value
            if change != 0.0:
                from_log, joint = True, joint or name in combined
                total += change**2
    return (float(np.sqrt(total)) if from_log and not joint else None), from_log


def _reason(missing: tuple[str, ...], directions: list[OpenDirection]) -> str:
    if missing:
        return f"{_short(missing)} {'is' if len(missing) == 1 else 'are'} not identified"
    parts = []
    for direction in directions:
        why = "known only together" if direction.is_combination else "not observable in this log"
        parts.append(f"{_short(direction.names)} {why}" + (f" ({direction.fix})" if direction.fix else ""))
    return "; ".join(dict.fromkeys(parts))


def _short(names: tuple[str, ...], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
