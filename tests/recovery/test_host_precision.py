"""A host that computes with 32 bits gets the numbers that one with 64 bits gets, and keeps its setting."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax

from haltere.airframe import from_catalogue
from haltere.identification.pipeline import identify
from haltere.scenarios.scenario_flight import simulate

SCENARIO = Path(__file__).resolve().parents[2] / "examples" / "figure.toml"
PROGRAM = """
import json, sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import jax, jax.numpy as jnp
from tests.recovery.test_host_precision import SCENARIO, identified
from haltere.foundation.errors import PrecisionError
from haltere.scenarios.scenario_flight import simulate

if __name__ == "__main__":
    with ThreadPoolExecutor(1) as threads, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        flight = processes.submit(simulate, SCENARIO).result()
        found = {"identify": threads.submit(identified, flight).result()}
    try:
        jax.jit(lambda x: (identified(flight), x)[1])(1.0)
    except PrecisionError as error:
        found["inside"] = str(error)
    found["host"] = str(jnp.ones(1).dtype)
    json.dump(found, sys.stdout)
"""


def identified(flight):
    """Value and sigma of every parameter from a flight with pose."""
    airframe = from_catalogue("hummingbird")
    result = identify(flight, airframe, known={"mass": (airframe.total_mass, 1e-3)})
    assert result.method == "batch", result.notes
    return {p.name: [p.value, p.sigma] for p in result.parameters}


def test_a_host_of_32_bits_gets_the_same_numbers(tmp_path):
    script = tmp_path / "host.py"
    script.write_text(PROGRAM)
    cache = str(jax.config.values["jax_compilation_cache_dir"])
    paths = os.pathsep.join([str(Path.cwd()), *sys.path])
    variables = {**os.environ, "JAX_COMPILATION_CACHE_DIR": cache, "PYTHONPATH": paths, "JAX_ENABLE_X64": "0"}
    done = subprocess.run(
        [sys.executable, str(script)], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["host"] == "float32"
    assert "32 bits, 64 are expected" in found["inside"]
    assert found["identify"] == identified(simulate(SCENARIO))
