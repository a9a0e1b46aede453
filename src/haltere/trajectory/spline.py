"""Paths through waypoints with the least snap: piecewise polynomials of degree 7.

Among all paths through the waypoints at given times that start and end at rest (velocity, acceleration and
jerk zero), the one with the least integral of squared snap is a polynomial of degree 7 between waypoints, and
there continuous up to its sixth derivative ([Mellinger2011]; it is a spline). With u = (t - t_i) / h_i on
segment i of length h_i:

    y(t) = sum_n c_in u^n,   n = 0..7,   c = `coefficients`                                                (1)

The 8 S coefficients follow from as many linear equations, solved in NumPy when the path is made. A segment's
time, where none is given, is that of a point that speeds up with a = `acceleration` to at most v = `speed`
and brakes again over its length d:

    h = d / v + v / a  if d > v^2 / a,  else  2 sqrt(d / a)                                               (2)
"""

from dataclasses import dataclass
from math import perm

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.foundation.numbers import Floats, Numbers
from haltere.lie import so3
from haltere.trajectory.reference import ORDER, Trajectory, TrajectoryError

DEGREE = 7
SHORTEST = 0.3
"""Least time of a segment by equation (2), s: two waypoints at one position."""


@pytree
@dataclass(frozen=True)
class Spline(Trajectory):
    """Equation (1); before the first and after the last waypoint the vehicle waits there."""

    knots: Array
    """(S + 1,) times of the waypoints, s, from 0."""
    coefficients: Array
    """(S, 8, 4) of equation (1) for x, y, z (m) and yaw (rad)."""

    @property
    def duration(self) -> Array:  # type: ignore[override]
        """Time of the last waypoint, s."""
        return self.knots[-1]

    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4), in closed form."""
        time = so3.as_float(t)
        inside = jnp.clip(time, 0.0, self.knots[-1])
        last = self.coefficients.shape[0] - 1
        i = jnp.clip(jnp.searchsorted(self.knots, inside, side="right") - 1, 0, last)
        length = self.knots[i + 1] - self.knots[i]
        u = (inside - self.knots[i]) / length
        rows = []
        for order in range(ORDER + 1):
            total = jnp.zeros(4, self.coefficients.dtype)
            for n in range(DEGREE, order - 1, -1):
                total = total * u + perm(n, order) * self.coefficients[i, n]
            rows.append(total / length**order)
        moving = (time >= 0.0) & (time <= self.knots[-1])
        return jnp.stack([rows[0], *(jnp.where(moving, row, 0.0) for row in rows[1:])])


def minimum_snap(
    waypoints: npt.ArrayLike,
    yaw: npt.ArrayLike = 0.0,
    times: npt.ArrayLike | None = None,
    speed: float = 1.5,
    acceleration: float = 2.0,
) -> Spline:
    """The path of least snap through waypoints, from rest to rest.

    Args:
        waypoints: (N, 3) m, world axes, N at least 2.
        yaw: (N,) rad at the waypoints, or one for all; yaw takes the same kind of spline.
        times: (N,) s, increasing, counted from the first; by equation (2) where they are not given.
        speed: v of equation (2), m/s.
        acceleration: a of equation (2), m/s2.
    """
    points = np.asarray(waypoints, float)
    if points.ndim != 2 or points.shape[1] != 3 or points.shape[0] < 2:
        msg = f"waypoints: got shape {points.shape}; give at least two points such as [[0, 0, 1], [2, 0, 1]]"
        raise TrajectoryError(msg)
    if not np.all(np.isfinite(points)):
        raise TrajectoryError("waypoints: one number is not finite; give coordinates in m")
    flat = np.column_stack([points, np.broadcast_to(np.asarray(yaw, float), points.shape[:1])])
    knots = _durations(points, speed, acceleration) if times is None else _check_times(times, points.shape[0])
    return Spline(jnp.asarray(knots), jnp.asarray(_solve(knots, flat)))


def _durations(points: Floats, speed: float, acceleration: float) -> Floats:
    """(N,) times of the waypoints by equation (2)."""
    if speed <= 0.0 or acceleration <= 0.0:
        msg = f"minimum_snap: got speed {speed:g} m/s and acceleration {acceleration:g} m/s2; give both above zero"
        raise TrajectoryError(msg)
    d = np.linalg.norm(np.diff(points, axis=0), axis=1)
    long = d / speed + speed / acceleration
    h = np.where(d > speed**2 / acceleration, long, 2.0 * np.sqrt(d / acceleration))
    knots: Floats = np.concatenate([[0.0], np.cumsum(np.maximum(h, SHORTEST))])
    return knots


def _check_times(times: npt.ArrayLike, count: int) -> Floats:
    knots = np.asarray(times, float)
    if knots.shape != (count,) or not np.all(np.diff(knots) > 0.0):
        msg = f"times: got {np.array2string(knots, threshold=8)}; give {count} increasing times, one per waypoint, in s"
        raise TrajectoryError(msg)
    from_zero: Floats = knots - knots[0]
    return from_zero


def _solve(knots: Numbers, flat: Numbers) -> Numbers:
    """(S, 8, 4) coefficients of equation (1) from the values (S + 1, 4) at the knots (S + 1,)."""
    h = np.diff(knots)
    segments, terms = h.size, DEGREE + 1
    matrix = np.zeros((segments * terms, segments * terms))
    right = np.zeros((segments * terms, flat.shape[1]))
    unit = float(
        np.mean(h)
    )  # derivatives are counted per mean segment time, which keeps the rows of one size
    row = 0

    def derivative(segment: int, u: float, order: int) -> Numbers:
        """(8,) coefficients of a derivative at u on a segment."""
        weights = np.array([perm(n, order) * u ** max(n - order, 0) for n in range(terms)], float)
        row_of: Numbers = weights * (unit / h[segment]) ** order
        return row_of

    for i in range(segments):
        columns = slice(i * terms, (i + 1) * terms)
        for u, value in ((0.0, flat[i]), (1.0, flat[i + 1])):
            matrix[row, columns], right[row] = derivative(i, u, 0), value
            row += 1
        for order in range(1, DEGREE) if i + 1 < segments else ():
            matrix[row, columns] = derivative(i, 1.0, order)
            matrix[row, columns.stop : columns.stop + terms] = -derivative(i + 1, 0.0, order)
            row += 1
    for order in (1, 2, 3):
        matrix[row, :terms] = derivative(0, 0.0, order)
        matrix[row + 1, -terms:] = derivative(segments - 1, 1.0, order)
        row += 2
    solution: Numbers = np.linalg.solve(matrix, right)
    return solution.reshape(segments, terms, flat.shape[1])
