"""Scores what estimators say of flights whose truth is known: the coverage rule, once, for all of them.

An estimator makes one `Attempt` at a flight: it refuses, or it makes claims, each a value with a 95 % interval. Only
what it calls `identified` is scored. sigma is the half-width of the interval over 1.96. Truth is a number, or a range
[low, high] that an interval holds if it touches it; errors then count from the nearest end.

| rule, per estimator and level | limits |
|---|---|
| intervals that hold, pooled over at least 100 flights | 91 to 98 % (nasty: no upper limit) |
| the same for each group of parameters with at least 300 intervals | 90 to 99 % (nasty: no upper limit) |
| the same for each smaller group, and for each group of each vehicle (a cell) | not more misses than honest |
| root mean square of error over sigma, per level and large group | 0.7 to 1.3 (nasty: 0.4 to 1.3) |
| beyond 5 sigma; beyond 8 sigma | at most 0.1 %, or one; none |
| flights refused, per vehicle | realistic: 5 %, or one; nasty: half |
| identified numbers that are not finite or have an open interval | none |

What an honest estimator may do by chance is no failure. It misses 5 % of its intervals, and those of one flight go
wrong together. So the misses of a flight with m intervals are beta-binomial with mean 0.05 m and the correlation rho of
two misses in one flight, and those of all flights are their convolution:

    rho = sum_f sum_{i != j} d_fi d_fj / sum_f sum_{i != j} s_fi s_fj                    (1)

with d = miss - mean miss of its group and s = the deviation of a miss in its group, sqrt(mean (1 - mean)): the method
of moments, pooled over all flights of an estimator and level, over pairs of the same group where a group is judged. A
group whose own correlation is larger (numbers that share a scale) is judged with its own. A few misses show no
correlation, so that of errors over sigma beyond the median of their group counts where it is larger.

A share or an rms outside of its limits is a failure only if an honest estimator would be there with a probability of
less than 1 %, a cell with many misses if with less than 0.1 %, both corrected for the number of such tests of the
estimator by Šidák's formula: read without it, the limits fail an honest estimator whose errors are correlated in many
of its tables. For the rms the deviation is that of the sums of flights.

A range is held by more than 95 % of honest intervals, so ranges count for the lower limit of the share and for the
tails only; the rms of a group that has only ranges has no lower limit.

A t-interval of n degrees of freedom (`Claim.dof`) is honestly missed by 5 and 8 sigma. Its limits lie where honest
errors are with a probability of 1e-5 and 1e-7, if that is farther out, as it is for n below 34 and 18: all numbers of
a flight may share one poor estimate of their sigma, so even rare misses of that size come many at once.

Single effects (`Attempt.effect`) are listed in a table of their own and not judged.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor, isfinite, isnan, nan
from typing import NamedTuple

import numpy as np
from scipy import fft, stats
from tests.world.attempts import Attempt, Columns

LEVELS = ("ideal", "realistic", "nasty")
NORMAL = 1.96
"""Standard deviations on each side of a normal 95 % interval."""
HONEST_MISSES = 0.05
CHANCE = {"band": 1e-2, "cell": 1e-3}
"""Probability with which an honest estimator may fail any of its limits of a share or rms, and any of its cells."""
POOLED, LARGE_GROUP = (0.91, 0.98), (0.90, 0.99)
RMS, RMS_NASTY = (0.7, 1.3), (0.4, 1.3)
FEWEST_FLIGHTS, LARGE = 100, 300
TAILS = ((5.0, 1e-3, 1e-5), (8.0, 0.0, 1e-7))
"""Errors over sigma, the share that may lie beyond, and the probability of an honest t-interval there."""
REFUSED = {"realistic": 0.05, "nasty": 0.5}


@dataclass(frozen=True)
class Row:
    """One line of a table; shares and figures are NaN where nothing was claimed."""

    estimator: str
    level: str
    name: str
    flights: int
    refused: int
    claimed: int
    held: float
    rms: float
    median_error: float
    beyond_5: int
    beyond_8: int
    seconds: float


@dataclass(frozen=True)
class Score:
    """What the rule says.

    Attributes:
        failures: rules that do not hold, as sentences with numbers.
        undecided: rules for which there are too few flights or no claims.
        empty: groups of which nothing was identified.
        vehicles: by estimator, level and vehicle, with a line for all vehicles.
        groups: by estimator, level and group of parameters.
        effects: by estimator, level and single effect.
    """

    failures: tuple[str, ...]
    undecided: tuple[str, ...]
    empty: tuple[str, ...]
    vehicles: tuple[Row, ...]
    groups: tuple[Row, ...]
    effects: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether every rule could be decided and holds."""
        return not self.failures and not self.undecided


