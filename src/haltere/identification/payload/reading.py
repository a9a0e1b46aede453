"""What hangs on an arm, from a log: servo readings, their faults, grips and releases, and the payload at the end."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, load_airframe
from haltere.doctor.arm import payload_faults
from haltere.doctor.finding import Finding
from haltere.doctor.payload import check_payload
from haltere.dynamics.servo import Servos
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.events import PayloadHistory, detect_changes
from haltere.estimation.payload.model import (
    AIR,
    FRESH,
    OTHER_MOTION,
    ArmBelief,
    DriftBudget,
    ServoUncertainty,
)
from haltere.estimation.payload.record import ArmRecord, PayloadError
from haltere.estimation.payload.signals import ArmSignals
from haltere.estimation.payload.state import BESIDE, ROTATING_BASE, PayloadEstimate, PayloadSettings
from haltere.estimation.payload.variation import Stretch, doubted, levelled, widened
from haltere.flight import Channel, Flight
from haltere.flight.resampling import interpolate_columns
from haltere.foundation.arrays import double_precision
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.jsonable import fields_to_jsonable, to_jsonable
from haltere.foundation.numbers import Numbers
from haltere.identification.payload.calibration import (
    ServoCalibration,
    calibrate,
    list_parameters,
    load_calibration,
    save_calibration,
)
from haltere.lie import so3

Effort = Literal["torque", "share"]
REPORT = "haltere.report.payload"
FINE = 0.003
"""rad: encoders finer than this count 4096 steps to a revolution, others 1024 over 300 degrees."""
RECALIBRATE = (
    "check the signs and the unit of the loads and the masses of the arm in its airframe, and calibrate the servos "
    "again (haltere calibrate servo)"
)
ANY_SERVO = ServoUncertainty(friction=0.5)
"""Before a calibration: gears of one type differ in friction by factors from maker's data and from each other."""
GAP = 2.5
"""Reports that must be missing in a row for a gap."""
FEWEST = 10
"""Reports."""
SLOWEST = 20.0
"""Hz: reports must come at least so often to see which way a joint slides."""


@dataclass(frozen=True, eq=False)
class ArmLog:
    """What a flight says of an arm.

    Attributes:
        record: evenly sampled readings.
        start: time of the first, ns.
        mass: (T,) known weight, kg, or None.
        notes: what had to be assumed.
    """

    record: ArmRecord
    start: int
    mass: Numbers | None
    notes: tuple[str, ...]


@double_precision()
def arm_log(flight: Flight, airframe: Airframe, effort: Effort = "torque") -> ArmLog:
    """The servo readings of an arm in a flight: one even clock, joints in the airframe's order, loads as shares.

    | channel | unit | |
    |---|---|---|
    | `joints.angle`, or `joints.steps` | rad, or encoder steps | needed |
    | `joints.load`, or `joints.effort` | share of the stall torque, or N m (a share with `effort="share"`) | needed |
    | `joints.goal`, or `joints.goal_steps` | rad, or encoder steps | where logged |
    | `imu.accel`, `imu.gyro` | m/s2, rad/s | where logged; else the base is taken to be level and at rest |
    | `payload.mass` | kg | calibration only: the known weight |

    Columns with the names of the airframe's links are taken by name, others in their order; more columns than joints
    (a gripper's servo) are left out. Encoder steps count from the middle of the servo's range: 2048 of 4096 steps,
    512 of 1024.

    Raises:
        PayloadError: a channel is missing, too slow, or has fewer columns than the arm has joints.
    """
    servos = Servos.from_airframe(airframe)
    joints = [airframe.links[i].name for i in airframe.link_order() if not airframe.links[i].joint.fixed]
    notes: list[str] = []
    angle_channel, angle = _angles(flight, joints, servos, "angle", "steps")
    time = angle_channel.time
    rate = angle_channel.rate
    if len(time) < FEWEST or rate < SLOWEST:
        msg = (
            f"{angle_channel.name}: got {len(time)} samples at {rate:.3g} Hz, expected {SLOWEST:g} Hz or more for some "
            "seconds; log the servos longer or faster"
        )
        raise PayloadError(msg)
    count = int((time[-1] - time[0]) * 1e-9 * rate) + 1
    clock = time[0] + np.round(np.arange(count) * 1e9 / rate).astype(np.int64)
    load = _loads(flight, joints, servos, effort, clock)
    goal = None
    if "joints.goal" in flight or "joints.goal_steps" in flight:
        goal_channel, values = _angles(flight, joints, servos, "goal", "goal_steps")
        goal = _latest(goal_channel, values, clock)
    force, gyro = _base(flight, airframe, clock, rate, notes)
    mass = None
    if "payload.mass" in flight:
        given = flight["payload.mass"]
        mass = _latest(given, given.values.reshape(len(given), -1), clock)[:, 0]
    age = clock - time[np.maximum(np.searchsorted(time, clock, side="right") - 1, 0)]
    missing = age * 1e-9 * rate > GAP
    record = ArmRecord(rate, _latest(angle_channel, angle, clock), load, force, gyro, goal, missing)
    return ArmLog(record, int(clock[0]), mass, tuple(notes))


