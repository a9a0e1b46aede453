import json

import pytest

from haltere.airframe import catalogue_names
from haltere.cli.app import main

KEYS = {"name", "mass", "rotors", "links", "sensors"}
VEHICLE = """
name = "pair"
[body]
mass = 1.0
inertia = [0.01, 0.01, 0.02, 0, 0, 0]
[[links]]
name = "arm"
joint = { origin = [0, 0, 0], axis = [0, 1, 0] }
mass = 0.25
inertia = [1e-3, 1e-3, 1e-3, 0, 0, 0]
[[rotors]]
name = "left"
position = [0, 0.1, 0]
axis = [0, 0, 1]
spin = "ccw"
thrust_coefficient = 1e-5
torque_ratio = 0.016
mass = 0.01
[imu]
position = [0, 0, 0]
"""


def call(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(["airframe", *words])
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_text(VEHICLE, encoding="utf-8")
    return path


def test_check_tells_what_a_file_holds(file, capsys):
    code, out, err = call(capsys, "check", str(file), "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["name"] == "pair"
    assert result["mass"] == pytest.approx(1.26)
    assert (result["rotors"], result["links"], result["sensors"]) == (["left"], ["arm"], ["imu"])
    assert call(capsys, "check", str(file)) == (0, "pair: sound; 1.26 kg, 1 rotor, 1 link, 1 sensor\n", "")


def test_check_names_file_field_and_value_in_one_line(file, capsys):
    file.write_text(VEHICLE.replace("mass = 0.25", "mass = -0.25"), encoding="utf-8")
    code, out, err = call(capsys, "check", str(file), "--json")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    for word in ("pair.toml", "arm", "mass", "-0.25"):
        assert word in err


def test_list_has_every_vehicle_of_the_catalogue(capsys):
    code, out, err = call(capsys, "list", "--json")
    assert (code, err) == (0, "")
    vehicles = json.loads(out)["airframes"]
    assert [v["name"] for v in vehicles] == list(catalogue_names())
    assert all(set(v) >= KEYS and v["mass"] > 0 for v in vehicles)
    text = call(capsys, "list")[1]
    assert all(name in text for name in catalogue_names())


@pytest.mark.parametrize("name", catalogue_names())
def test_what_show_prints_passes_check(name, capsys, tmp_path):
    code, out, err = call(capsys, "show", name)
    assert (code, err) == (0, "")
    path = tmp_path / "copy.toml"
    path.write_text(out, encoding="utf-8")
    shown = json.loads(call(capsys, "show", name, "--json")[1])
    checked = json.loads(call(capsys, "check", str(path), "--json")[1])
    assert set(checked) >= KEYS
    assert {key: shown[key] for key in KEYS} == {key: checked[key] for key in KEYS}
    assert shown["airframe"]["body"]["mass"] > 0


def test_show_reads_files_too(file, capsys):
    code, out, _ = call(capsys, "show", str(file))
    assert code == 0
    assert "pair" in out
