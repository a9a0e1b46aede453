"""Both passes over a short stretch against dense Gaussian computations, and slopes against differences."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.unit.estimation.vehicle.chunk import ChunkOfNodes
from tests.unit.estimation.vehicle.quadrotor import nominal_vehicle, some_state

from haltere.estimation.vehicle.levels import KINDS, NAMES, first_levels
from haltere.estimation.vehicle.linearisation import Linear
from haltere.estimation.vehicle.marginal import (
    CHUNK,
    ROUNDING,
    START,
    START_BIAS,
    Backward,
    Mean,
    Sums,
    backwards,
    forwards,
    level_sums,
    programs,
    start,
)
from haltere.estimation.vehicle.motion import NODE, plus

NODES, COORDINATES, ROTORS = 14, 5, 4
LOG_LEVELS = np.log(
    [0.5, 0.7, 0.4, 0.6, 0.3, 0.8, 0.5, 1.2, 0.4, 0.9, 0.7, 0.3, 0.6, 12.0, 1.0, 9.0, 2.0, 0.5, 0.2]
)


class Dense:
    """A random linear model of equation (1), and all of it as one Gaussian, without any recursion."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        K, n = NODES, COORDINATES
        self.F = np.eye(30) + 0.1 * rng.normal(size=(K, 30, 30))
        self.G = 0.2 * rng.normal(size=(K, 30, n))
        self.c = 0.2 * rng.normal(size=(K, 30))
        self.H = rng.normal(size=(K, 12, 30)) / 3.0
        self.D = rng.normal(size=(K, 12, n)) / 3.0
        self.r = rng.normal(size=(K, 12))
        self.rotor = np.zeros((K, 30, ROTORS))
        self.rotor[:, 3:6], self.rotor[:, 9:12] = rng.normal(size=(2, K, 3, ROTORS))
        self.x = 0.3 * rng.normal(size=(K, 31))
        self.after = np.concatenate([self.x[1:], self.x[-1:]])
        self.loose = np.where(rng.uniform(size=K) < 0.2, 5.0, 1.0)
        self.weights = rng.choice([0.0, 0.3, 1.0, 2.0], size=(K, 12), p=[0.2, 0.2, 0.4, 0.2])
        self.weights[4] = 0.0  # a node without any reading
        self.z = rng.normal(size=n)
        self.mean = Mean(rng.normal(size=12), rng.normal(size=(12, n)))

    def linear(self):
        return Linear(self.F, self.G, self.c, self.H, self.D, self.r, self.rotor)

    def read(self):
        return self.weights.ravel() > 0.0

    def gaussian(self, log_levels):
        """Mean (30 K,) and covariance of the states at d = 0, their slopes in d; variance of the readings (12 K,)."""
        level = dict(zip(NAMES, np.exp(log_levels), strict=True))
        strength = np.concatenate([level[f"{kind}_xy"] * np.array([1, 1, 0]) for kind in KINDS])
        strength += np.concatenate([level[f"{kind}_z"] * np.array([0, 0, 1]) for kind in KINDS])
        decay = np.exp(-NODE * np.repeat([level[f"{kind}_bandwidth"] for kind in KINDS], 3))
        walk = NODE * np.repeat([level["accel_walk"], level["gyro_walk"]], 3) ** 2
        round_off = np.repeat([ROUNDING**2, 0.0, ROUNDING**2, 0.0], 3)
        Q = np.diag(np.concatenate([round_off, strength**2 * (1.0 - decay**2), walk]))
        size = 30 * NODES
        # S e = u + U d with independent u: S is lower block bidiagonal.
        S, u, U, V = np.eye(size), np.zeros(size), np.zeros((size, COORDINATES)), np.zeros((size, size))
        u[12:24], u[24:30] = self.mean.value - self.x[0, 13:25], -self.x[0, 25:]
        U[12:24] = self.mean.slope
        V[:30, :30] = np.diag(
            np.concatenate([np.repeat(START, 3) ** 2, strength**2, np.repeat(START_BIAS, 3) ** 2])
        )
        for k in range(NODES - 1):
            F = self.F[k].copy()
            F[12:] = 0.0
            F[12:24, 12:24], F[24:, 24:] = np.diag(decay), np.eye(6)
            c = self.c[k].copy()
            c[12:24] = self.mean.value + decay * (self.x[k, 13:25] - self.mean.value) - self.after[k, 13:25]
            G = self.G[k].copy()
            G[12:24] = (1.0 - decay)[:, None] * self.mean.slope
            here, ahead = slice(30 * k, 30 * k + 30), slice(30 * k + 30, 30 * k + 60)
            S[ahead, here] = -F
            u[ahead], U[ahead] = c, G
            speeds = self.loose[k] * level["rotor"] * self.rotor[k]
            V[ahead, ahead] = Q + speeds @ speeds.T
        inverse = np.linalg.inv(S)
        deviations = np.repeat([level[name] for name in ("gyro", "accel", "position", "rotation")], 3)
        with np.errstate(divide="ignore"):
            variance = (deviations**2 / self.weights).ravel()
        return inverse @ u, inverse @ V @ inverse.T, inverse @ U, variance

    def readings(self, log_levels):
        """Of what is read: residual at d = 0, its slopes -X in d, covariance V, the matrix of the states."""
        mean, cov, slopes, variance = self.gaussian(log_levels)
        H = np.zeros((12 * NODES, 30 * NODES))
        for k in range(NODES):
            H[12 * k : 12 * k + 12, 30 * k : 30 * k + 30] = self.H[k]
        read = self.read()
        H = H[read]
        V = H @ cov @ H.T + np.diag(variance[read])
        X = H @ slopes + self.D.reshape(-1, COORDINATES)[read]
        return self.r.ravel()[read] - H @ mean, X, V, H

    def log_likelihood(self, log_levels):
        """Of the readings with coordinates of prior N(-z, 1) integrated out, as they are around z."""
        y, X, V, _ = self.readings(log_levels)
        V = V + X @ X.T
        apart = y + X @ self.z
        return -0.5 * np.linalg.slogdet(V)[1] - 0.5 * apart @ np.linalg.solve(V, apart)


