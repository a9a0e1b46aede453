"""Motor curves and their inverse, lag, delay."""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics.motors import Motors

COMMANDS = np.linspace(0.0, 1.0, 11)


def motors(kappa: float, kind: float, idle: float = 50.0) -> Motors:
    one = jnp.ones(len(COMMANDS))
    return Motors(0.02 * one, kappa * one, kind * one, idle * one, 800.0 * one, 0.0 * one)


@pytest.mark.parametrize("kappa", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", [0.0, 1.0])
def test_command_inverts_target(kappa: float, kind: float) -> None:
    m = motors(kappa, kind)
    speed = m.target(jnp.asarray(COMMANDS))
    np.testing.assert_allclose(m.command(speed), COMMANDS, atol=1e-6)
    assert float(speed[0]) == pytest.approx(50.0, abs=1e-3)
    assert float(speed[-1]) == pytest.approx(800.0)
    assert np.all(np.diff(np.asarray(speed)) > 0.0)


def test_curves_by_hand() -> None:
    share = 0.4 * 0.25 + 0.6 * 0.5
    kappa = motors(0.4, 1.0).target(jnp.full(len(COMMANDS), 0.25))
    assert float(kappa[0]) == pytest.approx(50.0 + 750.0 * share)
    quadratic = motors(0.4, 0.0).target(jnp.full(len(COMMANDS), 0.25))
    assert float(quadratic[0]) == pytest.approx(50.0 + 750.0 * np.sqrt(0.4 * 0.0625 + 0.6 * 0.25))


def test_commands_saturate() -> None:
    m = motors(1.0, 0.0)
    np.testing.assert_allclose(m.target(jnp.full(len(COMMANDS), 7.0)), 800.0)
    np.testing.assert_allclose(m.command(jnp.full(len(COMMANDS), 1e4)), 1.0)
    np.testing.assert_allclose(m.command(jnp.full(len(COMMANDS), -5.0)), 0.0)


def test_from_the_catalogue() -> None:
    found = Motors.from_airframe(from_catalogue("indiflight-3inch"))
    np.testing.assert_allclose(found.max_speed, 4113.0, rtol=1e-3)
    np.testing.assert_allclose(found.idle_speed, 450.0, rtol=1e-3)
    np.testing.assert_allclose(found.time_constant, 0.02)