class _Check(NamedTuple):
    """A rule as a sentence, and how probable its breach is for an honest estimator: 1 if it holds."""

    sentence: str
    probability: float = 0.0
    kind: str = "certain"


@dataclass(frozen=True, eq=False)
class _Claims:
    """Identified claims (N,); vehicles and groups as indices into the sorted names of the table."""

    attempt: np.ndarray
    vehicle: np.ndarray
    group: np.ndarray
    complete: np.ndarray
    miss: np.ndarray
    exact: np.ndarray
    ratio: np.ndarray
    relative: np.ndarray
    dof: np.ndarray

    @classmethod
    def of(cls, c: Columns) -> "_Claims":
        """All that are identified."""
        k = np.flatnonzero(c.identified)
        value, low, high, first, last = (a[k] for a in (c.value, c.low, c.high, c.truth_low, c.truth_high))
        complete = np.isfinite(value) & np.isfinite(low) & np.isfinite(high) & (low <= high)
        error = np.maximum(np.maximum(first - value, value - last), 0.0)
        sigma = (high - low) / (2.0 * NORMAL)
        scale = np.where(np.isfinite(c.scale[k]), np.abs(c.scale[k]), np.maximum(np.abs(first), np.abs(last)))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(error == 0.0, 0.0, error / sigma)  # an interval without width is infinitely sure
            relative = error / scale
        return cls(
            c.attempt[k],
            np.unique(c.vehicle, return_inverse=True)[1][c.attempt[k]],
            np.unique(c.group, return_inverse=True)[1][k],
            complete,
            ~(np.isfinite(value) & (low <= last) & (high >= first)),
            first == last,
            np.where(complete, ratio, nan),
            np.where(complete, relative, nan),
            c.dof[k],
        )

    def __getitem__(self, index: np.ndarray) -> "_Claims":
        return _Claims(*(getattr(self, name)[index] for name in self.__dataclass_fields__))

    def beyond(self) -> tuple[int, int]:
        """How many lie in each of the two tails."""
        five, eight = (int(np.sum(self.ratio > _tail_limits(self.dof, sigmas, p))) for sigmas, _, p in TAILS)
        return five, eight


