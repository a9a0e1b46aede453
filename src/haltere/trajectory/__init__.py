"""What a vehicle is to fly: flat outputs with exact derivatives, bounded by what it can give."""

from haltere.trajectory.flatness import FlatMotion, attitude, flat_motion, flat_wrench, reference_tilt
from haltere.trajectory.harmonic import Harmonic, circle, lissajous, multisine, periodic, random_lissajous
from haltere.trajectory.hovering import HoverPoint, can_hover, hover_fault, hover_point, thrust_to_weight
from haltere.trajectory.limits import Needs, bounded, needs
from haltere.trajectory.manoeuvres import Chirp, StepTrajectory, ThrowRelease, chirp, hover, step, throw
from haltere.trajectory.pace import Holding, Paced, paced
from haltere.trajectory.reference import Reference, Trajectory, TrajectoryError
from haltere.trajectory.spline import Spline, minimum_snap
from haltere.trajectory.table import trajectory_from_table

__all__ = [
    "Chirp",
    "FlatMotion",
    "Harmonic",
    "Holding",
    "HoverPoint",
    "Needs",
    "Paced",
    "Reference",
    "Spline",
    "StepTrajectory",
    "ThrowRelease",
    "Trajectory",
    "TrajectoryError",
    "attitude",
    "bounded",
    "can_hover",
    "chirp",
    "circle",
    "flat_motion",
    "flat_wrench",
    "hover",
    "hover_fault",
    "hover_point",
    "lissajous",
    "minimum_snap",
    "multisine",
    "needs",
    "paced",
    "periodic",
    "random_lissajous",
    "reference_tilt",
    "step",
    "throw",
    "thrust_to_weight",
    "trajectory_from_table",
]
