"""Checks of the rotors against the nominal airframe: which is which, which way they spin, in which unit.

With R2(P) the share of the motion that the nominal rotors in the order P explain (`haltere.doctor.motion`):

    (1)  how well an order fits all rows:  L(P) = -sum log(1 - R2(P))
    (2)  scale of the speeds:  s^2 = m f.n / |sum k n w^2|, median in flight; 1 if unit, poles and coefficient are right

The data are compared with what they would look like under each fault, so a record without fault wins against all
others.
"""

from collections.abc import Iterator
from itertools import permutations, product
from math import factorial

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.finding import Finding, Undecided, reordered, scaled
from haltere.doctor.motion import (
    EffectFit,
    SmoothedMotion,
    finite_rows,
    flying,
    in_body,
    smooth,
    smoothed_motion,
)
from haltere.doctor.motors import BOTH, check_count, check_latency, check_pairs, check_signs
from haltere.doctor.telemetry import FAULTY
from haltere.flight import Channel, Flight
from haltere.foundation.numbers import Floats

EXPLAINED = 0.5
CLEAR = 0.85
"""Share of yaw that other spin directions must explain to be a finding."""
GAIN = 0.7
"""Least advantage in L, eq. (1), of another order: a residual halved in one row."""
SCALE = 1.12
"""Ratio of speeds beyond which the scale is a finding: coefficients are known to some 25 %, speeds then to 12 %."""


