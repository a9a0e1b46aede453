"""Information of a recorded flight: how well it tells each parameter, and the excitation that it lacks.

The model is that of the vehicle filter, for which `flown` makes the flight ready. Along the trajectory that the
filter finds, its covariance is propagated from a prior so vague, `VAGUE` times "10 %", that it says nothing; the end
is the posterior Cramer-Rao bound ([Tichavsky1998], `haltere.estimation.vehicle.smoother`). With L = J diag(s) the
root of the prior of biases and constants, C their part of the bound, E the change from printed errors to the error
state of `haltere.observability.rank.system`, U its units and N the changes that respect what is known,

    A = N^T W^T (L^-1 C L^-T)^-1 W N,   W = diag(s)^-1 E^-1 U,    sigma^2 = g^T A^-1 g                     (1)

for a parameter of gradient g. Where this stays above half the prior's, the flight says nothing. Whether a parameter
could be seen in any flight at all is asked of the exact rank.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.equipment import equipped
from haltere.estimation import VehicleFilter
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import Chart
from haltere.estimation.vehicle.frames import filled, frames_from_flight
from haltere.estimation.vehicle.smoother import Nominal, bound
from haltere.estimation.vehicle.steps import Belief, Frames, Noise, run
from haltere.flight import Channel, Flight
from haltere.flight.resampling import interpolate_columns
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.numbers import Numbers
from haltere.lie import so3
from haltere.observability.answer import Observability, observe
from haltere.observability.answer import as_mapping as in_general
from haltere.observability.information.excitation import excitation_of, missing
from haltere.observability.information.fisher import ERRORS, RATE, Information
from haltere.observability.information.fisher import Noise as Weights
from haltere.observability.rank.parameters import Verdict
from haltere.observability.rank.rank import Question
from haltere.observability.rank.subject import ObservabilityError, Subject
from haltere.observability.rank.system import MOTION
from haltere.observability.rank.winged import refuse_wings

ATTITUDE = "estimate.wxyz"
"""What a filter on board believed: the first attitude if no sensor shows it; else it is found from the track."""
_POSE_EVERY = 4


@dataclass(frozen=True)
class Flown:
    """A flight as the filter takes it.

    Attributes:
        vehicle: the filter.
        frames: the flight, with only the sensors that were asked for.
        first: the moving blocks at the beginning.
        notes: what was assumed.
    """

    vehicle: VehicleFilter
    frames: Frames
    first: Mean
    notes: tuple[str, ...]


def flown(airframe: Airframe, flight: Flight, sensors: Sequence[str]) -> Flown:
    """The flight of a vehicle, seen by some of its sensors: of `pose`, `position`, `imu`.

    Its channels are found, its rotors named and its clock chosen. The filter wants accelerometer, gyroscope, rotor
    speeds and a pose. A flight that lacks a sensor which nobody asked for has it added without a single valid
    reading, so that the information is that of the sensors that were asked for.

    Raises:
        ObservabilityError: the flight lacks a channel; the line says which, and what could be asked instead.
    """
    outer = _outer(airframe, flight, sensors)
    imu = _imu(airframe, flight, sensors)
    flight, notes = _named_rotors(airframe, flight)
    rates = {"imu": flight[f"{imu}.accel"].rate} if f"{imu}.accel" in flight.names else {}
    if outer is not None:
        rates["pose" if "pose" in sensors else "position"] = flight[f"{outer}.position"].rate
    full, assumed = equipped(airframe, sensors, {kind: rate for kind, rate in rates.items() if rate > 0.0})
    flight = _with_all(flight, imu, outer)
    attitude = f"{outer}.wxyz"
    if "pose" not in sensors and attitude in flight.names:
        flight = flight.without(attitude)
    framed = frames_from_flight(flight, tuple(r.name for r in full.rotors), imu, outer or "pose")
    frames = framed.frames
    if "imu" not in sensors:
        steps = frames.steps
        frames = frames._replace(steps=steps._replace(imu_valid=jnp.zeros_like(steps.imu_valid)))
    vehicle = VehicleFilter.from_airframe(full)
    if outer is None:
        first = _level(vehicle, frames)
    else:
        vehicle = _with_attitude(vehicle, flight, sensors)
        first = vehicle.first_state(frames)
    return Flown(vehicle, frames, first, (*notes, *assumed, *framed.notes))


def _outer(airframe: Airframe, flight: Flight, sensors: Sequence[str]) -> str | None:
    """The name of the pose or position sensor in the flight; None if neither was asked for."""
    wanted = next((kind for kind in ("pose", "position") if kind in sensors), None)
    if wanted is None:
        return None
    own = [sensor.name for sensor in (airframe.pose if wanted == "pose" else airframe.position)]
    usual = ["pose"] if wanted == "pose" else ["position", "gps", "pose"]
    parts = ("position", "wxyz") if wanted == "pose" else ("position",)
    for name in [*own, *usual]:
        if all(f"{name}.{part}" in flight.names for part in parts):
            return name
    raise ObservabilityError(_lacking(flight, wanted, [f"{usual[0]}.{part}" for part in parts]))


def _imu(airframe: Airframe, flight: Flight, sensors: Sequence[str]) -> str:
    names = [*(sensor.name for sensor in airframe.imu), "imu"]
    for name in names:
        if f"{name}.accel" in flight.names and f"{name}.gyro" in flight.names:
            return name
    if "imu" in sensors:
        raise ObservabilityError(_lacking(flight, "imu", ["imu.accel", "imu.gyro"]))
    return names[0]


def _lacking(flight: Flight, kind: str, channels: list[str]) -> str:
    shapes = {
        "pose": ("position", "wxyz"),
        "position": ("position",),
        "gps": ("position",),
        "imu": ("accel", "gyro"),
    }
    has = [name for name, parts in shapes.items() if all(f"{name}.{part}" in flight.names for part in parts)]
    others = list(dict.fromkeys("position" if name == "gps" else name for name in has if name != kind))
    hint = f"try --sensors {','.join(others)}" if others else "give a log that has it"
    return f"the flight has no {kind} sensor ({', '.join(channels)} are expected); {hint}"


def _named_rotors(airframe: Airframe, flight: Flight) -> tuple[Flight, tuple[str, ...]]:
    """The flight with rotor speeds under the airframe's names; a log's own m1, m2, ... count in the file's order."""
    if "rotors.speed" not in flight.names:
        other = "; it has commands, but a command is no speed" if "rotors.command" in flight.names else ""
        raise ObservabilityError(
            f"the flight has no rotor speeds (rotors.speed){other}: log the speed the ESCs report"
        )
    speed, names = flight["rotors.speed"], tuple(rotor.name for rotor in airframe.rotors)
    if speed.values.ndim != 2 or speed.values.shape[1] != len(names):
        count = speed.values.shape[1] if speed.values.ndim == 2 else 1
        raise ObservabilityError(
            f"the flight has {count} rotors but {airframe.name} has {len(names)}; give the airframe that was flown"
        )
    if not speed.columns or set(names) <= set(speed.columns):
        return flight, ()
    note = f"rotors {', '.join(speed.columns)} of the log are taken as {', '.join(names)}"
    return flight.without("rotors.speed").with_channel(replace(speed, columns=names)), (note,)


