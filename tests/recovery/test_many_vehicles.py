"""One process that meets one new vehicle after another: memory stays bounded, results are those of fresh processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from tests.recovery.many_vehicles import identified

from haltere.airframe import from_catalogue
from haltere.foundation import memory
from haltere.foundation.memory import count_maps, release_programs
from haltere.scenarios.scenario_flight import simulate

ROOT = Path(__file__).resolve().parents[2]
on_linux = pytest.mark.skipif(not count_maps(), reason="the system does not tell its memory maps")


def in_a_process(first, last, cache):
    """The lines of a process of its own."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    variables = {"PYTHONPATH": paths, "JAX_COMPILATION_CACHE_DIR": cache}
    variables["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    command = [sys.executable, "-m", "tests.recovery.many_vehicles", str(first), str(last)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_releasing_programs_changes_no_result(monkeypatch):
    airframe, flight = from_catalogue("hummingbird"), simulate(ROOT / "examples" / "figure.toml")
    method, before = identified(airframe, flight)
    released = []

    def release():
        released.append(count_maps())
        release_programs()

    monkeypatch.setattr(memory, "_others", [0])
    monkeypatch.setattr(memory, "count_maps", lambda: 65_000)
    monkeypatch.setattr(memory, "release_programs", release)
    assert identified(airframe, flight) == (method, before)
    assert len(released) == 1
    assert method == "batch"
    assert len(before) > 30


@pytest.mark.slow
@on_linux
def test_a_hundred_vehicles_in_one_process():
    cache = str(jax.config.values["jax_compilation_cache_dir"])
    lines = in_a_process(0, 100, cache)
    assert [line["number"] for line in lines] == list(range(100))
    print({key: max(line[key] for line in lines) for key in ("maps", "memory", "programs")})
    assert {line["method"] for line in lines} == {"batch"}
    assert max(line["maps"] for line in lines) < 20_000
    assert max(line["memory"] for line in lines) < 3.0
    assert max(line["programs"] for line in lines) < 1_200
    for number in range(3, 100, 12):
        (alone,) = in_a_process(number, number + 1, cache)
        assert alone["identified"] == lines[number]["identified"]
