"""`haltere reproduce fresk`: both experiments of [Fresk2017] beside ours, and what the paper left out.

`fly_all` flies everything once, `reproduce` makes tables of it. Each row has `paper` where the paper prints a number,
`ours`, and the `bound` that ours must keep; rows of the paper's own filter are named so.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from scipy.stats import chi2

from haltere.estimation.cog.settings import Reason
from haltere.foundation.arrays import Array, ArrayLike, double_precision
from haltere.papers.fresk import experiments, fit, vehicles
from haltere.papers.fresk.experiments import AFTER, DROP, PRODUCTS, evaluate_step, keys, step_case, step_loop
from haltere.papers.fresk.loop import RATE, CogCase, CogLog, CogSource, fly_cases
from haltere.papers.tables import PaperRow, Progress, Reproduction, check_runs, named_tables, silent

EXCITED: dict[str, Any] = {
    "amplitude": (0.25, 0.25, 0.2, 0.05),
    "cycles": (4.0, 5.0, 4.0, 2.0),
    "product": 600.0,
}
"""A figure that rotates the vehicle enough to show the component along the thrust."""
DITHER = 0.4
"""Share of the hover's squared speeds by which the rotors change one against the other to show which are weak."""
NOTHING_HANGS = ((0.0, (0.0, 0.0, 0.0)), (0.0, (0.0, 0.0, 0.0)))
BELOW = ((0.2, (0.05, 0.02, -0.15)), (0.0, (0.0, 0.0, 0.0)))
"""A load 15 cm below the centre."""
FAULTS = (7.0, 9.0, 10.0)
"""s: rotor speeds drop out for 0.2 s, an accelerometer outlier, a gyroscope NaN."""


@dataclass(frozen=True)
class FreskFlights:
    """All flights of the study by name, and the fits."""

    step: dict[str, CogLog]
    sweep: dict[str, CogLog]
    shapes: dict[str, CogLog]
    weak: np.ndarray
    """(runs, 6) relative thrust of each rotor in the flights with weak rotors."""
    table_one: fit.TableOne | None


def weak_rotors(key: Array, runs: int) -> np.ndarray:
    """(runs, 6): +3 % on one rotor and -1 % on another, drawn anew for each run."""
    found = np.zeros((runs, 6))
    for row, one in zip(found, jax.random.split(key, runs), strict=True):
        strong, feeble = np.asarray(jax.random.permutation(one, 6)[:2])
        row[strong], row[feeble] = 0.03, -0.01
    return found


def step_groups(runs: int, seed: int, weak: np.ndarray) -> dict[str, list[CogCase]]:
    """The flights of the Neo without arm."""
    bare, below = experiments.hanging_masses(*NOTHING_HANGS), experiments.hanging_masses(*BELOW)
    level = (0.0, 0.0, 0.0)
    return {
        "noisy": [step_case(k) for k in keys(seed, runs)],
        "quiet": [step_case(k, noise=0.0) for k in keys(seed, runs, 1)],
        "paper": [step_case(k, CogSource.PAPER) for k in keys(seed, 2, 2)],
        "drift": [step_case(k, CogSource.NOTHING, 0.0, p) for p in PRODUCTS for k in keys(seed, 1, 3)],
        "reference": [step_case(k, CogSource.REFERENCE, 0.0) for k in keys(seed, 1, 4)],
        "faults": [step_case(k, faults=FAULTS) for k in keys(seed, min(runs, 5), 5)],
        "weak": [
            step_case(k, thrust=list(t), load=bare, offset=level)
            for k, t in zip(keys(seed, runs, 6), weak, strict=True)
        ],
        "weak excited": [
            step_case(k, thrust=list(t), load=bare, offset=level, noise=0.0, dither=DITHER, **EXCITED)
            for k, t in zip(keys(seed, runs, 7), weak, strict=True)
        ],
        "below": [step_case(k, noise=0.0, load=below, offset=level) for k in keys(seed, 2, 8)],
        "below excited": [
            step_case(k, noise=0.0, load=below, offset=level, **EXCITED) for k in keys(seed, runs, 9)
        ],
    }


