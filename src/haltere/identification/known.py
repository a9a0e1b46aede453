"""What the user knows beside the log: `NAME=VALUE` or `NAME=VALUE+-SIGMA`, with patterns for all rotors.

Names are those of the airframe's numbers (`mass`, `inertia.xx`, `rotors.m1.thrust_coefficient`, `rotors.*.position.x`).
A number without sigma is taken for exact. A position counts as distance: the log tells on which side a rotor is.
"""

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from haltere.flight.window import IdentifyError

VEHICLE_NAMES = (
    "mass",
    *(f"inertia.{a}" for a in ("xx", "yy", "zz", "xy", "xz", "yz")),
    *(f"com.{a}" for a in "xyz"),
)
SENSOR_NAMES = tuple(f"{s}.position.{a}" for s in ("imu", "pose") for a in "xyz")
ROTOR_NAMES = (
    "thrust_coefficient", "torque_ratio", "position.x", "position.y", "position.z", "axis.x", "axis.y", "axis.z",
    "max_speed", "idle_speed", "curve", "time_constant", "delay", "inertia", "mass",
)  # fmt: skip
ABOVE_ZERO = (
    "mass",
    "inertia.xx",
    "inertia.yy",
    "inertia.zz",
    "thrust_coefficient",
    "max_speed",
    "time_constant",
)
_FORM = re.compile(r"\s*([\w.*-]+)\s*=\s*([^=]+?)\s*")


class Known(NamedTuple):
    """A number and its standard deviation; zero if it is exact."""

    value: float
    sigma: float = 0.0


def parse_known(texts: Iterable[str]) -> dict[str, Known]:
    """The numbers in texts such as `mass=0.037+-0.0005,imu.position.x=0.01`."""
    found: dict[str, Known] = {}
    for text in texts:
        for word in filter(None, (w.strip() for w in text.split(","))):
            match = _FORM.fullmatch(word)
            if match is None:
                raise IdentifyError(
                    f"--known {word!r}; give NAME=VALUE or NAME=VALUE+-SIGMA, such as mass=0.037+-0.0005"
                )
            name, number = match.groups()
            value, _, sigma = number.partition("+-")
            entry = Known(_number(word, value), _number(word, sigma) if sigma else 0.0)
            _check(word, name, entry)
            if name in found:
                raise IdentifyError(f"--known {name} is given twice; give it once")
            found[name] = entry
    return found


def check_known(known: Mapping[str, float | tuple[float, float]]) -> dict[str, Known]:
    """Numbers measured otherwise, given as values or as pairs of value and sigma, by checked names."""
    checked: dict[str, Known] = {}
    for name, number in known.items():
        try:
            entry = Known(*map(float, number)) if isinstance(number, tuple) else Known(float(number))
        except (TypeError, ValueError):
            entry = Known(math.nan)
        if not all(map(math.isfinite, entry)):
            raise IdentifyError(
                f"known {name!r}: got {number!r}; give a value or (value, sigma), in SI units"
            )
        _check(name, name, entry)
        checked[name] = entry
    return checked


def _number(word: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise IdentifyError(
            f"--known {word!r}: {text.strip()!r} is no number; give one such as 0.037, in SI units"
        )
    return value


def _check(word: str, name: str, entry: Known) -> None:
    parts = name.split(".", 2)
    if len(parts) == 3 and parts[0] == "rotors":
        last, pool = parts[2], ROTOR_NAMES
        if last not in pool:
            near = difflib.get_close_matches(last, pool, n=1, cutoff=0.3)
            hint = f"did you mean rotors.{parts[1]}.{near[0]}?" if near else f"one of {', '.join(pool)}"
            raise IdentifyError(f"--known {word!r}: no number of a rotor is called {last!r}; {hint}")
    elif name not in (*VEHICLE_NAMES, *SENSOR_NAMES):
        known = (*VEHICLE_NAMES, *SENSOR_NAMES, *(f"rotors.*.{r}" for r in ROTOR_NAMES))
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
        hint = (
            f"did you mean {near[0]}?"
            if near
            else f"known are: {', '.join(known[:4])}, rotors.*.thrust_coefficient"
        )
        raise IdentifyError(f"--known {word!r}: no number is called {name!r}; {hint}")
    if entry.sigma < 0.0:
        raise IdentifyError(f"--known {word!r}: sigma {entry.sigma:g} is negative; give zero or more")
    if (name if name in VEHICLE_NAMES else parts[-1]) in ABOVE_ZERO and entry.value <= 0.0:
        raise IdentifyError(f"--known {word!r}: got {entry.value:g}; give a number above zero")


def check_rotors(known: Mapping[str, Known], names: tuple[str, ...]) -> None:
    """Refuse a number of a rotor that the vehicle does not have."""
    for name in known:
        parts = name.split(".", 2)
        if parts[0] == "rotors" and not any(fnmatchcase(rotor, parts[1]) for rotor in names):
            raise IdentifyError(
                f"--known {name}: no rotor is called {parts[1]!r}; they are {', '.join(names)}"
            )


def of_rotors(known: Mapping[str, Known], names: tuple[str, ...], last: str) -> tuple[Known, ...] | None:
    """The number `last` of every rotor, or None unless all are known; a name goes before a pattern."""
    found = []
    for rotor in names:
        exact = known.get(f"rotors.{rotor}.{last}")
        if exact is None:
            for name, entry in known.items():
                parts = name.split(".", 2)
                if (
                    len(parts) == 3
                    and parts[0] == "rotors"
                    and parts[2] == last
                    and fnmatchcase(rotor, parts[1])
                ):
                    exact = entry
        if exact is None:
            return None
        found.append(exact)
    return tuple(found)
