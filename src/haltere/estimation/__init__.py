"""Online estimation: filters on manifolds, the self-calibrating vehicle filter, and whether they tell the truth."""

from haltere.estimation.smoother.online import OnlineVehicle
from haltere.estimation.vehicle.estimate import VehicleEstimate
from haltere.estimation.vehicle.filter import VehicleFilter

__all__ = ["OnlineVehicle", "VehicleEstimate", "VehicleFilter"]