def sweep_groups(runs: int, seed: int) -> dict[str, tuple[bool, list[dict[str, Any]]]]:
    """The flights with the arm: whether the filter reads the joint, and what differs."""
    few = min(runs, 10)
    plain = [{"key": k} for k in keys(seed, few, 20)]
    return {
        "noisy": (False, plain),
        "quiet": (False, [{"key": k, "noise": 0.0} for k in keys(seed, few, 21)]),
        "uncompensated": (
            False,
            [{"key": k, "noise": 0.0, "source": CogSource.NOTHING} for k in keys(seed, 1, 22)],
        ),
        "washed": (False, [{"key": k, "noise": 0.0, "strength": 1.0} for k in keys(seed, 1, 23)]),
        "with angle": (True, plain),
    }


@double_precision()
def fly_all(
    runs: int = 20, seed: int = 0, progress: Progress | None = None, shapes: tuple[str, ...] | None = None
) -> FreskFlights:
    """Every flight of the study; `shapes` are the vehicles of the last table, all of them where not given."""
    check_runs(runs, 2, 20)
    progress = progress or silent
    weak = weak_rotors(jax.random.fold_in(jax.random.key(seed), 99), runs)
    groups = step_groups(runs, seed, weak)
    progress("step experiment")
    step: dict[str, CogLog] = {}
    for dithered in (False, True):
        flying = {name: cases for name, cases in groups.items() if (name == "weak excited") == dithered}
        flown = fly_cases(
            step_loop(dithered=dithered), [case for cases in flying.values() for case in cases], progress
        )
        step |= split(flown, {name: len(cases) for name, cases in flying.items()})
    sweep: dict[str, CogLog] = {}
    for with_angle in (False, True):
        loop = experiments.sweep_loop(with_angle)
        mine = {n: g for n, (angle, g) in sweep_groups(runs, seed).items() if angle == with_angle}
        cases = [experiments.sweep_case(loop=loop, **given) for group in mine.values() for given in group]
        progress("sweep experiment" + (", joint angle known" if with_angle else ""))
        sweep |= split(fly_cases(loop, cases, progress), {name: len(group) for name, group in mine.items()})
    others: dict[str, CogLog] = {}
    for number, name in enumerate(vehicles.VEHICLES if shapes is None else shapes):
        progress(f"random steps of the vehicle {name}")
        cases = [vehicles.shape_case(name, k) for k in keys(seed, runs, 40 + number)]
        others[name] = fly_cases(vehicles.shape_loop(name), cases, progress)
    progress("excitation and fit of Table I")
    return FreskFlights(step, sweep, others, weak, fit.fit_table_one(fit.excitation(seed)))


def split(log: CogLog, counts: dict[str, int]) -> dict[str, CogLog]:
    """The stacked logs by group."""
    found, first = {}, 0
    for name, count in counts.items():
        found[name] = jax.tree.map(lambda x, a=first, b=first + count: x[a:b], log)
        first += count
    return found


@double_precision()
def reproduce(runs: int, seed: int = 0, progress: Progress | None = None) -> Reproduction:
    """The tables of the study; see the module."""
    return make_tables(fly_all(runs, seed, progress), runs, seed)


def make_tables(flights: FreskFlights, runs: int, seed: int = 0) -> Reproduction:
    """The tables of all flights."""
    rows = {
        "Step of the centre of gravity (Table II, Figure 6)": step_rows(flights),
        "Position without and with compensation (Figure 6)": position_rows(flights),
        "Sweep of the arm (Figure 7)": sweep_rows(flights),
        "Weak rotors, and the component along the thrust": doubt_rows(flights),
        "Faults of the sensors": fault_rows(flights),
        "Random steps on other vehicles": shape_rows(flights),
        "Table I from 30 s of excitation": table_one_rows(flights),
    }
    return Reproduction(named_tables(rows), runs, seed, flights)