def _angles(
    flight: Flight, joints: Sequence[str], servos: Servos, name: str, steps: str
) -> tuple[Channel, Numbers]:
    if f"joints.{name}" in flight:
        channel = flight[f"joints.{name}"]
        return channel, _columns(channel, joints)
    if f"joints.{steps}" in flight:
        channel = flight[f"joints.{steps}"]
        resolution = np.asarray(servos.resolution)
        middle = np.where(resolution < FINE, 2048.0, 512.0)
        return channel, (_columns(channel, joints) - middle) * resolution
    raise PayloadError(
        f"no channel 'joints.{name}' or 'joints.{steps}' in this flight; log the servos' positions, or name them "
        "in a mapping file (--map)"
    )


def _loads(flight: Flight, joints: Sequence[str], servos: Servos, effort: Effort, clock: Numbers) -> Numbers:
    if "joints.load" in flight:
        channel, factor = flight["joints.load"], np.ones(len(joints))
    elif "joints.effort" in flight:
        channel = flight["joints.effort"]
        stall = np.asarray(servos.stall_torque)
        factor = np.ones(len(joints)) if effort == "share" else 1.0 / stall
    else:
        raise PayloadError(
            "no channel 'joints.load' or 'joints.effort' in this flight; log the servos' loads, or name them in a "
            "mapping file (--map)"
        )
    return _latest(channel, _columns(channel, joints) * factor, clock)


def _columns(channel: Channel, joints: Sequence[str]) -> Numbers:
    """(T, J) in the airframe's order."""
    values = channel.values.reshape(len(channel), -1)
    if set(joints) <= set(channel.columns):
        return np.stack([channel.column(name) for name in joints], axis=1)
    if values.shape[1] < len(joints):
        raise PayloadError(
            f"channel '{channel.name}' has {values.shape[1]} columns, the arm has the joints {', '.join(joints)}; "
            "log all of them, or name them in a mapping file (--map)"
        )
    return np.asarray(values[:, : len(joints)])


def _latest(channel: Channel, values: Numbers, clock: Numbers) -> Numbers:
    """(T, k): the last values (S, k) of a channel at or before each time of a clock; the first ones before that."""
    good = np.isfinite(values).all(axis=1)
    if not good.any():
        raise PayloadError(
            f"channel '{channel.name}' has no row in which every joint has a number; check what was logged"
        )
    place = np.maximum(np.searchsorted(channel.time[good], clock, side="right") - 1, 0)
    return np.asarray(values[good][place])


def _base(
    flight: Flight, airframe: Airframe, clock: Numbers, rate: float, notes: list[str]
) -> tuple[Numbers, Numbers]:
    """Specific force of the body origin and rate, body axes, from the first IMU where the airframe says it sits."""
    still = np.zeros((len(clock), 3))
    if "imu.accel" not in flight:
        notes.append("no imu.accel: the base is taken to be level and at rest")
        return still + np.asarray([0.0, 0.0, STANDARD_GRAVITY]), still
    force = _averaged(flight["imu.accel"], clock, rate)
    gyro = _averaged(flight["imu.gyro"], clock, rate) if "imu.gyro" in flight else still
    if airframe.imu:
        turn = np.asarray(so3.from_wxyz(jnp.asarray(airframe.imu[0].wxyz)))
        lever = np.asarray(airframe.imu[0].position)
        force, gyro = force @ turn.T, gyro @ turn.T
        if np.any(lever) and "imu.gyro" in flight:
            spin = np.gradient(gyro, 1.0 / rate, axis=0)
            force = force - np.cross(spin, lever) - np.cross(gyro, np.cross(gyro, lever))
    return force, gyro


