"""What the filter expects of a vehicle is what the multibody dynamics of the changed vehicle does."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Drive, Environment, Model, State, forward_dynamics
from haltere.dynamics.sensors.imu import sense_motion
from haltere.estimation.cog.bank import linearised
from haltere.estimation.cog.vehicle import CogError, CogNumbers, predicted_response


def changed(name, key):
    """A vehicle whose body is shifted, rotors stronger, and its motion by forward dynamics; and the filter's words."""
    airframe = from_catalogue(name)
    model = Model.from_airframe(airframe)
    keys = jax.random.split(key, 6)
    total = airframe.total_mass
    shift = 0.01 * jax.random.normal(keys[0], (3,))
    scale = 0.05 * jax.random.normal(keys[1], (len(airframe.rotors),))
    links, rotors = model.links, model.rotors
    body = (
        total / links.mass[0]
    )  # the rotors have mass too on some vehicles: move the body so that all moves by `shift`
    moved = replace(links, com=links.com.at[0].add(body * shift))
    stronger = replace(
        rotors,
        thrust_coefficient=rotors.thrust_coefficient * (1 + scale),
        drag_coefficient=rotors.drag_coefficient * (1 + scale),
    )
    rest = State.rest(model)
    speeds = CogNumbers.from_airframe(airframe).hover_speeds() * jax.random.uniform(
        keys[2], scale.shape, float, 0.8, 1.2
    )
    rate = jax.random.normal(keys[3], (3,))
    velocity = jax.random.normal(keys[4], (3,))
    state = replace(rest, twist=jnp.concatenate([velocity, rate]), rotor_rates=speeds)
    spin_up = 100.0 * jax.random.normal(keys[5], scale.shape)
    return (
        airframe,
        replace(model, links=moved, rotors=stronger),
        state,
        (rate, shift, scale, speeds, spin_up),
    )


@pytest.mark.parametrize("name", ["neo", "hummingbird"])
def test_the_expected_motion_is_that_of_the_changed_vehicle(name):
    airframe, model, state, (rate, shift, scale, speeds, spin_up) = changed(name, jax.random.key(3))
    numbers = CogNumbers.from_airframe(airframe)
    motion = forward_dynamics(model, state, Drive.accelerations(model, 0.0, spin_up), Environment())
    gravity = jnp.asarray(Environment().gravity)
    f, _ = sense_motion(model, state, motion, gravity, 0, numbers.imu_position, jnp.eye(3))
    alpha, force = predicted_response(
        numbers, rate, shift, jnp.zeros(()), jnp.zeros(3), scale, speeds, spin_up
    )
    assert alpha == pytest.approx(np.asarray(motion.acceleration[3:]), rel=1e-9, abs=1e-9)
    assert force == pytest.approx(np.asarray(f), rel=1e-9, abs=1e-9)


def test_a_smaller_mass_is_thrown_harder_and_a_torque_turns():
    numbers = CogNumbers.from_airframe(from_catalogue("neo"))
    speeds, none = numbers.hover_speeds(), jnp.zeros(3)
    turn = jnp.asarray([0.1, -0.2, 0.3])
    alpha, force = predicted_response(
        numbers, none, none, jnp.asarray(0.1), turn, jnp.zeros(6), speeds, jnp.zeros(6)
    )
    assert force == pytest.approx([0.0, 0.0, 1.1 * 9.81], abs=1e-9)
    assert alpha == pytest.approx(np.asarray(turn), abs=1e-9)


def test_the_slopes_are_those_of_differences():
    numbers = CogNumbers.from_airframe(from_catalogue("neo"))
    rng = np.random.default_rng(0)
    x = jnp.asarray(0.02 * rng.normal(size=19))
    speeds, rates = numbers.hover_speeds(), jnp.zeros(6)
    evaluate = jax.jit(lambda x, w: linearised(numbers, x, w, rates))
    _, slope, by_speed = evaluate(x, speeds)
    for i in range(19):
        step = 1e-5 * np.eye(19)[i]
        difference = (evaluate(x + step, speeds)[0] - evaluate(x - step, speeds)[0]) / 2e-5
        assert slope[:, i] == pytest.approx(np.asarray(difference), abs=2e-6)
    step = jnp.asarray([0.01, 0, 0, 0, 0, 0])
    difference = (evaluate(x, speeds + step)[0] - evaluate(x, speeds - step)[0]) / 0.02
    assert by_speed[:, 0] == pytest.approx(np.asarray(difference[:3]), abs=1e-6)


def test_the_neo_is_the_corrected_one():
    neo = from_catalogue("neo")
    axes = np.array([rotor.axis for rotor in neo.rotors])
    assert axes.sum(axis=0) == pytest.approx([0.0, 0.0, 6.0 * np.cos(np.deg2rad(5.0))], abs=1e-9)
    xx, yy, zz = neo.body.inertia[:3]
    assert max(xx, yy) < zz < xx + yy


def test_a_vehicle_without_rotors_is_refused():
    bare = from_catalogue("neo").model_copy(update={"rotors": ()})
    with pytest.raises(CogError, match="has no rotor"):
        CogNumbers.from_airframe(bare)
