"""Forward and inverse dynamics of random vehicles against Pinocchio."""

from dataclasses import replace

import numpy as np
import pytest

from .comparison import assert_within, force_errors, solution_errors
from .pinocchio_oracle import PinocchioVehicle
from .random_vehicle import Features
from .subject import Batch, Outcome, evaluate, evaluated, random_batch

TOLERANCE = 1e-9


def _compare(batch: Batch, outcome: Outcome) -> None:
    """Compare every draw, forward and inverse, by the groups of `comparison`."""
    forward, inverse = [], []
    for index, (airframe, draw) in enumerate(zip(batch.airframes, batch.draws, strict=True)):
        vehicle = PinocchioVehicle(airframe)
        forward.append(solution_errors(outcome.forward[index], vehicle.forward(draw), batch.joints))
        needed = vehicle.inverse(draw, np.concatenate([draw.acceleration, draw.accelerations]))
        inverse.append(force_errors(outcome.inverse[index], needed, batch.joints))
    assert_within(forward, TOLERANCE)
    assert_within(inverse, TOLERANCE)


@pytest.mark.parametrize("seed", range(10))
def test_random_vehicles(seed: int) -> None:
    _compare(*evaluated(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 210))
def test_many_random_vehicles(seed: int) -> None:
    batch = random_batch(seed)
    _compare(batch, evaluate(batch))


FLOWS = {"still": (0, 0, 0), "ahead": (7, 0, 0), "up": (0, 0, 7), "down": (0, 0, -7)}
UNDECIDED_FLOWS = {"astern": (-7, 0, 0), "left": (0, 7, 0), "right": (0, -7, 0)}
"""Alpha jumps between -pi and pi, or has no value: rounding decides, so only finite numbers are asked for."""


def test_edges_of_the_flow() -> None:
    """Flow along each axis of the body's wing or none at all, a wing on a link, and rotors at rest."""
    features = Features(max_rotors=2, max_tilts=1, max_fixed=0)
    seed = next(seed for seed in range(100) if _winged(random_batch(seed, features, draws=1)))
    flows = [*FLOWS.values(), *UNDECIDED_FLOWS.values()]
    batch = random_batch(seed, features, draws=len(flows))
    draws = []
    for airframe, draw, flow in zip(batch.airframes, batch.draws, flows, strict=True):
        wing = airframe.body.wing
        assert wing is not None
        velocity = PinocchioVehicle.wing_rotation(wing) @ np.array(flow, dtype=float)
        still = replace(draw, wind=np.zeros(3), rates=np.zeros_like(draw.rates))
        draws.append(replace(still, twist=np.concatenate([velocity, np.zeros(3)])))
    outcome = evaluate(replace(batch, draws=tuple(draws)))
    assert all(np.all(np.isfinite([x.acceleration, x.torque])) for x in outcome.forward)
    count = len(FLOWS)
    decided = replace(batch, airframes=batch.airframes[:count], draws=tuple(draws[:count]))
    _compare(decided, replace(outcome, forward=outcome.forward[:count], inverse=outcome.inverse[:count]))


def _winged(batch: Batch) -> bool:
    return (
        batch.topology.body_wing is not None
        and batch.joints == 1
        and batch.topology.links[0].wing is not None
    )
