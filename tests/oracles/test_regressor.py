"""The regressor against Pinocchio's, block by block, and the aerodynamic columns against -J^T of unit loads.

1. tau = Y pi with tau (6 + J + R) of the inverse problem, zero at the base of a vehicle in flight;
   pi of a body is (m, m c, xx, xy, yy, xz, yz, zz) about the origin of its own frame and in its axes.
2. Columns of a rotor: -J^T (n w|w|, 0) for k_f, -J^T (0, -s n w|w|) for k_f torque_ratio.
"""

from functools import partial

import numpy as np
import pytest

from haltere.dynamics import Model, compute_regressor, regressor_names

from .comparison import relative_error
from .loads import Load, spin_axis, unit
from .pinocchio_oracle import PinocchioVehicle
from .random_state import Draw
from .random_vehicle import FORCE_NAMES, MOMENT_NAMES, Features, Vector
from .subject import arguments, batched, random_batch

TOLERANCE = 1e-9
INERTIAL_NAMES = ("mass", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
LINEAR = Features(drag=False, inflow=False, wing_tables=False)


def _prefix(name: str, kind: str) -> str:
    return "body" if name == "body" else f"{kind}.{name}"


def _oracle(vehicle: PinocchioVehicle, draw: Draw) -> dict[str, Vector]:
    """Return every column (6 + J + R) by the name of its parameter."""
    airframe = vehicle.airframe
    columns: dict[str, Vector] = {}
    rotors = {rotor.name for rotor in airframe.rotors}
    acceleration = np.concatenate([draw.acceleration, draw.accelerations])
    for name, block in vehicle.inertial_regressor(draw, acceleration).items():
        prefix = _prefix(name, "rotors" if name in rotors else "links")
        columns |= {f"{prefix}.{entry}": block[:, index] for index, entry in enumerate(INERTIAL_NAMES)}
    motions = vehicle.motions(draw)
    for rotor, rate in zip(
        airframe.rotors, draw.rates[len(draw.rates) - len(airframe.rotors) :], strict=True
    ):
        motion, square = motions[rotor.link], rate * abs(rate)
        load = partial(Load, rotor.name, motion.point(np.array(rotor.position)))
        thrust, drag = (
            motion.rotation @ unit(rotor.axis) * square,
            -motion.rotation @ spin_axis(rotor) * square,
        )
        columns[f"rotors.{rotor.name}.thrust_coefficient"] = vehicle.load_column(
            draw, load(thrust, np.zeros(3))
        )
        columns[f"rotors.{rotor.name}.drag_coefficient"] = vehicle.load_column(draw, load(np.zeros(3), drag))
    for name, part in [("body", airframe.body), *((link.name, link) for link in airframe.links)]:
        if part.wing is not None:
            names = FORCE_NAMES[part.wing.coefficients.kind] + MOMENT_NAMES
            block = vehicle.wing_columns(draw, name)
            columns |= {
                f"{_prefix(name, 'links')}.wing.{x}": block[:, index] for index, x in enumerate(names)
            }
    return columns


def _parameters(vehicle: PinocchioVehicle) -> dict[str, float]:
    """Return every parameter by name; wings must have constant coefficients."""
    airframe = vehicle.airframe
    values: dict[str, float] = {}
    rotors = {rotor.name: rotor for rotor in airframe.rotors}
    for name, block in vehicle.inertial_parameters().items():
        prefix = _prefix(name, "rotors" if name in rotors else "links")
        values |= {f"{prefix}.{entry}": float(x) for entry, x in zip(INERTIAL_NAMES, block, strict=True)}
    for rotor in airframe.rotors:
        values[f"rotors.{rotor.name}.thrust_coefficient"] = rotor.thrust_coefficient
        values[f"rotors.{rotor.name}.drag_coefficient"] = rotor.thrust_coefficient * rotor.torque_ratio
    for name, part in [("body", airframe.body), *((link.name, link) for link in airframe.links)]:
        if part.wing is not None:
            table = part.wing.coefficients
            names = FORCE_NAMES[table.kind] + MOMENT_NAMES
            values |= {f"{_prefix(name, 'links')}.wing.{x}": float(getattr(table, x)) for x in names}
    return values


def _compare(seed: int, features: Features | None = None) -> None:
    batch = random_batch(seed, features, wrenches=False)
    given = arguments(batch)
    matrices = batched(compute_regressor, given.model, given.state, *given.accelerations, given.environment)
    matrices = given.order.to_file(matrices, axis=1)
    names = list(regressor_names(Model.from_airframe(batch.airframes[0])))
    for airframe, draw, ours in zip(batch.airframes, batch.draws, matrices, strict=True):
        vehicle = PinocchioVehicle(airframe)
        columns = _oracle(vehicle, draw)
        assert sorted(names) == sorted(columns)
        assert ours.shape == (6 + len(draw.rates), len(names))
        for name, column in zip(names, ours.T, strict=True):
            assert relative_error(column, columns[name]) < TOLERANCE, name
        if features == LINEAR:
            parameters = _parameters(vehicle)
            total = ours @ np.array([parameters[name] for name in names])
            needed = vehicle.inverse(draw, np.concatenate([draw.acceleration, draw.accelerations]))
            assert relative_error(total, needed) < TOLERANCE


@pytest.mark.parametrize("seed", [0, 3])
def test_every_column(seed: int) -> None:
    _compare(seed)


@pytest.mark.parametrize("seed", [7])
def test_regressor_times_parameters_is_inverse_dynamics(seed: int) -> None:
    _compare(seed, LINEAR)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_many(seed: int) -> None:
    _compare(seed)
    _compare(seed, LINEAR)
