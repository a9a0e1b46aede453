"""`haltere cog` on a simulated flight: the JSON of the contract, marks, tables, and errors of one line."""

import json

import pytest
from tests.cli.calls import call
from tests.unit.identification.dropping_flight import DROP, mass_and_center, scenario_file

from haltere.cli.app import main

KEYS = ["time", "trim", "com", "sigma", "change", "mass", "events"]


@pytest.fixture(scope="module")
def flight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cog")
    with pytest.raises(SystemExit):
        main(["simulate", str(scenario_file(folder)), "--out", str(folder / "flight.mcap")])
    return folder / "flight.mcap"


def test_json_has_the_keys_of_the_contract(flight, capsys):
    code, out, err = call(capsys, "cog", flight, "--airframe", "hummingbird", "--mark", DROP, "--json")
    assert code == 0
    found = json.loads(out)
    assert list(found) == KEYS
    count = len(found["time"])
    for rows in (
        found["trim"],
        found["com"],
        found["sigma"],
        found["change"]["value"],
        found["change"]["sigma"],
    ):
        assert len(rows) == count
        assert {len(row) for row in rows} == {3}
    assert len(found["mass"]) == count
    assert list(found["change"]) == ["value", "sigma"]
    assert found["com"][-1][2] is found["sigma"][-1][2] is None
    (event,) = found["events"]
    assert list(event) == ["time", "kind", "change", "sigma"]
    assert event["kind"] == "mark"
    assert event["time"] == pytest.approx(DROP, abs=0.01)
    mass, center = mass_and_center(loaded=False)
    assert found["trim"][-1][:2] == pytest.approx(center[:2], abs=1e-3)
    assert found["mass"][-1] == pytest.approx(mass, rel=0.05)
    assert "not observable in a hover" in err


def test_the_tables_say_what_is_sure(flight, capsys):
    code, out, _ = call(capsys, "cog", flight, "--airframe", "hummingbird")
    assert code == 0
    assert "trim" in out
    assert "centre of mass" in out
    assert "not observable" in out
    assert "+-" in out
    assert "changes, mm" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--airframe", "neo"), "give its own airframe"),
        (("--airframe", "nothing-of-that-name"), "nothing-of-that-name"),
        (("--airframe", "hummingbird", "--mark", "99"), "mark at 99 s, expected one between"),
    ],
)
def test_wrong_input_is_one_line(flight, words, expected, capsys):
    code, out, err = call(capsys, "cog", flight, *words, "--json")
    assert code == 1
    assert out == ""
    assert err.count("error:") <= 1
    assert expected in err.strip().splitlines()[-1]


def test_a_log_that_is_not_there_is_one_line(tmp_path, capsys):
    code, _, err = call(capsys, "cog", tmp_path / "none.mcap", "--airframe", "hummingbird")
    assert code == 1
    assert "none.mcap" in err.strip().splitlines()[-1]


def test_without_an_airframe_the_usage_is_wrong(flight, capsys):
    assert call(capsys, "cog", flight)[0] == 2
