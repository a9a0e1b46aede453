"""A result is written as JSON and read back the same."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import haltere.identification.parameters as parameters_module
from haltere.airframe import load_airframe
from haltere.identification.parameters import Parameter, ResultError
from haltere.identification.result import Covariance, Identification, Prediction, read_result

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
    next_steps=("weigh it",),
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


def test_parameters_are_found_by_name_and_slips_name_what_is_near() -> None:
    parameters = RESULT.parameters
    assert parameters["mass"].verdict == "combination"
    assert parameters.get("nothing") is None
    assert "mass" in parameters
    assert "nothing" not in parameters
    assert parameters.names == ("mass", "rotors.m1.time_constant") == tuple(p.name for p in parameters)
    assert len(parameters) == 2
    with pytest.raises(ResultError, match=r"no parameter is called 'mas'; did you mean mass\?"):
        parameters["mas"]
    with pytest.raises(ResultError, match=r"there are mass, rotors.m1.time_constant"):
        parameters["quite another"]


def test_a_parameter_shows_value_sigma_interval_verdict_and_fix() -> None:
    assert repr(RESULT.parameters["rotors.m1.time_constant"]) == (
        "rotors.m1.time_constant = 0.02 +- 0.001 s, 95 % 0.018 .. 0.022, identified"
    )
    assert repr(RESULT.parameters["mass"]) == "mass = - kg, 95 % -, combination; weigh it"
    assert [line.split()[0] for line in repr(RESULT.parameters).splitlines()] == [
        "2",
        "parameter",
        "mass",
        "rotors.m1.time_constant",
    ]


def test_a_result_shows_its_tables_and_escapes_them_in_a_notebook() -> None:
    odd = replace(RESULT, source="<b>.bbl", findings=())
    assert repr(odd).startswith("<b>.bbl: 12.5 s, method effectiveness\n")
    assert "0.02 +- 0.001" in repr(odd)
    assert repr(odd).endswith("note: odd\nnext: mass: weigh it")
    assert "&lt;b&gt;.bbl" in odd._repr_html_()
    assert "<b>" not in odd._repr_html_()


def test_a_result_is_saved_as_a_folder_that_is_not_overwritten_unasked(tmp_path: Path) -> None:
    result = replace(RESULT, findings=())
    files = result.save(tmp_path / "out")
    assert {key: path.name for key, path in files.items() if path} == {
        "result": "result.json",
        "airframe_file": "airframe.toml",
        "report": "report.html",
    }
    assert read_result(tmp_path / "out" / "result.json") == result
    with pytest.raises(ResultError, match=r"holds result.json, airframe.toml, report.html; give another"):
        result.save(tmp_path / "out")
    again = replace(result, airframe=None).save(tmp_path / "out", overwrite=True)
    assert again["airframe_file"] is None
    assert not (tmp_path / "out" / "airframe.toml").exists()
    (tmp_path / "file").touch()
    with pytest.raises(ResultError, match="is a file"):
        result.save(tmp_path / "file")
    assert "weigh it" in result.report(tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_data_frame_has_a_row_for_each_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}
    monkeypatch.setattr(
        parameters_module, "make_dataframe", lambda *a: seen.update(zip(("c", "r", "i"), a, strict=True))
    )
    RESULT.to_dataframe()
    assert seen["i"] == "name"
    assert dict(zip(seen["c"], list(seen["r"])[1], strict=True)) == {
        "name": "rotors.m1.time_constant",
        "value": 0.02,
        "sigma": 0.001,
        "low": 0.018,
        "high": 0.022,
        "unit": "s",
        "verdict": "identified",
        "partners": (),
        "fix": "",
        "scale": None,
        "source": "data",
    }


def test_a_result_travels_between_processes() -> None:
    assert pickle.loads(pickle.dumps(RESULT)) == RESULT
