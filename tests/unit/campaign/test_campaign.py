"""Campaigns: the same results on every kind of worker, and nothing lost when cases, workers or users give up."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
import pytest
from tests.unit.campaign.campaign_functions import HERE

from haltere.campaign.runner import CampaignError, CampaignInterrupted, run_campaign
from haltere.foundation import HaltereError

ROOT = Path(__file__).resolve().parents[3]


def threads():
    return ThreadPoolExecutor(2)


def run(name, cases, folder, seed=1, **options):
    """A campaign in threads of this process: nothing has to be started."""
    return run_campaign(f"{HERE}:{name}", cases, seed, folder, **{"executor": threads, "batch": 3, **options})


def same(one, other):
    assert one.failures == other.failures
    assert list(one.columns) == list(other.columns)
    for name, values in one.columns.items():
        assert values.dtype == other.columns[name].dtype
        assert values.tobytes() == other.columns[name].tobytes(), name


@pytest.fixture
def cluster(monkeypatch):
    distributed = pytest.importorskip(
        "distributed", reason="dask.distributed (extra `cluster`) is not installed"
    )
    cache = jax.config.values["jax_compilation_cache_dir"]
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", cache)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local:
        yield local.scheduler_address


# ------------------------------------------------------------------------------------------------ results


def test_every_case_has_its_own_key_and_row(tmp_path):
    result = run("draw", 10, tmp_path, seed=5, parameters={"scale": 2.5})
    assert result.failures == {}
    columns = result.columns
    assert columns["case"].tolist() == list(range(10))
    for number in range(10):
        key = jax.random.fold_in(jax.random.key(5), number)
        np.testing.assert_array_equal(columns["values"][number], jax.random.normal(key, (3,)))
    assert columns["even"].tolist() == [True, False] * 5
    assert columns["name"].tolist() == [f"case {n}" for n in range(10)]
    assert np.isnan(columns["nothing"]).all()
    assert columns["scale"].tolist() == [2.5] * 10


def test_batch_size_and_order_do_not_matter_to_single_cases(tmp_path):
    same(run("draw", 10, tmp_path / "a"), run("draw", 10, tmp_path / "b", batch=4))


def test_cases_may_have_parameters_of_their_own(tmp_path):
    cases = [{"scale": scale} for scale in (1.0, 2.0, 3.0, 4.0)]
    result = run("draw", cases, tmp_path, parameters={"scale": 9.0})
    assert result.columns["scale"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_short_batch_is_filled_up(tmp_path):
    result = run("draw_together", 10, tmp_path, batch=4)
    assert result.columns["case"].tolist() == list(range(10))
    assert set(result.columns["size"]) == {4}
    shorter = run("draw_together", 9, tmp_path / "shorter", batch=4)
    assert result.columns["value"][:9].tobytes() == shorter.columns["value"].tobytes()


def test_results_are_kept_without_pickle(tmp_path):
    run("fail_some", 10, tmp_path)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [*(f"batch-0000{i}.npz" for i in range(4)), "manifest.json"]
    for file in files[:-1]:
        with np.load(file, allow_pickle=False) as arrays:
            assert all(arrays[name].dtype.kind in "bifU" for name in arrays.files)
    manifest = json.loads(files[-1].read_text())
    assert (manifest["function"], manifest["seed"], manifest["cases"]) == (f"{HERE}:fail_some", 1, 10)


# ------------------------------------------------------------------------------------------------ failures


def test_failing_cases_are_listed_and_the_others_stay(tmp_path):
    result = run("fail_some", 10, tmp_path, batch=10)
    assert result.columns["x"].tolist() == [0.0, 2.0, 3.0, 9.0]
    assert result.columns["case"].tolist() == [0, 2, 3, 9]
    assert list(result.failures) == [1, 4, 5, 6, 7, 8]
    assert result.failures[1] == "ValueError: a number of two lines"
    assert result.failures[5] == "SystemExit: 3"
    assert "column 'y': got numbers of shape (), other cases gave nothing" in result.failures[6]
    assert "column 'x': got object" in result.failures[8]


def test_results_of_another_form_are_failures_whatever_the_batches(tmp_path):
    result = run("fail_some", 10, tmp_path, batch=2)
    assert result.columns["case"].tolist() == [0, 2, 3, 9]
    assert "column 'y': got numbers" in result.failures[6]


def test_whole_numbers_and_fractions_go_together(tmp_path):
    assert run("halves", 4, tmp_path, batch=2).columns["x"].tolist() == [0.0, 0.5, 1.0, 1.5]


def test_a_function_of_whole_batches_may_fail_for_single_cases(tmp_path):
    result = run("fail_together", 5, tmp_path, batch=2)
    assert result.columns["case"].tolist() == [0, 2, 4]
    assert result.failures == {1: "ValueError: odd", 3: "ValueError: odd"}
    lacking = run("answer_too_little", 3, tmp_path / "b", batch=3)
    assert len(lacking.failures) == 3
    assert "got 1 results for a batch of 3 cases" in lacking.failures[0]


def test_failed_batches_are_kept_or_tried_again_as_asked(tmp_path):
    first = run("fail_some", 10, tmp_path)
    times = {file: file.stat().st_mtime_ns for file in tmp_path.glob("batch*")}
    same(first, run("fail_some", 10, tmp_path))
    assert times == {file: file.stat().st_mtime_ns for file in tmp_path.glob("batch*")}
    same(first, run("fail_some", 10, tmp_path, retry=True))
    assert all(file.stat().st_mtime_ns > before for file, before in times.items() if "3" not in file.name)


# ------------------------------------------------------------------------------------------------ resuming


def test_a_folder_serves_one_campaign(tmp_path):
    run("draw", 4, tmp_path, parameters={"scale": 1.0})
    for options, said in (
        ({"cases": 5}, "cases is 4 there and 5 here"),
        ({"seed": 2}, "seed is 1 there and 2 here"),
        ({"batch": 2}, "batch is 3 there and 2 here"),
        ({"parameters": {"scale": 2.0}}, "parameters.scale is 1.0 there and 2.0 here"),
        ({"name": "fail_some"}, "function (differs|is)"),
    ):
        with pytest.raises(CampaignError, match=said):
            run(**{"name": "draw", "cases": 4, "folder": tmp_path, "parameters": {"scale": 1.0}, **options})


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(CampaignError, match="holds no campaign"):
        run("draw", 4, tmp_path)
    with pytest.raises(CampaignError, match="cannot be used"):
        run("draw", 4, tmp_path / "thesis.txt")


def test_damaged_and_missing_batches_are_run_again(tmp_path):
    whole = run("draw", 10, tmp_path)
    (tmp_path / "batch-00000.npz").write_bytes(b"")
    (tmp_path / "batch-00001.npz").write_bytes((tmp_path / "batch-00001.npz").read_bytes()[:200])
    (tmp_path / "batch-00002.npz").unlink()
    (tmp_path / "batch-00003.part").write_bytes(b"half")
    same(whole, run("draw", 10, tmp_path))


def test_progress_is_told(tmp_path):
    said = []
    run("draw", 10, tmp_path, progress=said.append)
    assert said == [f"{i} of 4 batches done" for i in (1, 2, 3, 4)]
    said.clear()
    (tmp_path / "batch-00000.npz").unlink()
    run("draw", 10, tmp_path, progress=said.append)
    assert said == ["3 of 4 batches were there already", "4 of 4 batches done"]


def test_an_interrupt_keeps_what_is_done(tmp_path):
    def stop_after_two(text):
        if text.startswith("2 of"):
            raise KeyboardInterrupt

    with pytest.raises(
        CampaignInterrupted, match=r"2 of 4 batches are kept in .*run the same again to go on"
    ):
        run("draw", 10, tmp_path, progress=stop_after_two, executor=lambda: ThreadPoolExecutor(1))
    same(run("draw", 10, tmp_path), run("draw", 10, tmp_path / "whole"))


def test_an_executor_of_the_caller_is_used_and_stays_open(tmp_path):
    with ThreadPoolExecutor(1) as executor:
        same(run("draw", 10, tmp_path / "given", executor=executor), run("draw", 10, tmp_path / "made"))
        assert executor.submit(int, "3").result() == 3


def test_a_result_prints_its_statistics(tmp_path):
    result = run("draw", 10, tmp_path)
    assert repr(result).startswith("10 of 10 cases\nquantity")
    assert result.to_dict()["succeeded"] == 10
    assert "</table>" in result._repr_html_()


# ------------------------------------------------------------------------------------------------ bad arguments


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cases": 0}, "cases: got 0"),
        ({"batch": 0}, "batch: got 0"),
        ({"seed": -1}, "seed: got -1"),
        ({"workers": 0}, "workers: got 0"),
        ({"executor": 3}, "executor: got int"),
        ({"cluster": "tcp://127.0.0.1:1"}, "cluster and executor: got both"),
        ({"parameters": {"x": float("nan")}}, "cannot be written as JSON"),
        ({"parameters": {"x": np.zeros(3)}}, "cannot be written as JSON"),
        ({"name": "nothing"}, "cannot be found"),
        ({"name": "HERE"}, "is no function but str"),
    ],
)
def test_bad_arguments_are_told(options, said, tmp_path):
    with pytest.raises(CampaignError, match=said):
        run(**{"name": "draw", "cases": 3, "folder": tmp_path / "new", **options})
    assert not (tmp_path / "new").exists()


def test_a_function_must_have_a_name_that_workers_find(tmp_path):
    with pytest.raises(CampaignError, match="put the function in a module"):
        run_campaign(lambda case: {}, 3, 0, tmp_path)
    with pytest.raises(CampaignError, match="no import path"):
        run_campaign("math.sin", 3, 0, tmp_path)


def test_a_cluster_that_does_not_answer_is_told(tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="dask.distributed (extra `cluster`) is not installed")
    monkeypatch.setattr("haltere.campaign.executors.CONNECT_SECONDS", 0.5)
    with pytest.raises(CampaignError, match=r"cluster tcp://127.0.0.1:9: cannot be reached"):
        run_campaign(f"{HERE}:draw", 3, 0, tmp_path, cluster="tcp://127.0.0.1:9")


def test_a_cluster_without_dask_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(HaltereError, match=r"pip install 'haltere\[cluster\]'"):
        run_campaign(f"{HERE}:draw", 3, 0, tmp_path, cluster="tcp://127.0.0.1:9")


# ------------------------------------------------------------------------------------------------ processes


def test_workers_are_spawned_with_one_thread_and_64_bits(tmp_path, monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    columns = run_campaign(f"{HERE}:settings", 2, 0, tmp_path, batch=1, workers=1).columns
    assert columns["x64"].all()
    assert set(columns["cache"]) == {jax.config.values["jax_compilation_cache_dir"]}
    assert set(columns["flags"]) == {"--xla_cpu_multi_thread_eigen=false"}
    assert (columns["eigen"] <= 1).all()
    assert os.getpid() not in columns["pid"]


def test_pool_and_cluster_and_threads_agree_and_survive_a_killed_worker(tmp_path, cluster):
    quiet = run("draw", 24, tmp_path / "threads", batch=2)
    options = {"batch": 2, "workers": 2, "parameters": {"victim": 7, "scale": 0.0}}
    said = []
    pool = run_campaign(f"{HERE}:die_once", 24, 1, tmp_path / "pool", progress=said.append, **options)
    assert any("a worker died" in text for text in said)
    dask = run_campaign(f"{HERE}:die_once", 24, 1, tmp_path / "dask", cluster=cluster, **options)
    assert (tmp_path / "dask" / "died").exists()
    same(quiet, pool)
    same(quiet, dask)


def test_a_batch_that_always_kills_its_worker_is_reported_and_costs_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr("haltere.campaign.runner.DEATHS", 2)
    options = {"batch": 2, "workers": 2, "parameters": {"victim": 3}}
    result = run_campaign(f"{HERE}:die_always", 8, 1, tmp_path, **options)
    assert list(result.failures) == [2, 3]
    assert "the worker died each of 2 times" in result.failures[2]
    assert result.columns["case"].tolist() == [0, 1, 4, 5, 6, 7]


def eventually(holds, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def living(group):
    """Processes of a group that have not ended, by /proc/*/stat: `pid (name) state parent group`."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = file.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(file.parent.name)
    return found


SCRIPT = f"""
import signal, sys
from haltere.campaign.runner import CampaignInterrupted, run_campaign
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        run_campaign("{HERE}:dawdle", 10, 1, sys.argv[1], batch=1, workers=1)
    except CampaignInterrupted as stop:
        sys.exit(str(stop))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_process_that_was_stopped_goes_on_where_it_was(how, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    folder = tmp_path / "campaign"
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    process = subprocess.Popen(
        [sys.executable, script, folder],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert eventually((folder / "batch-00001.npz").exists)
        # An interrupt from the keyboard reaches the workers as well.
        (os.killpg if how == signal.SIGINT else os.kill)(process.pid, how)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()  # its workers end with it
    if how == signal.SIGINT:
        assert process.returncode == 1
        assert err == f"interrupted; 2 of 10 batches are kept in {folder}: run the same again to go on\n"
    assert eventually(lambda: not living(process.pid))  # no worker is left behind
    (folder / "go").touch()
    said = []
    rest = run("dawdle", 10, folder, batch=1, progress=said.append)
    assert said[0] == "2 of 10 batches were there already"
    same(rest, run("draw", 10, tmp_path / "whole", batch=1))