def _with_all(flight: Flight, imu: str, outer: str | None) -> Flight:
    """The flight with channels of no value where it has none."""
    if f"{imu}.accel" not in flight.names:
        clock = flight["rotors.speed"].time
        for part, unit in (("accel", "m/s2"), ("gyro", "rad/s")):
            nothing = Channel(f"{imu}.{part}", clock, np.full((len(clock), 3), np.nan), unit, imu)
            flight = flight.with_channel(nothing)
    if outer is None:
        clock = flight[f"{imu}.accel"].time[::_POSE_EVERY]
        for part in ("position", "wxyz"):
            if f"pose.{part}" in flight.names:
                flight = flight.without(f"pose.{part}")
        nowhere = Channel("pose.position", clock, np.full((len(clock), 3), np.nan), "m", "world")
        flight = flight.with_channel(nowhere)
    return flight


def _level(vehicle: VehicleFilter, frames: Frames) -> Mean:
    """Level and at rest, turning as the gyroscope says: without pose nothing else shows."""
    R_MI = so3.from_wxyz(vehicle.description.printed["imu_rotation"])
    zero, rates = jnp.zeros(3), R_MI @ jnp.nan_to_num(frames.steps.imu[0, 0, 3:])
    parts = {"position": zero, "velocity": zero, "attitude": jnp.eye(4)[0], "rates": rates}
    return {**parts, "accel_bias": zero, "gyro_bias": zero}


