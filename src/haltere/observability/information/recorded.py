"""Information of a recorded flight: how well it tells each parameter, and the excitation that it lacks.

The model is that of the vehicle filter, for which `prepare_flight` makes the flight ready. Along the trajectory that
the filter finds, its covariance is propagated from a prior so vague, `VAGUE` times "10 %", that it says nothing; the
end is the posterior Cramer-Rao bound ([Tichavsky1998], `haltere.estimation.vehicle.smoother`). With L = J diag(s) the
root of the prior of biases and constants, C their part of the bound, E the change from physical errors to the error
state of `haltere.observability.rank.system`, U its units and N the changes that respect what is known,

    A = N^T W^T (L^-1 C L^-T)^-1 W N,   W = diag(s)^-1 E^-1 U,    sigma^2 = g^T A^-1 g                     (1)

for a parameter of gradient g. Where this stays above half the prior's, the flight says nothing. Whether a parameter
could be seen in any flight at all is asked of the exact rank.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, load_airframe
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.estimation.vehicle.frames import filled
from haltere.estimation.vehicle.smoother import SmoothedTrajectory, bound
from haltere.estimation.vehicle.steps import Frames, VehicleBelief, VehicleNoise, run
from haltere.flight import Flight
from haltere.flight.resampling import interpolate_columns
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.memory import bound_programs
from haltere.foundation.numbers import Numbers
from haltere.foundation.tables import TextTable, html_lines, text_lines
from haltere.observability.answer import Observability, analyse
from haltere.observability.information.excitation import UNITS, describe_missing, measure_excitation
from haltere.observability.information.filter_flight import FilterFlight, prepare_flight
from haltere.observability.information.fisher import ERRORS, RATE, Information, ReadingNoise
from haltere.observability.rank.parameters import Verdict
from haltere.observability.rank.rank import Question
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.observability.rank.system import MOTION
from haltere.observability.rank.winged import refuse_wings

VAGUE = 100.0
"""Prior deviations, in units of "10 %" (`haltere.estimation.vehicle.prior.ten_percent`)."""
_INFORMATIVE = 0.5
"""Share of the prior's deviation below which a flight has said something."""
_PIECE = 250
"""Frames in one call, so that flights of any length share what was compiled."""


@dataclass(frozen=True)
class ParameterInformation:
    """What a flight tells of one parameter.

    Attributes:
        name: as in files and reports.
        size: its value in the file, or its unit in the vehicle where that is zero, SI.
        sigma: deviation to expect, SI; None where the flight says nothing.
        verdict: `observable`, `weak`, `combination` or `unobservable`.
        missing: the sentence about what it would take; None where it is observable.
    """

    name: str
    size: float
    sigma: float | None
    verdict: str
    missing: str | None


