"""Campaigns of flights: what a seed decides, and a thousand flights on the pool and on a cluster."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

from haltere.campaign.runner import CampaignInterrupted
from haltere.flight.mcap import read_mcap
from haltere.foundation import HaltereError
from haltere.scenarios.flights import simulate_many
from haltere.scenarios.scenario_flight import simulate
from haltere.simulation.scenario import scenario_from_text

SHORT = """
airframe = "hummingbird"
duration = 0.2
[trajectory]
kind = "lissajous"
cycles = [0.03, 0.02, 0.02, 0.02]
[controller]
parameter_error = 0.1
"""


def fly_text(text, runs, folder, **options):
    return simulate_many(scenario_from_text(text), runs, folder, seed=1, **options)


def threads():
    return ThreadPoolExecutor(1)


def same(one, other):
    assert one.failures == other.failures == {}
    for name, values in one.columns.items():
        assert values.tobytes() == other.columns[name].tobytes(), name


def test_flights_differ_by_their_seeds_and_stay_near_the_path(tmp_path):
    result = fly_text(SHORT, 5, tmp_path, batch=3, executor=threads)
    columns = result.columns
    assert result.failures == {}
    assert len(set(columns["seed"])) == len(set(columns["rms_error"])) == 5
    assert (columns["rms_error"] < columns["max_error"]).all()
    assert (columns["max_error"] < 0.1).all()
    assert np.isnan(columns["crash_time"]).all()
    np.testing.assert_allclose(columns["duration"], 0.2)
    assert repr(result).startswith("5 of 5 flights, 0 of them touched the ground\nquantity")
    assert "</table>" in result._repr_html_()
    assert (columns["max_tilt"] < 1.2).all()


def test_a_bad_scenario_is_told_before_anything_is_written(tmp_path):
    with pytest.raises(HaltereError, match="joint 'wing'"):
        fly_text(SHORT + "joints = { wing = 1.0 }\n", 3, tmp_path / "new")
    assert not (tmp_path / "new").exists()


GUSTS = """
duration = 0.5
[trajectory]
kind = "lissajous"
[controller]
parameter_error = 0.1
[wind]
mean = [2, 0, 0]
gusts = true
"""
FALL = """
duration = 0.8
[start]
velocity = [0, 0, -1]
[trajectory]
kind = "throw"
[controller]
kind = "none"
"""
THROW = """
duration = 0.5
[trajectory]
kind = "throw"
"""


@pytest.mark.slow
@pytest.mark.parametrize("more", [GUSTS, FALL, THROW], ids=["random figure in gusts", "fall", "throw"])
def test_a_flight_of_a_campaign_can_be_flown_again_alone(more, tmp_path):
    text = 'airframe = "hummingbird"\n' + more
    result = fly_text(text, 2, tmp_path / "campaign", batch=2, executor=threads, keep=True)
    assert result.failures == {}
    for case, seed in enumerate(result.columns["seed"]):
        alone = simulate(scenario_from_text(text), seed=int(seed))
        kept = read_mcap(tmp_path / "campaign" / f"flight-{case:05d}.mcap")
        assert set(kept.names) == set(alone.names)
        for name in alone.names:
            np.testing.assert_array_equal(kept[name].time, alone[name].time)
            np.testing.assert_allclose(kept[name].values, alone[name].values, rtol=1e-6, atol=1e-7)
        crash = result.columns["crash_time"][case]
        assert np.isnan(crash) == (not any("touched the ground" in note for note in alone.notes))


@pytest.mark.slow
def test_a_thousand_flights_on_the_pool_and_on_a_cluster(tmp_path, monkeypatch):
    distributed = pytest.importorskip(
        "distributed", reason="dask.distributed (extra `cluster`) is not installed"
    )
    options = {"batch": 40, "workers": 2}

    def kill_one_worker(text):
        if text.startswith("3 of") and not killed:
            killed.append(victims()[0])
            os.kill(killed[0], signal.SIGKILL)
        if text.startswith("12 of"):
            raise KeyboardInterrupt

    killed: list[int] = []
    with pytest.raises(CampaignInterrupted, match="batches are kept"):
        fly_text(SHORT, 1000, tmp_path / "pool", progress=kill_one_worker, **options)
    assert killed
    said: list[str] = []
    pool = fly_text(SHORT, 1000, tmp_path / "pool", progress=said.append, **options)
    assert "of 25 batches were there already" in said[0]
    assert pool.columns["case"].tolist() == list(range(1000))

    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", jax.config.values["jax_compilation_cache_dir"])
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local:
        nannies = list(local.workers.values())
        killer = threading.Thread(target=kill_when_busy, args=(tmp_path / "dask", nannies[0].pid))
        killer.start()
        dask = fly_text(SHORT, 1000, tmp_path / "dask", cluster=local.scheduler_address, **options)
        killer.join()
    same(pool, dask)
    assert (pool.columns["max_error"] < 0.1).all()


def victims():
    """Worker processes of the pool of this process."""
    import multiprocessing

    return [process.pid for process in multiprocessing.active_children()]


def kill_when_busy(folder, pid):
    while not (folder / "batch-00002.npz").exists():
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
