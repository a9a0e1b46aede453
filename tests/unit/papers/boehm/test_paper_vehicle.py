"""The paper's state vector against the plant that flies it, its derivatives against differences, and its refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haltere.airframe import from_catalogue
from haltere.dynamics import Environment, State
from haltere.dynamics.sensors.imu import specific_force_and_rate
from haltere.foundation import HaltereError
from haltere.papers.boehm.flights import tilted
from haltere.papers.boehm.paper_vehicle import describe_paper_vehicle, slopes
from haltere.simulation import Vehicle
from haltere.simulation.plant import accelerations

AIRFRAME = tilted().model_copy(
    update={"rotors": tuple(r.model_copy(update={"time_constant": None}) for r in tilted().rotors)}
)
VEHICLE, PHYSICAL = describe_paper_vehicle(AIRFRAME)
SPEEDS = np.array([480.0, 431.0, 465.0, 440.0])
GRAVITY = np.asarray(PHYSICAL["gravity"])


def some_state():
    rng = np.random.default_rng(4)
    xyzw = Rotation.random(random_state=5).as_quat()
    moving = {"position": rng.normal(size=3), "velocity": rng.normal(size=3), "attitude": xyzw[[3, 0, 1, 2]]}
    moving |= {"rates": 3.0 * rng.normal(size=3), "accel_bias": rng.normal(size=3)}
    moving |= {"gyro_bias": 0.1 * rng.normal(size=3)}
    return {**{name: jnp.asarray(x) for name, x in moving.items()}, **PHYSICAL}


@pytest.fixture(scope="module")
def plant():
    """State, acceleration (6,) and what an IMU reads, by the simulator."""
    state, vehicle = some_state(), Vehicle.from_airframe(AIRFRAME)
    twist = jnp.concatenate([state["velocity"], state["rates"]])
    none = jnp.zeros(0)
    flown = State(state["position"], state["attitude"], twist, none, none, jnp.zeros(4), jnp.asarray(SPEEDS))
    gravity, imu = jnp.asarray(GRAVITY), AIRFRAME.imu[0]

    @jax.jit
    def go(flown):
        motion = accelerations(vehicle, flown, jnp.asarray(SPEEDS), none, Environment(gravity, jnp.zeros(3)))
        many = jax.tree.map(lambda x: x[None], (flown, motion))
        read = specific_force_and_rate(
            vehicle.model, *many, gravity, 0, jnp.asarray(imu.position), jnp.eye(3)
        )
        return motion.acceleration, jnp.concatenate([x[0] for x in read])

    return state, *(np.asarray(x) for x in go(flown))


def test_a_step_and_a_reading_are_those_of_the_plant(plant):
    state, acceleration, reading = plant
    dt = 1e-5
    later = jax.jit(VEHICLE.step)(state, SPEEDS, dt)
    change = [(np.asarray(later[name]) - np.asarray(state[name])) / dt for name in ("velocity", "rates")]
    np.testing.assert_allclose(np.concatenate(change), acceleration, rtol=1e-3, atol=2e-3)
    bias = np.concatenate([state["accel_bias"], state["gyro_bias"]])
    np.testing.assert_allclose(jax.jit(VEHICLE.imu)(state, SPEEDS), reading + bias, rtol=1e-9)
    turned = Rotation.from_quat(np.roll(np.array(state["attitude"]), -1))
    moved = (np.asarray(later["position"]) - np.asarray(state["position"])) / dt
    np.testing.assert_allclose(moved, turned.apply(np.array(state["velocity"])), atol=1e-3)
    turn = turned.inv() * Rotation.from_quat(np.roll(np.array(later["attitude"]), -1))
    np.testing.assert_allclose(turn.as_rotvec() / dt, state["rates"], rtol=1e-3)


def test_a_pose_is_that_of_the_sensor():
    state = some_state()
    turned = Rotation.from_quat(np.roll(np.array(state["attitude"]), -1))
    place = np.asarray(state["position"]) + turned.apply(np.array(PHYSICAL["pose_position"]))
    off, twist = np.array([0.01, -0.02, 0.03]), np.array([0.02, 0.01, -0.03])
    wxyz = np.roll((turned * Rotation.from_rotvec(twist)).as_quat(), 1)
    np.testing.assert_allclose(VEHICLE.pose_residual(state, place + off, wxyz), [*off, *twist], atol=1e-9)


def test_derivatives_are_those_of_differences():
    at, dt = some_state(), 0.005
    space = VEHICLE.space

    def function(state):
        later = VEHICLE.motion.minus(VEHICLE.step(state, SPEEDS, dt), VEHICLE.step(at, SPEEDS, dt))
        pose = VEHICLE.pose_residual(state, jnp.ones(3), at["attitude"])
        return jnp.concatenate([later, VEHICLE.imu(state, SPEEDS), pose])

    found = jax.jit(lambda: slopes(space, function, at))()
    everything = jax.jit(lambda error: function(space.plus(at, error)))
    size = np.full(space.dimension, 1e-5)
    size[space.slices["thrust_coefficient"]] = 1e-9
    for i, h in enumerate(size):
        d = h * np.eye(len(size))[i]
        difference = (np.asarray(everything(d)) - np.asarray(everything(-d))) / (2.0 * h)
        np.testing.assert_allclose(found[:, i], difference, atol=2e-5 * max(np.abs(difference).max(), 1.0))


def test_an_origin_that_is_not_the_centre_of_mass_is_refused():
    airframe = from_catalogue("hummingbird")
    body = airframe.body.model_copy(update={"com": (0.01, 0.0, 0.0)})
    with pytest.raises(HaltereError, match="move the origin"):
        describe_paper_vehicle(airframe.model_copy(update={"body": body}))
