"""How far two results are apart, by groups of like quantities.

1. e = |ours - oracle| / |oracle| with the Euclidean norm over one group of one draw: linear acceleration,
   angular acceleration, joint accelerations, rotor accelerations, joint torques, rotor torques. An empty
   group has no error; a group that is zero in the oracle must be zero.
"""

import numpy as np

from .pinocchio_oracle import Solution
from .random_vehicle import Vector


def relative_error(ours: Vector, oracle: Vector) -> float:
    """Return equation 1 of two arrays."""
    assert ours.shape == oracle.shape, f"shapes {ours.shape} and {oracle.shape} differ"
    size = float(np.linalg.norm(oracle))
    difference = float(np.linalg.norm(ours - oracle))
    return 0.0 if difference == 0.0 else difference / size if size > 0.0 else float("inf")


def force_errors(ours: Vector, oracle: Vector, joints: int) -> dict[str, float]:
    """Return the error of each group of generalised forces (6 + J + R)."""
    groups = {
        "base force": slice(0, 3),
        "base moment": slice(3, 6),
        "joint torques": slice(6, 6 + joints),
        "rotor torques": slice(6 + joints, None),
    }
    return {name: relative_error(ours[part], oracle[part]) for name, part in groups.items()}


def solution_errors(ours: Solution, oracle: Solution, joints: int) -> dict[str, float]:
    """Return the error of each group of a forward solution."""
    groups = {
        "linear acceleration": slice(0, 3),
        "angular acceleration": slice(3, 6),
        "joint accelerations": slice(6, 6 + joints),
        "rotor accelerations": slice(6 + joints, None),
    }
    accelerations = {
        name: relative_error(ours.acceleration[part], oracle.acceleration[part])
        for name, part in groups.items()
    }
    torques = force_errors(ours.torque, oracle.torque, joints)
    return accelerations | {name: torques[name] for name in ("joint torques", "rotor torques")}


def worst(errors: list[dict[str, float]]) -> dict[str, float]:
    """Return the largest error of each group over many draws."""
    return {name: max(entry[name] for entry in errors) for name in errors[0]}


def assert_within(errors: list[dict[str, float]], tolerance: float) -> None:
    """Fail with the worst error of every group if one exceeds the tolerance (or is not a number)."""
    found = worst(errors)
    assert all(error <= tolerance for entry in errors for error in entry.values()), (
        f"worst relative errors: {found}"
    )
