"""`haltere design` from the outside."""

import json
import tomllib

import pytest

from haltere.cli.app import main
from haltere.simulation.scenario import Scenario


def call(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hummingbird"], "no parameter to design for"),
        (["hummingbird", "--for", "inertia.zzz"], "did you mean 'inertia.zz'?"),
        (["hummingbird", "--for", "rotors.left.position.z"], "cannot be seen"),
        (["hummingbird", "--for", "inertia.zz", "--sensors", ""], "no sensors"),
        (["hong-tilt-wing", "--for", "mass"], "wings"),
        (["hummingbird", "--for", "inertia.zz", "--box", "0", "1", "1"], "a box of 0 x 1 x 1 m"),
        (["hummingbird", "--for", "inertia.zz", "--box", "1", "nan", "1"], "a box of 1 x nan x 1 m"),
        (["hummingbird", "--for", "inertia.zz", "--speed", "inf"], "a highest speed of inf m/s"),
        (["hummingbird", "--for", "inertia.zz", "--duration", "inf"], "a flight of inf s"),
        (["hummingbird", "--for", "payload"], "no arm"),
        (["quad-arm", "--for", "payload", "--torque-sigma", "0"], "more than zero"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_nonsense_is_one_line(words, said, capsys, monkeypatch):
    monkeypatch.setattr("haltere.cli.output.QUIET_SECONDS", 600.0)
    code, out, err = call(capsys, "design", *words)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert said in err


def test_files_are_not_overwritten(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "yaw.csv").write_text("mine", encoding="utf-8")
    code, _, err = call(capsys, "design", "hummingbird", "--for", "inertia.zz", "--out", "yaw")
    assert code == 1
    assert "yaw.csv exists already" in err
    assert (tmp_path / "yaw.csv").read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_a_plan_is_written_and_flies_and_tells_what_it_promised(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [
        "hummingbird",
        "--for",
        "inertia.zz",
        "--duration",
        "10",
        "--iterations",
        "5",
        "--out",
        "yaw",
        "--json",
    ]
    code, out, _ = call(capsys, "design", *words)
    result = json.loads(out)
    assert code == 0
    assert set(result) >= {"trajectory", "predicted_sigma", "assumed", "findings", "files"}
    sigma = result["predicted_sigma"]["inertia.zz"]
    assert 0.0 < sigma["sigma"] < sigma["lissajous"]
    assert result["limits_used"] <= 1.0
    assert {"mass", "distance.front.left"} <= set(result["assumed"])
    scenario = Scenario.model_validate(tomllib.loads((tmp_path / "yaw.toml").read_text(encoding="utf-8")))
    assert scenario.trajectory.kind == "periodic"
    rows = (tmp_path / "yaw.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 502
    assert rows[0].startswith("t,x,y,z,yaw")
    code, out, _ = call(capsys, "simulate", "yaw.toml", "--out", "yaw.mcap", "--json")
    flown = json.loads(out)
    assert code == 0
    assert flown["duration"] == pytest.approx(10.0, abs=0.01)
    words = ["--flight", "yaw.mcap", "--known", ",".join(result["known"]), "--for", "inertia.zz", "--json"]
    code, out, _ = call(capsys, "observe", "hummingbird", *words)
    (told,) = json.loads(out)["information"]
    assert code == 0
    assert told["verdict"] == "observable"
    assert 1.0 < told["sigma"] / sigma["sigma"] < 3.0  # the flight counts the noise of the rotors too: 1.8


def test_throws_for_the_place_of_the_imu(capsys):
    code, out, _ = call(capsys, "design", "hummingbird", "--throws", "12", "--json")
    result = json.loads(out)
    assert code == 0
    assert [len(plan["axes"]) for plan in result["trajectory"]] == [1, 2, 3]
    assert 0.0 < result["predicted_sigma"]["imu.position.z"] < 1e-3
    code, out, err = call(capsys, "design", "hummingbird", "--throws", "0")
    assert (code, out) == (1, "")
    assert "rad/s" in err


def test_arm_poses_for_a_payload(capsys):
    code, out, _ = call(capsys, "design", "quad-arm", "--for", "payload", "--poses", "2", "--json")
    result = json.loads(out)
    assert code == 0
    assert (result["joints"], result["rank"]) == (["upper_arm", "forearm"], 3)
    assert [len(plan["angles"]) for plan in result["trajectory"]] == [1, 2]
    assert 0.0 < result["predicted_sigma"]["payload.mass"] < 0.02
    assert result["predicted_sigma"]["payload.first_moment.y"] is None
    assert result["unobservable"] == ["no pose shows payload.first_moment.y"]
    code, out, _ = call(capsys, "design", "quad-arm", "--for", "payload")
    assert code == 0
    assert "blind: upper_arm 0, forearm 0 deg" in " ".join(out.split())
    assert call(capsys, "design", "quad-arm", "--for", "payload,mass")[0] == 2
    assert call(capsys, "design", "quad-arm", "--for", "payload", "--out", "x")[0] == 2
