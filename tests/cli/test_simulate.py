"""`haltere simulate`: a flight on disk, one clear line for every bad scenario, campaigns."""

import json
from pathlib import Path

import pytest

from haltere.airframe import catalogue_text
from haltere.cli.app import main
from haltere.flight.mcap import read_mcap

HOVER = 'airframe = "hummingbird"\nduration = 1.0\nseed = 3\n'


@pytest.fixture
def simulate(tmp_path, monkeypatch, capsys):
    """Run the command on a scenario text in an empty folder; exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(text, *words, out="flight.mcap"):
        if text is not None:
            Path("scenario.toml").write_text(text, encoding="utf-8")
        with pytest.raises(SystemExit) as end:
            main(["simulate", "scenario.toml", "--out", out, *words])
        written, err = capsys.readouterr()
        return end.value.code or 0, written, err

    return call


def test_a_flight_is_written_and_told(simulate):
    code, out, _ = simulate(HOVER, "--json", "--seed", "5")
    assert code == 0
    result = json.loads(out)
    flight = read_mcap("flight.mcap")
    assert result["file"] == "flight.mcap"
    assert result["duration"] == flight.duration
    assert 0.98 < result["duration"] <= 1.0
    assert result["samples"] == sum(len(flight[name]) for name in flight.names) > 0
    assert result["notes"] == list(flight.notes) == ["flown with seed 5"]
    assert flight.scenario == HOVER

    code, out, err = simulate(HOVER, "--seed", "5")
    assert (code, out) == (1, "")
    assert err == "haltere: flight.mcap: exists already; give another name, or --overwrite\n"

    code, out, err = simulate(HOVER, "--seed", "5", "--overwrite")
    assert code == 0
    assert out.startswith("wrote flight.mcap: ")
    assert "note: flown with seed 5\n" in err
    assert read_mcap("flight.mcap") == flight  # same seed, same bits


def test_the_place_is_looked_at_before_the_flight(simulate):
    code, _, err = simulate(HOVER, out="nowhere/flight.mcap")
    assert (code, err) == (1, "haltere: nowhere/flight.mcap: there is no folder nowhere; make it first\n")
    code, _, err = simulate(HOVER, out=".")
    assert code == 1
    assert err.startswith("haltere: .: is a directory;")


def test_help_has_an_example(simulate, capsys):
    with pytest.raises(SystemExit):
        main(["simulate", "--help"])
    assert "Example: haltere simulate scenario.toml --out flight.mcap" in capsys.readouterr().out


QUAD = 'airframe = "hummingbird"\n'


def heavy():
    """A hummingbird that its rotors cannot lift."""
    return catalogue_text("hummingbird").replace("[body]\nmass = ", "[body]\nmass = 20", 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "scenario.toml: cannot be read (No such file or directory); give a scenario file"),
        ("airframe = \n", "scenario.toml: Invalid value (at line 1, column 12); mend the TOML"),
        ("duration = 1.0\n", "scenario.toml: airframe: missing; give"),
        (
            'airframe = "humingbird"\n',
            "'humingbird' is neither a file nor in the catalogue; did you mean 'hummingbird'",
        ),
        ('airframe = "mine.toml"\n', "mine.toml: no such file"),
        (QUAD + '[trajectory]\nkind = "loop"\n', "trajectory.kind: got 'loop'; give 'hover', 'lissajous'"),
        (QUAD + "[trajectory]\nkin = 1\n", "trajectory.kin: unknown field; did you mean 'kind'?"),
        (QUAD + "duration = -1.0\n", "duration: got -1; give a number above zero"),
        (QUAD + "duration = nan\n", "duration: got nan"),
        (QUAD + '[controller]\nkind = "magic"\n', "controller.kind: got 'magic'; give 'geometric' or 'none'"),
        (
            QUAD + "[controller]\njoints = { elbow = 0.5 }\n",
            "joint 'elbow': the vehicle has no such moving joint",
        ),
        (
            'airframe = "hong-tilt-rotor"\n[controller]\njoints = { tilt1 = 0.5 }\n',
            "joint 'tilt1': the vehicle has no such moving joint; did you mean 'tilt_1'?",
        ),
        ('airframe = "heavy.toml"\n', "the vehicle cannot hover: its rotors"),
        (QUAD + 'duration = 1.0\n[trajectory]\nkind = "multisine"\n', "multisine: got 8 sines on 4 axes"),
        (QUAD + '[trajectory]\nkind = "waypoints"\n', "waypoints: got shape (0,); give at least two points"),
        (QUAD + "[start]\nwxyz = [0, 0, 0, 0]\n", "start.wxyz: got (0, 0, 0, 0), which is no rotation"),
    ],
    ids=lambda value: "" if value is None else value.splitlines()[-1][:40] if "=" in value else None,
)
@pytest.mark.parametrize("words", [[], ["--runs", "3"]], ids=["one", "many"])
def test_bad_scenarios_are_one_clear_line(text, said, words, simulate, monkeypatch):
    monkeypatch.setattr("haltere.cli.output.QUIET_SECONDS", 600.0)
    Path("heavy.toml").write_text(heavy(), encoding="utf-8")
    code, out, err = simulate(text, *words, "--json", out="new")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert said in err
    assert not Path("new").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--workers", "2"],
        ["--cluster", "tcp://127.0.0.1:8786"],
        ["--keep"],
        ["--batch", "2"],
        ["--retry"],
        ["--runs", "0"],
        ["--runs", "2", "--overwrite"],
        ["--seed", "-1"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(words, simulate):
    code, out, err = simulate(HOVER, *words)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


@pytest.fixture
def campaign(monkeypatch):
    """Fly no real flights: the results are given."""
    import numpy as np

    from haltere.campaign.runner import CampaignInterrupted
    from haltere.scenarios import flights
    from haltere.simulation.scenario import load_scenario

    calls = []

    def simulate_many(source, runs, folder, *, seed, **options):
        scenario, text = load_scenario(source)
        seed = scenario.seed if seed is None else seed
        calls.append((scenario.airframe, text, runs, seed, folder, options))
        options["progress"]("1 of 2 batches done")
        if runs == 7:
            raise CampaignInterrupted(
                f"interrupted; 1 of 2 batches are kept in {folder}: run the same again to go on"
            )
        if runs == 9:
            failures = dict.fromkeys(range(9), "the flight is not finite")
            return flights.SimulatedFlights({}, failures, runs, seed, folder)
        good = np.arange(runs - 1)
        numbers = 0.01 * (1.0 + good)
        crash = np.where(good == 0, 2.0, np.nan)
        columns = dict.fromkeys(("rms_error", "max_error", "max_speed", "max_tilt", "duration"), numbers)
        columns = {"case": good, "seed": good, **columns, "crash_time": crash}
        return flights.SimulatedFlights(columns, {runs - 1: "it failed"}, runs, seed, folder)

    monkeypatch.setattr(flights, "simulate_many", simulate_many)
    return calls


def test_many_flights_are_summarised(simulate, campaign):
    code, out, _ = simulate(HOVER, "--runs", "4", "--json", "--workers", "2", "--keep", out="folder")
    assert code == 0
    result = json.loads(out)
    counts = {name: result[name] for name in ("runs", "seed", "folder", "succeeded", "failed", "crashed")}
    assert counts == {"runs": 4, "seed": 3, "folder": "folder", "succeeded": 3, "failed": 1, "crashed": 1}
    assert result["rms_error"] == {"median": 0.02, "p95": pytest.approx(0.029), "max": 0.03}
    assert result["failures"] == {"3": "it failed"}
    assert campaign[0][:5] == ("hummingbird", HOVER, 4, 3, Path("folder"))
    assert campaign[0][5] | {"progress": None} == {
        "workers": 2,
        "cluster": None,
        "batch": None,
        "keep": True,
        "retry": False,
        "progress": None,
    }
    code, out, err = simulate(HOVER, "--runs", "4", "--seed", "11", out="folder")
    assert code == 0
    assert campaign[1][3] == 11
    assert "3 of 4 flights, 1 of them touched the ground" in out
    assert "flight 3 failed: it failed\n" in err


def test_an_interrupted_campaign_says_how_to_go_on(simulate, campaign):
    code, out, err = simulate(HOVER, "--runs", "7", out="folder")
    assert (code, out) == (1, "")
    assert err == "haltere: interrupted; 1 of 2 batches are kept in folder: run the same again to go on\n"


def test_a_campaign_without_any_flight_has_failed(simulate, campaign):
    code, out, err = simulate(HOVER, "--runs", "9", out="folder")
    assert (code, out) == (1, "")
    assert "none of 9 flights succeeded: the flight is not finite" in err


@pytest.mark.slow
def test_real_flights_on_the_pool(simulate):
    words = ["--runs", "4", "--batch", "2", "--workers", "1", "--json"]
    code, out, _ = simulate(HOVER, *words, out="folder")
    assert code == 0
    assert json.loads(out)["succeeded"] == 4
    again = simulate(HOVER, *words, out="folder")
    assert again[:2] == (0, out)  # nothing is flown twice
