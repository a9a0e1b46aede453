"""Information of a recorded flight: how well it tells each parameter, and the excitation that it lacks.

The model is that of the smoother with the state vector of [Boehm2022], linearised at the nominal vehicle along the
flight (`haltere.observability.information.sensed_flight`). The states are integrated out by its pass forwards, whose
whitened innovations have slopes W in the coordinates z, and which at the end knows the biases b with a covariance P and
slopes B in z (`haltere.estimation.vehicle.marginal`). Together that is the information

    A = sum W^T W about z,        b - B z is known to P                                                       (1)

With T the coordinates and biases per change of the parameters in the vehicle's own units and N the changes that respect
what is known, a parameter of gradient g has the Cramer-Rao bound

    sigma^2 = g^T (N^T T^T L T N + 1 / v^2)^-1 g,   L = the matrix of (1)                                      (2)

The prior, v = `VAGUE` of those units, is so wide that it says nothing: where sigma stays above half of what it lets
expect, neither does the flight. Whether a parameter could be seen in any flight at all is asked of the exact rank.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np

from haltere.airframe import Airframe, load_airframe
from haltere.estimation.vehicle.marginal import CHUNK, programs
from haltere.estimation.vehicle.motion import BIAS, NODE
from haltere.estimation.vehicle.smoother import FlightWork
from haltere.flight import Flight
from haltere.flight.rotations import matrix_from_wxyz
from haltere.foundation.arrays import double_precision
from haltere.foundation.memory import bound_programs
from haltere.foundation.numbers import Floats
from haltere.foundation.tables import TextTable, html_lines, text_lines
from haltere.observability.answer import Observability, analyse
from haltere.observability.information.excitation import UNITS, describe_missing, measure_excitation
from haltere.observability.information.fisher import ERRORS, Information, ReadingNoise
from haltere.observability.information.sensed_flight import SensedFlight, prepare_flight
from haltere.observability.rank import exact
from haltere.observability.rank.parameters import Verdict
from haltere.observability.rank.rank import Question
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.observability.rank.system import MOTION, XYZ
from haltere.observability.rank.winged import refuse_wings

VAGUE = 10.0
"""Prior deviations, in the vehicle's own units of its parameters; of the first state, in what the smoother takes."""
_INFORMATIVE = 0.5
"""Share of the prior's deviation below which a flight has said something."""


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
    refuse_wings(airframe, "the model of a recorded flight")
    question = Question(tuple(sensors))
    vehicle = RationalVehicle.from_airframe(airframe, question.exteroceptive)
    seen = analyse(vehicle, question, known, rng=np.random.default_rng(seed))
    verdicts = {finding.name: finding for finding in seen.parameters}
    information = Information(vehicle, ReadingNoise.of(airframe, sensors), seen.known)
    asked = information.wanted(names) if names else [name for name in verdicts if name not in seen.known]
    # To first order an upright axis has no vertical error: nothing to say about it, unless it is asked for by name.
    wanted = [name for name in asked if name in names or name in seen.known or np.any(information.row(name))]
    ready = prepare_flight(vehicle, flight, sensors)
    tell("linearising the model along the flight")
    states = ready.nodes.first_guess(ready.nominal)
    T = np.linalg.solve(
        error_slopes(information, ready),
        np.pad(information.free * information.units[:, None], ((0, 6), (0, 0))),
    )
    A = T.T @ _information(ready, states) @ T
    R_BM = matrix_from_wxyz(exact.floats(vehicle.wxyz_BM))
    measured = measure_excitation(states[:, 10:13] @ R_BM, ready.nodes.at(ready.nodes.square, 0.0), NODE)
    told = []
    for name in wanted:
        size, finding = information.size(name), verdicts[name]
        sigma: float | None = _sigma(information.row(name), A)
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
    duration = float(NODE * len(ready.nodes.time))
    notes = dict.fromkeys((*seen.notes, *ready.notes))
    return FlightInformation(seen, tuple(told), measured, duration, tuple(notes))