@lru_cache
def passes():
    """Both passes in one compiled function of the numbers of `Dense`."""

    def run(log_levels, mean, linear, weights, loose, x, after, z):
        n = linear.G.shape[2]
        carry = start(log_levels, mean, x[0])
        ahead, kept = forwards(log_levels, mean, linear, weights, loose, x, after, carry)
        i, W, log_det = kept[:3]
        flat = W.reshape(-1, n)
        A, g = flat.T @ flat, flat.T @ i.reshape(-1)
        cov = jnp.linalg.inv(A + np.eye(n))
        d = cov @ (g - z)
        root = jnp.linalg.cholesky(cov)
        zeros = Backward(np.zeros(30), np.zeros((30, n)), np.zeros((30, 30)))
        back, errors, factors, sums = backwards(
            log_levels, mean, linear, weights, loose, x, kept, d, root, zeros
        )
        squares, slopes, precisions = level_sums(log_levels, sums, back)
        return {
            "A": A, "g": g, "d": d, "log_det": log_det.sum(), "i": i, "errors": errors, "squares": squares + slopes,
            "precisions": precisions, "on_reading": factors[1], "ahead": ahead,
        }  # fmt: skip

    return jax.jit(run)


def run(dense, log_levels=LOG_LEVELS):
    args = (dense.mean, dense.linear(), dense.weights, dense.loose, dense.x, dense.after, dense.z)
    return jax.tree.map(np.asarray, passes()(log_levels, *args))


@pytest.fixture(scope="module", params=[0, 1])
def both(request):
    dense = Dense(request.param)
    return dense, run(dense)


def test_normal_equations_are_those_of_dense_least_squares(both):
    dense, found = both
    y, X, V, _ = dense.readings(LOG_LEVELS)
    solved = np.linalg.solve(V, np.column_stack([X, y]))
    np.testing.assert_allclose(
        found["A"], X.T @ solved[:, :-1], rtol=1e-7, atol=1e-7 * np.abs(found["A"]).max()
    )
    np.testing.assert_allclose(
        found["g"], X.T @ solved[:, -1], rtol=1e-7, atol=1e-7 * np.abs(found["g"]).max()
    )
    np.testing.assert_allclose(np.sum(found["i"] ** 2), y @ solved[:, -1], rtol=1e-8)