def step_rows(flights: FreskFlights) -> list[PaperRow]:
    """Convergence and residual error of both filters."""
    rows = []
    printed = (0.0015, 0.0008)
    for noise, bound in (("noisy", 0.0008), ("quiet", 0.0003)):
        log = flights.step[noise]
        theirs, ours = evaluate_step(log.paper), evaluate_step(log.offset)
        rows += [
            PaperRow(f"90 % time, the paper's filter, {noise}", "s", theirs.rise_time, 1.5, 1.6),
            PaperRow(f"90 % time, ours, {noise}", "s", ours.rise_time, 0.6, 1.6),
        ]
        for j, axis in enumerate("xy"):
            rms = f"rms of {axis} after 3 s"
            rows += [
                PaperRow(f"{rms}, the paper's filter, {noise}", "m", theirs.rms[j], None, printed[j]),
                PaperRow(f"{rms}, ours, {noise}", "m", ours.rms[j], bound, printed[j]),
            ]
    last = np.linalg.norm((flights.step["reference"].reference[0, -1] - AFTER)[:2])
    return [*rows, PaperRow("error of the ground truth estimator", "m", last, 0.0005, 0.00096)]


def position_rows(flights: FreskFlights) -> list[PaperRow]:
    """Drift against equation (1) of `haltere.papers.fresk.experiments`, and what compensation leaves."""
    rows = []
    for i, product in enumerate(PRODUCTS):
        one = jax.tree.map(lambda x, i=i: x[i : i + 1], flights.step["drift"])
        got, law = np.abs(experiments.settled_drift(one)), experiments.drift(product)
        printed = (0.27, 0.1) if i == 0 else (None, None)
        difference = np.max(np.abs(got / law - 1.0))
        rows += [
            PaperRow(f"drift in x at kx kR = {product:g} s^-4", "m", got[0], None, printed[0]),
            PaperRow(f"drift in y at kx kR = {product:g} s^-4", "m", got[1], None, printed[1]),
            PaperRow(f"difference from the law at {product:g}", "1", difference, 0.06),
        ]
    late = round((DROP + 5.0) * RATE)
    quiet, noisy = (
        flights.step[name].position[:, late:] - np.asarray(experiments.HOVER) for name in ("quiet", "noisy")
    )
    mean, after = np.abs(noisy.mean(axis=(0, 1))), "with compensation, 5 s after the step"
    return [
        *rows,
        PaperRow(f"largest horizontal error {after}", "m", np.abs(quiet[..., :2]).max(), 0.01),
        PaperRow(f"rms error of the height {after}", "m", rms_of(quiet[..., 2]), 0.01),
        PaperRow(f"mean horizontal error {after}, torque noise", "m", mean[:2].max(), 0.01),
        PaperRow(f"mean error of the height {after}, torque noise", "m", mean[2], 0.01),
    ]


def rms_of(values: ArrayLike) -> float:
    """Root mean square of all of them."""
    return float(np.sqrt(np.mean(np.asarray(values) ** 2)))


def sweep_rows(flights: FreskFlights) -> list[PaperRow]:
    """Tracking of the arm."""
    sweep, nominal = flights.sweep, np.asarray(experiments.sweep_controller().vehicle.com)
    rows = []
    for name, rms, lag in (("quiet", 0.0006, 0.15), ("noisy", 0.0013, None), ("with angle", 0.0008, None)):
        error, late = experiments.tracking_error(sweep[name], sweep[name].trim)
        rows += [
            PaperRow(f"rms of x, ours, {name}", "m", error, rms),
            PaperRow(f"lag of x, ours, {name}", "s", late, lag),
        ]
    error, late = experiments.tracking_error(sweep["noisy"], sweep["noisy"].paper + nominal)
    start = round(experiments.REST * RATE)
    moved = {name: rms_of(log.position[:, start:, 0]) for name, log in sweep.items()}
    washed, quiet = sweep["washed"], sweep["quiet"]
    shift = washed.trim[0, start - 10 : start, 0].mean() - experiments.true_com(washed.angles[0, start, 0])[0]
    alpha, beta = experiments.fit_21(quiet.angles[0, start:, 0], quiet.trim[0, start:, 0])
    return [
        *rows,
        PaperRow("rms of x, the paper's filter, noisy", "m", error),
        PaperRow("lag of x, the paper's filter", "s", late),
        PaperRow("rms position x, compensated, quiet", "m", moved["quiet"], 0.005),
        PaperRow("rms position x, compensated, torque noise", "m", moved["noisy"]),
        PaperRow("rms position x, not compensated", "m", moved["uncompensated"]),
        PaperRow("shift seen in the rotor wash at -40 degrees", "m", shift),
        PaperRow("alpha of (21), with a cosine", "m", alpha),
        PaperRow("beta of (21)", "m", beta),
    ]


