from haltere.airframe.airframe import Airframe as Airframe
from haltere.airframe.catalogue.entries import load_airframe as load_airframe
from haltere.doctor.diagnosis import diagnose as diagnose
from haltere.estimation.cog.filter import CogFilter as CogFilter
from haltere.estimation.core.readings import Reading as Reading
from haltere.estimation.payload.filter import PayloadFilter as PayloadFilter
from haltere.estimation.vehicle.filter import VehicleFilter as VehicleFilter
from haltere.estimation.vehicle.online import OnlineVehicle as OnlineVehicle
from haltere.flight.flight import Flight as Flight
from haltere.foundation.errors import HaltereError as HaltereError
from haltere.gate.checked_export import export as export
from haltere.identification.cog_log import track_cog as track_cog
from haltere.identification.comparison import compare as compare
from haltere.identification.fleet import identify_fleet as identify_fleet
from haltere.identification.pipeline import identify as identify
from haltere.identification.result import Identification as Identification
from haltere.logs.registry import read as read
from haltere.observability.answer import observe as observe
from haltere.observability.information.recorded import observe_flight as observe_flight
from haltere.observability.manoeuvres.manoeuvre import design as design
from haltere.scenarios.flights import simulate_many as simulate_many
from haltere.scenarios.scenario_flight import simulate as simulate

PUBLIC: dict[str, str]
__version__: str
