"""The oracles themselves: Pinocchio and MuJoCo agree, and the wrenches obey what is known about them."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from haltere.airframe import Airframe

from .comparison import assert_within, relative_error, solution_errors
from .loads import rotation_matrix, rotor_wrench, wing_basis, wing_wrench
from .mujoco_oracle import MujocoVehicle
from .pinocchio_oracle import PinocchioVehicle, Sensitivity
from .random_state import Draw, random_draw, random_torque_given
from .random_vehicle import INERTIAL, Features, VehicleTopology, random_airframe, random_topology
from .tangent import central_differences

CI_SEEDS = range(10)


@pytest.mark.parametrize("seed", range(40))
def test_pinocchio_and_mujoco_agree(seed: int) -> None:
    topology = random_topology(seed)
    given = random_torque_given(topology, seed)
    rng = np.random.default_rng([seed, 4])
    errors = []
    for _ in range(3):
        airframe = random_airframe(topology, rng)
        draw = random_draw(airframe, rng, given)
        ours, other = PinocchioVehicle(airframe).forward(draw), MujocoVehicle(airframe).forward(draw)
        errors.append(solution_errors(ours, other, len(topology.moving_links)))
        np.testing.assert_allclose(ours.torque[:6], 0.0, atol=1e-9)
        np.testing.assert_allclose(other.torque[:6], 0.0, atol=1e-9)
    assert_within(errors, 1e-10)


def test_the_topologies_of_the_quick_tests_have_every_feature() -> None:
    topologies = [random_topology(seed) for seed in CI_SEEDS]
    links = [link for topology in topologies for link in topology.links]
    rotors = [rotor for topology in topologies for rotor in topology.rotors]
    wings = [
        wing
        for topology in topologies
        for wing in (topology.body_wing, *(x.wing for x in topology.links))
        if wing
    ]
    assert {len(topology.moving_links) for topology in topologies} >= {0, 4}
    assert {len(topology.rotors) for topology in topologies} >= {1, 8}
    assert {rotor.kind for rotor in rotors} == {"massless", "point", "disc", "blade"}
    assert {(rotor.spin, rotor.inflow) for rotor in rotors} == {
        (s, i) for s in ("ccw", "cw") for i in (False, True)
    }
    assert {wing.kind for wing in wings} == {"body", "wind"}
    assert {max(wing.dimensions) for wing in wings} >= {0, 2}
    assert {wing.full_range for wing in wings} == {False, True}
    fixed = {(x.name, y) for y, topology in enumerate(topologies) for x in topology.links if x.fixed}
    carried = {(rotor.link, y) for y, topology in enumerate(topologies) for rotor in topology.rotors}
    assert fixed & carried, "a rotor on a fixed link"
    below = {(link.parent, y) for y, topology in enumerate(topologies) for link in topology.moving_links}
    assert fixed & below, "a joint on a fixed link"
    assert any(link.parent != "body" for link in links)
    assert any(link.drag for link in links)


@pytest.mark.parametrize("kind", ["body", "wind"])
def test_wing_frame_follows_the_flow(kind: str) -> None:
    rng = np.random.default_rng(11)
    for seed in range(20):
        topology = random_topology(seed, Features(wings=(kind,)))  # type: ignore[arg-type]
        wing = random_airframe(topology, rng).body.wing
        if wing is None:
            continue
        velocity = rng.normal(0.0, 10.0, 3)
        basis, scale = wing_basis(wing, velocity, 1.2)
        speed = np.linalg.norm(velocity)
        if kind == "wind":
            np.testing.assert_allclose(basis @ [speed, 0.0, 0.0], velocity, atol=1e-12 * speed)
        np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-14)
        np.testing.assert_allclose(scale[:3], 0.6 * wing.area * speed**2 * np.array([-1.0, 1.0, 1.0]))
        assert np.all(np.array(wing_wrench(wing, np.zeros(3), 1.2)) == 0.0)


def test_a_rotor_never_gains_energy_from_its_drag() -> None:
    rng = np.random.default_rng(12)
    for seed in range(20):
        rotor = random_airframe(random_topology(seed), rng).rotors[0]
        for rate in (-300.0, 0.0, 300.0):
            force, moment = rotor_wrench(rotor, rate, np.zeros(3))
            handed = 1.0 if rotor.spin == "ccw" else -1.0
            axis = np.array(rotor.axis) / np.linalg.norm(rotor.axis)
            assert moment @ axis * handed * rate <= 0.0
            np.testing.assert_allclose(force, rotor.thrust_coefficient * rate * abs(rate) * axis, atol=1e-15)


def test_rotation_matrix_is_pinocchios() -> None:
    rng = np.random.default_rng(13)
    wxyz = rng.standard_normal(4)
    wxyz /= np.linalg.norm(wxyz)
    np.testing.assert_allclose(rotation_matrix(wxyz), pin.Quaternion(*wxyz).toRotationMatrix(), atol=1e-15)


def _inertial_case(seed: int, torque: bool) -> tuple[PinocchioVehicle, Draw]:
    topology = random_topology(seed, INERTIAL)
    rng = np.random.default_rng([seed, 5])
    airframe = random_airframe(topology, rng)
    given = random_torque_given(topology, seed)
    draw = random_draw(airframe, rng, (True,) * len(given) if torque else given, rotor_speed=100.0)
    return PinocchioVehicle(airframe), draw


@pytest.mark.parametrize("torque", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_pinocchio_derivatives_are_those_of_differences(seed: int, torque: bool) -> None:
    vehicle, draw = _inertial_case(seed, torque)
    exact = vehicle.derivatives(draw)
    rough: Sensitivity = central_differences(
        lambda other: vehicle.forward(other, air=False).acceleration, draw
    )
    assert relative_error(exact.d_configuration, rough.d_configuration) < 1e-8
    assert relative_error(exact.d_velocity, rough.d_velocity) < 1e-8
    assert relative_error(exact.d_drive, rough.d_drive) < 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_pinocchio_regressor_times_parameters_is_inverse_dynamics(seed: int) -> None:
    vehicle, draw = _inertial_case(seed, torque=True)
    acceleration = np.concatenate([draw.acceleration, draw.accelerations])
    columns = vehicle.inertial_regressor(draw, acceleration)
    parameters = vehicle.inertial_parameters()
    total = sum(columns[name] @ parameters[name] for name in columns)
    still = vehicle.inverse(draw, acceleration, air=False)
    external = sum(vehicle.load_column(draw, load) for load in vehicle.external_loads(draw, air=False))
    assert relative_error(np.asarray(total + external), still) < 1e-12


def test_mujoco_flight_converges_with_fourth_order() -> None:
    topology = random_topology(3, INERTIAL)
    rng = np.random.default_rng(14)
    airframe = random_airframe(topology, rng)
    draw = random_draw(
        airframe,
        rng,
        (True,) * (len(topology.moving_links) + len(topology.rotors)),
        air=False,
        rotor_speed=30.0,
    )
    force, moment = rng.normal(0.0, 2.0, 3), rng.normal(0.0, 0.1, 3)
    ends = [MujocoVehicle(airframe, step).fly(draw, 0.2, force, moment).twist for step in (8e-4, 4e-4, 2e-4)]
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert 12.0 < ratio < 20.0


def _numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every float in nested dictionaries and lists."""
    if isinstance(value, float):
        yield path
    elif isinstance(value, dict | list | tuple):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in items:
            yield from _numbers(entry, (*path, key))


