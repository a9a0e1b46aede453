"""Differences of an engine's acceleration along the coordinates of a state.

1. Configuration: position + R_WB dp, R_WB Exp(dtheta), then angles; velocity: twist, rates; drive as it
   stands.
2. D(h) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / (12 h), fourth order in h, and f' = (16 D(h/2) - D(h)) / 15,
   sixth order.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio as pin

from .pinocchio_oracle import Sensitivity
from .random_state import Draw
from .random_vehicle import Vector


def _moved(draw: Draw, index: int, amount: float) -> Draw:
    """Move along one tangent direction of the configuration."""
    step = np.zeros(6 + len(draw.angles))
    step[index] = amount
    pose = pin.SE3(pin.Quaternion(*draw.wxyz).toRotationMatrix(), draw.position)
    position = pose.translation + pose.rotation @ step[:3]
    xyzw = pin.Quaternion(pose.rotation @ pin.exp3(step[3:6])).coeffs()
    return replace(draw, position=position, wxyz=np.roll(xyzw, 1), angles=draw.angles + step[6:])


def _faster(draw: Draw, index: int, amount: float) -> Draw:
    """Change one component of the velocity."""
    velocity = np.concatenate([draw.twist, draw.rates])
    velocity[index] += amount
    return replace(draw, twist=velocity[:6], rates=velocity[6:])


def _driven(draw: Draw, index: int, amount: float) -> Draw:
    """Change one component of the drive."""
    drive = draw.drive.copy()
    drive[index] += amount
    return replace(draw, drive=drive)


def central_differences(function: Callable[[Draw], Vector], draw: Draw, step: float = 2e-3) -> Sensitivity:
    """Return equation 2 of a function of a draw for every coordinate of equation 1."""

    def columns(change: Callable[[Draw, int, float], Draw], count: int) -> Vector:
        found = []
        for index in range(count):
            at = {n: function(change(draw, index, 0.5 * n * step)) for n in (-4, -2, -1, 1, 2, 4)}
            wide = (8.0 * (at[2] - at[-2]) - (at[4] - at[-4])) / (12.0 * step)
            narrow = (8.0 * (at[1] - at[-1]) - (at[2] - at[-2])) / (6.0 * step)
            found.append((16.0 * narrow - wide) / 15.0)
        return np.stack(found, axis=1)

    size = 6 + len(draw.angles)
    return Sensitivity(columns(_moved, size), columns(_faster, size), columns(_driven, size - 6))
