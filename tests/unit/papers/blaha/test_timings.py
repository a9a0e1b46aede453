"""The benchmark of the throw compares the same computation."""

import numpy as np

from haltere.estimation.throw.thrust_axis import thrust_axis
from haltere.papers.blaha.timings import numpy_axis, numpy_update


def test_both_find_the_same_axis():
    rng = np.random.default_rng(0)
    F, T = rng.normal(size=(3, 6)) * 1e-6 + 1e-6, rng.normal(size=(3, 6)) * 1e-5
    ours = np.asarray(thrust_axis(F, T, squarings=8).axis)
    assert abs(ours @ numpy_axis(F, T)) > 0.99


def test_the_peer_learns():
    rng = np.random.default_rng(1)
    theta, P, true = np.zeros((4, 3)), 100.0 * np.eye(4), rng.normal(size=(4, 3))
    for _ in range(200):
        phi = rng.normal(size=4)
        theta, P = numpy_update(theta, P, phi, phi @ true)
    np.testing.assert_allclose(theta, true, atol=1e-3)
