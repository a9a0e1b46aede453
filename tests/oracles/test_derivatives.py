"""Derivatives of the acceleration against Pinocchio's, and with air against differences of the Pinocchio
oracle.

1. e = |ours - oracle| / max(|oracle|, 1e-2 |row|) with Frobenius norms over a block: rows linear, angular,
   joints, rotors by columns translation, rotation, joints, rotors; `row` is the whole row group of the
   oracle.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from haltere.dynamics import acceleration_derivatives

from .comparison import relative_error
from .pinocchio_oracle import PinocchioVehicle, Sensitivity
from .random_state import Draw
from .random_vehicle import INERTIAL, Features, Vector, VehicleTopology, random_topology
from .subject import Batch, arguments, batched, random_batch
from .tangent import central_differences

TOLERANCE = 1e-7
SMOOTH = Features(wing_tables=False)


def _parts(joints: int, base: bool) -> list[slice]:
    start = 6 if base else 0
    bases = [slice(0, 3), slice(3, 6)] if base else []
    return [*bases, slice(start, start + joints), slice(start + joints, None)]


def _error(ours: Vector, oracle: Vector, joints: int, doubt: Vector | None = None) -> float:
    """Return the largest equation 1 of all blocks, less what the oracle itself is in doubt about."""
    assert ours.shape == oracle.shape
    found = 0.0
    for rows in _parts(joints, base=True):
        row = float(np.linalg.norm(oracle[rows]))
        for columns in _parts(joints, base=oracle.shape[0] == oracle.shape[1]):
            size = max(float(np.linalg.norm(oracle[rows, columns])), 1e-2 * row)
            difference = float(np.linalg.norm(ours[rows, columns] - oracle[rows, columns]))
            if doubt is not None:
                difference = max(difference - 3.0 * float(np.linalg.norm(doubt[rows, columns])), 0.0)
            assert np.isfinite(difference)
            found = max(found, difference / size if difference > 0.0 else 0.0)
    return found


def _ours(batch: Batch) -> list[Sensitivity]:
    given = arguments(batch)
    result: Any = batched(acceleration_derivatives, given.model, given.state, given.drive, given.environment)

    def ordered(values: Any) -> Vector:
        return given.order.to_file(given.order.to_file(values, axis=1), axis=2)

    blocks = [ordered(values) for values in (result.d_configuration, result.d_velocity, result.d_drive)]
    return [Sensitivity(*parts) for parts in zip(*blocks, strict=True)]


def _compare(
    batch: Batch, oracle: Callable[[PinocchioVehicle, Draw], tuple[Sensitivity, Sensitivity | None]]
) -> None:
    worst = dict.fromkeys(("d_configuration", "d_velocity", "d_drive"), 0.0)
    for airframe, draw, ours in zip(batch.airframes, batch.draws, _ours(batch), strict=True):
        other, coarse = oracle(PinocchioVehicle(airframe), draw)
        for name in worst:
            doubt = getattr(other, name) - getattr(coarse, name) if coarse is not None else None
            found = _error(getattr(ours, name), getattr(other, name), batch.joints, doubt)
            worst[name] = max(worst[name], found)
    assert max(worst.values()) < TOLERANCE, worst


def _exact(vehicle: PinocchioVehicle, draw: Draw) -> tuple[Sensitivity, None]:
    return vehicle.derivatives(draw), None


def _differences(vehicle: PinocchioVehicle, draw: Draw) -> tuple[Sensitivity, Sensitivity]:
    """Differences with two steps: what they disagree about is the oracle's own rounding and truncation."""

    def acceleration(other: Draw) -> Vector:
        return vehicle.forward(other).acceleration

    return central_differences(acceleration, draw, 4e-3), central_differences(acceleration, draw, 8e-3)


@pytest.mark.parametrize("seed", [3, 4])
def test_torque_driven(seed: int) -> None:
    _compare(random_batch(seed, INERTIAL, all_torque=True, wrenches=False), _exact)


@pytest.mark.parametrize("seed", [7])
def test_partly_prescribed(seed: int) -> None:
    _compare(random_batch(seed, INERTIAL, wrenches=False), _exact)


@pytest.mark.parametrize("seed", [2])
def test_in_air(seed: int) -> None:
    _compare(random_batch(seed, SMOOTH, draws=4, wrenches=False, rotor_speed=100.0), _differences)


def test_at_rest_in_still_air() -> None:
    """Wings, drag and rotors at no speed, where V and |w| have no derivative but the wrenches do.

    V^2 c(alpha, beta) is not twice differentiable there, so that differences err with their step.
    """
    features = Features(max_rotors=2, max_tilts=1, max_fixed=1, wing_tables=False)
    seed = next(seed for seed in range(200) if _draggy(random_topology(seed, features)))
    batch = random_batch(seed, features, draws=2, wrenches=False)
    speeds = (0.0, 300.0)
    draws = []
    for draw, speed in zip(batch.draws, speeds, strict=True):
        rates = np.where(np.arange(len(draw.rates)) < batch.joints, 0.0, speed)
        draws.append(replace(draw, twist=np.zeros(6), wind=np.zeros(3), rates=rates))
    batch = replace(batch, draws=tuple(draws))
    for airframe, draw, ours in zip(batch.airframes, batch.draws, _ours(batch), strict=True):
        vehicle = PinocchioVehicle(airframe)
        other = central_differences(lambda x, v=vehicle: v.forward(x).acceleration, draw, step=1e-6)
        for name in ("d_configuration", "d_velocity", "d_drive"):
            assert relative_error(getattr(ours, name), getattr(other, name)) < 1e-5, name


def _draggy(topology: VehicleTopology) -> bool:
    winged = topology.body_wing is not None and any(link.wing is not None for link in topology.links)
    return winged and topology.body_drag and any(rotor.inflow for rotor in topology.rotors)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many(seed: int) -> None:
    _compare(random_batch(seed, INERTIAL, all_torque=True, wrenches=False), _exact)
    _compare(random_batch(seed, INERTIAL, wrenches=False), _exact)
    _compare(random_batch(seed, SMOOTH, draws=4, wrenches=False, rotor_speed=100.0), _differences)