def score(attempts: Iterable[Attempt] | Columns) -> Score:
    """Judge estimators by the coverage rule, all estimators and levels of the table together."""
    c = attempts if isinstance(attempts, Columns) else Columns.of(attempts)
    if not set(c.level) <= set(LEVELS):
        raise ValueError(f"levels are {', '.join(sorted(set(c.level)))}; expected {', '.join(LEVELS)}")
    every, kinds, types = _Claims.of(c), np.unique(c.group), np.unique(c.vehicle)
    codes = np.searchsorted(kinds, c.group)
    checks: dict[str, list[_Check]] = {}
    undecided, empty, vehicles, groups, effects = [], [], [], [], []
    pairs = set(zip(c.estimator.tolist(), c.level.tolist(), strict=True))
    for estimator, level in sorted(pairs, key=lambda pair: (pair[0], LEVELS.index(pair[1]))):
        own, title = (c.estimator == estimator) & (c.level == level), f"{estimator}, {level}"
        for effect in sorted(set(c.effect[own]) - {""}):
            single = own & (c.effect == effect)
            effects.append(Row(estimator, level, effect, *_figures(c, every[single[every.attempt]], single)))
        own &= c.effect == ""
        if not own.any():
            continue
        claims = every[own[every.attempt]]
        for code in np.flatnonzero(np.isin(types, c.vehicle[own])):
            figures = _figures(c, claims[claims.vehicle == code], own & (c.vehicle == types[code]))
            vehicles.append(Row(estimator, level, str(types[code]), *figures))
        vehicles.append(Row(estimator, level, "all", *_figures(c, claims, own)))
        for code in np.unique(codes[own[c.attempt]]):
            group = claims[claims.group == code]
            groups.append(Row(estimator, level, str(kinds[code]), *_figures(c, group, own)))
            empty += [] if len(group.miss) else [f"{title}, {kinds[code]}"]
        if own.sum() < FEWEST_FLIGHTS:
            undecided.append(f"{title}: {own.sum()} flights; {FEWEST_FLIGHTS} are needed")
        if not len(claims.miss):
            undecided.append(f"{title}: no number is identified in {own.sum()} flights")
        found = _judge_claims(claims, kinds, types, title, level) + _judge_refusals(c, own, title, level)
        checks.setdefault(estimator, []).extend(found)
    failures = tuple(sentence for own in checks.values() for sentence in _failures(own))
    return Score(failures, tuple(undecided), tuple(empty), tuple(vehicles), tuple(groups), tuple(effects))


def _failures(checks: list[_Check]) -> list[str]:
    """Sentences of the rules of one estimator that do not hold, corrected for how many there are of each kind."""
    limits = {"certain": 0.5}
    for kind, chance in CHANCE.items():
        count = sum(check.kind == kind for check in checks)
        limits[kind] = -np.expm1(np.log1p(-chance) / max(count, 1))
    return [check.sentence for check in checks if check.probability < limits[check.kind]]


def _judge_claims(
    claims: _Claims, kinds: np.ndarray, types: np.ndarray, title: str, level: str
) -> list[_Check]:
    total = len(claims.miss)
    if not total:
        return []
    across, within = _correlation(claims, False), _correlation(claims, True)
    checks = [*_judge_share(claims, across, POOLED, level, title), _judge_rms(claims, level, title)]
    for kind in np.unique(claims.group):
        group, name = claims[claims.group == kind], f"{title}, {kinds[kind]}"
        rho = max(within, _correlation(group, True))
        if len(group.miss) >= LARGE:
            checks += [*_judge_share(group, rho, LARGE_GROUP, level, name), _judge_rms(group, level, name)]
        else:
            checks.append(_judge_cell(group, rho, name))
        each = np.unique(group.vehicle)
        for vehicle in each if len(each) > 1 else ():
            checks.append(_judge_cell(group[group.vehicle == vehicle], rho, f"{name}, {types[vehicle]}"))
    for count, (sigmas, share, _) in zip(claims.beyond(), TAILS, strict=True):
        allowed = max(1, floor(share * total)) if share else 0
        if count > allowed:
            checks.append(_Check(f"{title}: {count} of {total} beyond {sigmas:g} sigma; at most {allowed}"))
    if not claims.complete.all():
        count = int(np.sum(~claims.complete))
        checks.append(
            _Check(f"{title}: {count} identified numbers without a finite value and a closed interval")
        )
    return checks


def _judge_refusals(c: Columns, own: np.ndarray, title: str, level: str) -> list[_Check]:
    checks = []
    for vehicle in sorted(set(c.vehicle[own])) if level in REFUSED else ():
        refused = c.refused[own & (c.vehicle == vehicle)]
        allowed = max(1, floor(REFUSED[level] * len(refused)))
        if refused.sum() > allowed:
            sentence = (
                f"{title}, {vehicle}: {refused.sum()} of {len(refused)} flights refused; at most {allowed}"
            )
            checks.append(_Check(sentence))
    return checks


