"""What the rows of a window find is what the multibody dynamics of a changed vehicle does."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Drive, Environment, Model, State, forward_dynamics
from haltere.dynamics.sensors.imu import sense_motion
from haltere.estimation.cog.rows import rows_of
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.vehicle import CogError, CogNumbers
from haltere.estimation.cog.windows import Windows, add_sample

SETTINGS = CogSettings()
SHIFT = np.array([0.012, -0.007, 0.0])
COUNT = 51


def window_of(name, shift, strength, spin_up=0.0):
    """The rows of one window of a vehicle whose centre of mass and rotors are not those of its file, just let go."""
    airframe = from_catalogue(name)
    model, numbers = Model.from_airframe(airframe), CogNumbers.from_airframe(airframe)
    links, rotors = model.links, model.rotors
    body = airframe.total_mass / links.mass[0]
    scale = 1.0 + jnp.asarray(strength)
    changed = replace(
        model,
        links=replace(links, com=links.com.at[0].add(body * jnp.asarray(shift))),
        rotors=replace(
            rotors,
            thrust_coefficient=rotors.thrust_coefficient * scale,
            drag_coefficient=rotors.drag_coefficient * scale,
        ),
    )
    speeds = numbers.hover_speeds()
    state = replace(State.rest(model), rotor_rates=speeds)
    drive = Drive.accelerations(model, 0.0, spin_up * jnp.ones(len(airframe.rotors)))
    motion = forward_dynamics(changed, state, drive, Environment())
    gravity = jnp.asarray(Environment().gravity)
    force, _ = sense_motion(changed, state, motion, gravity, 0, numbers.imu_position, jnp.eye(3))
    angular = motion.acceleration[3:]
    windows, dt = Windows.zero(len(airframe.rotors), SETTINGS.window), SETTINGS.window / COUNT
    for k in range(COUNT):
        gyro = angular * (k - 0.5 * COUNT) * dt
        raw = jnp.concatenate([gyro, force]), speeds, speeds
        windows = add_sample(windows, numbers, SETTINGS.window, jnp.asarray(dt), gyro, force, speeds, raw)
    return numbers, rows_of(windows, jnp.asarray(0), numbers, SETTINGS, speeds**2)


@pytest.mark.parametrize("name", ["neo", "hummingbird", "coaxial"])
def test_an_offset_is_read_in_metres(name):
    _, rows = window_of(name, SHIFT, 0.0)
    assert np.asarray(rows.value[:2]) == pytest.approx(SHIFT[:2], abs=2e-5)
    assert rows.axes == pytest.approx(np.eye(3), abs=1e-9)
    assert rows.valid[:2].all()


def test_stronger_rotors_are_read_by_their_slopes():
    strength = np.array([0.02, -0.01, 0.0, 0.01])
    _, rows = window_of("hummingbird", np.zeros(3), strength)
    assert np.asarray(rows.value[:2]) == pytest.approx(np.asarray(rows.rotor_slopes) @ strength, abs=1e-5)
    _, tilted = window_of("neo", np.zeros(3), np.array([0.02, 0.0, 0.0, -0.02, 0.0, 0.0]))
    assert np.asarray(tilted.value[:2]) == pytest.approx(
        np.asarray(tilted.rotor_slopes) @ [0.02, 0, 0, -0.02, 0, 0], abs=2e-5
    )


def test_force_is_what_the_rotors_do_not_explain():
    numbers, rows = window_of("hummingbird", np.zeros(3), np.full(4, 0.05))
    lift = 0.05 * float(numbers.vehicle.gravity)
    assert np.asarray(rows.value[2:]) == pytest.approx([0.0, 0.0, lift], abs=1e-6)
    assert float(rows.thrust_now) == pytest.approx(float(numbers.vehicle.gravity), rel=1e-6)


def test_spin_up_is_no_offset():
    _, rows = window_of("hummingbird", SHIFT, 0.0, spin_up=200.0)
    assert np.asarray(rows.value[:2]) == pytest.approx(SHIFT[:2], abs=2e-5)


def test_a_vehicle_without_rotors_is_refused():
    airframe = from_catalogue("hummingbird").model_copy(update={"rotors": ()})
    with pytest.raises(CogError, match="no rotor"):
        CogNumbers.from_airframe(airframe)


def test_jit_and_eager_agree():
    numbers, rows = window_of("hummingbird", SHIFT, 0.0)
    windows = Windows.zero(4, SETTINGS.window)
    empty = jax.jit(rows_of, static_argnums=3)(
        windows, jnp.asarray(0), numbers, SETTINGS, numbers.hover_speeds() ** 2
    )
    assert not empty.valid.any()
    assert np.isfinite(empty.value).all()
    assert rows.value.shape == empty.value.shape
