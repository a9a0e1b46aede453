"""The update and the step of a covariance against the textbook forms, written with NumPy."""

import jax.numpy as jnp
import numpy as np

from haltere.estimation.core.kalman import propagate, solve, update

RNG = np.random.default_rng(7)
ROOT = RNG.normal(size=(9, 9))
COV = ROOT @ ROOT.T
H = RNG.normal(size=(3, 9))
R = np.array([0.5, 0.1, 2.0])
INNOVATION = RNG.normal(size=3)


def test_update_is_the_information_form() -> None:
    new, gain = update(
        jnp.asarray(COV), jnp.asarray(H), jnp.asarray(R), jnp.asarray(INNOVATION), jnp.asarray(True)
    )
    information = np.linalg.inv(COV) + H.T @ np.diag(1 / R) @ H
    np.testing.assert_allclose(new, np.linalg.inv(information), rtol=1e-8, atol=1e-8)
    S = H @ COV @ H.T + np.diag(R)
    np.testing.assert_allclose(gain.nis, INNOVATION @ np.linalg.solve(S, INNOVATION), rtol=1e-9)
    np.testing.assert_allclose(gain.gain @ INNOVATION, COV @ H.T @ np.linalg.solve(S, INNOVATION), rtol=1e-8)


def test_missing_or_rejected_readings_change_nothing() -> None:
    for valid, gate in ((False, jnp.inf), (True, 0.0)):
        args = (jnp.asarray(COV), jnp.asarray(H), jnp.asarray(R), jnp.asarray(INNOVATION))
        new, gain = update(*args, jnp.asarray(valid), gate)
        np.testing.assert_array_equal(new, COV)
        assert not bool(gain.used)
        assert not np.any(np.asarray(gain.gain))


def test_step_moves_the_first_errors_only() -> None:
    Phi = RNG.normal(size=(4, 9))
    F = np.eye(9)
    F[:4] = Phi
    np.testing.assert_allclose(propagate(jnp.asarray(COV), jnp.asarray(Phi)), F @ COV @ F.T, atol=1e-12)


def test_small_systems_are_solved() -> None:
    S, B = COV[:5, :5], RNG.normal(size=(5, 7))
    np.testing.assert_allclose(
        solve(jnp.asarray(S), jnp.asarray(B)), np.linalg.solve(S, B), rtol=1e-9, atol=1e-9
    )
