"""The result of a log with pose, rotor speeds and a nominal airframe: the vehicle filter or the batch smoother.

The numbers are those of `haltere.estimation`: seen from the centre of mass, along the principal axes. Noise that the
airframe does not state is taken from the log: sigma^2 = mean of (x_k-1 - 2 x_k + x_k+1)^2 / 6, what neighbours of a
smooth signal do not share. Where the residuals are larger than stated, deviations grow with them.
"""

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.equipment import equip, measure_sensors
from haltere.dynamics import Model
from haltere.estimation.vehicle.alignment import AlignmentError
from haltere.estimation.vehicle.coordinates import Effect
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.estimate import VehicleEstimate
from haltere.estimation.vehicle.frames import FlightFaultError
from haltere.estimation.vehicle.prior import PriorError
from haltere.flight import Flight, FlightError
from haltere.flight.filters import fill_gaps
from haltere.flight.window import FlightWindow, IdentifyError
from haltere.foundation.arrays import double_precision
from haltere.foundation.memory import bound_programs
from haltere.foundation.numbers import Floats
from haltere.identification.known import Known
from haltere.identification.methods.airframe import with_identified_numbers
from haltere.identification.methods.base import HeldOut, MethodResult, predict_accelerations
from haltere.identification.methods.effectiveness import identify_effectiveness
from haltere.identification.methods.vehicle_airframe import assembled, axes_of, principal_frame
from haltere.identification.methods.vehicle_method import VehicleSettings
from haltere.identification.methods.vehicle_parameters import vehicle_covariance, vehicle_parameters
from haltere.identification.regression import force_law
from haltere.identification.result import PRINCIPAL, Prediction

SETTINGS = VehicleSettings()
WIDENED = (
    "the airframe and its sensors' noise are believed less than stated, because the residuals were too large"
)


@double_precision()
def identify_vehicle(
    flight: Flight, window: FlightWindow, airframe: Airframe, known: Mapping[str, Known]
) -> MethodResult:
    """What filter or batch smoother tell.

    Args:
        flight: With `imu.*`, `rotors.speed` and `pose.position`.
        window: The flying part of it.
        airframe: The prior.
        known: Numbers measured otherwise.
    """
    bound_programs()
    told = MethodResult()
    held = held_joints(airframe, flight, told.notes)
    nominal, assumed = _equip(airframe, flight)
    recorded = flying_part(flight, window, airframe)
    told.notes += assumed
    plain = _filter(nominal, {}, held)
    hand_measurements, notes = _hands(plain.coordinates.names, known)
    told.notes += notes
    vehicle = _filter(nominal, hand_measurements, held) if hand_measurements else plain
    split = window.split - float(window.time[window.valid][0])
    try:
        online = vehicle.estimate(recorded, split)
    except (AlignmentError, FlightError, FlightFaultError, PriorError) as error:
        raise IdentifyError(f"the vehicle filter cannot start: {error}") from None
    if _strange(online):
        # A prior far off: what needs none tells mass, thrust and inertia about, and the filter begins there.
        quick = identify_effectiveness(window, airframe, known, exact_force=False)
        near = with_identified_numbers(airframe, quick.parameters, {}, []) or airframe
        vehicle, online = _fitted(
            _filter(_equip(near, flight)[0], hand_measurements, held), online, recorded, split
        )
        told.notes.append(WIDENED)
    final = online
    grown = _grown(online)
    told.notes += [note for note in online.notes if note.startswith("model mismatch")]
    told.notes.append("positions count from the centre of mass along the principal axes")
    told.parameters += vehicle_parameters(final, grown, online.fit.mismatch, hand_measurements)
    told.covariance = vehicle_covariance(final, told.parameters, grown)
    told.airframe = assembled(airframe, final, told.notes)
    told.fit[PRINCIPAL] = principal_frame(airframe, values_of(final))[0].tolist()
    told.fit.update(pose_residuals=online.fit.pose, imu_residuals=online.fit.imu, rejected=online.rejected)
    told.predictions += _predictions(online, window)
    return told


