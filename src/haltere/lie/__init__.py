"""Rotations SO(3), rigid motions SE(3) and directions S2: exponentials, Jacobians, box-plus and box-minus."""

from haltere.lie import s2, se3, so3

__all__ = ["s2", "se3", "so3"]
