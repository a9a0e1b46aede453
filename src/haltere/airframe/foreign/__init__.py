"""Vehicles described by others: URDF, SDF, MJCF and PX4 parameters, as airframes."""

from haltere.airframe.foreign.given import Given
from haltere.airframe.foreign.read import read_foreign

__all__ = ["Given", "read_foreign"]
