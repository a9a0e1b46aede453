"""Which numbers a flight identified, and which not: verdicts from prior and posterior covariance.

In units of the prior's deviations S the posterior covariance P of the physical numbers has eigenvalues between zero
(all is known) and one (nothing was learnt):

    S^-1 P S^-1 = U diag(lambda) U^T                                                                      (1)

Directions with lambda > 1/2 stay open. A number whose variance comes mostly from open directions is not identified:
together with others if they share these directions (mass, inertia and thrust coefficients scale together), else alone.
A hand measurement closes a direction as well as a flight does.
"""

from typing import NamedTuple

import numpy as np

from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.foundation.verdict import LEARNT, NORMAL, Verdict, limits

OPEN = 0.5
"""Share of the prior's variance that is left along an open direction; and of a number's that makes it open."""
CORRELATED = 0.7
"""Correlation along open directions from which numbers belong together."""


class EstimateVerdict(NamedTuple):
    """What is known of one number."""

    verdict: Verdict
    partners: tuple[str, ...]
    """The numbers that it is known together with."""


def assign_verdicts(
    coordinates: VehicleCoordinates, physical: Mean, cov: np.ndarray, prior_sigma: np.ndarray
) -> list[EstimateVerdict]:
    """The verdict on every physical number.

    Args:
        coordinates: those of the filter, with the numbers' names.
        physical: their values.
        cov: (19 + 7 N, 19 + 7 N) posterior covariance.
        prior_sigma: (19 + 7 N,) before flight and hand measurements; zero for what was known.
    """
    names, sigma = coordinates.names, np.sqrt(np.diagonal(cov))
    doubtful = np.flatnonzero(prior_sigma > 0.0)
    scale = prior_sigma[doubtful]
    values, vectors = np.linalg.eigh(cov[np.ix_(doubtful, doubtful)] / np.outer(scale, scale))
    left = values > OPEN
    parts = vectors[:, left] * np.sqrt(values[left]) * scale[:, None]
    lengths = np.linalg.norm(parts, axis=1)
    share = lengths**2 / np.maximum(sigma[doubtful] ** 2, 1e-300)
    direction = parts / np.maximum(lengths, 1e-300)[:, None]
    likeness = np.abs(direction @ direction.T)
    narrow = limits(_values(coordinates, physical))
    verdicts = [EstimateVerdict("identified", ())] * len(names)
    for row, index in enumerate(doubtful.tolist()):
        if share[row] > OPEN:
            like = np.flatnonzero((likeness[row] > CORRELATED) & (share > OPEN))
            partners = tuple(names[doubtful[other]] for other in like if other != row)
            verdicts[index] = EstimateVerdict("combination" if partners else "unobservable", partners)
        elif (
            not narrow[names[index]].allows(NORMAL * sigma[index])
            or sigma[index] >= LEARNT * prior_sigma[index]
        ):
            verdicts[index] = EstimateVerdict("weak", ())
    return verdicts


def _values(coordinates: VehicleCoordinates, physical: Mean) -> dict[str, float]:
    """The numbers by name; zero for rotations, whose limit does not depend on them."""
    values: list[float] = []
    for block in coordinates.physical.blocks:
        span, flat = (
            coordinates.physical.slices[block.name],
            np.asarray(physical[block.name]).reshape(-1).tolist(),
        )
        size = span.stop - span.start
        values += flat if len(flat) == size else [0.0] * size
    return dict(zip(coordinates.names, values, strict=True))


def sentences(names: tuple[str, ...], verdicts: list[EstimateVerdict]) -> list[str]:
    """What stays open, one line for each group of numbers."""
    groups: dict[frozenset[str], None] = {}
    for name, judgement in zip(names, verdicts, strict=True):
        if judgement.verdict in ("combination", "unobservable"):
            groups.setdefault(frozenset((name, *judgement.partners)))
    lines = []
    for group in groups:
        members = [name for name in names if name in group]
        if len(members) == 1:
            lines.append(f"{members[0]} is not identified by this flight; measure it by hand")
        else:
            lines.append(f"known only together: {', '.join(members)}; measure one of them by hand")
    return lines
