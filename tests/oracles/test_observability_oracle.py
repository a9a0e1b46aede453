"""Ranks from the printed equations (1)-(19) of Boehm et al. 2022, written here by hand, on simulated flights.

Nothing is shared with the package: angles of the rotor axes, plain quaternions of four numbers with their unit-norm
rows, derivatives by JAX through an integrator, and singular values.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

N = 4
STATES = 40 + 7 * N
SPIN = np.array([1.0, -1.0, 1.0, -1.0])


def rotation(q):
    w, x, y, z = q
    return jnp.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def hamilton(a, b):
    return jnp.concatenate(
        [(a[0] * b[0] - a[1:] @ b[1:])[None], a[0] * b[1:] + b[0] * a[1:] + jnp.cross(a[1:], b[1:])]
    )


def forces(x, u):
    rotors = x[40:].reshape(N, 7)
    r, psi, theta, k_f, k_m = rotors[:, :3], rotors[:, 3], rotors[:, 4], rotors[:, 5], rotors[:, 6]
    axis = jnp.stack([jnp.sin(psi) * jnp.cos(theta), jnp.sin(psi) * jnp.sin(theta), jnp.cos(psi)], 1)
    F = axis * (k_f * u)[:, None]
    M = SPIN[:, None] * axis * (k_m * k_f * u)[:, None] + jnp.cross(r, F)
    return F.sum(0), M.sum(0)


def turning(x, u):
    w, i = x[10:13], x[34:37]
    return (forces(x, u)[1] - jnp.cross(w, i * w)) / i


def slope(x, u):
    v, q, w = x[3:6], x[6:10], x[10:13]
    R = rotation(q)
    dv = forces(x, u)[0] / x[33] + R.T @ x[37:40] - jnp.cross(w, v)
    dq = 0.5 * hamilton(q, jnp.concatenate([jnp.zeros(1), w]))
    return jnp.concatenate([R @ v, dv, dq, turning(x, u), jnp.zeros(STATES - 13)])


def outputs(x, u):
    w, r = x[10:13], x[20:23]
    act = forces(x, u)[0] / x[33] + jnp.cross(turning(x, u), r) + jnp.cross(w, jnp.cross(w, r))
    R = rotation(x[23:27]).T
    pose = [x[:3] + rotation(x[6:10]) @ x[13:16], hamilton(x[6:10], x[16:20])]
    return jnp.concatenate([*pose, R @ act + x[27:30], R @ w + x[30:33]])


@jax.jit
@partial(jax.vmap, in_axes=(None, 0))
def jacobian(x0, inputs):
    """(T, 13, 68) derivatives of the outputs of one flight."""

    def fly(start):
        def step(x, u):
            half = x + 0.025 * slope(x, u)
            return x + 0.05 * slope(half, u), outputs(x, u)

        return jax.lax.scan(step, start, inputs)[1]

    return jax.jacfwd(fly)(x0)


def equilibrated_rank(matrix):
    for _ in range(6):
        matrix = matrix[np.abs(matrix).max(1) > 1e-12]
        matrix = matrix / np.linalg.norm(matrix, axis=1)[:, None]
        matrix = np.where(np.abs(matrix) < 1e-13, 0.0, matrix)
        size = np.linalg.norm(matrix, axis=0)
        matrix = matrix / np.where(size > 0, size, 1.0)
    values = np.linalg.svd(matrix, compute_uv=False)
    rank = int(np.sum(values > 1e-10 * values[0]))
    assert values[rank - 1] > 1e2 * max(values[rank] if rank < len(values) else 0.0, 1e-14), "a clear gap"
    return rank


@pytest.mark.parametrize(
    ("hummingbird", "expected"), [(False, (62, 59, 50, 47, 44)), (True, (57, 54, 45, 42, 39))]
)
def test_ranks_of_the_printed_equations(hummingbird, expected):
    """With the paper's angles; the Hummingbird's other sets have 3, 12, 15 and 18 less than pose and IMU."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0.5, 1.5, STATES)
    x[34:37] = [1.1, 0.8, 1.5]
    for i in (6, 16, 23):
        x[i : i + 4] /= np.linalg.norm(x[i : i + 4])
    if hummingbird:
        x[34:37] = [0.4, 0.4, 0.7]
        angles = np.arange(4) * np.pi / 2
        rotors = np.stack(
            [np.round(np.cos(angles)), np.round(np.sin(angles)), 0.1 + 0 * angles, *4 * [0 * angles]], 1
        )
        rotors[:, 5:] = [1.0, 0.2]
        x[40:] = rotors.reshape(-1)
    J = np.asarray(jacobian(jnp.asarray(x), jnp.asarray(rng.uniform(0.3, 1.7, (10, 14, N)))))
    norms = np.zeros((3, STATES))
    for row, i in zip(norms, (6, 16, 23), strict=True):
        row[i : i + 4] = x[i : i + 4]
    sets = [range(13), [*range(3), *range(7, 13)], range(7), range(3), range(7, 13)]
    ranks = [equilibrated_rank(np.concatenate([J[:, :, list(s)].reshape(-1, STATES), norms])) for s in sets]
    assert tuple(ranks) == expected
