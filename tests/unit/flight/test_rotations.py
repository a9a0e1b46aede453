"""NumPy rotations against SciPy's, and runs of True."""

import numpy as np
from scipy.spatial.transform import Rotation

from haltere.flight import rotations
from haltere.flight.resampling import interpolate_columns, runs_of_true

RNG = np.random.default_rng(0)
TURNS = Rotation.random(20, random_state=0)
WXYZ = np.roll(TURNS.as_quat(), 1, axis=1)


def test_products_matrices_and_vectors_are_those_of_scipy():
    other = Rotation.random(20, random_state=1)
    product = rotations.multiply(WXYZ, np.roll(other.as_quat(), 1, axis=1))
    np.testing.assert_allclose(rotations.matrices_from_wxyz(product), (TURNS * other).as_matrix(), atol=1e-14)
    vectors = RNG.normal(size=(20, 3))
    np.testing.assert_allclose(rotations.rotate(WXYZ, vectors), TURNS.apply(vectors), atol=1e-14)
    back = rotations.rotate(rotations.conjugate(WXYZ), rotations.rotate(WXYZ, vectors))
    np.testing.assert_allclose(back, vectors, atol=1e-14)
    np.testing.assert_allclose(rotations.matrix_from_wxyz(3.0 * WXYZ[0]), TURNS[0].as_matrix(), atol=1e-14)
    q = np.array(rotations.wxyz_from_matrix(TURNS[0].as_matrix()))
    assert min(np.abs(q - WXYZ[0]).max(), np.abs(q + WXYZ[0]).max()) < 1e-14


def test_euler_angles_there_and_back():
    angles = RNG.uniform(-1.4, 1.4, size=(20, 3))
    wxyz = rotations.wxyz_from_euler(angles)
    np.testing.assert_allclose([rotations.euler_from_wxyz(q) for q in wxyz], angles, atol=1e-13)
    np.testing.assert_allclose(
        [rotations.matrix_from_euler(a) for a in angles], rotations.matrices_from_wxyz(wxyz), atol=1e-14
    )


def test_rates_of_a_steady_rotation_whose_signs_flip():
    w, rate = np.array([0.5, -1.0, 2.0]), 200.0
    time = np.arange(400) / rate
    wxyz = np.roll(Rotation.from_rotvec(time[:, None] * w).as_quat(), 1, axis=1)
    wxyz[::3] *= -1.0
    found = rotations.angular_rates(rotations.unwrap(wxyz), rate)[1:-1]
    np.testing.assert_allclose(found, np.tile(w, (398, 1)), atol=2e-4)


def test_lengths_that_are_no_quaternion_are_marked():
    found = rotations.normalize(np.array([[0.9, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.1]]))
    np.testing.assert_array_equal(found[0], [1.0, 0.0, 0.0, 0.0])
    assert np.isnan(found[1]).all()


def test_runs_of_true_and_columns():
    flags = np.array([1, 1, 0, 1, 0, 1, 1, 1], bool)
    assert runs_of_true(flags) == [(0, 2), (3, 4), (5, 8)]
    assert runs_of_true(flags, 2) == [(0, 2), (5, 8)]
    assert runs_of_true(np.zeros(3, bool)) == []
    time, values = np.arange(3.0), np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    np.testing.assert_array_equal(
        interpolate_columns(np.array([0.5, 9.0]), time, values), [[0.5, 2.0], [2.0, 5.0]]
    )
    assert np.isnan(interpolate_columns(np.array([9.0]), time, values, outside=np.nan)).all()
