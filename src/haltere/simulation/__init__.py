"""The simulator: actuators, sensors, wind and ground around the one physics source."""

from haltere.simulation.closed_loop import Command, Controller, Timing, Trace, crash_time, fly
from haltere.simulation.gusts import Gusts, along_wind
from haltere.simulation.plant import TiltServos, Vehicle, step_vehicle
from haltere.simulation.rollouts import Rollout, rollout

__all__ = [
    "Command",
    "Controller",
    "Gusts",
    "Rollout",
    "TiltServos",
    "Timing",
    "Trace",
    "Vehicle",
    "along_wind",
    "crash_time",
    "fly",
    "rollout",
    "step_vehicle",
]
