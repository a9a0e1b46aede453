"""The fields of an airframe's parts: kinds of value with their checks, and the base class `AirframePart`.

Whole numbers become decimal ones; text, truth values, NaN and infinity are refused. Directions and
quaternions are stored with unit length.

Inertia is about the centre of mass of the part. The entries of `inertia` = (xx, yy, zz, xy, xz, yz) are those of the
matrix, so xy = -(sum of m x y). A rigid body can have it if its eigenvalues, the principal moments A <= B <= C, keep

    A >= 0,   A + B >= C                                                                               (1)

with A + B = C for a flat part.
"""

import math
import numbers
import re
from collections.abc import Callable
from itertools import permutations, product
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from haltere.airframe.errors import AirframeError, describe, fault, format_value
from haltere.foundation.text import NAME_RULE, is_name, safe_name

_UNIT_TOLERANCE = 1e-6
_ROUNDING = 1e-14


def number(value: Any) -> float:
    """`value` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise fault(f"got {format_value(value)}; give a number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise fault(f"got {format_value(value)}, which is not finite; give a number")
    return result


def _at_least_zero(value: Any) -> float:
    result = number(value)
    if result < 0:
        raise fault(f"got {format_value(value)}, which is negative; give zero or more")
    return result


def _above_zero(value: Any) -> float:
    result = number(value)
    if result <= 0:
        raise fault(f"got {format_value(value)}; give a number above zero")
    return result


def _fraction(value: Any) -> float:
    result = number(value)
    if not 0 <= result <= 1:
        raise fault(f"got {format_value(value)}; give a number from 0 to 1")
    return result


def entries(value: Any) -> list[Any]:
    """`value` as a list, or a fault."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, list | tuple):
        raise fault(f"got {format_value(value)}; give a list of numbers")
    return list(plain)


def vector(value: Any, length: int, example: str) -> tuple[float, ...]:
    """`value` as a tuple of `length` finite floats."""
    items = entries(value)
    if len(items) != length:
        count = f"{len(items)} {'entry' if len(items) == 1 else 'entries'}"
        raise fault(f"got {format_value(items)}, {count}; give {length} numbers, such as {example}")
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
        raise fault(
            f"got {format_value(items)}, of which one is negative; give zero or more: drag opposes the motion"
        )
    return items


def _direction(value: Any) -> tuple[float, ...]:
    items = vector(value, 3, "[0, 0, 1]")
    largest = max(abs(item) for item in items)
    if largest == 0:
        raise fault(f"got {format_value(items)}, which has no direction; give a vector such as [0, 0, 1]")
    if not _is_unit(items):
        items = tuple(item / largest for item in items)
    return _normalised(items)


def _rotation(value: Any) -> tuple[float, ...]:
    items = vector(value, 4, "[1, 0, 0, 0]")
    length = math.hypot(*items)
    if length == 0:
        raise fault(
            f"got {format_value(items)}, which is no rotation; give unit length, such as [1, 0, 0, 0]"
        )
    if abs(length - 1) > _UNIT_TOLERANCE:
        unit = ", ".join(f"{item / length:.9g}" for item in items)
        raise fault(f"got {format_value(items)} of length {length:.6g}; give unit length, such as [{unit}]")
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
        raise fault(
            f"got {format_value((low, high))}; give the lower limit first, such as {say_list(high, low)}"
        )
    return low, high


def _speeds(value: Any) -> tuple[float, ...]:
    low, high = vector(value, 2, "[0, 838]")
    if min(low, high) < 0:
        raise fault(
            f"got {format_value((low, high))}, of which one is negative; give zero or more, as [0, 838]"
        )
    if low >= high:
        raise fault(
            f"got {format_value((low, high))}; give the lower speed first, such as {say_list(high, low)}"
        )
    return low, high


def say_list(low: float, high: float) -> str:
    """An interval as the file would hold it, one that is not empty."""
    return f"[{low:.12g}, {high:.12g}]" if low < high else f"[{low:.12g}, {low + 1:.12g}]"


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise fault(f"got {format_value(value)}; give a name in quotation marks")
    if not is_name(value):
        raise fault(f"got {format_value(value)}; give {NAME_RULE}, such as {safe_name(value)[:24]!r}")
    return value