def held_joints(airframe: Airframe, flight: Flight, notes: list[str]) -> Floats:
    """(J,) rad at which the joints stood; a vehicle that is no rigid body with rotors, or was none here, is refused."""
    winged = [link.name for link in airframe.links if link.wing is not None]
    if winged or airframe.body.wing is not None:
        raise IdentifyError(
            f"{airframe.name} has wings ({', '.join(winged or ['body'])}), of whose forces the vehicle filter has no "
            "model; use --method effectiveness"
        )
    joints = Model.from_airframe(airframe).topology.joint_names
    if not joints:
        return np.zeros(0)
    if "joints.angle" not in flight:
        notes.append(f"the log has no joint angles: {', '.join(joints)} are taken to stand at zero")
        return np.zeros(len(joints))
    told = flight["joints.angle"]
    names = told.columns or joints
    if set(names) != set(joints) or told.values.shape[1:] != (len(joints),):
        raise IdentifyError(
            f"joints.angle has {', '.join(told.columns) or told.values.shape[1:]} and {airframe.name} the joints "
            f"{', '.join(joints)}; give its own airframe"
        )
    angles = told.values[:, [names.index(joint) for joint in joints]]
    middle = np.nanmedian(angles, axis=0)
    moved = np.nanmax(np.abs(angles - middle), axis=0)
    worst = int(np.argmax(moved))
    if not moved[worst] <= SETTINGS.joint_at_rest:
        raise IdentifyError(
            f"the joint of {joints[worst]} moved by {np.degrees(moved[worst]):.0f} deg in this log, and the vehicle "
            "filter takes a vehicle whose joints stand still; hold them, or use --method effectiveness"
        )
    if np.max(np.abs(middle)) > SETTINGS.joint_at_rest:
        told_at = ", ".join(f"{joint} {np.degrees(x):.0f}" for joint, x in zip(joints, middle, strict=True))
        notes.append(f"all numbers are of the vehicle with its joints at {told_at} deg, as in the log")
    return np.asarray(middle, np.float64)


def _filter(
    nominal: Airframe, hand_measurements: dict[str, tuple[float, float]], held: Floats
) -> VehicleCore:
    turning = any(any(x > 0.0 for x in rotor.inertia[:3]) for rotor in nominal.rotors)
    rate = nominal.imu[0].rate or SETTINGS.start_samples / SETTINGS.start_seconds[1]
    start = float(np.clip(SETTINGS.start_samples / rate, *SETTINGS.start_seconds))
    effects: tuple[Effect, ...] = ("spin",) if turning else ()
    return VehicleCore.from_airframe(
        nominal,
        hand_measurements=hand_measurements,
        effects=effects,
        joint_angles=held,
        start=start,
        iterations=SETTINGS.start_iterations,
    )


def _fitted(
    vehicle: VehicleCore, estimate: VehicleEstimate, flight: Flight, split: float
) -> tuple[VehicleCore, VehicleEstimate]:
    """The filter with noise as large as its residuals say, and a wider prior; and its estimate."""
    vehicle = replace(vehicle, sigma=SETTINGS.prior_scale * vehicle.sigma)
    for _ in range(SETTINGS.attempts):
        fit, noise = estimate.fit, vehicle.noise
        louder = np.clip(np.sqrt([fit.imu, fit.pose]), 1.0, 10.0)
        louder[1] = max(louder[1], 2.0 if fit.rejected > SETTINGS.diverged_rejected else 1.0)
        imu = np.maximum(np.asarray(noise.imu) * louder[0], SETTINGS.shaking_imu)
        pose = np.asarray(noise.pose) * louder[1]
        vehicle = replace(vehicle, noise=noise._replace(imu=jnp.asarray(imu), pose=jnp.asarray(pose)))
        estimate = vehicle.estimate(flight, split)
        if not _strange(estimate):
            return vehicle, estimate
    raise IdentifyError(
        f"the vehicle filter does not fit this log ({estimate.fit}); use --method effectiveness, or give an "
        "airframe nearer to the vehicle"
    )


