"""Online estimation: filters on manifolds, the self-calibrating vehicle filter, and whether they tell the truth."""

from haltere.estimation.vehicle.estimate import VehicleEstimate
from haltere.estimation.vehicle.filter import VehicleFilter
from haltere.estimation.vehicle.online import OnlineVehicle

__all__ = ["OnlineVehicle", "VehicleEstimate", "VehicleFilter"]