def _information(ready: SensedFlight, states: Floats) -> Floats:
    """(6 + n, 6 + n) L of equation (2), about biases at the end and coordinates, along states (K, 31)."""
    nominal, levels = ready.nominal, ready.log_levels
    n = nominal.layout.size
    work = FlightWork(ready.nodes, nominal, programs(nominal.layout))
    linear, weights, poses = work.linearise(np.zeros(n), states, levels, 0)
    weights[:, 6:] = np.sum(np.isfinite(poses[..., :1]), axis=1)  # each that there is, outliers too
    carry = work.programs.start(levels, work.mean, states[0])
    carry = carry._replace(P=VAGUE**2 * np.asarray(carry.P))
    A: Floats = np.zeros((n, n))
    for own, part in zip(linear, work.weighted(weights * ready.counts, states), strict=True):
        carry, (_, W, _, _, *after) = work.programs.forwards(levels, work.mean, own, *part, carry)
        flat = np.asarray(W).reshape(-1, n)
        A = A + flat.T @ flat
    B, P = (np.asarray(x)[(work.count - 1) % CHUNK] for x in after[:2])
    if not np.all(np.isfinite(A)):
        raise ObservabilityError(
            "the information of this flight is not finite: is it a flight of this airframe? "
            "see what `haltere doctor` finds in the log"
        )
    slope = np.concatenate([np.eye(6), -B[BIAS]], axis=1)
    biases = slope.T @ np.linalg.solve(P[BIAS, BIAS], slope)
    return biases + np.pad(A, ((6, 0), (6, 0)))


def error_slopes(information: Information, ready: SensedFlight) -> Floats:
    """(31 + 7N, 31 + 7N) parameters of the error state, then of its frame, per biases and coordinates.

    The parameters are those on the principal axes M. What carries these axes along, centre of mass and products of
    inertia in M, stays as it is: it would not change the vehicle, only from where it is seen.
    """
    c, blocks = information.vehicle.coordinates, ready.nominal.layout.slices
    R_BM = matrix_from_wxyz(exact.floats(information.vehicle.wxyz_BM))
    body = dict(zip(ready.numbers.names, np.pad(ready.numbers.slopes, ((0, 0), (6, 0))), strict=True))
    direct = np.diag(np.concatenate([np.ones(6), np.asarray(ready.nominal.sigma)]))

    def vector(name: str) -> Floats:
        return np.asarray(R_BM.T @ np.stack([body[f"{name}.{axis}"] for axis in XYZ]))

    com = vector("com")
    inertia = np.stack([[body["inertia." + "".join(sorted(i + j))] for j in XYZ] for i in XYZ])
    inertia = np.einsum("ia,ijz,jb->abz", R_BM, inertia, R_BM)
    rows = []
    for sensor in ("pose", "imu"):
        first = 6 + blocks[f"{sensor}_rotation"].start
        rows += [vector(f"{sensor}.position") - com, direct[first : first + 3]]
    gravity = np.stack([body[f"gravity.{axis}"] for axis in XYZ])
    rows += [direct[:6], body["mass"][None], np.einsum("iiz->iz", inertia), gravity]
    for i, rotor in enumerate(c.rotors):
        number, error = c.rotor_number(i, "axis") - MOTION, c.rotor_error(i, "axis") - ERRORS
        tangent = (information.tangent / information.units)[number : number + 3, error : error + 2]
        head = f"rotors.{rotor}"
        rows += [vector(f"{head}.position") - com, np.linalg.pinv(tangent) @ vector(f"{head}.axis")]
        rows += [body[f"{head}.{kind}"][None] for kind in ("thrust_coefficient", "torque_ratio")]
    return np.concatenate([*rows, com, inertia[(0, 0, 1), (1, 2, 2)]])


def _sigma(row: Floats, A: Floats) -> float | None:
    """Deviation of a parameter; None where the flight says nothing about it."""
    variance = float(row @ np.linalg.solve(A + np.eye(len(A)) / VAGUE**2, row))
    if variance > (_INFORMATIVE * VAGUE) ** 2 * float(row @ row):
        return None
    return float(np.sqrt(max(variance, 0.0)))