def _strange(estimate: VehicleEstimate) -> bool:
    """Whether residuals are so large that nothing can be believed."""
    fit = estimate.fit
    values = [fit.imu, fit.pose, fit.rejected]
    return (
        not np.isfinite(values).all()
        or fit.rejected > SETTINGS.diverged_rejected
        or max(fit.imu, fit.pose) > SETTINGS.diverged_nis
    )


def _equip(airframe: Airframe, flight: Flight) -> tuple[Airframe, tuple[str, ...]]:
    """The airframe with sensors and noise that it does not state, from the log, and notes on them."""
    if "pose.position" not in flight or len(flight["pose.position"]) < 20:
        raise IdentifyError(
            "the log has no pose; use --method effectiveness, or log motion capture or vision"
        )
    return equip(airframe, ("pose", "imu"), measured=measure_sensors(flight))


def flying_part(flight: Flight, window: FlightWindow, airframe: Airframe) -> Flight:
    """The part of the flight from the first to the last good sample, rotors named as in the airframe."""
    inside = window.time[window.valid]
    names = tuple(rotor.name for rotor in airframe.rotors)
    speed = flight["rotors.speed"]
    if speed.values.shape[1] != len(names):
        raise IdentifyError(
            f"the log has {speed.values.shape[1]} rotors and {airframe.name} has {len(names)}; give its own airframe"
        )
    if set(speed.columns) != set(names):
        flight = flight.with_channel(replace(speed, columns=names))
    for name in flight.names:
        if name.startswith("truth."):
            flight = flight.without(name)
    return flight.between(float(inside[0]), float(inside[-1]))


def _hands(
    names: tuple[str, ...], known: Mapping[str, Known]
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Hand measurements of the filter, and sentences on what it cannot take."""
    hand_measurements, notes = {}, []
    for pattern, number in known.items():
        found = [name for name in names if fnmatchcase(name, pattern)]
        if not found or ".position" in pattern:
            notes.append(f"--known {pattern} is not used by this method")
            continue
        for name in found:
            hand_measurements[name] = (number.value, number.sigma or SETTINGS.exact_sigma * abs(number.value))
    return hand_measurements, notes


def _grown(estimate: VehicleEstimate) -> float:
    """By how much deviations grow because residuals are larger than stated."""
    return float(np.sqrt(max(estimate.fit.pose, estimate.fit.imu, 1.0)))


def _predictions(online: VehicleEstimate, window: FlightWindow) -> list[Prediction]:
    """What the filter believed after the early part says of the late one, in principal axes."""
    late, coordinates = window.late(), online.coordinates
    if online.early is None or late.flight_seconds < 0.5 or window.rotor_speeds is None:
        return []
    early = replace(online, belief=online.early)
    p, axes = values_of(early), early.thrust_axes()[0]
    cutoff = min(SETTINGS.cutoff, 0.2 * window.rate)
    found = force_law.low_passed(late, fill_gaps(window.rotor_speeds), None, cutoff, 0.0, 0.0)
    R = np.asarray(axes_of(p["imu_rotation"]))
    rates, turn = found.rates @ R.T, found.angular_acceleration @ R.T
    thrust = p["thrust_coefficient"][:, None] * axes
    spin = np.asarray(coordinates.spins)[:, None]
    torque = np.cross(p["rotor_position"], thrust) - spin * p["torque_ratio"][:, None] * thrust
    momenta = spin * p.get("spin_inertia", np.zeros(len(axes)))[:, None] * axes
    momentum = rates * p["inertia"] + np.sqrt(np.maximum(found.squared_speeds, 0.0)) @ momenta
    made = (
        found.squared_speeds @ torque
        - found.torque_signals.rotor_accelerations @ momenta
        - np.cross(rates, momentum)
    ) / p["inertia"]
    arm = p["imu_position"]
    force = (
        found.squared_speeds @ thrust / p["mass"][0]
        + np.cross(turn, arm)
        + np.cross(rates, np.cross(rates, arm))
    )
    return predict_accelerations(
        HeldOut(found.time, found.valid, found.rate), (found.force @ R.T, force), (turn, made)
    )


def values_of(estimate: VehicleEstimate) -> dict[str, Floats]:
    """The physical numbers as plain arrays."""
    return {name: np.asarray(value, np.float64) for name, value in estimate.physical.items()}
