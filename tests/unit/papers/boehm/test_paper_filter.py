"""The iterated update against a direct minimisation of the posterior by scipy, and against the linear case."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

from haltere.estimation.core.kalman import update
from haltere.estimation.core.space import Block, Space
from haltere.lie import so3
from haltere.papers.boehm.paper_filter import iterated_update

SPACE = Space(
    (Block("turn", "rotation"), Block("axis", "direction"), Block("arm"), Block("scale", "positive", (1,)))
)
MEAN = {
    "turn": so3.exp_wxyz(jnp.asarray([0.4, -0.3, 0.8])),
    "axis": jnp.asarray([0.36, 0.48, 0.8]),
    "arm": jnp.asarray([0.3, -0.2, 0.1]),
    "scale": jnp.asarray([1.5]),
}
R = jnp.full(6, 0.02**2)


def seen(state):
    turn = so3.from_wxyz(state["turn"])
    return jnp.concatenate([turn @ state["arm"] * state["scale"], turn.T @ state["axis"]])


def linearise(reading, state):
    def residual(d):
        return reading - seen(SPACE.plus(state, d))

    still = jnp.zeros(SPACE.dimension)
    return residual(still), -jax.jacfwd(residual)(still)


def case(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(9, 9)) * 0.12
    cov = jnp.asarray(root @ root.T + 0.01 * np.eye(9))
    truth = SPACE.plus(MEAN, jnp.asarray(np.linalg.cholesky(cov) @ rng.normal(size=9)))
    return cov, seen(truth) + 0.02 * jnp.asarray(rng.normal(size=6))


def test_many_iterations_reach_the_top_of_the_posterior() -> None:
    go = jax.jit(lambda z, P: iterated_update(SPACE, MEAN, P, lambda x: linearise(z, x), R, 40)[:2])
    for seed in range(3):
        cov, reading = case(seed)
        mean, after = go(reading, cov)
        root = np.linalg.cholesky(np.linalg.inv(cov)).T

        def cost(d, z=reading, root=root):
            return np.concatenate([root @ d, np.asarray((z - seen(SPACE.plus(MEAN, jnp.asarray(d)))) / 0.02)])

        best = least_squares(cost, np.asarray(SPACE.minus(mean, MEAN)), xtol=1e-14, ftol=1e-14, gtol=1e-14)
        np.testing.assert_allclose(SPACE.minus(mean, MEAN), best.x, atol=1e-6)
        # in the errors of the prior, the covariance is the inverse of Gauss and Newton's normal matrix
        back = jax.jacfwd(lambda d, m=mean: SPACE.minus(SPACE.plus(m, d), MEAN))(jnp.zeros(9))
        np.testing.assert_allclose(
            back @ after @ back.T, np.linalg.inv(best.jac.T @ best.jac), rtol=1e-4, atol=1e-6
        )


def test_one_iteration_is_the_extended_filter() -> None:
    cov, reading = case(7)
    mean, after, gain = iterated_update(SPACE, MEAN, cov, lambda x: linearise(reading, x), R, 1)
    residual, H = linearise(reading, MEAN)
    new, plain = update(cov, H, R, residual, jnp.asarray(True))
    shift = plain.gain @ residual
    np.testing.assert_allclose(SPACE.minus(mean, MEAN), shift, atol=1e-12)
    np.testing.assert_allclose(after, SPACE.transported(MEAN, shift, new), atol=1e-12)
    np.testing.assert_allclose(gain.nis, plain.nis)


def test_outlier_and_missing_reading_change_nothing() -> None:
    cov, reading = case(2)
    for bad, gate in ((reading + 5.0, 40.0), (reading.at[0].set(jnp.nan), jnp.inf)):
        mean, after, gain = iterated_update(SPACE, MEAN, cov, lambda x, z=bad: linearise(z, x), R, 3, gate)
        assert not bool(gain.used)
        np.testing.assert_array_equal(after, cov)
        for name, value in MEAN.items():
            np.testing.assert_array_equal(mean[name], value)
