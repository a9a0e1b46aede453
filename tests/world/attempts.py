"""What an estimator says of one flight, beside the truth, and many of such attempts as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan

import numpy as np


@dataclass(frozen=True)
class Claim:
    """One number that an estimator states, beside the truth.

    Attributes:
        group: kind of parameter, such as `mass` or `rotor position`.
        name: of the parameter.
        value: SI; None where there is none.
        interval: at 95 %; None for an open side.
        verdict: of the estimator; only `identified` is scored.
        truth: a number, or the range (low, high) that counts as true.
        scale: what an error is compared with in the tables; the truth where it is None.
        dof: degrees of freedom if it is a t-interval of few windows.
    """

    group: str
    name: str
    value: float | None
    interval: tuple[float | None, float | None]
    verdict: str
    truth: float | tuple[float, float]
    scale: float | None = None
    dof: float | None = None


@dataclass(frozen=True)
class Attempt:
    """One estimator at one flight.

    Attributes:
        estimator: its name.
        level: `ideal`, `realistic` or `nasty`.
        vehicle: kind of vehicle.
        flight: name or seed of the flight, unique within estimator, level, vehicle and effect.
        claims: what it states; empty if it refused.
        refusal: why it refused the flight; empty if it did not.
        seconds: CPU time of the estimator.
        effect: the only effect that is switched on, if it is a flight for the table of single effects.
    """

    estimator: str
    level: str
    vehicle: str
    flight: str
    claims: tuple[Claim, ...] = ()
    refusal: str = ""
    seconds: float = nan
    effect: str = ""


@dataclass(frozen=True, eq=False)
class Columns:
    """Attempts (F,) and all their claims (N,) as arrays."""

    estimator: np.ndarray
    level: np.ndarray
    vehicle: np.ndarray
    effect: np.ndarray
    refused: np.ndarray
    seconds: np.ndarray
    attempt: np.ndarray
    group: np.ndarray
    identified: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    truth_low: np.ndarray
    truth_high: np.ndarray
    scale: np.ndarray
    dof: np.ndarray

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> "Columns":
        """The attempts as arrays; ValueError if a flight is there twice or a truth is no number or range."""
        every = list(attempts)
        seen: set[tuple[str, ...]] = set()
        for a in every:
            key = (a.estimator, a.level, a.vehicle, a.effect, a.flight)
            if key in seen:
                raise ValueError(f"{' '.join(key)}: scored twice; give each flight once per estimator")
            seen.add(key)
        pairs = [(index, claim) for index, a in enumerate(every) for claim in a.claims]
        ranges = [c.truth if isinstance(c.truth, tuple) else (c.truth, c.truth) for _, c in pairs]

        def floats(numbers: Iterable[float | None], missing: float = nan) -> np.ndarray:
            return np.array([missing if x is None else x for x in numbers], dtype=float)

        def texts(words: Iterable[str]) -> np.ndarray:
            return np.array(list(words), dtype=str)

        columns = cls(
            texts(a.estimator for a in every),
            texts(a.level for a in every),
            texts(a.vehicle for a in every),
            texts(a.effect for a in every),
            np.array([bool(a.refusal) for a in every], dtype=bool),
            floats(a.seconds for a in every),
            np.array([index for index, _ in pairs], dtype=int),
            texts(c.group for _, c in pairs),
            np.array([c.verdict == "identified" for _, c in pairs], dtype=bool),
            floats(c.value for _, c in pairs),
            floats((c.interval[0] for _, c in pairs), -np.inf),
            floats((c.interval[1] for _, c in pairs), np.inf),
            floats(low for low, _ in ranges),
            floats(high for _, high in ranges),
            floats(c.scale for _, c in pairs),
            floats((c.dof for _, c in pairs), np.inf),
        )
        ordered = np.isfinite(columns.truth_low) & (columns.truth_low <= columns.truth_high)
        for index in np.flatnonzero(~(ordered & np.isfinite(columns.truth_high))):
            claim = pairs[index][1]
            raise ValueError(f"{claim.name}: truth is {claim.truth}; give a number or a range (low, high)")
        return columns
