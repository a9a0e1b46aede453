"""`haltere payload` and `haltere calibrate servo`: their JSON, files from a table, and what they refuse."""

import csv
import json

import numpy as np
import pytest
from tests import browser
from tests.cli.calls import call

from haltere.airframe import from_catalogue
from haltere.estimation.payload.model import ArmBelief
from haltere.identification.payload.calibration import to_dict
from haltere.papers.schmitz import series
from haltere.papers.schmitz.bench import RATE, draw_arms, sweep_motion, trace_arms

JOINTS = ("upper_arm", "forearm")


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
    return draw_arms(1, 5)


def test_a_simulated_grip(capsys):
    code, out, _ = call(capsys, "payload", "--simulate", "--mass", "0.273", "--pose", "45,45", "--json")
    said = json.loads(out)
    assert code == 0
    assert {"mass", "sigma", "center_of_mass", "observable"} <= set(said)
    assert said["observable"]
    assert abs(said["mass"] - 0.273) < 4.0 * said["sigma"] < 0.04
    assert said["findings"] == []


def test_straight_down_has_no_number(capsys):
    code, out, _ = call(capsys, "payload", "--simulate", "--pose", "0,0", "--uncalibrated", "--json")
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
        (["payload", "--simulate", "--mass", "nan"], 1),
        (["payload", "--simulate", "--offset", "nan"], 1),
        (["payload", "--simulate", "--pose", "nan,1"], 1),
        (["payload", "--simulate", "--report", "nowhere/x.html"], 1),
        (["payload", "nowhere.csv"], 1),
        (["calibrate", "servo", "nowhere.csv"], 1),
    ],
)
def test_wrong_usage_is_one_line(capsys, words, code):
    got, out, err = call(capsys, *words)
    assert got == code
    assert out == ""
    assert code == 2 or err.strip().count("\n") == 0


NAMES = ("time", *(f"joints.{kind}.{j}" for kind in ("angle", "load") for j in JOINTS))
SOUND = [(t / 100.0, 0.7 + 0.1 * np.sin(t / 100.0), 0.7, 0.2, 0.1) for t in range(300)]


def columns(*chosen):
    return [[row[i] for i in chosen] for row in [NAMES, *SOUND]]


def spoilt(*places):
    return [NAMES, *([("nan" if i in places else x) for i, x in enumerate(row)] for row in SOUND)]


@pytest.mark.parametrize(
    ("rows", "words", "said"),
    [
        ([], (), "is empty"),
        ([NAMES], (), "no row"),
        ([NAMES, SOUND[0]], (), "got 1 samples"),
        ([NAMES, *((10.0 * row[0], *row[1:]) for row in SOUND)], (), "20 Hz or more"),
        (columns(0, 1, 2), (), "'joints.load' or 'joints.effort'"),
        (columns(0, 3, 4), (), "'joints.angle' or 'joints.steps'"),
        (columns(0, 1, 3), (), "upper_arm, forearm"),
        (spoilt(1), (), "channel 'joints.angle' has no row"),
        (spoilt(3, 4), (), "channel 'joints.load' has no row"),
        ([NAMES, *((row[0], "a", "b", "c", "d") for row in SOUND)], (), "channel 'joints.load' has no row"),
        ([NAMES, *SOUND], ("--airframe", "nosuch"), "neither a file nor in the catalogue"),
        ([NAMES, *SOUND], ("--airframe", "x500"), "no link has a moving joint"),
        ([NAMES, *SOUND], ("--airframe", "hong-tilt-wing"), "has no servo"),
        ([NAMES, *SOUND], ("--map", "nowhere.toml"), "cannot be read"),
    ],
)
def test_a_wrong_log_is_one_clear_line(capsys, tmp_path, rows, words, said):
    log = tmp_path / "log.csv"
    with log.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    assert_refused(capsys, said, "payload", log, *words)


def assert_refused(capsys, said, *words):
    code, out, err = call(capsys, *words, "--json")
    lines = [line for line in err.splitlines() if line.startswith("haltere: ")]
    assert (code, out) == (1, "")
    assert len(lines) == 1
    assert said in lines[0]
    assert ";" in lines[0]
    assert "Error" not in lines[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, "is no JSON"),
        ({"format": "other"}, "is no servo calibration"),
        ({"names": ["a"]}, "other joints"),
        ({"mean": None}, "incomplete or impossible"),
        ({"mean": ["a"]}, "incomplete or impossible"),
        ({"cov": [[1.0, 2.0], [3.0]]}, "incomplete or impossible"),
        ({"cov": np.zeros((17, 17)).tolist()}, "incomplete or impossible"),
        ({"mean": [float("nan")] * 17}, "incomplete or impossible"),
    ],
)
def test_a_wrong_calibration_is_one_clear_line(capsys, tmp_path, change, said):
    belief = ArmBelief.from_airframe(from_catalogue("quad-arm"))
    assert belief.mean.shape == (17,)
    log, servos = tmp_path / "log.csv", tmp_path / "servos.json"
    with log.open("w", newline="") as stream:
        csv.writer(stream).writerows([NAMES, *SOUND])
    servos.write_text("hello" if change is None else json.dumps(to_dict(belief, "quad-arm") | change))
    assert_refused(capsys, said, "payload", log, "--calibration", servos)


def test_from_known_weights_to_an_unknown_one(capsys, bench, tmp_path):
    time = np.arange(round(9.0 * RATE)) / RATE
    held = np.clip((time - 0.1) / 0.2, 0.0, 1.0)
    motion = sweep_motion(time, 0.6, 15.0, (0.25, 0.375))
    masses = (0.0, 0.1, 0.3)
    parts = [trace_arms(bench, (45.0, 45.0), mass, motion, held, drifted=False)[0] for mass in masses]
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
    picture = tmp_path / "grip.html"
    code, out, err = call(capsys, "payload", grip, "--calibration", servos, "--json", "--report", picture)
    assert code == 0, err
    said = json.loads(out)
    assert abs(said["mass"] - 0.273) < 4.0 * said["sigma"]
    assert [event["kind"] for event in said["events"]] == ["gripped"]
    assert said["notes"] == ["no imu.accel: the base is taken to be level and at rest"]
    assert said["report"] == str(picture)
    assert_drawn(picture)


def assert_drawn(page):
    """As readers see it, wide and narrow: every figure drawn, nothing beside the page, nothing asked for elsewhere."""
    text = page.read_text(encoding="utf-8")
    assert "gripped" in text
    assert all(f"Joint {name}" in text for name in JOINTS)
    if browser.find() is None:
        return
    with browser.tab(1280, 900, timeout=180.0) as tab:
        tab.open(page)
        for width in (1280, 390):
            tab.resize(width, 900)
            tab.evaluate("new Promise((done) => setTimeout(done, 700))")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert tab.evaluate("document.querySelectorAll('.plot .main-svg').length") >= 4
            assert tab.evaluate("document.querySelectorAll('#mass .scatterlayer .trace').length") >= 2
        assert tab.complaints() == []