def _averaged(channel: Channel, clock: Numbers, rate: float) -> Numbers:
    """(T, 3) means over the period of the clock: vibration above it does not alias into the base's motion."""
    good = channel.finite
    time, values = channel.time[good], channel.values[good, :3]
    if len(time) < 2:
        return interpolate_columns(clock, time, values)
    passed = np.diff(time)[:, None] * 1e-9 * 0.5 * (values[1:] + values[:-1])
    whole = np.concatenate([np.zeros((1, 3)), np.cumsum(passed, axis=0)])
    half = round(0.5e9 / rate)
    ends = np.clip(np.stack([clock - half, clock + half]), time[0], time[-1])
    span = np.diff(ends, axis=0)[0] * 1e-9
    first, last = (interpolate_columns(end, time, whole) for end in ends)
    now = interpolate_columns(clock, time, values)
    return np.where(span[:, None] > 0.0, (last - first) / np.maximum(span, 1e-12)[:, None], now)


def weighings(log: ArmLog) -> tuple[list[ArmRecord], list[float]]:
    """The record cut where the known weight changes, and the weight of each piece, kg."""
    if log.mass is None:
        raise PayloadError(
            "no channel 'payload.mass' in this data; add a column payload.mass.known in kg, 0 for the empty arm"
        )
    edges = [0, *(np.flatnonzero(np.diff(log.mass) != 0.0) + 1), len(log.mass)]
    records, masses = [], []
    for a, b in pairwise(edges):
        if b - a >= 2.0 * log.record.rate:
            records.append(log.record.between(a / log.record.rate, b / log.record.rate))
            masses.append(float(log.mass[a]))
    if not records:
        raise PayloadError("no weight hung for two seconds; hold each and sweep the joints meanwhile")
    return records, masses


