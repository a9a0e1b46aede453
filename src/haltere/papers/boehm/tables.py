"""`haltere reproduce boehm`: Table IV, the relative errors of Section VI-C and the ranks of [Boehm2022] beside ours.

Table IV lists a deviation larger than the mean nearly everywhere, which an L2 norm cannot well have; so each state has
two readings here, the mean L2 norm of the error and the norm of the mean error, both beside the paper's figure.
`cramer_rao` is the posterior Cramer-Rao bound of the same quantity, in its own column; `bound` is what ours must keep:
the paper's figure, except where the Cramer-Rao bound lies above it, and the chi-square band for the consistency rows.
Ours is the batch smoother with the paper's state vector. The filter of the paper and the smoother's full model (air,
wind, delays, disturbances, centre of mass), which begins with the prior of a drawing, stand beside it on the same
flights.
"""

import numpy as np

from haltere.airframe import from_catalogue
from haltere.estimation.core.consistency import mean_band
from haltere.foundation.arrays import double_precision
from haltere.papers.boehm import ranks
from haltere.papers.boehm.flights import Conditions, fly
from haltere.papers.boehm.paper_series import estimate_by_paper_filter
from haltere.papers.boehm.paper_vehicle import describe_paper_vehicle
from haltere.papers.boehm.prior import paper_hand_measurements
from haltere.papers.boehm.series import Series, estimate
from haltere.papers.tables import PaperRow, PaperTable, Progress, Reproduction, check_runs, silent

REVOLUTION = (2.0 * np.pi) ** 2
"""From N/(rad/s)^2 to N/(rev/s)^2."""
DEGREES = 180.0 / np.pi

#: Quantity, unit, factor from SI, block, rows of the block, the paper's absolute error and deviation (Table IV).
TABLE_4: tuple[tuple[str, str, float, str, slice, float, float], ...] = (
    ("r_MP", "mm", 1e3, "pose_position", slice(None), 1.8, 2.6),
    ("q_MP", "deg", DEGREES, "pose_rotation", slice(None), 4.0e-2, 2.1e-1),
    ("r_MI", "mm", 1e3, "imu_position", slice(None), 3.3, 3.7),
    ("q_MI", "deg", DEGREES, "imu_rotation", slice(None), 4.5e-2, 2.2e-1),
    ("b_a", "m/s2", 1.0, "accel_bias", slice(None), 2.1e-2, 3.0e-2),
    ("b_w", "rad/s", 1.0, "gyro_bias", slice(None), 7.8e-4, 1.2e-3),
    ("i", "kg m2", 1.0, "inertia", slice(None), 1.0e-3, 1.2e-3),
    ("g", "m/s2", 1.0, "gravity", slice(None), 1.5e-2, 1.9e-2),
    ("r_MR1", "mm", 1e3, "rotor_position", slice(0, 3), 1.4, 7.3),
    ("r_MR2", "mm", 1e3, "rotor_position", slice(3, 6), 1.3, 7.1),
    ("r_MR3", "mm", 1e3, "rotor_position", slice(6, 9), 7.1, 13.0),
    ("r_MR4", "mm", 1e3, "rotor_position", slice(9, 12), 8.6, 13.0),
    ("psi", "deg", DEGREES, "rotor_tilt", slice(0, None, 2), 5.1, 2.6),
    ("k_f", "N/(rev/s)2", REVOLUTION, "thrust_coefficient", slice(None), 1.7e-5, 3.1e-5),
    ("k_m", "m", 1.0, "torque_ratio", slice(None), 2.9e-3, 3.6e-3),
)

#: Quantity, block, rows of the block, and the paper's relative error (Section VI-C).
RELATIVE: tuple[tuple[str, str, slice, float], ...] = (
    ("r_MP, worst axis", "pose_position", slice(None), 0.04),
    ("r_MI x and y", "imu_position", slice(0, 2), 0.14),
    ("r_MI z", "imu_position", slice(2, 3), 0.86),
    ("i x and y", "inertia", slice(0, 2), 0.01),
    ("i z", "inertia", slice(2, 3), 0.08),
    ("k_f", "thrust_coefficient", slice(None), 0.03),
    ("k_m", "torque_ratio", slice(None), 0.12),
)

PAPER_FILTERS = {"filter of the paper, iterated": 3, "filter of the paper, one iteration": 1}
"""Iterations of each update."""