def _changed(airframe: Airframe, path: tuple[Any, ...]) -> Airframe:
    """Return an airframe with one number made a little larger."""
    tree = json.loads(airframe.model_dump_json(exclude_unset=True))
    node = tree
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = 1.001 * node[path[-1]] + 1e-9
    return Airframe.model_validate(tree)


def test_every_number_of_an_airframe_reaches_the_oracle() -> None:
    """Nothing is compared by being ignored on both sides."""
    features = Features(wing_tables=False, rotor_kinds=("blade",))
    seed = next(s for s in range(100) if _complete(random_topology(s, features)))
    topology = random_topology(seed, features)
    rng = np.random.default_rng([seed, 7])
    airframe = random_airframe(topology, rng)
    draw = random_draw(airframe, rng, random_torque_given(topology, seed))
    before = PinocchioVehicle(airframe).forward(draw)
    tree = json.loads(airframe.model_dump_json(exclude_unset=True))
    paths = [path for path in _numbers(tree) if path[-1] != "reduced_rate_limit" and "wxyz" not in path]
    assert len(paths) > 100
    for path in paths:
        after = PinocchioVehicle(_changed(airframe, path)).forward(draw)
        assert relative_error(after.acceleration, before.acceleration) > 1e-13, path


def _complete(topology: VehicleTopology) -> bool:
    parts = [*topology.links, *topology.rotors]
    wings = {link.wing.kind for link in topology.links if link.wing}
    return (
        len(parts) < 9
        and len(wings) == 2
        and any(x.inflow for x in topology.rotors)
        and any(x.drag for x in topology.links)
    )
