"""Online estimation: filters on manifolds, the self-calibrating vehicle filter, and whether they tell the truth."""

from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.estimate import VehicleEstimate
from haltere.estimation.vehicle.online import OnlineVehicle

__all__ = ["OnlineVehicle", "VehicleCore", "VehicleEstimate"]