@dataclass(frozen=True, repr=False)
class FlightInformation:
    """What a flight tells.

    Attributes:
        observability: what the sensors could show in any flight.
        parameters: one entry each.
        excitation: see `haltere.observability.information.excitation`.
        duration: s.
        notes: what was assumed.
    """

    observability: Observability
    parameters: tuple[ParameterInformation, ...]
    excitation: dict[str, float]
    duration: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer in plain numbers, as `haltere observe --flight --json` prints it."""
        return {
            **self.observability.to_dict(),
            "duration": self.duration,
            "excitation": self.excitation,
            "information": [asdict(parameter) for parameter in self.parameters],
            "notes": list(self.notes),
        }

    @property
    def heading(self) -> str:
        """Duration, vehicle and sensors in one line."""
        general = self.observability
        return f"{self.duration:.3g} s of {general.vehicle.name}, {' + '.join(general.question.sensors)}"

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """The excitation, and what the flight tells of every parameter."""
        sizes = [(kind, size, UNITS[kind]) for kind, size in self.excitation.items()]
        told = [
            (p.name, p.sigma, p.sigma and 100.0 * p.sigma / p.size, p.verdict, p.missing)
            for p in self.parameters
        ]
        columns = ("parameter", "sigma", "% of its size", "verdict", "what is missing")
        return (
            TextTable("Excitation, root mean square", ("kind", "size", "unit"), sizes),
            TextTable("What this flight tells", columns, told),
        )

    def __repr__(self) -> str:
        lines = [self.heading, *(f"note: {note}" for note in self.notes)]
        return text_lines([*lines, *self.tables])

    def _repr_html_(self) -> str:
        return html_lines([self.heading, *self.notes]) + "".join(table.html() for table in self.tables)


@double_precision()
def observe_flight(
    airframe: Airframe | str | PathLike[str],
    flight: Flight,
    sensors: Sequence[str] = ("pose", "imu"),
    *,
    known: Sequence[str] = (),
    names: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> FlightInformation:
    """Compute how well a recorded flight determines the parameters of a vehicle.

    Args:
        airframe: the vehicle as well as it is known, its name in the catalogue, or its file.
        flight: a record from `simulate` or `read`.
        sensors: one or more of `pose`, `position`, `imu`; the flight must have them.
        known: what is measured by hand, taken as exact.
        names: parameters (names, beginnings of names, patterns); all if empty.
        seed: of the random points at which the rank is computed.
        progress: called with a sentence before each part.

    Raises:
        HaltereError: the flight lacks a sensor, a name is not known, or the vehicle has wings or drag.
    """
    bound_programs()
    airframe = load_airframe(airframe)
    tell = progress or (lambda _: None)
    refuse_wings(airframe, "the vehicle filter")
    question = Question(tuple(sensors))
    vehicle = RationalVehicle.from_airframe(airframe, question.exteroceptive)
    seen = analyse(vehicle, question, known, rng=np.random.default_rng(seed))
    verdicts = {finding.name: finding for finding in seen.parameters}
    information = Information(vehicle, ReadingNoise.of(airframe, sensors), seen.known)
    asked = information.wanted(names) if names else [name for name in verdicts if name not in seen.known]
    # To first order an upright axis has no vertical error: nothing to say about it, unless it is asked for by name.
    wanted = [name for name in asked if name in names or name in seen.known or np.any(information.row(name))]
    ready = prepare_flight(airframe, flight, sensors)
    tell("propagating the filter's covariance along the flight")
    cov, moving = _bound(ready)
    A, prior = _free_information(information, ready, cov)
    measured = _excitation(ready.frames, moving)
    told = []
    for name in wanted:
        size, finding = information.size(name), verdicts[name]
        sigma: float | None = _sigma(information.row(name), A, prior)
        verdict, sentence = str(finding.verdict), None
        if finding.verdict is Verdict.OBSERVABLE:
            sentence = describe_missing(name, sigma, information.limit(name), measured)
            if sentence is not None:
                verdict = "weak" if sigma is not None else str(Verdict.UNOBSERVABLE)
        else:
            sigma = None
            fix = f"measure {' and '.join(finding.fix)} by hand" if finding.fix else "measure it by hand"
            sentence = f"no flight with {' and '.join(sensors)} shows {name}: {fix}"
        told.append(ParameterInformation(name, size, sigma, verdict, sentence))
    duration = float(np.sum(np.asarray(ready.frames.steps.dt)))
    notes = dict.fromkeys((*seen.notes, *ready.notes))
    return FlightInformation(seen, tuple(told), measured, duration, tuple(notes))


def _bound(ready: FilterFlight) -> tuple[Numbers, Mean]:
    """The bound (n, n) from the vague prior, and the moving blocks (K, n, ...) that the filter found."""
    vehicle, frames = ready.vehicle, ready.frames
    coordinates, physical = vehicle.coordinates, vehicle.description.physical
    root = _prior_root(ready)
    start = jnp.diag((VAGUE * vehicle.moving_sigma) ** 2)
    vague = jax.scipy.linalg.block_diag(start, jnp.asarray(root @ root.T))
    constants = coordinates.to_coordinates(physical)
    go, belief, cov, paths = _compiled(coordinates), vehicle.begin(ready.first), vague, []
    count = frames.position.shape[0]
    whole = filled(frames, _PIECE)
    for first in range(0, count, _PIECE):
        piece = jax.tree.map(lambda x, f=first: x[f : f + _PIECE], whole)
        belief, cov, path = go(vehicle.noise, belief, cov, constants, piece, vehicle.gate)
        paths.append(path)
    if not np.all(np.isfinite(np.asarray(cov))):
        raise ObservabilityError(
            "the filter lost this flight, so its information is unknown: is it a flight of this airframe? "
            "see what `haltere doctor` finds in the log"
        )
    return np.asarray(cov), {
        name: jnp.concatenate([path[name] for path in paths])[:count] for name in paths[0]
    }


def _prior_root(ready: FilterFlight) -> Numbers:
    """(19 + 7N, 19 + 7N) L of equation (1) without the biases."""
    vehicle = ready.vehicle
    J = np.asarray(vehicle.coordinates.jacobian(vehicle.description.physical))
    return J * (VAGUE * np.asarray(vehicle.sigma))


@lru_cache(maxsize=8)
def _compiled(coordinates: VehicleCoordinates) -> Any:
    def go(
        noise: VehicleNoise, belief: VehicleBelief, cov: Array, constants: Mean, frames: Frames, gate: Array
    ) -> tuple[VehicleBelief, Array, Mean]:
        end, trail = run(coordinates, noise, belief, frames, gate)  # type: ignore[arg-type]
        nominal = SmoothedTrajectory(
            trail.moving, trail.noise, coordinates.moving.select(end.mean), constants
        )
        nothing = jnp.zeros(coordinates.space.dimension)
        return end, bound(coordinates, noise, lambda _: (nothing, cov), nominal, frames), trail.moving

    return jax.jit(go)


def _free_information(information: Information, ready: FilterFlight, cov: Numbers) -> tuple[Numbers, Numbers]:
    """A of equation (1), prior included, and the prior's part of it alone; (f, f) each."""
    vehicle = ready.vehicle
    biases, moving = vehicle.coordinates.walking, vehicle.coordinates.dynamic.dimension
    sigma = VAGUE * np.concatenate([np.asarray(vehicle.moving_sigma)[moving:], np.asarray(vehicle.sigma)])
    L = np.diag(sigma)
    L[biases:, biases:] = _prior_root(ready)
    whitened = np.linalg.solve(L, np.linalg.solve(L, cov[moving:, moving:]).T)
    E = _physical_to_error(information, vehicle.coordinates, vehicle.description.physical)
    W = np.linalg.solve(E, np.diag(information.units)) / sigma[:, None] @ information.free
    A: Numbers = W.T @ np.linalg.solve(0.5 * (whitened + whitened.T), W)
    return A, W.T @ W