def check_rotors(
    flight: Flight, airframe: Airframe | None, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield what is wrong with the rotors."""
    nominal = RigidAirframe.from_airframe(airframe) if airframe is not None and airframe.rotors else None
    speed, command = (_usable(flight, name) for name in BOTH)
    if FAULTY in measures and command is not None:
        speed = None  # speeds of which one rotor's are wrong explain the motion by faults that are none
    if speed is None and command is None:
        yield Undecided("rotors", "there is neither rotor speed nor motor command", "log both")
        return
    count = list(check_count(speed, command, nominal))
    yield from count
    if count:
        return
    if speed is not None and command is not None:
        for finding in check_pairs(speed, command):
            yield finding
            if finding.mend is not None:
                flight = finding.mend(flight)
                speed = flight["rotors.speed"]
    if speed is not None:
        for finding in check_signs(speed):
            yield finding
            flight = finding.mend(flight) if finding.mend is not None else flight
            speed = flight["rotors.speed"]
    motion = smoothed_motion(flight)
    if motion is None:
        return
    if nominal is None:
        yield Undecided(
            "rotor-scale",
            "the unit of rotor speed, or the number of poles behind it, shows in no other signal of this log",
            "give the airframe with its thrust coefficients and mass",
        )
        yield Undecided(
            "motor-order",
            "which motor is which, and which way it spins, cannot be decided without the positions of the rotors",
            "give the airframe",
        )
    source = speed if speed is not None else command
    if source is None:
        return
    if nominal is not None:
        motion = in_body(motion, nominal)
        if speed is not None:
            yield from _scale(speed, motion, nominal, measures)
        for result in _order(source, motion, nominal, measures):
            yield result
            if isinstance(result, Finding) and result.mend is not None and result.certain:
                flight = result.mend(flight)
                source = flight[source.name]
        yield from _spin(source, motion, nominal, measures)
    if speed is not None:
        yield from check_latency(flight["rotors.speed"], motion, nominal, measures)


def _usable(flight: Flight, name: str) -> Channel | None:
    channel = flight.channels.get(name)
    if channel is None or channel.values.ndim != 2 or len(channel) < 30:
        return None
    if int(channel.finite.sum()) < 30:
        return None  # a rotor that is not used leaves no sample of all of them
    return channel if np.any(np.nan_to_num(np.ptp(channel.values[channel.finite], axis=0)) > 0.0) else None


def _scale(
    speed: Channel, motion: SmoothedMotion, nominal: RigidAirframe, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield by which factor the speeds are off, eq. (2)."""
    if motion.accel is None:
        return
    squares = smooth(speed, motion.time) ** 2
    expected = nominal.specific_forces(squares)
    good = finite_rows(expected, motion.accel)
    good &= flying(squares)
    along = np.linalg.norm(expected, axis=1)
    good &= along > 0.0
    if good.sum() < 100:
        return
    pull = np.sum(motion.accel[good] * expected[good], axis=1) / along[good] ** 2
    if np.median(pull) <= 0.0:
        return
    ratio = float(1.0 / np.sqrt(np.median(pull)))
    measures["rotors.speed.scale"] = ratio
    if 1.0 / SCALE < ratio < SCALE:
        return
    candidates = {"1/min (rpm)": 60.0 / (2 * np.pi), "revolutions a second": 1.0 / (2 * np.pi)}
    for pairs in range(2, 15):
        candidates[f"electrical rad/s of {2 * pairs} poles"] = float(pairs)
        candidates[f"electrical 1/min of {2 * pairs} poles"] = pairs * 60.0 / (2 * np.pi)
    for believed, poles in product((12, 14), (12, 14, 16, 18, 22, 24, 28)):
        if believed != poles:
            candidates.setdefault(
                f"rad/s reckoned with {believed} poles instead of {poles}", poles / believed
            )
    name, factor = min(candidates.items(), key=lambda item: abs(np.log(ratio / item[1])))
    near = sorted(abs(np.log(ratio / f)) for f in set(candidates.values()))
    certain = near[0] < 0.05 and ratio > 3.0 and ("pole" not in name or near[1] > 0.10)
    yield Finding(
        "rotor-scale",
        f"rotors.speed: {ratio:.3f} times what the airframe's thrust coefficients and mass ask for; that would be "
        f"{name} ({factor:.3f})",
        f"divide by {factor:.4g}" if near[0] < 0.08 else "check unit, pole count and thrust coefficient",
        certain,
        ("rotors.speed",),
        scaled(("rotors.speed",), 1.0 / factor) if near[0] < 0.08 else None,
    )


def _order(
    source: Channel, motion: SmoothedMotion, nominal: RigidAirframe, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield whether another order of the motors fits the motion better, eq. (1)."""
    fit = EffectFit(source, motion, nominal)
    count = len(nominal.names)
    if not fit.enough or count < 2:
        return
    rows = range(3)
    same = tuple(range(count))
    asis = fit.explained(fit.effects, rows)
    for axis, share in zip(("roll", "pitch", "yaw"), asis, strict=True):
        measures[f"rotors.explain.{axis}"] = float(share)
    orders = list(permutations(same)) if factorial(count) <= 800 else _swaps(count)
    scores = {order: fit.likelihood(fit.effects, rows, order) for order in orders}
    best = max(scores, key=lambda order: scores[order])
    shares = fit.explained(fit.effects, rows, best)
    if best == same or scores[best] < scores[same] + GAIN or np.max(shares[:2]) < EXPLAINED:
        if np.max(asis[:2]) < 0.2 and np.max(shares[:2]) < EXPLAINED:
            yield Undecided(
                "motor-order",
                f"the nominal rotors explain {100 * np.max(asis[:2]):.0f} % of roll and pitch at best: too weakly "
                "excited to tell",
                "fly livelier: quick tilts and yaw rotations",
            )
        return
    if fit.likelihood(fit.strengthened(rows), rows) > scores[best] - GAIN:
        return  # rotors that are weaker or stronger than described explain it as well
    names = nominal.names
    wrong = ", ".join(f"column {i + 1} is {names[best.index(i)]}" for i in same if best.index(i) != i)
    ties = [order for order in orders if order != best and scores[order] > scores[best] - 0.3 * GAIN]
    yield Finding(
        "motor-order",
        f"{source.name}: {wrong}: so ordered the rotors explain {_percent(shares)} of roll, pitch and yaw, "
        f"{_percent(asis)} as logged",
        f"take the columns in the order {[i + 1 for i in best]}",
        not ties and bool(np.min(shares[:2]) > EXPLAINED),
        BOTH,
        reordered(BOTH, best),
    )


def _percent(shares: Floats) -> str:
    return ", ".join(f"{100 * share:.0f}" for share in shares) + " %"


def _swaps(count: int) -> list[tuple[int, ...]]:
    orders = [tuple(range(count))]
    for i in range(count):
        for j in range(i):
            order = list(range(count))
            order[i], order[j] = j, i
            orders.append(tuple(order))
    return orders


def _spin(
    source: Channel, motion: SmoothedMotion, nominal: RigidAirframe, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield whether rotors spin the other way than the airframe says, from the yaw row alone."""
    fit = EffectFit(source, motion, nominal)
    count = len(nominal.names)
    if not fit.enough or count > 8:
        return
    reaction = np.linalg.solve(nominal.inertia, nominal.yaw)
    rest = np.linalg.solve(nominal.inertia, nominal.torques) - reaction
    shares = {}
    for signs in product((1.0, -1.0), repeat=count):
        effect = rest[2] + reaction[2] * np.array(signs)
        shares[signs] = fit.explained_spinning(effect, np.sign(reaction[2]) * np.array(signs), 2)
    asis = shares[(1.0,) * count]
    measures["rotors.explain.yaw"] = asis
    best = max(shares, key=lambda signs: shares[signs])
    # Air forces turn the vehicle about z as well: only a decisive difference counts.
    if best == (1.0,) * count or shares[best] < CLEAR or (1.0 - asis) < 4.0 * (1.0 - shares[best]):
        return
    rivals = [s for s in shares if s != best and (1.0 - shares[s]) < 1.3 * (1.0 - shares[best])]
    wrong = [nominal.names[i] for i in range(count) if best[i] < 0.0]
    yield Finding(
        "motor-spin",
        f"{', '.join(wrong)} spin(s) the other way than the airframe says: so the rotors explain "
        f"{100 * shares[best]:.0f} % of yaw, {100 * asis:.0f} % as described",
        "mend `spin` in the airframe, or the wiring of these motors",
        not rivals,
        ("rotors.speed",),
    )
