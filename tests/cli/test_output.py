import json
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.cli import output


def test_json_has_plain_numbers_and_nothing_that_is_not_finite(capsys):
    output.emit_json(
        {
            "array": jnp.asarray([1.0, jnp.nan]),
            "scalar": np.float64(2.5),
            "whole": np.int64(3),
            "flag": np.bool_(True),
            "nested": [{"deep": np.inf}, (1, -np.inf)],
            "path": Path("a") / "b",
            "text": "µ",
            "none": None,
        }
    )
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "array": [1.0, None],
        "scalar": 2.5,
        "whole": 3,
        "flag": True,
        "nested": [{"deep": None}, [1, None]],
        "path": str(Path("a") / "b"),
        "text": "µ",
        "none": None,
    }


def test_what_json_does_not_know_is_refused():
    with pytest.raises(TypeError, match="object cannot be written"):
        output.emit_json({"x": object()})


def test_short_jobs_say_nothing(capsys):
    with output.progress("starting") as report:
        report("going on")
    assert capsys.readouterr() == ("", "")


def test_long_jobs_report_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(output, "QUIET_SECONDS", 0.01)
    with output.progress("starting") as report:
        time.sleep(0.3)
        report("going on")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["starting", "going on"]
