"""Online estimation: filters on manifolds, the self-calibrating vehicle filter, and whether they tell the truth."""

from haltere.estimation.vehicle import VehicleEstimate, VehicleFilter

__all__ = ["VehicleEstimate", "VehicleFilter"]