def _physical_to_error(information: Information, coordinates: VehicleCoordinates, physical: Mean) -> Numbers:
    """(25 + 7N, 25 + 7N) error state after the moving state, by biases and physical errors: E."""
    c = information.vehicle.coordinates
    names = [f"imu.{kind}_bias.{axis}" for kind in ("accel", "gyro") for axis in "xyz"]
    names += [
        name.replace("pose.", f"{c.sensor}.", 1) if name.startswith("pose.") else name
        for name in coordinates.names
    ]
    E = np.zeros((len(names), len(names)))
    slopes = np.asarray(jax.jacfwd(coordinates.thrust_axes)(physical["rotor_tilt"]))
    T = information.tangent / information.units
    for column, name in enumerate(names):
        if ".axis." not in name:
            E[c.index[name] - ERRORS, column] = 1.0
    for i, rotor in enumerate(c.rotors):
        first = names.index(f"rotors.{rotor}.axis.tilt_x")
        error, number = c.rotor_error(i, "axis") - ERRORS, c.rotor_number(i, "axis") - MOTION
        tangent = T[number : number + 3, error : error + 2]
        E[error : error + 2, first : first + 2] = np.linalg.lstsq(tangent, slopes[i, :, i], rcond=None)[0]
    return E


def _sigma(row: Numbers, A: Numbers, prior: Numbers) -> float | None:
    """Deviation of a parameter; None where the flight says nothing about it."""
    variance, before = (float(row @ np.linalg.solve(matrix, row)) for matrix in (A, prior))
    if variance > _INFORMATIVE**2 * before:
        return None
    return float(np.sqrt(max(variance, 0.0)))


def _excitation(frames: Frames, moving: Mean) -> dict[str, float]:
    """What the flight excites, sampled at `RATE`."""
    dt = np.asarray(frames.steps.dt).reshape(-1)
    times = np.concatenate([[0.0], np.cumsum(dt)[:-1]])
    real = dt > 0.0
    clock = np.arange(0.0, times[real][-1], 1.0 / RATE)

    def even(values: Array) -> Numbers:
        return interpolate_columns(clock, times[real], np.asarray(values).reshape(len(dt), -1)[real])

    return measure_excitation(even(moving["rates"]), even(frames.steps.speeds) ** 2, 1.0 / RATE)
