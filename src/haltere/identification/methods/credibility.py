"""Whether the batch estimate of a flight can be believed, and how much its intervals have to widen.

The model's own deviations count only as far as these agree with them:

- parts of the flight: the part of a variance that comes from noise is that between parts of the flight (jackknife)
  where this is larger, and the mean of both where it is smaller;
- gusts: what the air does to the vehicle is known less well than the rotors, so all deviations grow in proportion to
  strong gusts (`gust_factor`);
- excitation: disturbances and noise of the rotor speeds make rotors look weaker than they are, most where a vehicle
  hardly rotates, and reactions to rotor acceleration suffer where telemetry is slow
  (`haltere.estimation.vehicle.excitation`);
- the effectiveness method on the same log, which shares neither prior nor pose: rows that differ by more than their
  deviations allow widen until they agree;
- what is known well: where gravity or a scale factor of the IMU is off by more than `STRAINED` of its deviations, all
  deviations grow in proportion;
- the poses: noise of the size of the motion means that they are of another flight or clock, which refuses the result;
- the drawing: a vehicle farther from it than was believed is said to be so, its prior was widened, and because the
  flight tells only roughly by how much, deviations grow by `ROUGHLY` unless gusts widen them more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from haltere.estimation.vehicle.excitation import Excitation
from haltere.estimation.vehicle.levels import NAMES, gust_factor, gust_of
from haltere.estimation.vehicle.numbers import Numbers
from haltere.estimation.vehicle.smoother import SmoothedFlight
from haltere.foundation.numbers import Floats
from haltere.foundation.verdict import LEARNT
from haltere.identification.parameters import Parameter

REJECTED = 0.2
"""Share of the poses that do not fit from which on nothing is stated."""
UNSETTLED = 1.0
"""Last step of a coordinate, prior deviations, from which on the estimate has not settled."""
IMPOSSIBLE = 4.0
"""Deviations beyond the triangle inequality from which on nothing is stated."""
FARTHER = 1.3
"""Factor on the deviations of the drawing from which on it is said."""
FAR = 1.6
ROUGHLY = 1.15
"""Factor on all deviations where the prior was widened by `FAR` or more; none at `FARTHER`."""
FAR_FROM = {
    "thrust": "thrust coefficients are",
    "torque": "torque ratios are",
    "positions": "rotor positions and centre of mass are",
    "axes": "thrust axes are",
    "inertia": "moments and products of inertia are",
}
"""Subjects of sentences on the groups of numbers that a drawing tells."""
POSE_LEVELS = [NAMES.index("position"), NAMES.index("rotation")]
LARGEST_ROTATION = 0.1
"""rad, of the noise of an attitude, from which on nothing is stated."""
LARGEST_POSITION = 0.3
"""Noise of a position over the deviation of the motion, from which on nothing is stated."""
LEAST_MOTION = 0.05
"""m, of the noise of a position that is borne in any motion."""
WELL_KNOWN = ("gravity", "accel_scale", "gyro_scale")
"""Blocks of coordinates that are known well before any flight."""
STRAINED = 5.0
"""Prior deviations of one of these from which on readings contradict each other."""
HARDLY_ROTATES = (
    "the vehicle hardly rotates: noise of the rotor speeds would do as much; fly doublets in roll, pitch and yaw, "
    "or log rotor speeds more finely"
)
AXES = ("roll", "pitch", "yaw")
AGREE = {
    ".effectiveness.p": 2.0,
    ".effectiveness.q": 2.0,
    ".effectiveness.fz": 3.0,
    ".thrust_coefficient": 3.0,
}
"""Deviations of both methods by which numbers may differ from those of the effectiveness method, by how they end."""


@dataclass(frozen=True)
class Credibility:
    """What is thought of a result.

    Attributes:
        sigma: (N,) deviations of the numbers, widened where needed.
        figures: what it rests on, plain data.
        notes: sentences for the user.
        refusal: why the result cannot be used; empty if it can.
    """

    sigma: Floats
    figures: dict[str, object]
    notes: list[str] = field(default_factory=list)
    refusal: str = ""


def check_credibility(flight: SmoothedFlight, numbers: Numbers, others: Iterable[Parameter]) -> Credibility:
    """Compare a smoothed flight with what else is known.

    Args:
        flight: the estimate.
        numbers: its physical numbers.
        others: what the effectiveness method found in the same log.
    """
    excitation = Excitation.of(flight, numbers)
    rejected = rejected_fraction(flight)
    scatter, between = _scatter(flight, numbers)
    told = numbers.sigma < LEARNT * numbers.prior_sigma
    sigma = np.sqrt(numbers.sigma**2 + np.maximum(between - scatter, 0.5 * (between - scatter)))
    far = [name for name, factor in flight.prior_scale.items() if factor > FARTHER]
    farthest = max(flight.prior_scale.values())
    grown = max(gust_factor(flight.log_levels), float(np.interp(farthest, (FARTHER, FAR), (1.0, ROUGHLY))))
    sigma = np.where(told, sigma * grown, sigma)
    sigma = np.hypot(sigma, excitation.sigma(numbers))
    strain = sensor_strain(flight)
    sigma = sigma * max(strain / STRAINED, 1.0)
    sigma, difference = _agreeing(numbers, sigma, others)
    figures: dict[str, object] = {
        "gust": gust_of(flight.log_levels),
        "difference": difference,
        "disturbed": dict(zip(AXES, map(float, excitation.disturbed), strict=True)),
        "rotor_noise": dict(zip(AXES, map(float, excitation.noise), strict=True)),
        "rejected_poses": rejected,
        "autocorrelation": autocorrelation(flight.innovations),
        "between_parts": float(np.sqrt(np.median(between[told] / scatter[told]))) if told.any() else 0.0,
        "widened": float(np.median(sigma[told] / numbers.sigma[told])) if told.any() else 1.0,
        "last_step": flight.last_step,
        "strain": strain,
        "prior_scale": flight.prior_scale,
    }
    notes = []
    if strain > STRAINED:
        notes.append(
            f"gravity or a scale factor of the IMU would have to be {strain:.0f} sigma off: pose and IMU contradict "
            "each other, and all intervals are wider for it"
        )
    notes += [
        f"{FAR_FROM[name]} {flight.prior_scale[name]:.1f} times as far from the airframe file as usual: "
        "check them in it"
        for name in far
    ]
    refusal = HARDLY_ROTATES if excitation.tells_nothing else _refusal(flight, rejected)
    return Credibility(sigma, figures, notes, refusal)


def _scatter(flight: SmoothedFlight, numbers: Numbers) -> tuple[Floats, Floats]:
    """(N,) the part of the variances that comes from noise, not from the prior: by the model, and between parts."""
    information = flight.parts.information.sum(axis=0)
    by_model, between = (
        np.einsum("ij,jk,ik->i", numbers.slopes, cov, numbers.slopes)
        for cov in (flight.cov @ information @ flight.cov, flight.parts.jackknife())
    )
    return np.maximum(by_model, 1e-300), between


def _refusal(flight: SmoothedFlight, rejected: float) -> str:
    if not has_settled(flight):
        return "the estimate does not settle: give an airframe nearer to the vehicle, or fly livelier"
    if (excess := _beyond_triangle(flight)) > IMPOSSIBLE:
        return (
            f"the flight asks for moments of inertia that no body has, by {excess:.0f} sigma: see whether rotor "
            "positions, spin directions and thrust in the airframe are those of the vehicle"
        )
    position, rotation = np.exp(flight.log_levels[POSE_LEVELS])
    motion = float(np.linalg.norm(np.std(flight.states[:, :3], axis=0)))
    if rotation > LARGEST_ROTATION or position > max(LARGEST_POSITION * motion, LEAST_MOTION):
        return (
            f"the poses are off the motion by {position:.2g} m and {rotation:.2g} rad: are they of the "
            "same flight, body and clock as the IMU (haltere plot)?"
        )
    if rejected > REJECTED:
        return (
            f"{100 * rejected:.0f} % of the poses do not fit the motion: see whether pose and IMU are of the same "
            "body and clock (haltere plot)"
        )
    return ""


def has_settled(flight: SmoothedFlight) -> bool:
    """Whether the last iteration changed little."""
    return bool(np.isfinite(flight.z).all() and flight.last_step <= UNSETTLED)


def sensor_strain(flight: SmoothedFlight) -> float:
    """Largest distance of gravity and of the scale factors of the IMU from what they must be, prior deviations."""
    own = flight.z[flight.layout.indices(WELL_KNOWN)]
    return float(np.max(np.abs(own), initial=0.0)) if np.isfinite(own).all() else np.inf


def _beyond_triangle(flight: SmoothedFlight) -> float:
    """Deviations by which the largest moment of inertia, as the flight has it, exceeds the sum of the others."""
    own = flight.layout.slices["moment"]
    spread = np.asarray(flight.nominal.sigma)[own]
    moments = np.diagonal(np.asarray(flight.nominal.inertia)) * np.exp(spread * flight.z[own])
    slope = moments * spread * np.where(np.arange(3) == np.argmax(moments), 1.0, -1.0)
    excess = 2.0 * moments.max() - moments.sum()
    return float(excess / np.sqrt(slope @ flight.cov[own, own] @ slope))


def rejected_fraction(flight: SmoothedFlight) -> float:
    """Share of the poses that count less than half."""
    there = np.isfinite(flight.pose_weights).any(axis=2)
    return float(np.mean(np.nanmin(flight.pose_weights[there], axis=1) < 0.5)) if there.any() else 1.0


def autocorrelation(innovations: Floats) -> dict[str, float]:
    """Largest correlation of neighbouring innovations over the axes of each kind of reading."""
    found = []
    for a, b in zip(innovations[:-1].T, innovations[1:].T, strict=True):
        good = np.isfinite(a) & np.isfinite(b)
        found.append(float(np.corrcoef(a[good], b[good])[0, 1]) if good.sum() > 20 else 0.0)
    kinds = ("gyro", "accel", "position", "rotation")
    return {kind: max(found[3 * k : 3 * k + 3], key=abs) for k, kind in enumerate(kinds)}


def _agreeing(numbers: Numbers, sigma: Floats, others: Iterable[Parameter]) -> tuple[Floats, float]:
    """(N,) deviations wide enough to agree with another method, and the largest difference over both before."""
    place = {name: i for i, name in enumerate(numbers.names)}
    found, largest = sigma.copy(), 0.0
    for p in others:
        i = place.get(p.name)
        allowed = next((limit for end, limit in AGREE.items() if p.name.endswith(end)), None)
        if i is None or allowed is None or not p.known or p.value is None or not p.sigma:
            continue
        apart = abs(float(numbers.values[i]) - p.value)
        largest = max(largest, apart / float(np.hypot(sigma[i], p.sigma)))
        found[i] = max(found[i], np.sqrt(max((apart / allowed) ** 2 - p.sigma**2, 0.0)))
    return found, largest
