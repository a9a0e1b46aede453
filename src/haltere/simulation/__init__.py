"""The simulator: actuators, sensors, wind and ground around the one physics source."""

from haltere.simulation.fly import Command, Controller, Timing, Trace, crash_time, fly
from haltere.simulation.gusts import Gusts, along_wind
from haltere.simulation.motors import Motors
from haltere.simulation.rollout import Rollout, rollout
from haltere.simulation.step import Servos, Vehicle, step

__all__ = [
    "Command",
    "Controller",
    "Gusts",
    "Motors",
    "Rollout",
    "Servos",
    "Timing",
    "Trace",
    "Vehicle",
    "along_wind",
    "crash_time",
    "fly",
    "rollout",
    "step",
]