@double_precision()
def reproduce(runs: int, seed: int = 0, progress: Progress | None = None) -> Reproduction:
    """The tables of the study.

    Args:
        runs: flights of 30 s.
        seed: same seed, same tables.
        progress: called with a sentence as the work goes on.

    Returns:
        Rows with `cramer_rao` and `note` besides; those of the ranks with `note`.
    """
    check_runs(runs, 1, 30)
    airframe = from_catalogue("hummingbird")
    progress = progress or silent
    conditions = Conditions()
    seeds = range(1000 * seed, 1000 * seed + runs)
    progress(f"flying the Hummingbird {runs} times")
    recording = fly(airframe, seeds, conditions)
    vehicle, physical = describe_paper_vehicle(airframe)
    by_hand = paper_hand_measurements(vehicle.rotors)
    progress("estimating: batch smoother")
    series = estimate(airframe, seeds, by_hand, conditions, recording, progress)
    compared = {"batch smoother": series}
    for name, updates in PAPER_FILTERS.items():
        progress(f"estimating: {name}")
        compared[name] = estimate_by_paper_filter(
            airframe, seeds, by_hand, conditions, recording, series.bound, progress, updates
        )
    progress("estimating: full model")
    compared["full model"] = estimate(airframe, seeds, by_hand, conditions, recording, progress, "full")
    printed = {name: np.asarray(x) for name, x in physical.items()}
    tables = [
        PaperTable("Table IV: mean L2 norm of the error", [_l2(series, *row) for row in TABLE_4]),
        PaperTable("Table IV: norm of the mean error", [_mean(series, *row) for row in TABLE_4]),
        PaperTable("Section VI-C: relative errors", [_relative(series, printed, *row) for row in RELATIVE]),
        *(
            PaperTable(f"Consistency: {name}", scheme_rows(name, found, found is series))
            for name, found in compared.items()
        ),
    ]
    progress("counting what is observable")
    return Reproduction((*tables, *ranks.rank_tables(seed)), runs, seed)


def scheme_rows(name: str, series: Series, bounded: bool) -> list[PaperRow]:
    """NEES, errors over sigma and over bound, false information and time of one scheme."""
    runs, states, o = len(series.outcome.nees), series.states, series.outcome
    band = mean_band(states, runs)
    mean = float(np.mean(o.nees))
    outside = max(band.low - mean, mean - band.high, 0.0)
    grown = float(np.max(o.information))
    note = f"{runs} flights, {states} errors; two-sided 99.9 % band {band.low:.1f} to {band.high:.1f}"
    numbers: tuple[tuple[str, str, float, float | None, float | None, str], ...] = (
        ("mean NEES", "1", mean, None, float(states), note),
        ("mean NEES outside its band by", "1", outside, 0.0, None, note),
        ("median NEES", "1", float(np.median(o.nees)), None, float(states), "of a flight"),
        ("worst parameter", "sigma", float(np.max(o.worst)), 5.0, None, ""),
        ("rms of error over sigma", "1", series.over_sigma, None, 1.0, ""),
        ("error over Cramer-Rao bound", "1", series.ratio, 1.1, 1.0, ""),
        ("information along null directions grew by", "1", grown, 0.01, 0.0, "largest of all flights"),
        ("CPU time of a flight", "s", series.seconds, None, None, ""),
    )
    return [
        _row(f"{what}, {name}", unit, None, ours, limit if bounded else None, least, said)
        for what, unit, ours, limit, least, said in numbers
    ]


def _row(
    quantity: str,
    unit: str,
    paper: float | None,
    ours: float,
    bound: float | None,
    cramer_rao: float | None,
    note: str,
) -> PaperRow:
    return PaperRow(quantity, unit, ours, bound, paper, {"cramer_rao": cramer_rao, "note": note})


def errors_and_bounds(series: Series, block: str, rows: slice) -> tuple[np.ndarray, np.ndarray]:
    """(runs, k) errors of a block and their Cramer-Rao bounds, SI."""
    o = series.outcome
    if block in ("accel_bias", "gyro_bias"):
        place = slice(0, 3) if block == "accel_bias" else slice(3, 6)
        return o.bias_error[:, place][:, rows], series.bound.bias[:, place][:, rows]
    place = series.vehicle.physical.slices[block]
    return o.error[:, place][:, rows], series.bound.numbers[:, place][:, rows]


def _l2(
    series: Series, name: str, unit: str, factor: float, block: str, rows: slice, paper: float, _: float
) -> PaperRow:
    errors, bounds = errors_and_bounds(series, block, rows)
    ours = factor * float(np.mean(np.linalg.norm(errors, axis=1)))
    least = factor * float(np.mean(np.linalg.norm(bounds, axis=1)))
    limit = paper if least < paper else None
    note = "" if limit is not None else "the Cramer-Rao bound itself is above the paper's figure"
    return _row(name, unit, paper, ours, limit, least, note)


def _mean(
    series: Series,
    name: str,
    unit: str,
    factor: float,
    block: str,
    rows: slice,
    paper: float,
    deviation: float,
) -> PaperRow:
    errors, bounds = errors_and_bounds(series, block, rows)
    ours = factor * float(np.linalg.norm(np.mean(errors, axis=0)))
    least = factor * float(np.linalg.norm(np.sqrt(np.mean(bounds**2, axis=0)))) / np.sqrt(len(errors))
    spread = factor * float(np.linalg.norm(np.std(errors, axis=0)))
    note = f"deviation {spread:.2g} (paper {deviation:.2g}); the bound is that of a mean of {len(errors)}"
    return _row(name, unit, paper, ours, paper if least < paper else None, least, note)


def _relative(
    series: Series, printed: dict[str, np.ndarray], name: str, block: str, rows: slice, paper: float
) -> PaperRow:
    errors, bounds = errors_and_bounds(series, block, rows)
    size = np.abs(printed[block].reshape(-1)[rows])
    ours = float(np.max(np.mean(np.abs(errors), axis=0) / size))
    least = float(np.max(np.sqrt(np.mean(bounds**2, axis=0)) / size))
    return _row(name, "relative", paper, ours, paper if least < paper else None, least, "mean absolute error")