def _judge_share(
    claims: _Claims, rho: float, limits: tuple[float, float], level: str, title: str
) -> list[_Check]:
    """The share of intervals that hold: all of them for the lower limit, those of exact truths for the upper one."""
    checks = []
    sides = [(claims, True)] if level == "nasty" else [(claims, True), (claims[claims.exact], False)]
    for some, lower in sides:
        if not len(some.miss):
            continue
        share = 1.0 - float(some.miss.mean())
        outside = share < limits[0] if lower else share > limits[1]
        limit = f"at least {100 * limits[0]:g} %" if lower else f"at most {100 * limits[1]:g} %"
        sentence = f"{title}: {100 * share:.1f} % of {len(some.miss)} intervals hold; {limit}"
        checks.append(_Check(sentence, _chance_of_misses(some, rho, lower) if outside else 1.0, "band"))
    return checks


def _judge_cell(claims: _Claims, rho: float, title: str) -> _Check:
    misses, total = int(claims.miss.sum()), len(claims.miss)
    probability = _chance_of_misses(claims, rho, True) if misses > HONEST_MISSES * total else 1.0
    sentence = f"{title}: {misses} of {total} intervals do not hold; honest ones do so with {probability:.1g}"
    return _Check(sentence, probability, "cell")


def _judge_rms(claims: _Claims, level: str, title: str) -> _Check:
    """Root mean square of error over sigma; only exact truths, where there are any."""
    low, high = RMS_NASTY if level == "nasty" else RMS
    exact = bool(claims.exact.any())
    low = low if exact else 0.0
    some = claims[claims.complete & (claims.exact | (not exact))]
    square = some.ratio**2
    mean = float(np.mean(square)) if len(square) else 1.0
    probability = 1.0 if low**2 <= mean <= high**2 else 0.0
    if probability == 0.0 and isfinite(mean):
        _, flight = np.unique(some.attempt, return_inverse=True)
        sums = np.bincount(flight, square - mean)
        if len(sums) == 1:
            probability = 1.0
        elif np.any(sums):
            deviation = np.sqrt(np.sum(sums**2) * len(sums) / (len(sums) - 1)) / len(square)
            probability = float(stats.t.sf(abs(mean - 1.0) / deviation, len(sums) - 1))
    sentence = f"{title}: rms of error over sigma is {np.sqrt(mean):.2f}; {low:g} to {high:g}"
    return _Check(sentence, probability, "band")


def _correlation(claims: _Claims, same_group: bool) -> float:
    """Correlation of two misses in one flight, over pairs of the same group or over all pairs.

    The larger of that of the misses and that of errors over sigma beyond the median of their group.
    """
    far = np.zeros(len(claims.miss), bool)
    for code in np.unique(claims.group):
        own = claims.group == code
        far[own] = claims.ratio[own] > _median(claims.ratio[own])
    key = claims.attempt * (claims.group.max() + 1) + claims.group if same_group else claims.attempt
    return max(_pair_correlation(event, claims.group, key) for event in (claims.miss, far))


def _pair_correlation(event: np.ndarray, group: np.ndarray, key: np.ndarray) -> float:
    """Correlation (1) of events (N,) over the pairs of the same key (N,); between 0 and 0.999."""
    mean = (np.bincount(group, event) / np.maximum(np.bincount(group), 1))[group]
    difference, deviation = event - mean, np.sqrt(mean * (1.0 - mean))

    def over_pairs(x: np.ndarray) -> float:
        return float(np.sum(np.bincount(key, x) ** 2) - np.sum(x**2))

    scale = over_pairs(deviation)
    return min(max(over_pairs(difference) / scale, 0.0), 0.999) if scale > 1e-9 else 0.0