def _with_attitude(vehicle: VehicleFilter, flight: Flight, sensors: Sequence[str]) -> VehicleFilter:
    """The filter with a first attitude from the log's own estimate, where no sensor shows it and there is one."""
    if "pose" in sensors or ATTITUDE not in flight.names or not flight[ATTITUDE].finite.any():
        return vehicle
    channel = flight[ATTITUDE]
    wxyz = channel.values[int(np.flatnonzero(channel.finite)[0])]
    turned = so3.multiply_wxyz(jnp.asarray(wxyz), so3.to_wxyz(jnp.asarray(vehicle.description.R_BM)))
    w, x, y, z = np.asarray(turned / jnp.linalg.norm(turned)).tolist()
    return replace(vehicle, first_attitude=(w, x, y, z))


VAGUE = 100.0
"""Prior deviations, in units of "10 %" (`haltere.estimation.vehicle.prior.ten_percent`)."""
_LEARNT = 0.5
"""Share of the prior's deviation below which a flight has said something."""
_PIECE = 250
"""Frames in one call, so that flights of any length share what was compiled."""


@dataclass(frozen=True)
class Told:
    """What a flight tells of one parameter.

    Attributes:
        name: as in files and reports.
        size: its value in the file, or its unit in the vehicle where that is zero, SI.
        sigma: deviation to expect, SI; None where it cannot be told.
        verdict: `observable`, `weak`, `combination` or `unobservable`.
        missing: the sentence about what it would take; None where it is observable.
    """

    name: str
    size: float
    sigma: float | None
    verdict: str
    missing: str | None


@dataclass(frozen=True)
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
    parameters: tuple[Told, ...]
    excitation: dict[str, float]
    duration: float
    notes: tuple[str, ...]


@double_precision()
def information_of_flight(
    airframe: Airframe,
    flight: Flight,
    sensors: Sequence[str] = ("pose", "imu"),
    names: Sequence[str] = (),
    known: Sequence[str] = (),
    rng: np.random.Generator | None = None,
    progress: Callable[[str], None] | None = None,
) -> FlightInformation:
    """How well a recorded flight tells the parameters of a vehicle.

    Args:
        airframe: the vehicle, as well as it is known.
        flight: a record, of the simulator or of `haltere.logs.read`.
        sensors: of `pose`, `position`, `imu`; the flight must have them.
        names: parameters (names, beginnings of names, patterns); all if there are none.
        known: what is measured by hand, taken as exact.
        rng: for the exact rank's random points.
        progress: called with a sentence before each part.

    Raises:
        HaltereError: the flight lacks a sensor, a name is not known, or the vehicle has wings or drag.
    """
    tell = progress or (lambda _: None)
    refuse_wings(airframe, "the vehicle filter")
    question = Question(tuple(sensors))
    subject = Subject.from_airframe(airframe, question.exteroceptive)
    seen = observe(subject, question, known, rng=rng)
    verdicts = {finding.name: finding for finding in seen.parameters}
    information = Information(subject, Weights.of(airframe, sensors), seen.known)
    asked = information.wanted(names) if names else [name for name in verdicts if name not in seen.known]
    # To first order an upright axis has no vertical error: nothing to say about it, unless it is asked for by name.
    wanted = [name for name in asked if name in names or name in seen.known or np.any(information.row(name))]
    ready = flown(airframe, flight, sensors)
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
            sentence = missing(name, sigma, size, measured)
            if sentence is not None:
                verdict = "weak" if sigma is not None else str(Verdict.UNOBSERVABLE)
        else:
            sigma = None
            fix = f"measure {' and '.join(finding.fix)} by hand" if finding.fix else "measure it by hand"
            sentence = f"no flight with {' and '.join(sensors)} shows {name}: {fix}"
        told.append(Told(name, size, sigma, verdict, sentence))
    duration = float(np.sum(np.asarray(ready.frames.steps.dt)))
    notes = dict.fromkeys((*seen.notes, *ready.notes))
    return FlightInformation(seen, tuple(told), measured, duration, tuple(notes))


def _bound(ready: Flown) -> tuple[Numbers, Mean]:
    """The bound (n, n) from the vague prior, and the moving blocks (K, n, ...) that the filter found."""
    vehicle, frames = ready.vehicle, ready.frames
    chart, printed = vehicle.chart, vehicle.description.printed
    root = _prior_root(ready)
    start = jnp.diag((VAGUE * vehicle.moving_sigma) ** 2)
    vague = jax.scipy.linalg.block_diag(start, jnp.asarray(root @ root.T))
    constants = chart.to_coordinates(printed)
    go, belief, cov, paths = _compiled(chart), vehicle.begin(ready.first), vague, []
    count = frames.place.shape[0]
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


