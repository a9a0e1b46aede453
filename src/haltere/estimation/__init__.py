"""Online estimation: the whole vehicle, its centre of gravity, a payload, and whether estimates tell the truth."""

from haltere.estimation.smoother.filter import VehicleFilter
from haltere.estimation.smoother.online import OnlineVehicle
from haltere.estimation.smoother.online_estimate import OnlineEstimate

__all__ = ["OnlineEstimate", "OnlineVehicle", "VehicleFilter"]
