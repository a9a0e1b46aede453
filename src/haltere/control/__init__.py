"""Controllers: control allocation inside the rotors' limits, and geometric tracking on SE(3)."""

from haltere.control.allocation import Allocation, allocate_bounded, allocate_pinv, priority_weights
from haltere.control.controller import GeometricController, Integral
from haltere.control.errors import ControlError
from haltere.control.gains import Bandwidths, Gains
from haltere.control.geometric import allocate, command, control_step, wrench
from haltere.control.pilot import start_on_trajectory, track

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
    "control_step",
    "priority_weights",
    "start_on_trajectory",
    "track",
    "wrench",
]
