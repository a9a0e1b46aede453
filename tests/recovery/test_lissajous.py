"""Vehicles of the catalogue fly Lissajous figures while their controllers believe numbers that are 10 % wrong."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import catalogue_names, dumps
from haltere.scenarios.flights import prepare_flights
from haltere.scenarios.scenario_flight import describe_airframe
from haltere.simulation.scenario import Scenario

LARGEST = 0.3
"""m, from the trajectory as it was slowed to what the vehicle can give."""


def errors(name: str, duration: float, seeds: range) -> np.ndarray:
    """Largest distance from the trajectory of each flight, m; infinite for one that touched the ground."""
    scenario = Scenario.model_validate(
        {
            "airframe": name,
            "duration": duration,
            "trajectory": {"kind": "lissajous", "centre": [0.0, 0.0, 5.0]},
            "controller": {"parameter_error": 0.1},
        }
    )
    given = {
        "scenario": json.loads(scenario.model_dump_json(exclude={"seed"})),
        "airframe": dumps(describe_airframe(scenario)),
        "text": "",
    }
    setup = prepare_flights(json.dumps(given, sort_keys=True))
    keys = jnp.stack([jax.random.split(jax.random.key(seed), 4) for seed in seeds])
    paths, _ = setup.paths(keys)
    summary, _ = setup.fly(keys, paths, False)
    crashed = np.isfinite(np.asarray(summary["crash_time"]))
    return np.where(crashed, np.inf, np.asarray(summary["max_error"]))


def test_short_flights() -> None:
    assert errors("hummingbird", 6.0, range(4)).max() < LARGEST


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue_names())
def test_long_flights(name: str) -> None:
    found = errors(name, 30.0, range(8))
    assert found.max() < LARGEST, found
