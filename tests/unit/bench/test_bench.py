"""The benchmark of the simulator: where peers are found, what a row says, what happens without them; no times."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from haltere.bench import bench, blackbox, identify, peers, simulation
from haltere.bench import filter as estimators
from haltere.foundation import HaltereError
from haltere.simulation import rollout

OURS = {"1": 6.0, "100": 60.0, "10000": 600.0}
KEYS = ["name", "value", "unit", "peer", "peer_value", "ratio"]


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A folder without peers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(simulation.PEERS_VARIABLE, raising=False)
    return tmp_path


def test_best_rate_leaves_the_first_call_out():
    calls = []
    assert peers.best_rate(lambda: calls.append(sum(range(10_000))), 10, repeats=4) > 0.0
    assert len(calls) == 5


def test_peers_are_found_in_the_folder_and_by_the_variable(nowhere, monkeypatch):
    assert simulation.peer_python() is None
    python = nowhere / simulation.PEERS_FOLDER / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert simulation.peer_python() == python
    monkeypatch.setenv(simulation.PEERS_VARIABLE, sys.executable)
    assert simulation.peer_python() == Path(sys.executable)
    monkeypatch.setenv(simulation.PEERS_VARIABLE, "no/such/python")
    with pytest.raises(HaltereError, match=r"no/such/python.*make bench-peers"):
        simulation.peer_python()


def test_rows_without_peers_name_them(nowhere, monkeypatch):
    said = []
    monkeypatch.setattr(simulation, "_run", lambda command, bits: OURS)
    rows = simulation.simulation_rows(said.append)
    assert [list(row) for row in rows] == [KEYS] * 9
    assert {row["peer"] for row in rows} == {"crazyflow (not installed)", "rotorpy (not installed)"}
    assert all(row["peer_value"] is None and row["ratio"] is None for row in rows)
    assert [row["value"] for row in rows[:3]] == [6.0, 60.0, 600.0]
    assert said


def test_rows_say_how_many_times_faster_we_are(nowhere, monkeypatch):
    monkeypatch.setenv(simulation.PEERS_VARIABLE, sys.executable)
    runs = []

    def run(command, bits):
        runs.append((command[-1], bits))
        return OURS if command[-1] == simulation.MODULE else {"1": 2.0, "100": 3.0, "10000": "no torch"}

    monkeypatch.setattr(simulation, "_run", run)
    rows = simulation.simulation_rows()
    ours = simulation.MODULE
    assert runs == [(ours, 32), ("crazyflow", 32), (ours, 64), ("crazyflow", 64), ("rotorpy", 64)]
    assert rows[0] == {
        "name": "simulation, batch 1, 32 bits",
        "value": 6.0,
        "unit": "steps/s",
        "peer": "crazyflow",
        "peer_value": 2.0,
        "ratio": 3.0,
    }
    assert (rows[2]["peer"], rows[2]["ratio"]) == ("crazyflow (no torch)", None)
    json.dumps(rows, allow_nan=False)


def test_a_process_that_fails_is_reported():
    rates = simulation._run([sys.executable, "-c", "raise SystemExit('all is lost')"], 32)
    assert rates == dict.fromkeys(OURS, "failed: all is lost")
    assert "failed" in simulation._run(["no/such/python"], 32)["1"]
    assert "failed" in simulation._run([sys.executable, "-c", "pass"], 32)["1"]


def test_settings_reach_the_process():
    code = "import json, os; print(json.dumps({k: os.environ[k] for k in ('JAX_ENABLE_X64', 'NPROC')}))"
    assert simulation._run([sys.executable, "-c", code], 64) == {"JAX_ENABLE_X64": "1", "NPROC": "1"}


def test_our_failure_is_an_error(nowhere, monkeypatch):
    monkeypatch.setattr(simulation, "_run", lambda command, bits: dict.fromkeys(OURS, "failed: why"))
    with pytest.raises(HaltereError, match="failed: why"):
        simulation.simulation_rows()


@pytest.mark.parametrize("peer", sorted(peers.PEERS))
def test_the_script_says_what_is_missing(peer):
    """In an interpreter without any package."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", peers.__file__, peer], capture_output=True, text=True, check=True
    )
    rates = json.loads(done.stdout)
    assert list(rates) == list(OURS)
    assert all(reason.startswith("not installed: No module named") for reason in rates.values())


def test_ours_flies_one_rigid_body():
    vehicle = simulation.rigid_vehicle(np.float64)
    assert not np.any(vehicle.model.rotors.mass)
    start = simulation.flights(vehicle, 3)
    end = rollout(vehicle, peers.DT, 10)(*start)
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(end))
    assert end.position.shape == (3, 3)
    assert float(np.ptp(end.position[:, 2])) > 0.0


