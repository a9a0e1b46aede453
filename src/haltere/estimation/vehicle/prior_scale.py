"""How far a vehicle is from its drawing: factors on the prior deviations, found from the flight itself.

Vehicles are built after their drawings more or less well, and what a flight cannot tell is only as certain as that. So
the stated deviations of each group of numbers are multiplied by a factor f that maximises the restricted likelihood of
the coordinates z of the group: with their posterior mean and variance v, all of them whitened by f times what was
stated,

    f^2 <- f^2 (sum z^2 + w / f^2) / (sum (1 - v) + w)                                                           (1)

where w holds f to 1 as so many coordinates would.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from haltere.estimation.vehicle.parameters import NominalVehicle
from haltere.foundation.numbers import Floats, Ints

SCALED = {
    "thrust": ("thrust",),
    "torque": ("torque_ratio",),
    "positions": ("position", "com"),
    "axes": ("tilt",),
    "inertia": ("moment", "product"),
}
"""Blocks of coordinates whose prior deviation is how well the vehicle was built after its drawing, by what they are."""
LARGEST_PRIOR_SCALE = 3.0
"""Factor on the stated deviations of what a drawing tells, at most."""
PRIOR_SCALE_STEPS = 10
"""Iterations of the fixed point that the factors are."""
PRIOR_SCALE_WEIGHT = 2.0
"""Coordinates that the stated deviations of a group count as when the flight tells how well it was built."""


def change_prior_scale(
    nominal: NominalVehicle, z: Floats, cov: Floats, prior_scale: dict[str, float]
) -> tuple[Floats, dict[str, float]]:
    """Ratios (n,) by which the prior deviations should change, and the factors on the stated ones then.

    Numbers that were measured by hand keep theirs.

    Args:
        nominal: the vehicle.
        z: (n,) coordinates, whitened by the deviations as they are.
        cov: (n, n) of them.
        prior_scale: the factor of each group as it is.
    """
    ratio: Any = np.ones(len(z))
    precision = np.linalg.inv(cov)
    told, right = precision - np.eye(len(z)), precision @ z
    groups = {name: _of_drawing(nominal, blocks) for name, blocks in SCALED.items()}
    scale = dict(prior_scale)
    for _ in range(PRIOR_SCALE_STEPS):
        spread = np.linalg.inv(told * np.outer(ratio, ratio) + np.eye(len(z)))
        mean, variance = spread @ (ratio * right), np.diagonal(spread)
        for name, own in groups.items():
            more = _prior_scale_ratio(mean[own], variance[own], scale[name])
            scale[name] *= more
            ratio[own] *= more
    return ratio, scale


def _of_drawing(nominal: NominalVehicle, blocks: Iterable[str]) -> Ints:
    """Coordinates of some blocks that were not measured by hand."""
    own = np.array(nominal.layout.indices(blocks))
    return np.asarray(own[np.asarray(nominal.measured)[own] == 0.0])


def _prior_scale_ratio(z: Floats, variance: Floats, prior_scale: float) -> float:
    """One step of (1): by which the deviations of a group should change.

    Args:
        z: (m,) coordinates of the group, whitened by the deviations as they are.
        variance: (m,) of them.
        prior_scale: the factor on the stated deviations as it is.
    """
    told = float(np.sum(1.0 - variance))
    stated = PRIOR_SCALE_WEIGHT / prior_scale**2
    ratio = float(np.sqrt((np.sum(z**2) + stated) / (told + PRIOR_SCALE_WEIGHT)))
    return float(np.clip(prior_scale * ratio, 1.0 / LARGEST_PRIOR_SCALE, LARGEST_PRIOR_SCALE)) / prior_scale