def coverage(hover: CogLog) -> tuple[float, float]:
    """Fraction of errors of x, y inside 1.96 deviations where the true offset is zero, and the largest deviation, m."""
    times = [round(t * RATE) - 1 for t in (8.0, 11.0, 14.0, 17.0, 20.0)]
    error, sigma = hover.com[:, times, :2], hover.sigma[:, times, :2]
    return float(np.mean(np.abs(error) < 1.96 * sigma)), float(sigma.max())


def doubt_rows(flights: FreskFlights) -> list[PaperRow]:
    """What can be distinguished, and what cannot."""
    hover, excited = flights.step["weak"], flights.step["weak excited"]
    below, turned = flights.step["below"], flights.step["below excited"]
    inside, sigma = coverage(hover)
    error = np.sqrt(np.mean(excited.com[:, -1, :2] ** 2, axis=0)).max()
    along = turned.com[:, -1, 2] - experiments.centre(*BELOW)[2]
    same = "rms error, the same at hover"
    return [
        PaperRow("rms error, +3 % and -1 % thrust, excited, ours", "m", error, 0.0005),
        PaperRow(f"{same}, the paper's filter", "m", rms_of(hover.paper[:, -1, :2])),
        PaperRow(f"{same}, ours", "m", rms_of(hover.com[:, -1, :2])),
        PaperRow("largest sigma at hover", "m", sigma, 0.003),
        PaperRow("coverage of the 95 % interval at hover, at least 0.9", "1", inside, 0.99),
        PaperRow("not covered by it at hover, at most", "1", 1.0 - inside, 0.1),
        PaperRow("z called observable at hover, share", "1", below.along.mean(), 0.0),
        PaperRow("z called observable when excited, share at the end", "1", turned.along[:, -1].mean()),
        PaperRow(
            "rms error of z when excited, at most twice its deviation",
            "m",
            rms_of(along),
            2.0 * rms_of(turned.sigma[:, -1, 2]),
        ),
    ]


def fault_rows(flights: FreskFlights) -> list[PaperRow]:
    """Dropout, outlier and NaN."""
    log = flights.step["faults"]
    late = round((DROP + 1.0) * RATE)
    offset, position = np.abs(log.offset[:, late:, :2] - AFTER[:2]), np.abs(log.position[:, late:, :2])
    lost = (~np.isfinite(log.offset)).any(axis=2).sum()
    reasons = (Reason.SPEED_MISSING, Reason.ACCEL_OUTLIER, Reason.GYRO_MISSING)
    return [
        PaperRow("largest error of the estimate through all faults", "m", offset.max()),
        PaperRow("largest error of the position through all faults", "m", position.max(), 0.2),
        PaperRow("ticks with a number that is not finite", "1", lost, 0.0),
        *(
            PaperRow(f"{reason.name.lower()} raised for each flight", "1", log.counts[:, -1, reason].mean())
            for reason in reasons
        ),
    ]


def shape_rows(flights: FreskFlights) -> list[PaperRow]:
    """Convergence and consistency."""
    rows = []
    for name, log in flights.shapes.items():
        good, nees = vehicles.consistency(name, log)
        n = len(nees)
        low, high = chi2.ppf((0.005, 0.995), 2 * n) / n
        rows += [
            PaperRow(f"{name}: not converged of {n}", "1", float(n - good), 0.0),
            PaperRow(f"{name}: mean NEES, at least {low:.2f}", "1", nees.mean(), float(high), 2.0),
        ]
    return rows


def table_one_rows(flights: FreskFlights) -> list[PaperRow]:
    """What a flight can tell of Table I, against the catalogue's numbers."""
    if flights.table_one is None:
        return []
    true, printed = fit.effective(fit.true_table()), fit.effective(fit.PAPER)
    rows = []
    for name, value in flights.table_one.value.items():
        unit = {"A_F/m": "m/s2", "tau": "s"}.get(name, "rad/s2")
        away = abs(value - true[name]) / flights.table_one.sigma[name]
        rows += [
            PaperRow(name, unit, value, None, printed[name]),
            PaperRow(f"{name}: deviations from the catalogue", "1", away, 4.0),
        ]
    return rows
