"""`haltere doctor` and `haltere plot`: JSON, tables, mended files, and errors of one line."""

import json

import pytest
from tests.cli.calls import call
from tests.unit.doctor import faults
from tests.unit.identification.made_flight import made

from haltere.flight.mcap import read_mcap, write_mcap


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doctor")
    good = made(1)
    write_mcap(good, folder / "good.mcap")
    write_mcap(faults.accel_in_g(good, None), folder / "faulty.mcap")
    return folder


def test_json(folder, capsys):
    code, out, _ = call(capsys, "doctor", folder / "faulty.mcap", "--json")
    assert code == 0
    result = json.loads(out)
    (finding,) = result["findings"]
    assert finding["kind"] == "accel-unit"
    assert finding["certain"] is True
    assert set(finding) >= {"kind", "evidence", "remedy", "certain"}
    assert {"unknown", "measures", "notes"} <= set(result)


def test_table_and_a_clean_flight(folder, capsys):
    assert "accel-unit" in call(capsys, "doctor", folder / "faulty.mcap")[1]
    code, out, _ = call(capsys, "doctor", folder / "good.mcap")
    assert code == 0
    assert "nothing found that is wrong" in out


def test_the_mended_flight_is_written_once(folder, capsys):
    out = folder / "mended.mcap"
    assert call(capsys, "doctor", folder / "faulty.mcap", "--out", out, "--json")[0] == 0
    assert read_mcap(out)["imu.accel"].values == pytest.approx(
        read_mcap(folder / "good.mcap")["imu.accel"].values
    )
    code, _, err = call(capsys, "doctor", folder / "faulty.mcap", "--out", out)
    assert code == 1
    assert "exists already" in err


@pytest.mark.parametrize("command", ["doctor", "plot"])
def test_what_is_no_log_is_one_line(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "letter.txt").write_text("dear friend", encoding="utf-8")
    code, out, err = call(capsys, command, "letter.txt", "--json")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "letter.txt" in err


def test_plot(folder, capsys):
    code, out, _ = call(capsys, "plot", folder / "good.mcap", "--out", folder / "plot.html", "--json")
    assert code == 0
    assert json.loads(out)["channels"]["imu.gyro"] > 100
    page = (folder / "plot.html").read_text(encoding="utf-8")
    assert "imu.gyro" in page
    assert "https://" not in page.split("<script>")[0]