def _chance_of_misses(claims: _Claims, rho: float, at_least: bool) -> float:
    """Probability that an honest estimator has at least (or at most) as many misses in these flights."""
    sizes = np.unique(np.unique(claims.attempt, return_counts=True)[1], return_counts=True)
    pairs = tuple(zip(*(column.tolist() for column in sizes), strict=True))
    distribution = _distribution(pairs, round(rho, 3))
    misses = int(claims.miss.sum())
    return float(np.sum(distribution[misses:] if at_least else distribution[: misses + 1]))


@lru_cache(maxsize=4096)
def _distribution(sizes: tuple[tuple[int, int], ...], rho: float) -> np.ndarray:
    """(n + 1,) probabilities of the honest number of misses in flights of `sizes`: (intervals, how many flights)."""
    total = sum(size * count for size, count in sizes)
    length = fft.next_fast_len(total + 1, real=True)
    spectrum = np.ones(length // 2 + 1, complex)
    for size, count in sizes:
        k = np.arange(size + 1)
        if rho > 0.0:
            prior = np.array([HONEST_MISSES, 1.0 - HONEST_MISSES]) * (1.0 - rho) / rho
            single = stats.betabinom.pmf(k, size, *prior)
        else:
            single = stats.binom.pmf(k, size, HONEST_MISSES)
        spectrum *= fft.rfft(single, length) ** count
    return np.maximum(fft.irfft(spectrum, length)[: total + 1], 0.0)


def _tail_limits(dof: np.ndarray, sigmas: float, probability: float) -> np.ndarray:
    """(N,) errors over sigma that count as beyond `sigmas`, wider for t-intervals of few degrees of freedom."""
    limits = np.full(len(dof), sigmas)
    for each in np.unique(dof[np.isfinite(dof)]):
        reach = stats.t.isf(probability / 2.0, each) / stats.t.isf(HONEST_MISSES / 2.0, each)
        limits[dof == each] = max(sigmas, NORMAL * float(reach))
    return limits


def _figures(c: Columns, claims: _Claims, chosen: np.ndarray) -> tuple[float, ...]:
    """The numbers of a `Row` for the attempts (F,) that are chosen and their claims."""
    exact, total = claims.exact & claims.complete, len(claims.miss)
    return (
        int(chosen.sum()),
        int(c.refused[chosen].sum()),
        total,
        float(1.0 - claims.miss.mean()) if total else nan,
        float(np.sqrt(np.mean(claims.ratio[exact] ** 2))) if exact.any() else nan,
        _median(claims.relative),
        *claims.beyond(),
        _median(c.seconds[chosen]),
    )


def _median(numbers: np.ndarray) -> float:
    finite = numbers[np.isfinite(numbers)]
    return float(np.median(finite)) if len(finite) else nan


def markdown(rows: Sequence[Row], name: str) -> str:
    """A table of the rows as Markdown; `name` is the head of their third column."""
    columns: dict[str, Callable[[Row], str]] = {
        "estimator": lambda r: r.estimator,
        "level": lambda r: r.level,
        name: lambda r: r.name,
        "flights": lambda r: str(r.flights),
        "refused": lambda r: str(r.refused),
        "claimed": lambda r: str(r.claimed),
        "held, %": lambda r: _number(100 * r.held, ".1f"),
        "rms of error over sigma": lambda r: _number(r.rms, ".3g"),
        "median error, % of scale": lambda r: _number(100 * r.median_error, ".2g"),
        "beyond 5, 8 sigma": lambda r: f"{r.beyond_5}, {r.beyond_8}",
        "time, s": lambda r: _number(r.seconds, ".2g"),
    }
    lines = [" | ".join(columns), "|".join("---" for _ in columns)]
    lines += [" | ".join(cell(row) for cell in columns.values()) for row in rows]
    return "".join(f"| {line} |\n" if "---" not in line else f"|{line}|\n" for line in lines)


def _number(x: float, form: str) -> str:
    return "-" if isnan(x) else format(x, form)
