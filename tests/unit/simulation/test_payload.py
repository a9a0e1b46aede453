"""Payloads: the vehicle weighs what hangs on it, and a cable swings as a pendulum does."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Environment, State
from haltere.dynamics.rigid import RigidVehicle
from haltere.foundation import HaltereError
from haltere.scenarios.flights import simulate_many
from haltere.scenarios.scenario_flight import payload_notes, simulate
from haltere.simulation import Vehicle
from haltere.simulation.payload import Payload, payload_change, with_cables, with_free_cables
from haltere.simulation.plant import accelerations
from haltere.simulation.scenario import scenario_from_text

NEO = from_catalogue("neo")
TABLE_II = (Payload(0.053, (0.610, -0.279, 0.0)), Payload(0.036, (0.905, -0.386, 0.0), drop=5.0))


@pytest.mark.parametrize(
    ("time", "mass", "com"), [(4.9, 2.942, (0.0221, -0.00975, 0.0)), (5.0, 2.906, (0.0111, -0.00509, 0.0))]
)
def test_table_two_of_the_paper(time, mass, com):
    vehicle = payload_change(TABLE_II)(Vehicle.from_airframe(NEO), jnp.asarray(time))
    numbers = RigidVehicle.from_model(vehicle.model, [(0.0, 1.0)] * 6)
    assert numbers.mass == pytest.approx(mass)
    assert numbers.com == pytest.approx(com, abs=6e-5)
    lever = np.asarray(numbers.com)
    parts = np.diag(NEO.body.inertia[:3]) - 2.853 * hat(lever) @ hat(lever)
    for load in TABLE_II if time < 5.0 else TABLE_II[:1]:
        arm = hat(np.asarray(load.position) - lever)
        parts -= load.mass * arm @ arm
    assert np.asarray(numbers.inertia) == pytest.approx(parts, abs=1e-12)


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


@pytest.mark.parametrize(("axis", "held"), [(0, True), (1, True), (0, False)])
def test_a_load_on_a_cable_swings_as_a_pendulum_below_a_free_body(axis, held):
    """With the pivot in the centre of a hovering body of mass M: angle'' = -(g / L) (1 + m / M) angle."""
    load = Payload(0.3, (0.0, 0.0, 0.0), cable=0.5, drop=jnp.inf if held else -1.0)
    vehicle = with_free_cables(Vehicle.from_airframe(with_cables(NEO, (load,))), (load,))
    vehicle = payload_change((load,))(vehicle, jnp.zeros(()))
    small = 1e-4
    state = replace(State.rest(vehicle.model), joint_angles=small * jnp.eye(2)[axis])
    weight = 9.81 * (2.853 + (0.3 if held else 0.0))
    push = jnp.zeros((3, 6)).at[0, 2].set(weight)
    motion = accelerations(vehicle, state, jnp.zeros(6), jnp.zeros(2), Environment(), push)
    ratio = 1.0 + (0.3 / 2.853 if held else 0.0)
    assert motion.joint_accelerations[axis] == pytest.approx(-9.81 / 0.5 * ratio * small, rel=1e-6)
    assert motion.joint_accelerations[1 - axis] == pytest.approx(0.0, abs=1e-12)


SWINGING = """
airframe = "neo"
duration = 0.5
[[payloads]]
mass = 0.2
position = [0, 0, -0.1]
cable = 0.4
attach = 0.1
drop = 0.3
"""


@pytest.mark.slow
def test_a_scenario_with_a_swinging_payload_flies_and_says_so():
    flight = simulate(scenario_from_text(SWINGING))
    assert not flight.not_finite()
    assert any("payload_1 of 0.2 kg swings on 0.4 m" in note for note in flight.notes)
    assert "payload_1_pitch" in flight["joints.angle"].columns


def test_a_drop_before_the_attachment_is_a_fault():
    scenario = scenario_from_text(SWINGING.replace("drop = 0.3", "drop = 0.05"))
    with pytest.raises(HaltereError, match="give a later drop"):
        payload_notes(scenario)


def test_a_campaign_refuses_payloads(tmp_path):
    with pytest.raises(HaltereError, match="one flight at a time"):
        simulate_many(scenario_from_text(SWINGING), 2, tmp_path)


def test_the_change_can_be_mapped_over_times():
    change = payload_change(TABLE_II)
    masses = jax.vmap(lambda t: change(Vehicle.from_airframe(NEO), t).model.links.mass[0])(
        jnp.asarray([0.0, 6.0])
    )
    assert masses == pytest.approx([2.942, 2.906])