def test_the_step_is_the_least_squares_one(both):
    """Of prior and readings together, stacked and whitened, by `lstsq`."""
    dense, found = both
    y, X, V, _ = dense.readings(LOG_LEVELS)
    root = np.linalg.cholesky(V)
    rows = np.vstack([np.linalg.solve(root, X), np.eye(COORDINATES)])
    right = np.concatenate([np.linalg.solve(root, y), -dense.z])
    np.testing.assert_allclose(found["d"], np.linalg.lstsq(rows, right)[0], rtol=1e-7, atol=1e-9)


def test_log_determinant_is_that_of_the_readings(both):
    dense, found = both
    _, _, V, _ = dense.readings(LOG_LEVELS)
    assert found["log_det"] == pytest.approx(np.linalg.slogdet(V)[1], rel=1e-9)


def test_innovations_are_nothing_where_nothing_is_read(both):
    dense, found = both
    np.testing.assert_array_equal(found["i"][dense.weights == 0.0], 0.0)


def test_states_are_the_conditional_expectation(both):
    """Given readings and step, from the joint covariance."""
    dense, found = both
    mean, cov, slopes, _ = dense.gaussian(LOG_LEVELS)
    y, X, V, H = dense.readings(LOG_LEVELS)
    d = found["d"]
    wanted = mean + slopes @ d + cov @ H.T @ np.linalg.solve(V, y - X @ d)
    np.testing.assert_allclose(found["errors"].ravel(), wanted, rtol=1e-6, atol=1e-7)


