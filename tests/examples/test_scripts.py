"""Every script in `examples/` is short, runs, and does what its first sentence says."""

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def run(name, folder, monkeypatch, capsys):
    """Run a script as a user does, and return what it prints and the names that it leaves."""
    monkeypatch.setattr(sys, "argv", [str(FOLDER / f"{name}.py"), str(folder)])
    names = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out, names


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_at_most_forty_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40


def test_my_log(tmp_path, monkeypatch, capsys):
    out, names = run("my_log", tmp_path, monkeypatch, capsys)
    assert "imu.gyro" in out
    assert names["thrust"].value == pytest.approx(8.55e-6, abs=3.0 * names["thrust"].sigma)
    assert (tmp_path / "identified" / "report.html").exists()


def test_throw(tmp_path, monkeypatch, capsys):
    _, names = run("throw", tmp_path, monkeypatch, capsys)
    assert names["found"].position == pytest.approx([0.019, -0.0093, 0.003], abs=1.5e-3)


def test_my_fleet(tmp_path, monkeypatch, capsys):
    out, _ = run("my_fleet", tmp_path, monkeypatch, capsys)
    assert "3 of 4 logs" in out
    assert "failed:" in out
    assert (tmp_path / "fleet.html").exists()


def test_what_can_i_know(tmp_path, monkeypatch, capsys):
    out, names = run("what_can_i_know", tmp_path, monkeypatch, capsys)
    assert "scale together" in out
    assert names["weighed"].rank == names["nothing_known"].rank + 1
    assert (tmp_path / "manoeuvre.toml").exists()


def test_own_vehicle_from_urdf(tmp_path, monkeypatch, capsys):
    _, names = run("own_vehicle_from_urdf", tmp_path, monkeypatch, capsys)
    assert [rotor.spin for rotor in names["airframe"].rotors] == ["ccw", "ccw", "cw", "cw"]
    assert all(path.exists() for path in names["exported"].files)


def test_my_controller(tmp_path, monkeypatch, capsys):
    _, names = run("my_controller", tmp_path, monkeypatch, capsys)
    assert names["flight"]["truth.position"].values[-1] == pytest.approx([0.0, 0.0, 2.5], abs=0.05)
    assert (tmp_path / "own.mcap").exists()


def test_online_filter(tmp_path, monkeypatch, capsys):
    _, names = run("online_filter", tmp_path, monkeypatch, capsys)
    assert names["mass"].value == pytest.approx(0.716, abs=3.0 * names["mass"].sigma)
    assert names["mass"].sigma < 0.025


def test_payload_on_the_arm(tmp_path, monkeypatch, capsys):
    out, names = run("payload_on_the_arm", tmp_path, monkeypatch, capsys)
    assert float(names["estimate"].mass) == pytest.approx(0.273, abs=3.0 * float(names["estimate"].sigma))
    assert "after release: False" in out


def test_there_are_eight():
    assert len(SCRIPTS) == 8
