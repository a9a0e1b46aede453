"""Stands in for the world and for two estimators where the runner itself is tested; other processes import it, too."""

import math
from dataclasses import replace

import numpy as np
from tests.world.attempts import Attempt, Claim


def fly(batch):
    """One number for each flight."""
    return [np.random.default_rng(seed).normal() for seed in batch.seeds]


def attempt(name, batch, seed, flight):
    common = (name, batch.level, batch.vehicle, str(seed))
    if name == "refuses":
        return Attempt(*common, refusal="no flight suits it", seconds=0.1, effect=batch.effect)
    claim = Claim("mass", "mass", 1.0 + 0.1 * flight, (0.9, None), "identified", (0.9, 1.1))
    return Attempt(*common, (claim, replace(claim, truth=1.0)), seconds=math.nan, effect=batch.effect)