def test_factors_of_the_readings_are_smoothed_covariances(both):
    """R^-1 H S of equation (3), with the covariance S of the states given all readings."""
    dense, found = both
    _, cov, _, variance = dense.gaussian(LOG_LEVELS)
    _, _, V, H = dense.readings(LOG_LEVELS)
    smoothed = cov - cov @ H.T @ np.linalg.solve(V, H @ cov)
    for k in (0, 6, NODES - 1):
        own = slice(30 * k, 30 * k + 30)
        whole = dense.H[k] @ smoothed[own, own] / variance[12 * k : 12 * k + 12, None]
        wanted = np.concatenate([whole[:, 3:18], whole[:, 18:21] + whole[:, 21:24]], axis=1)
        np.testing.assert_allclose(found["on_reading"][k], wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_levels_have_the_slope_of_the_marginal_likelihood(both, name):
    """Squares minus precisions, against differences of the dense likelihood, coordinates integrated out too."""
    dense, found = both
    k, h = NAMES.index(name), 1e-4
    step = h * (np.arange(len(NAMES)) == k)
    up, down = (dense.log_likelihood(LOG_LEVELS + sign * step) for sign in (1.0, -1.0))
    slope = found["squares"][k] - found["precisions"][k]
    assert slope == pytest.approx((up - down) / (2.0 * h), rel=1e-5, abs=1e-5)
    if not name.endswith("bandwidth"):
        assert found["squares"][k] >= 0.0
        assert found["precisions"][k] > 0.0


def test_chunks_give_what_the_whole_gives(both):
    """Carried from one half of the nodes to the other, forwards and backwards."""
    dense, found = both
    halves = slice(0, NODES // 2), slice(NODES // 2, NODES)
    carry = start(LOG_LEVELS, dense.mean, dense.x[0])
    there, back = jax.jit(forwards), jax.jit(backwards)
    parts, kept = [], []
    for own in halves:
        linear = Linear(*(part[own] for part in dense.linear()))
        parts.append((linear, dense.weights[own], dense.loose[own], dense.x[own]))
        carry, each = there(LOG_LEVELS, dense.mean, *parts[-1], dense.after[own], carry)
        kept.append(each)
    adjoint = Backward(np.zeros(30), np.zeros((30, COORDINATES)), np.zeros((30, 30)))
    root = np.linalg.cholesky(np.linalg.inv(found["A"] + np.eye(COORDINATES)))
    errors, sums = [], []
    for part, each in zip(parts[::-1], kept[::-1], strict=True):
        adjoint, error, _, more = back(LOG_LEVELS, dense.mean, *part, each, found["d"], root, adjoint)
        errors.insert(0, error)
        sums.append(more)
    np.testing.assert_allclose(np.concatenate(errors), found["errors"], rtol=1e-8, atol=1e-9)
    squares, slopes, precisions = level_sums(
        LOG_LEVELS, Sums(*(a + b for a, b in zip(*sums, strict=True))), adjoint
    )
    np.testing.assert_allclose(squares + slopes, found["squares"], rtol=1e-7)
    np.testing.assert_allclose(precisions, found["precisions"], rtol=1e-7)


def test_belief_at_the_start_is_that_of_its_deviations():
    nominal = nominal_vehicle()
    log_levels = first_levels(nominal)
    first = some_state()
    mean = Dense().mean
    carry = start(log_levels, mean, first)
    np.testing.assert_allclose(np.diagonal(carry.P)[:12], np.repeat(START, 3) ** 2)
    expected = first[13:] + np.asarray(carry.m)[12:]
    np.testing.assert_allclose(expected[:12], mean.value, atol=1e-12)  # disturbances are around their mean
    np.testing.assert_allclose(expected[12:], 0.0, atol=1e-12)  # biases around zero
    np.testing.assert_array_equal(carry.B[12:24], mean.slope)


@pytest.fixture(scope="module")
def moving():
    return ChunkOfNodes()


def test_coupling_is_the_slope_of_the_log_determinant(moving):
    """b of (3) against differences of the sum of log determinants, along directions over all coordinates and states.

    b takes the step to first order only, the differences do not: they agree within a tenth.
    """
    own = programs(moving.layout)
    rng = np.random.default_rng(6)
    weights = rng.choice([0.0, 0.5, 1.0], size=(CHUNK, 12), p=[0.1, 0.2, 0.7])
    loose = np.ones(CHUNK)
    levels, n = moving.log_levels, moving.layout.size
    mean = Mean(np.zeros(12), np.zeros((12, n)))
    rotor = moving.linearise(moving.z).rotor
    move = jax.jit(jax.vmap(plus))

    def filtered(z, errors):
        linear = moving.linearise(z, move(moving.x, errors))._replace(
            rotor=rotor
        )  # (3) leaves their noise as it is
        carry = own.start(levels, mean, moving.x[0])
        return linear, own.forwards(levels, mean, linear, weights, loose, moving.x, moving.after, carry)[1]

    def slope(d, errors):
        """Of -1/2 the sum of log determinants."""
        h = 1e-3
        up, down = (float(np.sum(filtered(moving.z + s * d, s * errors)[1][2])) for s in (h, -h))
        return -0.25 * (up - down) / h

    still = np.zeros((CHUNK, 30))
    linear, kept = filtered(moving.z, still)
    zeros = Backward(np.zeros(30), np.zeros((30, n)), np.zeros((30, 30)))
    passed = own.backwards(
        levels, mean, linear, weights, loose, moving.x, kept, np.zeros(n), np.zeros((n, n)), zeros
    )
    spread = rng.normal(size=(CHUNK, 30, n))
    found = own.coupling_slopes(moving.nominal, moving.z, moving.x, moving.readings, *passed[2][:2], spread)
    in_z, in_x = (np.asarray(part) for part in found)
    single = [moving.layout.slices[name].start for name in ("hub", "linear_drag", "imu_position", "moment")]
    for direction in [*np.eye(n)[single], *rng.normal(size=(2, n)) / np.sqrt(n)]:
        wanted = slope(direction, still)
        assert in_z @ direction == pytest.approx(wanted, rel=0.1, abs=0.3)
    for direction in rng.normal(size=(2, n)) / np.sqrt(n):
        wanted = slope(np.zeros(n), spread @ direction)
        assert in_x @ direction == pytest.approx(wanted, rel=0.1, abs=0.3)
    assert np.abs(in_z).max() > 1.0
    assert np.abs(in_x).max() > 1.0
