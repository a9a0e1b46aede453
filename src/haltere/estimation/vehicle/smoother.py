"""`smooth`: the numbers of a vehicle from a stretch of flight, with the states integrated out.

Gauss-Newton on the marginal likelihood of `haltere.estimation.vehicle.marginal`: linearise around motion and
coordinates, find better noise levels, solve for the coordinates, smooth the motion, again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from scipy import linalg

from haltere.estimation.vehicle.flight_parts import FlightParts
from haltere.estimation.vehicle.levels import better_levels, first_levels, held_levels
from haltere.estimation.vehicle.linearisation import Linear, Readings
from haltere.estimation.vehicle.marginal import (
    CHUNK,
    Backward,
    LevelSums,
    Mean,
    Programs,
    Sums,
    mean_disturbance,
    programs,
)
from haltere.estimation.vehicle.motion import ERROR, plus
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.parameters import CoordinateLayout, NominalVehicle
from haltere.estimation.vehicle.prior_scale import SCALED, change_prior_scale
from haltere.estimation.vehicle.weights import NEGLIGIBLE, was_read, weigh_imu, weigh_poses
from haltere.foundation.arrays import compiled, double_precision, to_numpy
from haltere.foundation.numbers import Floats, one_blas_thread

LEVEL_STEPS = (3, 3, *10 * (2,))
"""Steps of the noise levels in each iteration."""
FEWEST = 5
"""Iterations at least."""
LAST_WIDTHS = 8
"""Iteration from which on the widths of the prior are held."""
SETTLED = 0.25
"""Largest step of a coordinate, prior deviations, with which iterations end."""
WITHOUT_ROTORS = 200.0
"""Factor on the error of rotor speeds where they were not logged."""
LEAST_WHITE = 0.7
"""Level of gyro and accelerometer, over what is white in their readings, at least."""
LEAST_NOISE = (1e-3, 0.05, 0.5e-3, 2e-3)
"""Levels of gyro, accelerometer, position and attitude at least, rad/s, m/s2, m and rad: lenses, marker plates and
vibration make errors that last, of which what is white in a quiet flight tells nothing."""
AIR = ("axial", "hub", "cross", "flapping", "linear_drag", "quadratic_drag", "pressure", "wind")
"""Blocks of coordinates of the air: gusts and wind, drag and inflow hardly differ, and may go on changing together."""
STEEP = ("axial", "hub", "linear_drag", "quadratic_drag")
"""Blocks of coordinates that are logarithms of numbers known to a factor only, and may be zero."""
LONGEST_STEP = 4.0
"""Step of a coordinate in one iteration, prior deviations."""
STEEPEST = 1.0
"""That of the steep ones upwards; downwards they only vanish."""
VANISHING = (*STEEP, "spin_inertia")
"""Blocks of coordinates that are logarithms of numbers which a flight may find to be zero."""
Measured = Callable[[NominalVehicle, Floats], tuple[Floats, Floats]]
"""Hand measurements of several coordinates at once: at z (n,) their residuals (k,) and the slopes (k, n) of what they
measure, both over the deviations of the measurements."""


@dataclass(frozen=True)
class SmoothedFlight:
    """What a flight tells.

    Attributes:
        nominal: the vehicle before.
        z: (n,) coordinates, whitened by their prior.
        cov: (n, n) of them.
        parts: of `BLOCKS` parts of the flight, one after the other, what each tells of the coordinates.
        time: (K,) s.
        states: (K, 31) smoothed.
        log_levels: (19,) of the noise.
        innovations: (K, 12) whitened; NaN where nothing was read.
        pose_weights: (K, P, 2) of positions and attitudes, NaN where there is no pose.
        prior_scale: factor on the prior deviations of each group of `SCALED`: how far the vehicle is from its drawing.
        last_step: largest change of a coordinate of the vehicle in the last iteration, prior deviations.
        iterations: how many.
        rotor_period: s between two samples of the rotor speeds.
        rotor_noise: (R,) deviation at a node of what is noise or rounding in squared rotor speeds, (rad/s)^2.
    """

    nominal: NominalVehicle
    z: Floats
    cov: Floats
    parts: FlightParts
    time: Floats
    states: Floats
    log_levels: Floats
    innovations: Floats
    pose_weights: Floats
    prior_scale: dict[str, float]
    last_step: float
    iterations: int
    rotor_period: float
    rotor_noise: Floats

    @property
    def layout(self) -> CoordinateLayout:
        """Of the coordinates."""
        return self.nominal.layout


@dataclass(frozen=True)
class _Pass:
    """One evaluation at given levels: step and covariance of the coordinates, errors of the states, sums for levels."""

    step: Floats
    cov: Floats
    errors: Floats
    level_sums: LevelSums
    innovations: Floats
    slopes: Floats
    right: Floats
    measured: Floats
    cost: float
    factors: list[tuple[Any, ...]]
    root: Floats


@double_precision()
@one_blas_thread()
def smooth(
    nodes: FlightNodes,
    nominal: NominalVehicle,
    *,
    measured: Measured | None = None,
    level_steps: Iterable[int] = LEVEL_STEPS,
    progress: Callable[[str], None] | None = None,
) -> SmoothedFlight:
    """Estimate the coordinates of a vehicle from a stretch of flight.

    Args:
        nodes: the flight.
        nominal: the vehicle before, with the prior of the coordinates.
        measured: hand measurements that the prior of single coordinates cannot hold.
        level_steps: steps of the noise levels in each iteration; their number is that of the iterations.
        progress: called with a sentence after each iteration.
    """
    layout = nominal.layout
    work = FlightWork(nodes, nominal, programs(layout))
    z = np.zeros(layout.size)
    states = nodes.first_guess(nominal)
    first = first_levels(nominal)
    levels, held = first, held_levels(nominal.model)
    steps = tuple(level_steps)
    prior_scale = dict.fromkeys(SCALED, 1.0)
    coupling = np.zeros(layout.size)
    of_vehicle = ~np.isin(np.arange(layout.size), layout.indices(AIR))
    is_steep = np.isin(np.arange(layout.size), layout.indices(STEEP))
    least = np.full(len(first), -np.inf)
    if nominal.model == "full":  # the paper's noise is white, and its errors do not last
        least[:4] = np.log(LEAST_NOISE)
    least[:2] = np.maximum(least[:2], np.log(LEAST_WHITE * np.maximum(nodes.white, 1e-12)))

    def better(sums: LevelSums, levels: Floats) -> Floats:
        """Noise levels by one step of equation (1) of `levels`."""
        found = better_levels(levels, first, sums.square_sums + sums.slopes, sums.precisions)
        return np.asarray(np.maximum(np.where(held, first, found), np.where(held, first, least)))

    for number, count in enumerate(steps):
        linear, weights, pose_weights = work.linearise(z, states, levels, number)
        by_hand = None if measured is None else measured(work.nominal, z)
        thorough = count if nominal.model == "paper" else 2 if number == 0 else 1
        for _ in range(thorough):  # the first levels are guesses
            found = work.evaluate(linear, weights, states, levels, z, coupling, by_hand)
            sums = found.level_sums
            levels = better(sums, levels)
            for _ in range(0 if nominal.model == "paper" else count - 1):
                levels = better(work.level_sums(linear, weights, states, levels, found.step, sums), levels)
        step = in_logarithms(work.nominal, found.step) if number > 0 else found.step
        z = z + step
        if nominal.model == "full":
            work.bound_steps(step if number > 1 else np.where(is_steep, step, 0.0))
        longest = float(np.max(np.abs(step[of_vehicle])))
        before, states = states, work.shifted(states, found.errors)
        if progress is not None:
            progress(f"smoothing, iteration {number + 1}: largest step {longest:.2g} prior sigma")
        if number + 1 == len(steps) or (number + 1 >= FEWEST and longest < SETTLED):
            break
        if number % 2 == 1:  # it changes slowly
            coupling = work.coupling(z, before, found)
        if 0 < number < LAST_WIDTHS and nominal.model == "full":
            ratio, prior_scale = change_prior_scale(work.nominal, z, found.cov, prior_scale)
            wider: Any = np.asarray(work.nominal.sigma) * ratio
            work.nominal = replace(work.nominal, sigma=wider)
            z, coupling = z / ratio, coupling * ratio
    return SmoothedFlight(
        nominal=work.nominal,
        z=z,
        cov=found.cov,
        parts=FlightParts.of_passes(found.innovations, found.slopes, found.step, found.measured),
        time=nodes.time,
        states=states,
        log_levels=levels,
        innovations=np.where(weights > 0.0, found.innovations, np.nan),
        pose_weights=pose_weights,
        prior_scale=prior_scale,
        last_step=longest,
        iterations=number + 1,
        rotor_period=nodes.rotor_period,
        rotor_noise=nodes.rotor_noise,
    )


class FlightWork:
    """The nodes of a flight in chunks of one length, and the compiled programs over them."""

    def __init__(self, nodes: FlightNodes, nominal: NominalVehicle, compiled_programs: Programs) -> None:
        self.nodes, self.nominal, self.programs = nodes, nominal, compiled_programs
        self.count = len(nodes.time)
        self.padded = -(-self.count // CHUNK) * CHUNK
        self.loose = np.where(nodes.rotor_valid, 1.0, WITHOUT_ROTORS)
        self.slots = nodes.slots
        self.readings: list[Readings] = []
        self.bound_steps(np.zeros(nominal.layout.size))
        self.mean = to_numpy(mean_disturbance(nominal.layout, nominal, np.zeros(nominal.layout.size)))

    def bound_steps(self, last: Floats) -> None:
        """Bound the next step: a coordinate goes back by at most half of its `last` step (n,), unless that is zero."""
        farthest = np.full(len(last), LONGEST_STEP)
        farthest[self.nominal.layout.indices(STEEP)] = STEEPEST
        half = 0.5 * np.abs(last)
        self.most = np.where(last < 0.0, np.minimum(half, farthest), farthest)
        self.lowest = np.where(last > 0.0, -half, -LONGEST_STEP)

    def chunks(self, *arrays: Floats) -> Iterable[tuple[Any, ...]]:
        """The arrays (K, ...) in chunks, the last one filled up with its last row."""
        filled = [self._fill(array) for array in arrays]
        for first in range(0, self.padded, CHUNK):
            yield tuple(array[first : first + CHUNK] for array in filled)

    def _fill(self, array: Floats) -> Floats:
        more = np.repeat(array[-1:], self.padded - self.count, axis=0)
        return np.concatenate([array, more]) if len(more) else array

    def linearise(
        self, z: Floats, states: Floats, log_levels: Floats, iteration: int
    ) -> tuple[list[Linear], Floats, Floats]:
        """Equation (1) of `marginal` in chunks, weights of the readings (K, 12) and of the poses (K, P, 2)."""
        nodes, nominal = self.nodes, self.nominal
        pose_delay, rotor_delay, accel_delay = nominal.delays(z)
        self.mean = to_numpy(mean_disturbance(nominal.layout, nominal, z))
        rotors, rotors_slope = nodes.rotors_at(rotor_delay)
        accel, accel_slope = nodes.accel_at(accel_delay)
        later, poses, present = nodes.poses_at(pose_delay, self.slots)
        residuals = np.concatenate(
            [
                np.asarray(self.programs.pose_residuals(nominal, z, *chunk))
                for chunk in self.chunks(states, rotors, later, poses)
            ]
        )[: self.count]
        deviations = np.exp(log_levels[2:4])
        weights = weigh_poses(residuals, present, deviations, far=iteration == 0)
        each = np.repeat(weights, 3, axis=2)
        total = each.sum(axis=1)
        share = each / np.maximum(total, 1e-12)[:, None]
        residual = np.sum(share * np.where(share > 0.0, residuals, 0.0), axis=1)
        some = weights.sum(axis=(1, 2))
        moments = np.sum(weights.sum(axis=2) * later, axis=1)
        mean = np.where(some > 0.0, moments / np.maximum(some, 1e-12), pose_delay)
        readings = (rotors, rotors_slope, nodes.gyro, accel, accel_slope, mean)
        after = np.concatenate([states[1:], states[-1:]])
        linear, imu = [], []
        self.readings = []
        for x, ahead, pose, *own in self.chunks(states, after, residual, *readings):
            self.readings.append(Readings(*own))
            F, G, c, H, D, r, rotor = self.programs.linearise(nominal, z, x, ahead, self.readings[-1])
            imu.append(np.asarray(r))
            both: Any = np.concatenate([imu[-1], pose], axis=1)
            linear.append(Linear(F, G, c, H, D, both, rotor))
        valid = nodes.imu_valid & nodes.rotor_valid  # what an IMU reads depends on the rotors
        near = weigh_imu(
            np.concatenate(imu)[: self.count], valid, np.exp(log_levels[:2]), known=iteration > 1
        )
        every = np.concatenate([near, np.where(total > NEGLIGIBLE, total, 0.0)], axis=1)
        return linear, every, np.where(was_read(residuals, present), weights, np.nan)

    def evaluate(
        self,
        linear: list[Linear],
        weights: Floats,
        states: Floats,
        log_levels: Floats,
        z: Floats,
        coupling: Floats,
        by_hand: tuple[Floats, Floats] | None = None,
    ) -> _Pass:
        """Both passes; `by_hand` is what `Measured` gives at z."""
        parts = self.weighted(weights, states)
        kept = self.filtered(linear, parts, log_levels, states)
        innovations = np.concatenate([np.asarray(each[0]) for each in kept])[: self.count]
        slopes = np.concatenate([np.asarray(each[1]) for each in kept])[: self.count]
        flat = slopes.reshape(-1, slopes.shape[2])
        n = len(z)
        residual, rows = by_hand or (np.zeros(0), np.zeros((0, n)))
        whole = flat.T @ flat + rows.T @ rows + np.eye(n)
        root = linalg.cholesky(whole, lower=True)
        right = flat.T @ innovations.reshape(-1) + rows.T @ residual - z + coupling
        # The determinant's curvature in the logarithm of a coefficient is about its slope.
        step = linalg.solve(whole + np.diag(np.abs(coupling)), right, assume_a="pos")
        step = limit_step(step, whole, self.lowest, self.most)
        spread = linalg.solve_triangular(root, np.eye(n), lower=True).T
        errors, factors, sums = self._backwards(linear, parts, kept, log_levels, step, spread)
        return _Pass(
            step, spread @ spread.T, errors, sums, innovations, slopes, right, rows.T @ rows,
            float(
                np.sum(innovations**2) + sum(np.sum(np.asarray(each[2])) for each in kept) + z @ z + residual @ residual
            ),
            factors, spread,
        )  # fmt: skip

    def level_sums(
        self,
        linear: list[Linear],
        weights: Floats,
        states: Floats,
        log_levels: Floats,
        step: Floats,
        last: LevelSums,
    ) -> LevelSums:
        """The sums for the levels after a given step of the coordinates, without finding it anew.

        What the squares grow by because the coordinates are estimated along is a share of the precision that changes
        little from one step of the levels to the next, so it is taken from the `last` pass that found it.
        """
        parts = self.weighted(weights, states)
        none: Any = np.zeros((len(step), 0))
        fixed = [
            own._replace(c=own.c + own.G @ step, r=own.r - own.D @ step, G=own.G @ none, D=own.D @ none)
            for own in linear
        ]
        mean = self.mean._replace(
            value=self.mean.value + self.mean.slope @ step, slope=self.mean.slope @ none
        )
        kept = self.filtered(fixed, parts, log_levels, states, mean)
        _, _, sums = self._backwards(fixed, parts, kept, log_levels, np.zeros(0), np.zeros((0, 0)), mean)
        counted = last.precisions > 0.0
        share = np.where(counted, sums.precisions / np.where(counted, last.precisions, 1.0), 1.0)
        return sums._replace(slopes=share * last.slopes)

    def _backwards(
        self,
        linear: list[Linear],
        parts: list[tuple[Any, ...]],
        filtered: list[tuple[Any, ...]],
        log_levels: Floats,
        step: Floats,
        root: Floats,
        mean: Mean | None = None,
    ) -> tuple[Floats, list[tuple[Any, ...]], LevelSums]:
        """Errors of the states (K, 30), factors of `coupling`, and sums for the levels by the pass backwards."""
        zeros: Any = [np.zeros(shape) for shape in (ERROR, (ERROR, len(step)), (ERROR, ERROR))]
        back = Backward(*zeros)
        errors: list[Floats] = []
        factors: list[tuple[Any, ...]] = []
        sums = None
        for own, (weight, loose, x, _), each in zip(linear[::-1], parts[::-1], filtered[::-1], strict=True):
            back, error, own_factors, more = self.programs.backwards(
                log_levels, mean or self.mean, own, weight, loose, x, each, step, root, back
            )
            errors.append(np.asarray(error))
            factors.append(own_factors)
            sums = more if sums is None else Sums(*(a + b for a, b in zip(sums, more, strict=True)))
        found = self.programs.level_sums(log_levels, sums, back)
        return np.concatenate(errors[::-1])[: self.count], factors[::-1], LevelSums(*map(np.asarray, found))

    def weighted(self, weights: Floats, states: Floats) -> list[tuple[Any, ...]]:
        """Weights (K, 12), factors on the error of rotor speeds, states and those of the next nodes, in chunks."""
        after = np.concatenate([states[1:], states[-1:]])
        parts = list(self.chunks(weights, self.loose, states, after))
        if self.padded > self.count:
            parts[-1][0][self.count - self.padded :] = 0.0
            parts[-1][1][self.count - self.padded :] = 0.0
        return parts

    def filtered(
        self,
        linear: list[Linear],
        parts: list[tuple[Any, ...]],
        log_levels: Floats,
        states: Floats,
        mean: Mean | None = None,
    ) -> list[tuple[Any, ...]]:
        """What the pass forwards gives for each node, in chunks; `parts` are those of `weighted`."""
        mean = mean or self.mean
        carry = self.programs.start(log_levels, mean, states[0])
        kept = []
        for own, (weight, loose, x, ahead) in zip(linear, parts, strict=True):
            carry, each = self.programs.forwards(log_levels, mean, own, weight, loose, x, ahead, carry)
            kept.append(each)
        return kept

    def coupling(self, z: Floats, states: Floats, passed: _Pass) -> Floats:
        """(n,) b of equation (3) of `marginal`."""
        total, by_states = np.zeros(len(z)), np.zeros(len(z))
        for (x,), own, factors in zip(self.chunks(states), self.readings, passed.factors, strict=True):
            in_z, in_x = self.programs.coupling_slopes(self.nominal, z, x, own, *factors)
            total += np.asarray(in_z)
            by_states += np.asarray(in_x)
        of_states = linalg.solve_triangular(passed.root, by_states, lower=False, trans="T")
        return np.asarray(total + of_states)

    def shifted(self, states: Floats, errors: Floats) -> Floats:
        """The states moved by their errors, chunk by chunk."""
        return np.concatenate([np.asarray(_shifted(*chunk)) for chunk in self.chunks(states, errors)])[
            : self.count
        ]


_shifted = compiled(jax.vmap(plus))


def in_logarithms(nominal: NominalVehicle, step: Floats) -> Floats:
    """The step (n,) with that of the vanishing numbers taken in the numbers, of which the model is linear.

    So a number that is zero is small after a few iterations; its logarithm would fall by the same step in each.
    """
    own = nominal.layout.indices(VANISHING)
    sigma = np.asarray(nominal.sigma)[own]
    found = step.copy()
    found[own] = np.log(np.maximum(1.0 + sigma * step[own], np.exp(-LONGEST_STEP * sigma))) / sigma
    return found


def limit_step(step: Floats, precision: Floats, lowest: Floats, most: Floats) -> Floats:
    """The step (n,) changed as likely as possible so that no coordinate goes beyond `lowest` and `most` (n,) each.

    Coordinates that would are held at the bound, and the others follow them as the precision (n, n) has it.
    """
    bound = np.zeros(len(step), bool)
    found = step.copy()
    while np.any(beyond := ~bound & ((found > most) | (found < lowest))):
        found[beyond] = np.clip(found, lowest, most)[beyond]
        bound |= beyond
        free = ~bound
        apart = precision[np.ix_(free, bound)] @ (found - step)[bound]
        found[free] = step[free] - linalg.solve(precision[np.ix_(free, free)], apart, assume_a="pos")
    return found
