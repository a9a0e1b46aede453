"""Online estimation: filters on manifolds, the self-calibrating vehicle filter, and whether they tell the truth."""

from haltere.estimation.vehicle import VehicleFilter
from haltere.estimation.vehicle_estimate import VehicleEstimate
from haltere.estimation.vehicle_online import OnlineVehicle

__all__ = ["OnlineVehicle", "VehicleEstimate", "VehicleFilter"]
