"""`haltere throw`: what it says in JSON, and what it refuses."""

import json
from dataclasses import replace

import numpy as np
import pytest

from haltere.cli.app import main
from haltere.scenarios.throw.throws import LaunchSettings, ThrowResults


def call(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


def made(n=3):
    ones = np.linspace(0.1, 0.3, n)
    return ThrowResults(
        np.array([True, True, False]), ("", "", "the release was not noticed"), ones, ones, ones, ones, ones,
        {"torque": ones}, np.stack([ones, ones], axis=1), ones,
    )  # fmt: skip


def test_the_summary_has_the_keys_of_the_contract():
    said = replace(made(), settings=LaunchSettings(prior_throws=False)).to_dict()
    assert (said["runs"], said["recovered"]) == (3, 2)
    assert (said["noise"], said["prior_throws"]) == ("strong", False)
    for name in ("axis_error_deg", "imu_position_error", "altitude_lost", "latency_error"):
        assert {"median", "p95", "max"} <= set(said[name])
    assert said["failures"] == [{"run": 2, "cause": "the release was not noticed"}]


def test_it_prints_one_json_object(capsys, monkeypatch):
    monkeypatch.setattr("haltere.scenarios.throw.throws.throw_vehicles", lambda *_, **__: made())
    code, out, _ = call(capsys, "throw", "--runs", "3", "--json")
    assert code == 0
    assert json.loads(out)["vehicle"] == "random-quad"
    code, out, _ = call(capsys, "throw", "--runs", "3")
    assert code == 0
    assert "2 of 3" in out


@pytest.mark.parametrize(
    "words", [["--runs", "0"], ["--noise", "loud"], ["--heading", "stars"]], ids=" ".join
)
def test_wrong_usage(words, capsys):
    assert call(capsys, "throw", *words)[0] == 2


def test_an_unknown_vehicle_is_one_line(capsys):
    code, out, err = call(capsys, "throw", "--vehicle", "random-quat")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
