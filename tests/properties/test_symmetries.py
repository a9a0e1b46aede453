"""Moving a vehicle along a named direction, by a finite step, changes nothing that its sensors read in a flight."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics.integrator import STAGES
from haltere.observability import Question, RationalVehicle, analyse
from haltere.observability.rank import exact
from haltere.observability.rank.system import MOTION, OUTPUTS, equations

SUBJECTS = {
    "generic": lambda: RationalVehicle.generic(4, np.random.default_rng(1)),
    "hummingbird": lambda: RationalVehicle.from_airframe(from_catalogue("hummingbird")),
    "x500": lambda: RationalVehicle.from_airframe(from_catalogue("x500")),
}


@jax.jit
def flight(z, spin, inputs, dt):
    """(T, 13) outputs of a flight with held inputs (T, N), by the classical Runge-Kutta method."""

    def slope(x, u):
        both = equations(jnp.concatenate([x, z[MOTION:]]), jnp.zeros(6), spin, u, u)
        return both[:MOTION], both[MOTION:]

    def step(x, u):
        def stage(carry, weights):
            k, total = carry
            k, y = slope(x + weights[0] * dt * k, u)
            return (k, total + weights[1] * dt * k), y

        start = (jnp.zeros(MOTION), jnp.zeros(MOTION))
        (_, change), seen = jax.lax.scan(stage, start, jnp.asarray(STAGES))
        return x + change, seen[0]

    return jax.lax.scan(step, z[:MOTION], inputs)[1]


@pytest.mark.parametrize("name", SUBJECTS)
def test_finite_steps_along_a_symmetry_change_no_output(name):
    vehicle = SUBJECTS[name]()
    rng = np.random.default_rng(2)
    result = analyse(vehicle, Question(("pose", "imu")))
    _, _, time, square = vehicle.units()
    z = exact.floats((*result.matrix.motion, *vehicle.constants))
    inputs = square * rng.uniform(0.5, 1.5, (60, 4))
    spin = np.asarray(vehicle.spin, float)
    before = np.asarray(flight(z, spin, inputs, time / 20))
    assert before.shape == (60, OUTPUTS)
    size = 1.0 + np.abs(before).max(axis=0)
    assert len(result.directions) >= 6
    for direction in result.directions:
        for step in (0.3, -0.2):
            moved = direction.symmetry.transform(z, step)
            assert np.abs(moved - z).max() > 1e-4
            after = np.asarray(flight(moved, spin, inputs, time / 20))
            assert np.all(np.abs(after - before) < 1e-9 * size), (direction.kind, step)


def test_a_step_that_is_no_symmetry_is_seen():
    vehicle = SUBJECTS["hummingbird"]()
    result = analyse(vehicle, Question(("pose", "imu")))
    z = exact.floats((*result.matrix.motion, *vehicle.constants))
    inputs = np.full((60, 4), vehicle.units()[3])
    spin = np.asarray(vehicle.spin, float)
    heavier = z.copy()
    heavier[33] *= 1.01
    change = flight(heavier, spin, inputs, 0.01) - flight(z, spin, inputs, 0.01)
    assert np.abs(change).max() > 1e-3
