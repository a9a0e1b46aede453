"""What is wrong with an airframe, in one line: where it stands, what was got, what to give.

A line reads `my.toml: rotors[0] 'front': axis: got (0, 0, 0), which has no direction; give a vector such as
[0, 0, 1]`. Validators of the parts raise `fault(...)`; `describe` makes that line from what pydantic found.
"""

import difflib
import numbers
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from haltere.foundation import HaltereError

_LONGEST = 80

Location = tuple[int | str, ...]


class AirframeError(HaltereError):
    """A description of a vehicle that cannot be used as it stands."""


def fault(text: str, *at: int | str) -> PydanticCustomError:
    """The error to raise in a validator; `at` leads from the validated part to the field at fault."""
    return PydanticCustomError("airframe", "{text}", {"text": text, "at": at})


def closest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'mass'?`, or all that is known when nothing is near."""
    names = list(known)
    near = difflib.get_close_matches(word.lower(), [name.lower() for name in names], n=1, cutoff=0.6)
    for name in names:
        if near and name.lower() == near[0]:
            return f"did you mean {name!r}?"
    return "known are " + ", ".join(names) if names else "nothing is known here"


def format_value(value: Any) -> str:
    """A value as a reader of the file would write it, on one line and not too long."""
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, numbers.Real):
        text = _format_number(value)
    elif isinstance(value, Mapping):
        text = "a table"
    elif isinstance(value, list | tuple):
        text = "(" + ", ".join(format_value(item) for item in value) + ")" if value else "an empty list"
    elif isinstance(value, str | types.NoneType):
        text = repr(value)
    else:
        text = f"{type(value).__name__} {value!r}"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _format_number(value: Any) -> str:
    try:
        return f"{float(value):.12g}"
    except OverflowError:
        return "a number too large"


def describe(error: ValidationError, source: str, model: type[BaseModel], data: Any) -> str:
    """One line for the first fault in `error`; unknown fields come first, as a slip there explains others."""
    details = error.errors(include_url=False)
    details.sort(key=lambda item: item["type"] != "extra_forbidden")
    first, more = details[0], len(details) - 1
    location = (*first["loc"], *first.get("ctx", {}).get("at", ()))
    rest = f" (and {more} more)" if more else ""
    words = [source, *_where(location, data), _what(first, model)]
    return ": ".join(words) + rest


def _where(location: Location, data: Any) -> list[str]:
    """The location in words: the part with its index and name, then the field inside it."""
    if len(location) < 2 or not isinstance(location[1], int):
        return _split_body(location)
    key, index = str(location[0]), location[1]
    entries = _get(data, key)
    alone = not isinstance(entries, Sequence)
    entry = entries if alone else entries[index] if index < len(entries) else None
    name = _get(entry, "name")
    head = key if alone else f"{key}[{index}]"
    if isinstance(name, str):
        head += f" {format_value(name)}"
    return [head, _join(location[2:])] if location[2:] else [head]


def _split_body(location: Location) -> list[str]:
    if len(location) > 1 and location[0] == "body":
        return ["body", _join(location[1:])]
    return [_join(location)] if location else []


def _join(location: Location) -> str:
    text = ""
    for step in location:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            plain = step.replace("-", "_").isidentifier()
            text += ("." if text else "") + (step if plain else repr(step))
    return text


def _get(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, Mapping) else getattr(data, key, None)


def _what(item: ErrorDetails, model: type[BaseModel]) -> str:
    kind, got = item["type"], format_value(item["input"])
    if kind == "airframe":
        return str(item["ctx"]["text"])
    if kind == "extra_forbidden":
        owner = model_at(model, item["loc"][:-1])
        return f"unknown field; {closest(str(item['loc'][-1]), owner.model_fields if owner else ())}"
    field = field_at(model, item["loc"])
    give = f"give {_hint(field)}" if field else item["msg"]
    if kind == "missing":
        return f"missing; {give}"
    if kind == "literal_error":
        return f"got {got}; give {item['ctx']['expected']}"
    if kind == "bool_type":
        return f"got {got}; give true or false"
    if field is None and isinstance(item["loc"][-1], int):
        return f"got {got}; give a table of fields"
    return f"got {got}; {give}"


def _hint(field: FieldInfo) -> str:
    description = field.description or "a value"
    return f"{description}, such as {field.examples[0]}" if field.examples else description


def model_at(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    """The kind of part that stands at `location`, seen from `model`."""
    found: type[BaseModel] | None = model
    for step in location:
        if isinstance(step, int):
            continue
        field = found.model_fields.get(step) if found else None
        found = _part_of(field.annotation) if field else None
    return found


def field_at(model: type[BaseModel], location: Location) -> FieldInfo | None:
    """The field that stands at `location`, seen from `model`; none for an entry of a list."""
    if not location or isinstance(location[-1], int):
        return None
    owner = model_at(model, location[:-1])
    return owner.model_fields.get(location[-1]) if owner else None


def _part_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_part_of(inner) for inner in typing.get_args(annotation))
    return next((part for part in found if part), None)
