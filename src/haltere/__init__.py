"""Haltere: what a multirotor can find out about its own body, from what it does and what its sensors say.

The names of this page are all that most users need: `import haltere as ht`. Each is imported when it is first used, so
that `import haltere` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

PUBLIC = {
    "Airframe": "haltere.airframe.airframe:Airframe",
    "CogFilter": "haltere.estimation.cog.filter:CogFilter",
    "Flight": "haltere.flight.flight:Flight",
    "HaltereError": "haltere.foundation.errors:HaltereError",
    "Identification": "haltere.identification.result:Identification",
    "OnlineVehicle": "haltere.estimation.vehicle.online:OnlineVehicle",
    "PayloadFilter": "haltere.estimation.payload.filter:PayloadFilter",
    "Reading": "haltere.estimation.core.readings:Reading",
    "VehicleFilter": "haltere.estimation.vehicle.filter:VehicleFilter",
    "compare": "haltere.identification.comparison:compare",
    "design": "haltere.observability.manoeuvres.manoeuvre:design",
    "diagnose": "haltere.doctor.diagnosis:diagnose",
    "export": "haltere.gate.checked_export:export",
    "identify": "haltere.identification.pipeline:identify",
    "identify_fleet": "haltere.identification.fleet:identify_fleet",
    "load_airframe": "haltere.airframe.catalogue.entries:load_airframe",
    "observe": "haltere.observability.answer:observe",
    "observe_flight": "haltere.observability.information.recorded:observe_flight",
    "read": "haltere.logs.registry:read",
    "simulate": "haltere.scenarios.scenario_flight:simulate",
    "simulate_many": "haltere.scenarios.flights:simulate_many",
    "track_cog": "haltere.identification.cog_log:track_cog",
}
"""Module and attribute of each public name; `__init__.pyi` says the same to type checkers."""


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(
            f"module 'haltere' has no attribute {name!r}; it has {', '.join(sorted(PUBLIC))}"
        )
    module, _, attribute = PUBLIC[name].partition(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