def test_simulation_is_part_of_the_benchmark(monkeypatch):
    for name in ("_acceleration", "_derivatives"):
        monkeypatch.setattr(bench, name, lambda airframe: 1.0)
    monkeypatch.setattr(bench, "_peer_time", lambda airframe, function: None)
    monkeypatch.setattr(bench, "_compile_time", lambda: 1.0)
    monkeypatch.setattr(bench, "cog_rows", lambda: [dict.fromkeys(KEYS)])
    monkeypatch.setattr(bench, "blackbox_rows", lambda: [dict.fromkeys(KEYS)])
    monkeypatch.setattr(bench, "filter_rows", lambda say: [dict.fromkeys(KEYS)])
    monkeypatch.setattr(bench, "identify_rows", lambda say: [dict.fromkeys(KEYS)])
    monkeypatch.setattr(bench, "throw_rows", lambda: [dict.fromkeys(KEYS)])
    monkeypatch.setattr(bench, "simulation_rows", lambda say: [dict.fromkeys(KEYS)])
    rows = bench.run_bench()
    assert [list(row) for row in rows] == [KEYS] * 9


def test_estimators_are_timed_beside_a_reference_and_their_bounds(monkeypatch):
    stores = []

    def timed(log, store):
        stores.append(store)
        return 99.0, (20.0 if len(stores) == 1 else 5.0)

    monkeypatch.setattr(estimators, "recorded", lambda folder, duration, rate: (folder, duration, rate)[1:])
    monkeypatch.setattr(estimators, "write_mcap", lambda flight, path: None)
    monkeypatch.setattr(estimators, "timed", timed)
    monkeypatch.setattr(estimators, "reference_seconds", lambda: 0.5)
    monkeypatch.setattr(estimators, "online_speeds", lambda flight: (60.0, 15.0, 0.05))
    rows = estimators.filter_rows(lambda _: None)
    assert [list(row) for row in rows] == [KEYS] * 10
    assert stores[0] == stores[1]
    assert [row["value"] for row in rows] == [0.5, 20.0, 40.0, 5.0, 10.0, 60.0, 1.0, 15.0, 4.0, 0.05]
    assert [row["ratio"] for row in rows] == [None, 2.0, None, 2.0, None, 2.0, None, 0.5, None, 2.0]
    assert {row["peer"] for row in rows if row["ratio"]} == {"bound"}


def test_reference_workload_takes_as_long_again():
    first, again = estimators.reference_seconds(), estimators.reference_seconds()
    assert 0.2 < first / again < 5.0


def test_the_decoder_of_blackbox_logs_stands_beside_orangebox_and_its_bound(monkeypatch):
    fast, small = blackbox.blackbox_rows(20_000)
    assert [list(row) for row in (fast, small)] == [KEYS] * 2
    assert small["ratio"] > 1.0
    assert (fast["ratio"] is None) == (fast["peer"] == "orangebox (not installed)")
    monkeypatch.setitem(sys.modules, "orangebox", None)
    assert blackbox.orangebox_seconds(b"") is None


def test_the_made_up_log_is_one():
    session = blackbox.decoded(blackbox.made_up_log(1000))
    assert session.main["loopIteration"].tolist() == list(range(1000))
    assert set(np.diff(session.main["time"])) == {1000.0}
    assert session.complete
    assert not session.lost


def test_identify_is_timed_with_and_without_pose(monkeypatch, tmp_path):
    class Log:
        names = ("imu.gyro", "pose.position", "pose.wxyz")

        def without(self, name):
            return self

    stores = []

    def timed(log, store):
        stores.append((log.name, store.name))
        return 10.0, 12.0

    monkeypatch.setattr(identify, "recorded", lambda folder: Log())
    monkeypatch.setattr(identify, "write_mcap", lambda flight, path: None)
    monkeypatch.setattr(identify, "timed", timed)
    rows = identify.identify_rows(lambda _: None)
    assert [list(row) for row in rows] == [KEYS] * 8
    assert stores[0] == stores[1] != stores[2] == stores[3]
    assert [row["ratio"] for row in rows[:4]] == [2.0, None, 0.5, None]


def test_an_identification_that_fails_is_reported(tmp_path):
    with pytest.raises(HaltereError, match=r"identify .*nothing.mcap ended with 1: .*nothing.mcap"):
        identify.timed(tmp_path / "nothing.mcap", tmp_path / "store")
