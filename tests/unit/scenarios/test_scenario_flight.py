"""Scenarios flown from Python: files, mappings, airframes, and a controller of one's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.foundation import HaltereError
from haltere.scenarios.scenario_flight import simulate
from haltere.simulation import Command
from haltere.simulation.scenario import load_scenario, make_scenario

HOVER = {"airframe": "hummingbird", "duration": 1.0, "seed": 3}


def test_a_mapping_a_file_and_an_airframe_fly_alike(tmp_path):
    file = tmp_path / "hover.toml"
    file.write_text('airframe = "hummingbird"\nduration = 1.0\nseed = 3\n', encoding="utf-8")
    said = []
    with jax.enable_x64(False):
        flight = simulate(HOVER, progress=said.append)
    assert said == ["flying hummingbird for 1 s", "reading the sensors"]
    assert flight.scenario == file.read_text(encoding="utf-8")
    for other in (file, load_scenario(file)[0], HOVER | {"airframe": from_catalogue("hummingbird")}):
        assert simulate(other) == flight


def test_a_seed_changes_the_noise_and_is_noted():
    one, other = (simulate(HOVER, seed=seed) for seed in (3, 4))
    assert one.notes == ("flown with seed 3",)
    assert not np.array_equal(one["imu.accel"].values, other["imu.accel"].values)
    np.testing.assert_array_equal(one["imu.accel"].values, simulate(HOVER)["imu.accel"].values)


def test_the_text_of_a_scenario_is_the_scenario():
    scenario, text = make_scenario(HOVER | {"ground": False, "wind": {"mean": [1, 0, 0]}})
    assert "ground = false" in text
    assert scenario.wind.mean == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"airframe": 3}, "airframe: got 3"), ({"duraton": 1.0}, "did you mean 'duration'")],
)
def test_a_bad_mapping_is_one_line(change, said):
    with pytest.raises(HaltereError, match=said) as error:
        simulate(HOVER | change)
    assert "\n" not in str(error.value)


# ------------------------------------------------------------------------------------------------ own controllers


def level(height_error, state):
    """Motor commands (4,) of a plain controller: height, and attitude about all axes, of a plus-shaped quadrotor."""
    climb = (state.R_WB @ state.twist[:3])[2]
    tilt, rate = state.wxyz[1:] * jnp.sign(state.wxyz[0]), state.twist[3:]
    roll, pitch, yaw = -jnp.asarray([0.6, 0.6, 0.2]) * tilt - jnp.asarray([0.06, 0.06, 0.1]) * rate
    lift = 0.54 + 0.3 * height_error - 0.15 * climb
    return lift + jnp.asarray([-pitch + yaw, roll - yaw, pitch + yaw, -roll - yaw])


def test_a_controller_of_ones_own_hovers():
    def controller(memory, time, state):
        error = 2.0 - state.position[2]
        return memory + 0.002 * error, level(error + 0.5 * memory, state)

    flight = simulate(
        {"airframe": "hummingbird", "duration": 6.0, "noise": {"enabled": False}},
        controller=controller,
        memory=0.0,
    )
    position = flight["truth.position"].values
    assert np.abs(position[-1] - [0.0, 0.0, 2.0]).max() < 0.1
    assert np.isfinite(flight["imu.accel"].values).all()


def test_an_own_controller_may_give_a_whole_command_and_keep_any_memory():
    def controller(memory, time, state):
        count, _ = memory
        return (count + 1, state.position), Command(jnp.full(4, 0.5), jnp.zeros(0))

    flight = simulate(HOVER, controller=controller, memory=(0, np.zeros(3)))
    np.testing.assert_array_equal(flight["rotors.command"].values, 0.5)


def test_a_vehicle_at_rest_is_flown_by_an_own_controller_too():
    still = HOVER | {"controller": {"kind": "none"}, "ground": False}
    flight = simulate(still, controller=lambda memory, time, state: (memory, jnp.full(4, 0.9)))
    assert flight["truth.rotors.speed"].values[0].max() == 0.0
    assert flight["truth.rotors.speed"].values[-1].min() > 500.0


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        (lambda memory, time, state: (memory, jnp.ones(3)), r"shape \(3,\); give \(4,\)"),
        (lambda memory, time, state: ((memory, time), jnp.ones(4)), "return a memory of the same form"),
    ],
)
def test_an_own_controller_that_is_at_fault_is_told_so(controller, said):
    with pytest.raises(HaltereError, match=said):
        simulate(HOVER, controller=controller, memory=0.0)
