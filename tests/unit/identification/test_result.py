"""A result is written as JSON and read back the same."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from haltere.airframe import load_airframe
from haltere.identification.result import (
    Covariance,
    Identification,
    Parameter,
    Prediction,
    ResultError,
    read_result,
)

RESULT = Identification(
    source="flight.bbl",
    duration=12.5,
    method="effectiveness",
    parameters=(
        Parameter("mass", None, None, (None, None), "kg", "combination", ("inertia.xx",), "weigh it"),
        Parameter("rotors.m1.time_constant", 0.02, 0.001, (0.018, 0.022), "s", "identified"),
    ),
    airframe=load_airframe("hummingbird"),
    findings=({"kind": "clipping"},),
    notes=("odd",),
    steps=("weigh it",),
)


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(RESULT.to_dict()))
    assert read_result(file) == RESULT


def test_a_covariance_comes_back_and_must_fit_its_names(tmp_path: Path) -> None:
    told = Covariance(("mass", "inertia.xx"), np.array([[1.0, 0.3], [0.3, 0.2]]))
    data = replace(RESULT, covariance=told).to_dict()
    file = tmp_path / "result.json"
    file.write_text(json.dumps(data))
    back = read_result(file).covariance
    assert back is not None
    assert back.names == told.names
    np.testing.assert_array_equal(back.matrix, told.matrix)
    data["covariance"]["names"] = ["mass"]
    file.write_text(json.dumps(data))
    with pytest.raises(ResultError, match="covariance has shape"):
        read_result(file)


def test_a_prediction_says_what_is_left_and_how_white_it_is() -> None:
    time = np.linspace(0.0, 10.0, 1000)
    noise = np.random.default_rng(0).normal(size=1000)
    prediction = Prediction("imu.accel.z", "m/s2", time, np.sin(time) + noise, np.sin(time))
    assert prediction.rms == pytest.approx(1.0, abs=0.1)
    assert abs(prediction.whiteness) < 0.11
    assert Prediction("x", "", time, np.sin(time), np.zeros(1000)).whiteness > 0.99


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "haltere-result-0"}', '{"format": 1, "x": NaN}']
)
def test_another_file_gets_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "result.json"
    file.write_text(text)
    with pytest.raises(ResultError) as caught:
        read_result(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_verdict_is_refused(tmp_path: Path) -> None:
    data = RESULT.to_dict()
    data["parameters"][0]["verdict"] = "sure"
    file = tmp_path / "result.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ResultError, match="sure"):
        read_result(file)
