"""`haltere dynamics` against cases that can be done by hand."""

import json

import pytest

from haltere.cli.app import main

BODY = """
name = "block"
[body]
mass = 2.0
inertia = [0.02, 0.03, 0.04, 0, 0, 0]
"""
ROTOR = """
[[rotors]]
name = "top"
position = [0, 0, 0]
axis = [0, 0, 1]
spin = "ccw"
thrust_coefficient = 1e-5
torque_ratio = 0.02
"""
ARM = """
[[links]]
name = "arm"
joint = { origin = [0, 0, 0], axis = [0, 1, 0] }
mass = 0.0
inertia = [0, 0, 0, 0, 0, 0]
"""
WING = """
[body.wing]
area = 0.1
span = 0.5
chord = 0.2
coefficients = { kind = "body", CN = 1.0 }
"""


@pytest.fixture
def answer(tmp_path, monkeypatch, capsys):
    """The command's exit code, JSON object (or None) and stderr for the text of an airframe and a state."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("haltere.cli.output.QUIET_SECONDS", 600.0)  # a busy machine may be slow

    def ask(airframe, state, *options):
        (tmp_path / "vehicle.toml").write_text(airframe, encoding="utf-8")
        (tmp_path / "state.json").write_text(json.dumps(state), encoding="utf-8")
        with pytest.raises(SystemExit) as end:
            main(["dynamics", "vehicle.toml", "--state", "state.json", *(options or ["--json"])])
        out, err = capsys.readouterr()
        if options:
            return end.value.code or 0, out, err
        return end.value.code or 0, json.loads(out) if out else None, err

    return ask


def test_a_block_falls(answer):
    code, result, err = answer(BODY, {"linear_velocity": [1, 0, 0], "angular_velocity": [0, 0, 3]})
    assert (code, err) == (0, "")
    assert set(result) >= {"linear_acceleration", "angular_acceleration", "joint_torques", "warnings"}
    assert result["linear_acceleration"] == pytest.approx([0, 0, -9.81], abs=1e-12)
    assert result["angular_acceleration"] == pytest.approx([0, 0, 0], abs=1e-12)
    assert result["joint_torques"] == {}


def test_thrust_drag_and_outside_force_add_up(answer):
    state = {
        "rotors": {"top": {"rate": 1000}},
        "gravity": 0,
        "wrenches": {"body": {"force": [1, 0, 0], "torque": [0, 0.03, 0]}},
    }
    code, result, _ = answer(BODY + ROTOR, state)
    assert code == 0
    assert result["linear_acceleration"] == pytest.approx([0.5, 0, 5.0], abs=1e-12)
    assert result["angular_acceleration"] == pytest.approx([0, 1, -0.2 / 0.04], abs=1e-12)
    assert result["joint_torques"] == pytest.approx({"top": 0.2})


def test_a_table_without_json(answer):
    code, out, err = answer(BODY + ROTOR, {}, "--debug")
    assert (code, err) == (0, "")
    assert "-9.81" in out
    assert "top" in out


def test_fast_wings_are_warned_about(answer):
    code, result, _ = answer(BODY + WING, {"linear_velocity": [1, 0, 0], "angular_velocity": [0, 5, 0]})
    assert code == 0
    assert len(result["warnings"]) == 1


def test_infinite_acceleration_is_a_fault(answer):
    code, result, err = answer(BODY + ARM, {"joints": {"arm": {"torque": 1}}})
    assert (code, result) == (1, None)
    assert err.count("\n") == 1
    assert "not finite" in err


def test_a_wrong_name_is_a_fault(answer):
    code, result, err = answer(BODY + ROTOR, {"rotors": {"tpo": {"rate": 1}}})
    assert (code, result) == (1, None)
    assert "state.json: rotors: unknown rotor 'tpo'; did you mean 'top'?" in err
