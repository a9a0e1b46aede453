"""Objects as plain JSON data: arrays and tuples as lists, dataclasses as dictionaries, what is not finite as null.

An object that has a `to_dict` is asked for it; another dataclass gives its fields in their order.
"""

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any


def to_jsonable(value: Any) -> Any:
    """`value` as the `json` module knows it: dictionaries, lists, texts, numbers, booleans and None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if hasattr(value, "to_dict"):
        return to_jsonable(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return fields_to_jsonable(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Sequence | set | frozenset):
        return [to_jsonable(item) for item in value]
    msg = f"{type(value).__name__} cannot be written as JSON; give numbers, text, arrays, lists or mappings"
    raise TypeError(msg)


def fields_to_jsonable(value: Any, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass by name, in their order, but those named; for a `to_dict` of its own."""
    return {f.name: to_jsonable(getattr(value, f.name)) for f in fields(value) if f.name not in leave_out}
