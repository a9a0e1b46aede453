"""A rollout is many steps of `haltere.simulation.plant`, for one vehicle and for batches of any size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.bench.simulation import flights
from haltere.dynamics import Environment, Model
from haltere.dynamics.model import locked_rotors
from haltere.dynamics.motors import Motors
from haltere.foundation import HaltereError
from haltere.simulation import TiltServos, Vehicle, rollout, step_vehicle
from haltere.simulation.rollouts import WIDEST, _is_rigid

DT = 2e-3
STEPS = 25
WINDY = Environment(wind=(2.0, -1.0, 0.5))


def vehicle_of(name: str, dtype=jnp.float64) -> Vehicle:
    """The catalogue vehicle; the Crazyflie as one rigid body."""
    airframe = from_catalogue(name)
    model = Model.from_airframe(airframe, dtype)
    body = locked_rotors(model) if name == "crazyflie" else model
    return Vehicle(body, Motors.from_airframe(airframe), TiltServos.from_airframe(airframe))


def stepped(vehicle: Vehicle, start, steps: int):
    """The same flights by a loop over `step_vehicle`."""

    def one(state, speed, joint):
        for_each = lambda now, _: (step_vehicle(vehicle, now, speed, joint, WINDY, DT)[0], None)  # noqa: E731
        return jax.lax.scan(for_each, state, None, length=steps)[0]

    batched = start[0].position.ndim == 2
    return jax.jit(jax.vmap(one) if batched else one)(*start)


@pytest.mark.parametrize("name", ["crazyflie", "hong-tilt-rotor"])
@pytest.mark.parametrize("batch", [1, 5])
def test_rollout_equals_steps(name: str, batch: int) -> None:
    vehicle = vehicle_of(name)
    assert _is_rigid(vehicle.model) == (name == "crazyflie")
    state, speed, joint = flights(vehicle, batch)
    start = (state, speed, joint + 0.3)
    end, expected = rollout(vehicle, DT, STEPS, WINDY)(*start), stepped(vehicle, start, STEPS)
    for got, want, before in zip(*(jax.tree.leaves(x) for x in (end, expected, start[0])), strict=True):
        assert got.shape == want.shape == before.shape
        scale = np.max(np.abs(want), initial=1.0)
        np.testing.assert_allclose(got, want, rtol=0.0, atol=1e-12 * scale)
    assert float(jnp.max(jnp.abs(end.position - state.position))) > 1e-3


def test_a_batch_in_pieces_equals_its_vehicles() -> None:
    vehicle, batch = vehicle_of("crazyflie"), 2 * WIDEST + 3
    start = flights(vehicle, batch)
    fly = rollout(vehicle, DT, STEPS)
    end = fly(*start)
    for i in (0, WIDEST, batch - 1):
        alone = fly(*jax.tree.map(lambda x, i=i: x[i], start))
        for got, want in zip(jax.tree.leaves(end), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(got[i], want, rtol=1e-12, atol=1e-12)


def test_the_model_says_the_number_type() -> None:
    vehicle = vehicle_of("crazyflie", jnp.float32)
    start = flights(vehicle, 3)
    end = rollout(vehicle, DT, STEPS)(*start)
    exact = rollout(vehicle_of("crazyflie"), DT, STEPS)(*start)
    assert {x.dtype for x in jax.tree.leaves(end)} == {jnp.dtype(jnp.float32)}
    np.testing.assert_allclose(end.position, exact.position, atol=1e-4)


def test_wrong_shapes_and_times_are_named() -> None:
    vehicle = vehicle_of("crazyflie")
    state, speed, joint = flights(vehicle, 1)
    with pytest.raises(HaltereError, match=r"\(3,\), \(3,\), \(0,\).*give \(3,\), \(4,\), \(0,\)"):
        rollout(vehicle, DT, STEPS)(state, speed[:3], joint)
    with pytest.raises(HaltereError, match="0 steps"):
        rollout(vehicle, DT, 0)
    with pytest.raises(HaltereError, match="dt above zero"):
        rollout(vehicle, -DT, STEPS)
