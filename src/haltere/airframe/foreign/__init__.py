"""Vehicles described by others: URDF, SDF, MJCF and PX4 parameters, as airframes."""

from haltere.airframe.foreign.formats import read_foreign
from haltere.airframe.foreign.given import Given

__all__ = ["Given", "read_foreign"]