@dataclass(frozen=True, eq=False)
class PayloadReading:
    """The payload of an arm over a log, and at its end.

    Attributes:
        log: the servos' reports on one clock.
        filter: the estimator with what is known of the arm before the log.
        lean: rad by which the direction of the specific force may be wrong; 0 where no IMU was logged.
        signals: regression rows of the reports.
        history: what was held when.
        findings: what is wrong with the reports.
    """

    log: ArmLog
    filter: PayloadCore
    lean: float
    signals: ArmSignals
    history: PayloadHistory
    findings: tuple[Finding, ...]

    @cached_property
    def estimate(self) -> PayloadEstimate:
        """At the end, as unsure as it varies over the strokes since the last change."""
        record, history = self.log.record, self.history
        tare, first = (round(t * record.rate) for t in (history.tare, history.since))
        found = widened(history.filter, history.belief, self.signals, first, record.samples)
        if self.lean == 0.0:
            return found
        lever = float(history.belief.lever.max())
        return doubted(found, self.filter, record, Stretch(tare, first, record.samples), self.lean, lever)

    @property
    def trusted(self) -> bool:
        """Whether no fault spoils the numbers; an arm that hangs straight down makes them unobservable, not wrong."""
        return all(finding.kind == "arm-straight-down" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: the estimate at the end, findings, events and notes."""
        return {
            **estimate_to_dict(self.estimate, self.trusted),
            "findings": to_jsonable(self.findings),
            "events": [fields_to_jsonable(event) for event in self.history.events],
            "notes": list(self.log.notes),
        }

    def report(self, path: str | PathLike[str], title: str = "Payload") -> Path:
        """Write its page as one HTML file; replaces only what haltere has written."""
        pages = importlib.import_module(REPORT)  # stands in a layer above: looked up by name, as a plug-in
        written: Path = pages.render_payload(pages.PayloadPage.of_log(self), title).write(Path(path))
        return written


@double_precision()
def estimate_payload(
    flight: Flight,
    airframe: Airframe | str | PathLike[str] = "quad-arm",
    *,
    calibration: str | PathLike[str] | None = None,
    fresh: bool = False,
    beside_gripper: bool = False,
    rotating_base: bool = False,
    effort: Effort = "torque",
) -> PayloadReading:
    """Estimate what an arm held in a flight.

    Args:
        flight: with the channels of `arm_log`.
        airframe: the vehicle with its arm, its file or its name in the catalogue.
        calibration: a file of `save_calibration`; the airframe's servos and their usual tolerances if None.
        fresh: whether the servos were calibrated just before the flight, on the same supply.
        beside_gripper: whether the weight may hang beside the gripper.
        rotating_base: whether the base rotated to and fro while the joints swept, so that the payload's own inertia
            can be estimated.
        effort: what `joints.effort` is.
    """
    vehicle = load_airframe(airframe)
    belief = ArmBelief.from_airframe(vehicle)
    other = DriftBudget(0.0, OTHER_MOTION, 0.0, 0.0, AIR if "imu.accel" in flight else 0.0)
    if calibration is not None:
        belief = load_calibration(calibration, belief).drifted(FRESH if fresh else DriftBudget())
    belief = belief.drifted(other)
    log = arm_log(flight, vehicle, effort)
    settings = ROTATING_BASE if rotating_base else PayloadSettings()
    filter_ = PayloadCore(
        belief, replace(settings, position_sigma=BESIDE.position_sigma) if beside_gripper else settings
    )
    lean = 0.0
    if "imu.accel" in flight:
        record, lean = levelled(log.record)
        log = replace(log, record=record)
    signals = filter_.signals(log.record)
    history = detect_changes(filter_, log.record, signals)
    findings = payload_faults(belief, log.record)
    reading = PayloadReading(log, filter_, lean, signals, history, findings)
    estimate = reading.estimate
    if bool(estimate.observable):
        negative = check_payload(
            float(estimate.mass), float(estimate.sigma), RECALIBRATE, ("joints.load", "joints.angle")
        )
        reading = replace(reading, findings=findings if negative is None else (*findings, negative))
    return reading


def estimate_to_dict(estimate: PayloadEstimate, trusted: bool = True) -> dict[str, Any]:
    """An estimate as plain data; of readings with faults it says only that nothing is observable."""
    mass, sigma = float(estimate.mass), float(estimate.sigma)
    observable = trusted and bool(estimate.observable)
    positioned = observable and bool(estimate.position_observable)
    rotated = observable and bool(estimate.inertia_observable)
    return {
        "mass": mass if observable else None,
        "sigma": sigma if observable else None,
        "interval": [mass - 1.96 * sigma, mass + 1.96 * sigma] if observable else [None, None],
        "center_of_mass": np.asarray(estimate.center_of_mass).tolist() if observable else None,
        "center_sigma": np.sqrt(np.diag(estimate.center_cov)).tolist(),
        "observable": observable,
        "place_observable": positioned,
        "inertia": float(estimate.inertia) if rotated else None,
        "inertia_sigma": float(estimate.inertia_sigma) if rotated else None,
        "inertia_observable": rotated,
        "held": bool(estimate.stale),
        "strain": float(estimate.strain),
    }


@dataclass(frozen=True, eq=False)
class ArmCalibration:
    """Servo constants of a vehicle's arm from a log with known weights.

    Attributes:
        vehicle: name of its airframe.
        servos: constants and residuals.
        masses: kg, the known weights.
        notes: what had to be assumed.
    """

    vehicle: str
    servos: ServoCalibration
    masses: tuple[float, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "parameters": [p.to_dict() for p in list_parameters(self.servos)],
            "masses": list(self.masses),
            "residual": self.servos.residual.tolist(),
            "notes": list(self.notes),
        }

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the file that `estimate_payload` takes as its `calibration`."""
        return save_calibration(path, self.servos.belief, self.vehicle, overwrite)


@double_precision()
def calibrate_servos(flight: Flight, airframe: Airframe | str | PathLike[str] = "quad-arm") -> ArmCalibration:
    """Find the constants of an arm's servos from a log of it sweeping with nothing and with known weights.

    Args:
        flight: with the channels of `arm_log`, `payload.mass` among them.
        airframe: the vehicle with its arm, its file or its name in the catalogue.
    """
    vehicle = load_airframe(airframe)
    log = arm_log(flight, vehicle)
    records, masses = weighings(log)
    servos = calibrate(ArmBelief.from_airframe(vehicle, ANY_SERVO), records, masses)
    return ArmCalibration(vehicle.name, servos, tuple(masses), log.notes)
