"""Minimum snap: through the waypoints, smooth, from rest to rest, and the spline that SciPy makes."""

import jax
import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from haltere.trajectory import TrajectoryError, minimum_snap

CORNERS = np.asarray([[0.0, 0.0, 1.0], [2.0, 0.5, 1.5], [2.5, 2.0, 1.0], [0.0, 2.0, 2.0], [0.0, 0.0, 1.0]])
YAW = np.asarray([0.0, 0.4, 1.0, 1.2, 0.0])
TIMES = np.asarray([0.0, 1.1, 2.7, 4.0, 6.5])


def test_is_the_clamped_spline_of_degree_seven():
    path = minimum_snap(CORNERS, YAW, TIMES)
    rest = [(order, np.zeros(4)) for order in (1, 2, 3)]
    scipy = make_interp_spline(TIMES, np.column_stack([CORNERS, YAW]), k=7, bc_type=(rest, rest))
    times = np.linspace(0.0, 6.5, 131)
    ours = np.asarray(jax.vmap(path.derivatives)(times))
    for order in range(5):
        expected = scipy(times, order)
        np.testing.assert_allclose(ours[:, order], expected, atol=1e-7 * (1.0 + np.abs(expected).max()))


def test_meets_its_waypoints_and_is_continuous_up_to_snap():
    path = minimum_snap(CORNERS, YAW, TIMES)
    for t, corner, yaw in zip(TIMES, CORNERS, YAW, strict=True):
        np.testing.assert_allclose(path.at(t).position, corner, atol=1e-9)
        np.testing.assert_allclose(path.at(t).yaw, yaw, atol=1e-9)
    for t in TIMES[1:-1]:
        np.testing.assert_allclose(path.derivatives(t - 1e-9), path.derivatives(t + 1e-9), atol=1e-5)
    for t in (0.0, 6.5):
        np.testing.assert_allclose(path.derivatives(t)[1:4], 0.0, atol=1e-8)


def test_no_other_smooth_path_through_the_waypoints_has_less_snap():
    """A bump that vanishes with three derivatives at all waypoints only adds to the cost."""
    path = minimum_snap(CORNERS, YAW, TIMES)
    t = np.linspace(TIMES[1], TIMES[2], 4001)
    snap = np.asarray(jax.vmap(path.derivatives)(t))[:, 4, 0]
    u = (t - t[0]) / (t[-1] - t[0])
    bump = np.polynomial.Polynomial([0, 0, 0, 0, 1]) * np.polynomial.Polynomial([1, -1]) ** 4
    added = bump.deriv(4)(u) / (t[-1] - t[0]) ** 4
    slope = np.trapezoid(snap * added, t)
    assert abs(slope) < 1e-4 * np.trapezoid(snap**2, t) ** 0.5 * np.trapezoid(added**2, t) ** 0.5


def test_time_goes_with_distance():
    path = minimum_snap([[0, 0, 1], [6, 0, 1], [6, 0.02, 1]], speed=1.5, acceleration=2.0)
    np.testing.assert_allclose(np.diff(path.knots), [6.0 / 1.5 + 1.5 / 2.0, 0.3])
    assert float(path.duration) == pytest.approx(float(path.knots[-1]))


def test_waits_before_the_start_and_after_the_end():
    path = minimum_snap(CORNERS, YAW, TIMES)
    np.testing.assert_allclose(path.at(99.0).position, CORNERS[-1], atol=1e-9)
    np.testing.assert_allclose(path.derivatives(99.0)[1:], 0.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"waypoints": [[0, 0, 1]]}, "at least two"),
        ({"waypoints": [[0, 0], [1, 1]]}, "shape"),
        ({"waypoints": [[0, 0, np.nan], [1, 1, 1]]}, "finite"),
        ({"waypoints": [[0, 0, 1], [1, 1, 1]], "times": [1.0, 1.0]}, "increasing"),
        ({"waypoints": [[0, 0, 1], [1, 1, 1]], "speed": 0.0}, "above zero"),
    ],
)
def test_bad_waypoints_are_one_clear_line(arguments, words):
    with pytest.raises(TrajectoryError, match=words) as error:
        minimum_snap(**arguments)
    assert "\n" not in str(error.value)
