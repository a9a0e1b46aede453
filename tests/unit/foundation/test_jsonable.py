"""Objects as plain JSON data."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.foundation.jsonable import fields_to_jsonable, to_jsonable


@dataclass(frozen=True)
class Inner:
    values: Any
    name: str = "inner"


@dataclass(frozen=True)
class Outer:
    inner: Inner
    pair: tuple[float | None, float] = (None, 1.0)
    hidden: Any = field(default=print)

    def to_dict(self):
        return fields_to_jsonable(self, leave_out=("hidden",)) | {"more": np.int64(3)}


def test_arrays_tuples_and_dataclasses_become_lists_and_dictionaries():
    data = {
        "outer": Outer(Inner(np.array([[1.0, np.nan], [-np.inf, 2.0]]))),
        "traced": Inner(jnp.arange(2)),
        7: (Path("a") / "b", frozenset({"x"}), np.bool_(True), np.float64("nan")),
    }
    assert to_jsonable(data) == {
        "outer": {
            "inner": {"values": [[1.0, None], [None, 2.0]], "name": "inner"},
            "pair": [None, 1.0],
            "more": 3,
        },
        "traced": {"values": [0, 1], "name": "inner"},
        "7": [str(Path("a") / "b"), ["x"], True, None],
    }
    json.dumps(to_jsonable(data), allow_nan=False)


def test_fields_keep_their_order():
    assert list(to_jsonable(Outer(Inner(1)))) == ["inner", "pair", "more"]


def test_plain_numbers_stay_what_they_are():
    for value in (True, 3, 1e-300, 0.1, "µ", None):
        assert to_jsonable(value) is value


@pytest.mark.parametrize("value", [object(), Inner, {"x": [print]}])
def test_what_json_does_not_know_is_refused(value):
    with pytest.raises(TypeError, match="cannot be written as JSON"):
        to_jsonable(value)
