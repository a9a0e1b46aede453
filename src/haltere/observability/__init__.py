"""What can be known at all: exact observability, its named directions, and the information of a flight."""

from haltere.observability.answer import Observability, ParameterVerdict, analyse, observe
from haltere.observability.information.recorded import FlightInformation, ParameterInformation, observe_flight
from haltere.observability.rank.rank import ExactMatrix, Question, count_rank, exact_matrices, float_matrix
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle

__all__ = [
    "ExactMatrix",
    "FlightInformation",
    "Observability",
    "ObservabilityError",
    "ParameterInformation",
    "ParameterVerdict",
    "Question",
    "RationalVehicle",
    "analyse",
    "count_rank",
    "exact_matrices",
    "float_matrix",
    "observe",
    "observe_flight",
]
