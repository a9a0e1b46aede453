"""What can be known at all: exact observability, its named directions, and the information of a flight."""

from haltere.observability.answer import Finding, Observability, as_mapping, observe
from haltere.observability.information.recorded import FlightInformation, Told, information_of_flight
from haltere.observability.rank.rank import ExactMatrix, Question, counted, exact_matrices, float_matrix
from haltere.observability.rank.subject import ObservabilityError, Subject

__all__ = [
    "ExactMatrix",
    "Finding",
    "FlightInformation",
    "Observability",
    "ObservabilityError",
    "Question",
    "Subject",
    "Told",
    "as_mapping",
    "counted",
    "exact_matrices",
    "float_matrix",
    "information_of_flight",
    "observe",
]
