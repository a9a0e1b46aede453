"""`haltere identify`: JSON, tables, folders that are never overwritten unasked, fleets, and errors of one line."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.cli.calls import call
from tests.unit.identification.made_vehicle import draw, record
from tests.unit.logs import writers

from haltere.flight.mcap import write_mcap
from haltere.foundation.verdict import VERDICTS
from haltere.identification.result import read_result

KEYS = {"parameters", "fit", "findings", "report", "file", "method", "notes", "steps"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("identify")
    rng = np.random.default_rng(11)
    truth = draw(rng)
    write_mcap(record(rng, truth, 4.0), folder / "one.mcap")
    write_mcap(record(rng, truth, 4.0, speeds=False), folder / "two.mcap")
    (folder / "bad.mcap").write_bytes(b"\x89MCAP0\r\nnothing")
    return folder


def test_json_and_files(folder, capsys, tmp_path):
    out = tmp_path / "found"
    code, text, _ = call(
        capsys, "identify", folder / "one.mcap", "--known", "mass=0.5+-0.01", "--out", out, "--json"
    )
    assert code == 0
    result = json.loads(text)
    assert set(result) >= KEYS
    for entry in result["parameters"]:
        assert set(entry) >= {"name", "value", "sigma", "interval", "unit", "verdict", "scale", "source"}
        assert len(entry["interval"]) == 2
        assert entry["verdict"] in VERDICTS
        assert entry["source"] == ("user" if entry["verdict"] == "given" else "data")
        assert entry["fix"] or entry["verdict"] == "identified" or entry["value"] is not None
    assert {"residuals"} <= set(result["fit"])
    assert all({"rms", "whiteness"} <= set(r) for r in result["fit"]["residuals"])
    back = read_result(out / "result.json")
    assert back.parameters["mass"].value == pytest.approx(0.5)
    code, _, err = call(capsys, "identify", folder / "one.mcap", "--out", out)
    assert code == 1
    assert err.count("\n") == 1
    assert "--overwrite" in err
    assert call(capsys, "identify", folder / "one.mcap", "--out", out, "--overwrite", "--json")[0] == 0


def test_table_and_the_next_free_folder(folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text, _ = call(capsys, "identify", folder / "two.mcap")
    assert code == 0
    assert "thrust_to_weight" in text
    assert "next:" in text
    assert call(capsys, "identify", folder / "two.mcap", "--json")[0] == 0
    assert (tmp_path / "two-identified" / "result.json").exists()
    assert (tmp_path / "two-identified-2" / "result.json").exists()


def test_a_name_in_a_log_is_no_markup_and_no_command_of_the_terminal(folder, capsys, tmp_path):
    """Rotors are called by the columns of a table: `[/b]` would end a style that was never begun."""
    rng = np.random.default_rng(11)
    flight = record(rng, draw(rng), 4.0)
    names = ("[/b]", "[red]", "m 3", "é<b>")
    channels = [
        replace(c, columns=names) if c.name.startswith("rotors.") else c for c in flight.channels.values()
    ]
    writers.stream_table([channels], tmp_path / "log.csv", joined=True)
    code, text, _ = call(capsys, "identify", tmp_path / "log.csv", "--out", tmp_path / "found")
    assert code == 0
    assert "rotors of the log have names that were changed" in text
    assert "'[/b]' is b" in text
    assert all(line.isprintable() for line in text.split("\n"))
    rotors = {
        p.name.split(".")[1]
        for p in read_result(tmp_path / "found" / "result.json").parameters
        if "." in p.name
    }
    assert {"b", "red", "m_3", "e_b"} <= rotors
    code, text, _ = call(capsys, "doctor", tmp_path / "log.csv")
    assert code == 0
    log = tmp_path / "log.csv"
    log.write_text(
        log.read_text(encoding="utf-8").replace("imu.gyro.x", "imu.\x1b[2J.gyro.x"), encoding="utf-8"
    )
    code, _, err = call(capsys, "identify", log, "--out", tmp_path / "other")
    assert code == 1
    assert err.count("\n") == 1
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--known", "mas=1"], "did you mean mass?"),
        (["--known", "rotors.m9.torque_ratio=0.1"], "no rotor is called 'm9'"),
        (["--airframe", "no-such-vehicle"], "no-such-vehicle"),
        (["--method", "filter"], "--airframe"),
        (["--method", "throw"], "no throw"),
        (["--model", "paper"], "give --airframe"),
        (["--method", "effectiveness", "--model", "paper"], "--method effectiveness has no --model paper"),
    ],
)
def test_slips_are_one_line(folder, capsys, tmp_path, words, said):
    code, out, err = call(capsys, "identify", folder / "one.mcap", "--out", tmp_path / "x", *words)
    assert code == 1
    assert out == ""
    assert said in err
    assert not (tmp_path / "x").exists()


def test_wrong_usage(folder, capsys):
    assert call(capsys, "identify")[0] == 2
    assert call(capsys, "identify", folder / "one.mcap", "--method", "magic")[0] == 2
    assert call(capsys, "identify", folder / "one.mcap", "--model", "magic")[0] == 2


@pytest.mark.slow
def test_a_bad_log_stops_no_other(folder, capsys, tmp_path):
    out = tmp_path / "fleet"
    logs = [folder / name for name in ("one.mcap", "bad.mcap", "two.mcap")]
    code, text, err = call(capsys, "identify", *logs, "--out", out, "--json")
    assert code == 0
    result = json.loads(text)
    assert [entry["method"] for entry in result["flights"]] == ["effectiveness", "command"]
    (failed,) = result["failed"]
    assert "bad.mcap" in failed["file"]
    assert "bad.mcap" in err
    assert (out / "one" / "result.json").exists()
    assert (out / "fleet.json").exists()


def test_a_fleet_of_bad_logs_is_an_error(folder, capsys, monkeypatch, tmp_path):
    from haltere.identification import fleet

    bad = folder / "bad.mcap"
    lost = fleet.Fleet((fleet.FleetMember(bad, None, "is empty"),) * 2)
    monkeypatch.setattr(fleet, "identify_fleet", lambda *_, **__: lost)
    code, out, err = call(capsys, "identify", bad, bad, "--out", tmp_path / "fleet", "--json")
    assert (code, out) == (1, "")
    assert "none of 2 logs could be identified" in err
    assert "is empty" in err
    assert lost.table().rows[0][-1] == "is empty"


def test_a_log_without_pose_waits_for_no_compiler(folder, tmp_path):
    """JAX takes a second to import: where nothing asks for it, it is not."""
    words = ["identify", str(folder / "one.mcap"), "--out", str(tmp_path / "found"), "--json"]
    script = (
        "import sys\n"
        "from haltere.cli.app import main\n"
        "try:\n"
        f"    main({words!r})\n"
        "except SystemExit as end:\n"
        "    sys.exit(end.code or 3 * ('jax' in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"] == "effectiveness"
