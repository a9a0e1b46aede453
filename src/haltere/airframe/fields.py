"""The kinds of value that fields hold: finite numbers, vectors, directions, rotations, intervals, names.

Whole numbers become decimal ones; text, truth values, NaN and infinity are refused. Directions and
quaternions are stored with unit length.
"""

import math
import numbers
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from haltere.airframe.errors import fault, say

_UNIT_TOLERANCE = 1e-6
_ROUNDING = 1e-14


def number(value: Any) -> float:
    """`value` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise fault(f"got {say(value)}; give a number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise fault(f"got {say(value)}, which is not finite; give a number")
    return result


def _at_least_zero(value: Any) -> float:
    result = number(value)
    if result < 0:
        raise fault(f"got {say(value)}, which is negative; give zero or more")
    return result


def _above_zero(value: Any) -> float:
    result = number(value)
    if result <= 0:
        raise fault(f"got {say(value)}; give a number above zero")
    return result


def _share(value: Any) -> float:
    result = number(value)
    if not 0 <= result <= 1:
        raise fault(f"got {say(value)}; give a number from 0 to 1")
    return result


def entries(value: Any) -> list[Any]:
    """`value` as a list, or a fault."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, list | tuple):
        raise fault(f"got {say(value)}; give a list of numbers")
    return list(plain)


def vector(value: Any, length: int, example: str) -> tuple[float, ...]:
    """`value` as a tuple of `length` finite floats."""
    items = entries(value)
    if len(items) != length:
        count = f"{len(items)} {'entry' if len(items) == 1 else 'entries'}"
        raise fault(f"got {say(items)}, {count}; give {length} numbers, such as {example}")
    return row(items)


def row(items: list[Any], *at: int) -> tuple[float, ...]:
    """`items` as finite floats; `at` leads to the row where a fault is."""
    result = []
    for i, item in enumerate(items):
        try:
            result.append(number(item))
        except PydanticCustomError as error:
            raise fault(error.message(), *at, i) from None
    return tuple(result)


def _triple(example: str) -> Callable[[Any], tuple[float, ...]]:
    return lambda value: vector(value, 3, example)


def _loads(value: Any) -> tuple[float, ...]:
    items = vector(value, 3, "[0.1, 0.1, 0.2]")
    if min(items) < 0:
        raise fault(f"got {say(items)}, of which one is negative; give zero or more: drag opposes the motion")
    return items


def _direction(value: Any) -> tuple[float, ...]:
    items = vector(value, 3, "[0, 0, 1]")
    largest = max(abs(item) for item in items)
    if largest == 0:
        raise fault(f"got {say(items)}, which has no direction; give a vector such as [0, 0, 1]")
    if not _is_unit(items):
        items = tuple(item / largest for item in items)
    return _normalised(items)


def _rotation(value: Any) -> tuple[float, ...]:
    items = vector(value, 4, "[1, 0, 0, 0]")
    length = math.hypot(*items)
    if length == 0:
        raise fault(f"got {say(items)}, which is no rotation; give unit length, such as [1, 0, 0, 0]")
    if abs(length - 1) > _UNIT_TOLERANCE:
        unit = ", ".join(f"{item / length:.9g}" for item in items)
        raise fault(f"got {say(items)} of length {length:.6g}; give unit length, such as [{unit}]")
    return _normalised(items)


def _is_unit(items: tuple[float, ...]) -> bool:
    return abs(sum(item * item for item in items) - 1) <= _ROUNDING


def _normalised(items: tuple[float, ...]) -> tuple[float, ...]:
    """Of unit length; left alone when it is so up to rounding, so that reading and writing change nothing."""
    if _is_unit(items):
        return items
    length = math.hypot(*items)
    return tuple(item / length for item in items)


def _interval(value: Any) -> tuple[float, ...]:
    low, high = vector(value, 2, "[-1.6, 1.6]")
    if low >= high:
        raise fault(f"got {say((low, high))}; give the lower limit first, such as {say_list(high, low)}")
    return low, high


def _speeds(value: Any) -> tuple[float, ...]:
    low, high = vector(value, 2, "[0, 838]")
    if min(low, high) < 0:
        raise fault(f"got {say((low, high))}, of which one is negative; give zero or more, as [0, 838]")
    if low >= high:
        raise fault(f"got {say((low, high))}; give the lower speed first, such as {say_list(high, low)}")
    return low, high


def say_list(low: float, high: float) -> str:
    """An interval as the file would hold it, one that is not empty."""
    return f"[{low:.12g}, {high:.12g}]" if low < high else f"[{low:.12g}, {low + 1:.12g}]"


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise fault(f"got {say(value)}; give a name in quotation marks")
    if not re.fullmatch(r"[\w-]+", value):
        raise fault(
            f"got {say(value)}; give letters, digits, _ and - only, as in paths like rotors.front.axis"
        )
    return value


def _title(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise fault(f"got {say(value)}; give a name of one line in quotation marks")
    return value


Number = Annotated[float, BeforeValidator(number)]
NonNegative = Annotated[float, BeforeValidator(_at_least_zero)]
Positive = Annotated[float, BeforeValidator(_above_zero)]
Share = Annotated[float, BeforeValidator(_share)]
Vector = Annotated[tuple[float, float, float], BeforeValidator(_triple("[0, 0, 0.1]"))]
Loads = Annotated[tuple[float, float, float], BeforeValidator(_loads)]
Direction = Annotated[tuple[float, float, float], BeforeValidator(_direction)]
Rotation = Annotated[tuple[float, float, float, float], BeforeValidator(_rotation)]
Interval = Annotated[tuple[float, float], BeforeValidator(_interval)]
Speeds = Annotated[tuple[float, float], BeforeValidator(_speeds)]
Name = Annotated[str, BeforeValidator(_name)]
Title = Annotated[str, BeforeValidator(_title)]
