"""`haltere payload` and `haltere calibrate servo`: their JSON, files from a table, and what they refuse."""

import csv
import json

import numpy as np
import pytest

from haltere.cli.app import main
from haltere.studies import schmitz_series as series
from haltere.studies.schmitz_bench import RATE, draw, sweep, trace

JOINTS = ("upper_arm", "forearm")


def call(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


def write_table(path, parts, masses=None):
    """Reports of the first run of each record, one after the other, as a table."""
    names = ["time", *(f"joints.{kind}.{j}" for kind in ("angle", "load", "goal") for j in JOINTS)]
    names += ["payload.mass.known"] if masses is not None else []
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        row = 0
        for i, record in enumerate(parts):
            for t in range(record.samples):
                values = [*record.angle[0, t], *record.load[0, t], *record.goal[0, t]]
                values += [masses[i]] if masses is not None else []
                writer.writerow([row / RATE, *values])
                row += 1


@pytest.fixture(scope="module")
def bench():
    return draw(1, 5)


def test_a_simulated_grip(capsys):
    code, out, _ = call(capsys, "payload", "--simulate", "--mass", "0.273", "--pose", "45,45", "--json")
    said = json.loads(out)
    assert code == 0
    assert {"mass", "sigma", "center_of_mass", "observable"} <= set(said)
    assert said["observable"]
    assert abs(said["mass"] - 0.273) < 4.0 * said["sigma"] < 0.04
    assert said["findings"] == []


def test_straight_down_has_no_number(capsys):
    code, out, _ = call(capsys, "payload", "--simulate", "--pose", "0,0", "--json")
    said = json.loads(out)
    assert code == 0
    assert not said["observable"]
    assert said["mass"] is None
    assert [f["kind"] for f in said["findings"]] == ["arm-straight-down"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["payload"], 2),
        (["payload", "x.csv", "--simulate"], 2),
        (["payload", "--simulate", "--pose", "a,b"], 2),
        (["payload", "--simulate", "--pose", "45"], 1),
        (["payload", "--simulate", "--mass", "-1"], 1),
        (["payload", "nowhere.csv"], 1),
        (["calibrate", "servo", "nowhere.csv"], 1),
    ],
)
def test_wrong_usage_is_one_line(capsys, words, code):
    got, out, err = call(capsys, *words)
    assert got == code
    assert out == ""
    assert code == 2 or err.strip().count("\n") == 0


def test_from_known_weights_to_an_unknown_one(capsys, bench, tmp_path):
    time = np.arange(round(9.0 * RATE)) / RATE
    held = np.clip((time - 0.1) / 0.2, 0.0, 1.0)
    motion = sweep(time, 0.6, 15.0, (0.25, 0.375))
    masses = (0.0, 0.1, 0.3)
    parts = [trace(bench, (45.0, 45.0), mass, motion, held, drifted=False)[0] for mass in masses]
    weights, servos, grip = (tmp_path / name for name in ("weights.csv", "servos.json", "grip.csv"))
    write_table(weights, parts, masses)
    code, out, err = call(capsys, "calibrate", "servo", weights, "--out", servos, "--json")
    assert code == 0, err
    said = json.loads(out)
    found = {p["name"]: p for p in said["parameters"]}
    loss = found["joints.upper_arm.loss_up"]
    assert abs(loss["value"] - float(bench.servos.loss_up[0, 0])) < 0.03
    assert loss["verdict"] == "identified"
    assert said["masses"] == list(masses)
    assert call(capsys, "calibrate", "servo", weights, "--out", servos)[0] == 1

    write_table(grip, [series.series_record(bench, (45.0, 45.0), 0.273)])
    code, out, err = call(capsys, "payload", grip, "--calibration", servos, "--json")
    assert code == 0, err
    said = json.loads(out)
    assert abs(said["mass"] - 0.273) < 4.0 * said["sigma"]
    assert [event["kind"] for event in said["events"]] == ["gripped"]
    assert said["notes"] == ["no imu.accel: the base is taken to be level and at rest"]
