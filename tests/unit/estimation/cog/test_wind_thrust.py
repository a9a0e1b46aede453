"""What wind does to the thrust: the rule against blade elements and momentum, and which reading counts as wind."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.state import AIR_SLOW, BIAS, FIXED
from haltere.estimation.cog.wind_thrust import GAIN, GAIN_SIGMA, wind_thrust_of

GRAVITY, SETTINGS = 9.81, CogSettings()


def gain_and_drag(wind, induced, tip, slope, damping):
    """Relative gain of thrust of a rotor that hovers in wind, and drag over weight: equation (1) of the module."""
    hover = induced / tip
    pitch = 2 * hover**2 + slope * hover

    def leaning(drag):
        lean = np.arcsin(drag)
        across, climb = wind * np.cos(lean) / tip, wind * np.sin(lean) / tip

        def excess(inflow):
            return (
                2 * (inflow - climb) * np.hypot(across, inflow)
                - pitch * (1 + 1.5 * across**2)
                + slope * inflow
            )

        inflow = brentq(excess, 1e-4, 1.0)
        return (pitch * (1 + 1.5 * across**2) - slope * inflow) / (2 * hover**2) - 1

    drag = damping * wind / GRAVITY
    return leaning(drag), drag


def test_the_gain_is_that_of_blade_elements():
    """Over winds, propellers (induced and tip speed, slope of the lift) and drag of the body."""
    grid = itertools.product(
        (3.0, 4.5, 6.0), ((4.3, 50.0), (5.5, 60.0), (7.3, 80.0)), (0.12, 0.18), (0.22, 0.27, 0.32)
    )
    pairs = [
        gain_and_drag(wind, induced, tip, slope, damping) for wind, (induced, tip), slope, damping in grid
    ]
    ratio = np.array([gain / drag for gain, drag in pairs])
    assert ratio.mean() == pytest.approx(GAIN, abs=0.05)
    assert ratio.std() == pytest.approx(GAIN_SIGMA, abs=0.03)
    assert np.mean(np.abs(ratio - GAIN) < 1.96 * GAIN_SIGMA) > 0.9


def lift(felt, gust):
    """Of a steady lateral reading that the filter has put into the bias, and gusts of that deviation, m/s2."""
    mean = jnp.zeros(FIXED + 4).at[BIAS.start].set(felt / 2).at[AIR_SLOW.start].set(felt / 2)
    levels = jnp.zeros((4, 5)).at[2].set(gust**2).at[3].set(3.0)
    return wind_thrust_of(SETTINGS, mean, jnp.eye(3), levels, jnp.asarray(GRAVITY))


def test_calm_air_leaves_a_steady_reading_to_the_bias():
    calm = lift(0.3, 0.005)
    assert float(calm.thrust) < 1e-3
    assert float(calm.sigma) < 2e-3
    np.testing.assert_allclose(calm.drag, 0.0, atol=2e-3)


def test_gusty_air_explains_a_steady_reading():
    windy = lift(1.2, 0.4)
    np.testing.assert_allclose(windy.drag, [1.2, 0.0], rtol=0.05)
    assert float(windy.thrust) == pytest.approx(GAIN * 1.2 / GRAVITY, rel=0.05)
    assert float(windy.weight) == pytest.approx(np.cos(np.arcsin(1.2 / GRAVITY)), abs=2e-3)


def test_far_beyond_the_rule_it_is_doubted():
    strong = lift(3.5, 1.0)
    assert float(strong.sigma) > float(strong.thrust)
