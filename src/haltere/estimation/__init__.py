"""Online estimation: the whole vehicle, its centre of gravity, a payload, and whether estimates tell the truth."""

from haltere.estimation.vehicle.filter import VehicleFilter
from haltere.estimation.vehicle.online import OnlineVehicle
from haltere.estimation.vehicle.online_estimate import OnlineEstimate

__all__ = ["OnlineEstimate", "OnlineVehicle", "VehicleFilter"]