def _prior_root(ready: Flown) -> Numbers:
    """(19 + 7N, 19 + 7N) L of equation (1) without the biases."""
    vehicle = ready.vehicle
    J = np.asarray(vehicle.chart.jacobian(vehicle.description.printed))
    return J * (VAGUE * np.asarray(vehicle.sigma))


@lru_cache(maxsize=8)
def _compiled(chart: Chart) -> Any:
    def go(
        noise: Noise, belief: Belief, cov: Array, constants: Mean, frames: Frames, gate: Array
    ) -> tuple[Belief, Array, Mean]:
        end, trail = run(chart, noise, belief, frames, gate)  # type: ignore[arg-type]
        nominal = Nominal(trail.moving, trail.noise, chart.moving.part(end.mean), constants)
        nothing = jnp.zeros(chart.space.dimension)
        return end, bound(chart, noise, lambda _: (nothing, cov), nominal, frames), trail.moving

    return jax.jit(go)


def _free_information(information: Information, ready: Flown, cov: Numbers) -> tuple[Numbers, Numbers]:
    """A of equation (1), prior included, and the prior's part of it alone; (f, f) each."""
    vehicle = ready.vehicle
    biases, moving = vehicle.chart.walking, vehicle.chart.dynamic.dimension
    sigma = VAGUE * np.concatenate([np.asarray(vehicle.moving_sigma)[moving:], np.asarray(vehicle.sigma)])
    L = np.diag(sigma)
    L[biases:, biases:] = _prior_root(ready)
    whitened = np.linalg.solve(L, np.linalg.solve(L, cov[moving:, moving:]).T)
    E = _printed_to_error(information, vehicle.chart, vehicle.description.printed)
    W = np.linalg.solve(E, np.diag(information.units)) / sigma[:, None] @ information.free
    A: Numbers = W.T @ np.linalg.solve(0.5 * (whitened + whitened.T), W)
    return A, W.T @ W


def _printed_to_error(information: Information, chart: Chart, printed: Mean) -> Numbers:
    """(25 + 7N, 25 + 7N) error state after the moving state, by biases and printed errors: E."""
    c = information.subject.coordinates
    names = [f"imu.{kind}_bias.{axis}" for kind in ("accel", "gyro") for axis in "xyz"]
    names += [
        name.replace("pose.", f"{c.sensor}.", 1) if name.startswith("pose.") else name for name in chart.names
    ]
    E = np.zeros((len(names), len(names)))
    slopes = np.asarray(jax.jacfwd(chart.thrust_axes)(printed["rotor_tilt"]))
    T = information.tangent / information.units
    for column, name in enumerate(names):
        if ".axis." not in name:
            E[c.place[name] - ERRORS, column] = 1.0
    for i, rotor in enumerate(c.rotors):
        first = names.index(f"rotors.{rotor}.axis.tilt_x")
        error, number = c.rotor_error(i, "axis") - ERRORS, c.rotor_number(i, "axis") - MOTION
        tangent = T[number : number + 3, error : error + 2]
        E[error : error + 2, first : first + 2] = np.linalg.lstsq(tangent, slopes[i, :, i], rcond=None)[0]
    return E


def _sigma(row: Numbers, A: Numbers, prior: Numbers) -> float | None:
    """Deviation of a parameter; None where the flight says nothing about it."""
    variance, before = (float(row @ np.linalg.solve(matrix, row)) for matrix in (A, prior))
    if variance > _LEARNT**2 * before:
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

    return excitation_of(even(moving["rates"]), even(frames.steps.speeds) ** 2, 1.0 / RATE)


def as_mapping(found: FlightInformation) -> dict[str, Any]:
    """The answer in plain numbers, as `haltere observe --flight --json` prints it."""
    return {
        **in_general(found.observability),
        "duration": found.duration,
        "excitation": found.excitation,
        "information": [
            {"name": p.name, "size": p.size, "sigma": p.sigma, "verdict": p.verdict, "missing": p.missing}
            for p in found.parameters
        ],
        "notes": list(found.notes),
    }
