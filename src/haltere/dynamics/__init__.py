"""Exact dynamics of any multirotor: the one physics source of the package."""

from haltere.dynamics.derivatives import Derivatives, acceleration_derivatives
from haltere.dynamics.energy import PowerFlow, kinetic_energy, momentum, power_flow
from haltere.dynamics.model import Model, Topology
from haltere.dynamics.regressor import BaseParameters, base_parameters, compute_regressor, regressor_names
from haltere.dynamics.rigid import Compact, allocation_matrix
from haltere.dynamics.solve import core_dynamics, forward_dynamics, inverse_dynamics
from haltere.dynamics.state import Drive, Environment, Motion, State
from haltere.dynamics.wing import rate_warnings

__all__ = [
    "BaseParameters",
    "Compact",
    "Derivatives",
    "Drive",
    "Environment",
    "Model",
    "Motion",
    "PowerFlow",
    "State",
    "Topology",
    "acceleration_derivatives",
    "allocation_matrix",
    "base_parameters",
    "compute_regressor",
    "core_dynamics",
    "forward_dynamics",
    "inverse_dynamics",
    "kinetic_energy",
    "momentum",
    "power_flow",
    "rate_warnings",
    "regressor_names",
]