def _text(value: Any) -> Any:
    if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        raise fault(f"got {format_value(value)}, which holds half a character; give text in UTF-8")
    return value


Number = Annotated[float, BeforeValidator(number)]
NonNegative = Annotated[float, BeforeValidator(_at_least_zero)]
Positive = Annotated[float, BeforeValidator(_above_zero)]
Fraction = Annotated[float, BeforeValidator(_fraction)]
Vector = Annotated[tuple[float, float, float], BeforeValidator(_triple("[0, 0, 0.1]"))]
Loads = Annotated[tuple[float, float, float], BeforeValidator(_loads)]
Direction = Annotated[tuple[float, float, float], BeforeValidator(_direction)]
Rotation = Annotated[tuple[float, float, float, float], BeforeValidator(_rotation)]
Interval = Annotated[tuple[float, float], BeforeValidator(_interval)]
Speeds = Annotated[tuple[float, float], BeforeValidator(_speeds)]
Name = Annotated[str, BeforeValidator(_name)]
Text = Annotated[str, BeforeValidator(_text)]


_TOLERANCE = 1e-9

Six = tuple[float, float, float, float, float, float]
ZERO: Six = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def tensor(
    inertia: Six | np.ndarray[Any, Any],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """(3, 3) kg m^2, from the six numbers of the file."""
    xx, yy, zz, xy, xz, yz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def principal_moments(inertia: Six) -> tuple[float, float, float]:
    """The three principal moments (kg m^2), the smallest first."""
    a, b, c = (float(moment) for moment in np.linalg.eigvalsh(tensor(inertia)))
    return a, b, c


def principal_axes(
    inertia: np.ndarray[Any, np.dtype[np.float64]],
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """R_BM (3, 3) and the moments (3,) of equation (2), from a tensor (3, 3); the identity if it is diagonal.

    Principal axes M are the columns of R_BM, ordered and signed to be as close as they can to the axes B of the
    tensor J:

        J = R_BM diag(moments) R_BM^T,   det R_BM = 1,   trace R_BM largest                            (2)
    """
    diagonal = np.diagonal(inertia).copy()
    if np.max(np.abs(inertia - np.diag(diagonal))) <= _TOLERANCE * np.sum(diagonal):
        return np.eye(3), diagonal
    _, vectors = np.linalg.eigh(inertia)
    turns = [
        vectors[:, order] * np.asarray(signs)
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    R = max((turn for turn in turns if np.linalg.det(turn) > 0.0), key=np.trace)
    return R, np.diagonal(R.T @ inertia @ R).copy()


def _possible(value: Any) -> Six:
    xx, yy, zz, xy, xz, yz = vector(value, 6, "[7.5e-3, 7.5e-3, 1.3e-2, 0, 0, 0]")
    inertia = (xx, yy, zz, xy, xz, yz)
    smallest, middle, largest = principal_moments(inertia)
    slack = _TOLERANCE * max(abs(smallest), abs(largest))
    principal = f"{smallest:.4g}, {middle:.4g} and {largest:.4g}"
    moments = f"got {format_value(inertia)}, whose principal moments are {principal}"
    order = "check units (kg m^2) and order (xx yy zz xy xz yz)"
    if smallest < -slack:
        raise fault(f"{moments}; none may be negative: {order}")
    if smallest + middle < largest - slack:
        raise fault(f"{moments}; the largest may not exceed the sum of the others: {order}")
    return inertia


def check_has_mass(mass: float, inertia: Six) -> None:
    """Refuse inertia without mass, which would silently count for nothing."""
    if mass == 0 and any(inertia):
        raise fault(f"got inertia {format_value(inertia)} but no mass; give the mass in kg as well", "mass")


Inertia = Annotated[Six, BeforeValidator(_possible)]


class AirframePart(BaseModel):
    """An immutable piece of an airframe that knows no fields but its own.

    Wrong values raise an `AirframeError` of one line.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise AirframeError(describe(error, type(self).__name__, type(self), data)) from None

    # Without this mark pydantic would call the constructor above for parts inside parts too, and a fault
    # would lose its place in the whole.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]
