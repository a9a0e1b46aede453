"""Vehicles described by others: URDF, SDF, MJCF and PX4 parameters, as airframes."""

from haltere.airframe.foreign.formats import read_foreign
from haltere.airframe.foreign.options import ImportOptions

__all__ = ["ImportOptions", "read_foreign"]
