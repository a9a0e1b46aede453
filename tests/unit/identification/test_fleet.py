"""Fleets: each log on its own, over any executor, none lost."""

import json
import sys
import types
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest
from tests.unit.identification.made_vehicle import draw, record

from haltere.airframe import AirframeError
from haltere.flight.window import IdentifyError
from haltere.foundation import HaltereError
from haltere.identification.fleet import Fleet, FleetMember, _folder_names, identify_fleet
from haltere.identification.result import read_result


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    rng = np.random.default_rng(11)
    truth = draw(rng)
    record(rng, truth, 4.0).save(folder / "one.mcap")
    (folder / "bad.mcap").write_bytes(b"\x89MCAP0\r\nnothing")
    return [folder / "one.mcap", folder / "bad.mcap"]


@pytest.fixture(scope="module")
def fleet(logs, tmp_path_factory):
    said = []
    with ThreadPoolExecutor(1) as executor:
        fleet = identify_fleet(
            logs,
            known={"mass": (0.5, 0.01)},
            folder=tmp_path_factory.mktemp("out") / "fleet",
            executor=executor,
            progress=said.append,
        )
        assert executor.submit(int).result() == 0, "the executor stays open"
    assert said == ["identifying 2 logs", "1 of 2 logs done", "2 of 2 logs done"]
    return fleet


def test_a_bad_log_stops_no_other(fleet, logs):
    (result,) = fleet.results
    assert result.parameters["mass"].value == pytest.approx(0.5)
    assert list(fleet.failures) == [logs[1]]
    assert "bad.mcap" in fleet.failures[logs[1]]
    assert [line.split()[0] for line in repr(fleet).splitlines()] == ["1", "log", "one.mcap", "bad.mcap"]
    assert fleet._repr_html_().count("<tr>") == 3


def test_everything_is_in_its_folder(fleet):
    assert fleet.folder is not None
    summary = json.loads((fleet.folder / "fleet.json").read_text(encoding="utf-8"))
    (flight,) = summary["flights"]
    assert list(flight) == ["file", "result", "report", "method", "duration", "parameters", "findings"]
    assert read_result(Path(flight["result"])).method == "effectiveness"
    assert Path(flight["report"]).is_file()
    assert [entry["file"] for entry in summary["failed"]] == [str(p) for p in fleet.failures]
    assert Path(summary["report"]).name == "fleet.html"
    with pytest.raises(HaltereError, match=r"holds fleet\.json"):
        fleet.save(fleet.folder)


def test_slips_are_one_error_before_any_work(logs, tmp_path):
    for words, error, said in (
        ({"method": "magic"}, IdentifyError, "magic"),
        ({"model": "magic"}, IdentifyError, "magic"),
        ({"known": {"mas": 1.0}}, IdentifyError, "did you mean mass"),
        ({"airframe": "x501"}, AirframeError, "x501"),
        ({"mapping": tmp_path / "none.toml"}, HaltereError, "none.toml"),
    ):
        with pytest.raises(error, match=said):
            identify_fleet(logs, executor=Lost(), **words)
    with pytest.raises(IdentifyError, match="no log"):
        identify_fleet([])


class Lost(Executor):
    """Every worker is dead."""

    def submit(self, *_, **__):
        raise BrokenProcessPool("a child process terminated abruptly")


class Dying(Executor):
    """Workers die while they work."""

    def submit(self, *_, **__):
        future: Future = Future()
        future.set_exception(BrokenProcessPool("a child process terminated abruptly"))
        return future


@pytest.mark.parametrize("executor", [Lost(), Dying()])
def test_logs_whose_worker_died_are_failures(logs, tmp_path, executor):
    fleet = identify_fleet(logs, folder=tmp_path / "out", executor=executor)
    assert fleet.results == ()
    assert set(fleet.failures.values()) == {"a child process terminated abruptly"}
    assert not (tmp_path / "out").exists()


def test_folders_have_names_of_their_own():
    names = _folder_names(Path(name) for name in ("x/a.ulg", "b.ulg", "y/a.ulg", "a.bbl"))
    assert names == ["a", "b", "a-2", "a-3"]


def test_a_data_frame_has_a_row_for_each_parameter_of_each_log(fleet, monkeypatch):
    frame = types.SimpleNamespace(
        DataFrame=lambda rows, columns: types.SimpleNamespace(set_index=lambda _: (rows, columns))
    )
    monkeypatch.setitem(sys.modules, "pandas", frame)
    rows, columns = fleet.to_dataframe()
    assert columns[:3] == ["log", "name", "value"]
    assert len(rows) == len(fleet.results[0].parameters)


def test_a_fleet_without_files_says_nothing_of_them(logs):
    lost = Fleet((FleetMember(logs[1], None, "is empty"),))
    assert lost.to_dict() == {"flights": [], "failed": [{"file": logs[1], "error": "is empty"}]}


@pytest.mark.slow
def test_without_an_executor_all_cores_are_used(logs):
    fleet = identify_fleet(logs, known={"mass": 0.5})
    assert [r.method for r in fleet.results] == ["effectiveness"]
    assert fleet.folder is None
    assert len(fleet.failures) == 1
