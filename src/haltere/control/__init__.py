"""Controllers: control allocation inside the rotors' limits, and geometric tracking on SE(3)."""

from haltere.control.allocation import Allocation, allocate_bounded, allocate_pinv, priority_weights
from haltere.control.controller import GeometricController, Integral
from haltere.control.errors import ControlError
from haltere.control.gains import Bandwidths, Gains
from haltere.control.geometric import allocate, command, step, wrench
from haltere.control.start import start

__all__ = [
    "Allocation",
    "Bandwidths",
    "ControlError",
    "Gains",
    "GeometricController",
    "Integral",
    "allocate",
    "allocate_bounded",
    "allocate_pinv",
    "command",
    "priority_weights",
    "start",
    "step",
    "wrench",
]
