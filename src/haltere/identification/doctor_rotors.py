"""Checks of the rotors: how many, which is which, which way they spin, in which unit, and how late their speed comes.

On the common clock, with X the squared speeds (T, R), y one row of the measured motion (angular acceleration with
I^-1 (w x I w) added, or specific force; means removed) and b the nominal effect of the rotors on it (`doctor_model`):

    (1)  share explained by the nominal rotors in the order P, with a free positive gain:
         R2(P) = max(b_P.X'y, 0)^2 / (b_P.X'X b_P  y'y)
    (2)  how well an order fits all rows:  L(P) = -sum log(1 - R2(P))
    (3)  scale of the speeds:  s^2 = m f.n / |sum k n w^2|, median in flight; 1 if unit, poles and coefficient are right
    (4)  delay d of the speeds: the one for which y regressed on X(t + d), no airframe needed, leaves the least

The data are compared with what they would look like under each fault, so a record without fault wins against all others.
"""

from collections.abc import Iterator
from itertools import permutations, product
from math import factorial

import numpy as np
from scipy import interpolate, signal

from haltere.airframe import Airframe
from haltere.flight import Channel, Flight
from haltere.flight.fault import Values
from haltere.identification.doctor_finding import Finding, Unknown, mapped, reordered, scaled, shifted
from haltere.identification.doctor_imu import in_body
from haltere.identification.doctor_model import Nominal, nominal_of
from haltere.identification.doctor_motion import RATE, Motion, finite_rows, low_pass, motion, smooth

BOTH = ("rotors.speed", "rotors.command")
BAND = 8.0
"""Frequencies of the torque rows, Hz."""
HIGH = 1.0
"""Frequency, Hz, above which the delay is looked for."""
EXPLAINED = 0.5
GAIN = 0.7
"""Least advantage in L, eq. (2), of another order: a residual halved in one row."""
LATE = 0.005
"""Shortest delay worth a finding, s."""
DELAYS = np.arange(-0.040, 0.0801, 0.004)
SCALE = 1.10
"""Ratio of speeds beyond which the scale is a finding: coefficients are known to some 20 %, speeds then to 10 %."""


def check_rotors(flight: Flight, airframe: Airframe | None, measures: dict[str, float]) -> Iterator[Finding | Unknown]:
    """Yield what is wrong with the rotors."""
    nominal = nominal_of(airframe) if airframe is not None and airframe.rotors else None
    speed, command = (_usable(flight, name) for name in BOTH)
    if speed is None and command is None:
        yield Unknown("rotors", "there is neither rotor speed nor motor command", "log both")
        return
    count = list(_count(speed, command, nominal))
    yield from count
    if count:
        return
    if speed is not None and command is not None:
        for finding in _pairs(speed, command):
            yield finding
            if finding.mend is not None:
                flight = finding.mend(flight)
                speed = flight["rotors.speed"]
    if speed is not None:
        for finding in _signs(speed):
            yield finding
            flight = finding.mend(flight) if finding.mend is not None else flight
            speed = flight["rotors.speed"]
    moved = motion(flight)
    if moved is None:
        return
    if nominal is None:
        yield Unknown(
            "rotor-scale",
            "the unit of rotor speed, or the number of poles behind it, shows in no other signal of this log",
            "give the airframe with its thrust coefficient and mass, or log the IMU fast enough to see the rotors' vibration",
        )
        yield Unknown(
            "motor-order",
            "which motor is which, and which way it spins, cannot be told without the places of the rotors",
            "give the airframe",
        )
    source = speed if speed is not None else command
    if source is None:
        return
    if nominal is not None:
        moved = in_body(moved, nominal)
        if speed is not None:
            yield from _scale(speed, moved, nominal, measures)
        for finding in _order(source, moved, nominal, measures):
            yield finding
            if isinstance(finding, Finding) and finding.mend is not None and finding.certain:
                flight = finding.mend(flight)
                source = flight[source.name]
        yield from _spin(source, moved, nominal, measures)
    if speed is not None:
        yield from _late(flight["rotors.speed"], moved, nominal, measures)


def _usable(flight: Flight, name: str) -> Channel | None:
    channel = flight.channels.get(name)
    if channel is None or channel.values.ndim != 2 or len(channel) < 30:
        return None
    return channel if np.any(np.nan_to_num(np.ptp(channel.values, axis=0)) > 0.0) else None


def _count(speed: Channel | None, command: Channel | None, nominal: Nominal | None) -> Iterator[Finding]:
    """Yield columns that are no rotor, and numbers that do not fit."""
    for channel in (speed, command):
        if channel is None:
            continue
        values = np.nan_to_num(channel.values)
        busy = np.max(np.abs(values), axis=0)
        dead = [i for i in range(len(busy)) if busy[i] <= 0.02 * np.median(busy)]
        twins = [
            (i, j)
            for i in range(len(busy))
            for j in range(i)
            if i not in dead and len(np.unique(values[:, i])) > 50 and np.array_equal(values[:, i], values[:, j])
        ]
        names = channel.columns or tuple(f"m{i + 1}" for i in range(len(busy)))
        if dead and len(dead) < len(busy):
            yield Finding(
                "motor-count",
                f"{channel.name}: {', '.join(names[i] for i in dead)} never run(s) while the others do",
                f"leave out that column if the vehicle has {len(busy) - len(dead)} rotors; otherwise mend its telemetry",
                True,
                (channel.name,),
            )
        if twins and channel is speed:
            i, j = twins[0]
            yield Finding(
                "motor-count",
                f"{channel.name}: {names[i]} repeats {names[j]} sample by sample",
                "leave out one of them, or mend the logging",
                True,
                (channel.name,),
            )
        if nominal is not None and not dead and not twins and len(busy) != len(nominal.names):
            yield Finding(
                "motor-count",
                f"{channel.name}: {len(busy)} columns, the airframe has {len(nominal.names)} rotors",
                "give the airframe of this vehicle, or log all motors",
                True,
                (channel.name,),
            )
    worked = 0 if command is None else int(np.sum(np.nanpercentile(command.values, 95, axis=0) > 0.1))
    if speed is not None and command is not None and speed.values.shape[1] != worked > 0 and nominal is None:
        yield Finding(
            "motor-count",
            f"{speed.values.shape[1]} rotor speeds but {worked} motors that are worked",
            "log both for all motors",
            True,
            BOTH,
        )


def _pairs(speed: Channel, command: Channel) -> Iterator[Finding]:
    """Yield whether speeds follow the commands of other columns."""
    clock = np.arange(max(speed.time[0], command.time[0]), min(speed.time[-1], command.time[-1]), np.int64(1e9 / RATE))
    count = speed.values.shape[1]
    if len(clock) < 100 or count != command.values.shape[1]:
        return
    w, u = smooth(speed, clock), smooth(command, clock)
    good = finite_rows(w, u)
    if good.sum() < 100:
        return
    w, u = (x[good] - low_pass(x, 0.3)[good] for x in (w, u))
    w, u = w - w.mean(axis=1, keepdims=True), u - u.mean(axis=1, keepdims=True)  # what all have in common tells nothing
    best = np.full((count, count), -1.0)
    for tau, lag in product((0.0, 0.01, 0.02, 0.04, 0.08, 0.16), range(0, 4)):
        pole = np.exp(-1.0 / (RATE * tau)) if tau else 0.0  # a motor follows its command like a low-pass, and later
        a, b = w[lag:], signal.lfilter([1.0 - pole], [1.0, -pole], u, axis=0)[: len(u) - lag]
        norm = np.sqrt(np.sum(a**2, axis=0)[:, None] * np.sum(b**2, axis=0)[None])
        best = np.maximum(best, (a.T @ b) / np.maximum(norm, 1e-30))
    follows = tuple(int(i) for i in np.argmax(best, axis=1))
    own = np.diag(best)
    if sorted(follows) != list(range(count)) or follows == tuple(range(count)):
        return
    wrong = [i for i in range(count) if follows[i] != i]
    if all(best[i, follows[i]] > 0.8 and 1.0 - best[i, follows[i]] < 0.3 * (1.0 - own[i]) for i in wrong):
        names = speed.columns or tuple(f"m{i + 1}" for i in range(count))
        said = ", ".join(f"{names[i]} follows the command of {names[follows[i]]} ({best[i, follows[i]]:.2f})" for i in wrong)
        order = tuple(follows.index(i) for i in range(count))
        yield Finding(
            "motor-order", f"rotors.speed: {said}", f"take its columns in the order {[names[i] for i in order]}", True,
            ("rotors.speed",), reordered(("rotors.speed",), order),
        )  # fmt: skip


def _signs(speed: Channel) -> Iterator[Finding]:
    values = speed.values
    backward = [i for i in range(values.shape[1]) if np.nanmedian(values[:, i]) < 0.0]
    if backward:
        names = speed.columns or tuple(f"m{i + 1}" for i in range(values.shape[1]))
        yield Finding(
            "rotor-sign",
            f"rotors.speed: {', '.join(names[i] for i in backward)} are negative: signed by the spin direction",
            "take the absolute value; a rotor's speed counts in its own direction",
            True,
            ("rotors.speed",),
            mapped(("rotors.speed",), np.abs),
        )


def _rows(moved: Motion, nominal: Nominal | None) -> Values | None:
    """Return (T, 6): angular acceleration with the gyroscopic part moved over, and specific force; NaN where unknown."""
    if moved.gyro is None or moved.turn is None:
        return None
    turn = moved.turn
    if nominal is not None:
        swirl = np.cross(moved.gyro, moved.gyro @ nominal.inertia.T)
        turn = turn + np.linalg.solve(nominal.inertia, swirl.T).T
    force = moved.accel if moved.accel is not None else np.zeros_like(turn)
    return np.hstack([low_pass(turn, BAND), low_pass(force, BAND)])


def flying(squares: Values) -> np.ndarray:
    """(T,) where the rotors pull: squared speeds (T, R) beyond a quarter of what is usual in flight."""
    total = np.nansum(squares, axis=1)
    return np.asarray(total > 0.25 * np.nanpercentile(total, 80))


def _scale(speed: Channel, moved: Motion, nominal: Nominal, measures: dict[str, float]) -> Iterator[Finding | Unknown]:
    """Yield by which factor the speeds are off, eq. (3)."""
    if moved.accel is None:
        return
    squares = smooth(speed, moved.time) ** 2
    expected = nominal.specific_forces(squares)
    good = finite_rows(expected, moved.accel)
    good &= flying(squares)
    along = np.linalg.norm(expected, axis=1)
    good &= along > 0.0
    if good.sum() < 100:
        return
    pull = np.sum(moved.accel[good] * expected[good], axis=1) / along[good] ** 2
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
            candidates.setdefault(f"rad/s reckoned with {believed} poles instead of {poles}", poles / believed)
    name, factor = min(candidates.items(), key=lambda item: abs(np.log(ratio / item[1])))
    near = sorted(abs(np.log(ratio / f)) for f in set(candidates.values()))
    certain = near[0] < 0.05 and ratio > 3.0 and ("pole" not in name or near[1] > 0.10)
    yield Finding(
        "rotor-scale",
        f"rotors.speed: {ratio:.3f} times what the airframe's thrust coefficients and mass ask for; that would be {name} "
        f"({factor:.3f})",
        f"divide by {factor:.4g}" if near[0] < 0.08 else "check unit, pole count and thrust coefficient",
        certain,
        ("rotors.speed",),
        scaled(("rotors.speed",), 1.0 / factor) if near[0] < 0.08 else None,
    )


class _Fit:
    """Squared speeds and motion on the common clock, means removed, and their products."""

    def __init__(self, source: Channel, moved: Motion, nominal: Nominal) -> None:
        rows = _rows(moved, nominal)
        squares = low_pass(smooth(source, moved.time) ** 2, BAND)
        self.enough = rows is not None
        if rows is None:
            return
        good = finite_rows(rows, squares) & flying(squares)
        edge = int(0.3 * RATE)
        good[:edge] = good[-edge:] = False
        self.enough = int(good.sum()) >= 200
        if not self.enough:
            return
        X, Y = squares[good], rows[good]
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
        self.XX, self.XY, self.YY = X.T @ X, X.T @ Y, np.sum(Y**2, axis=0)
        tilt = np.linalg.solve(nominal.inertia, nominal.torques)
        self.effects = np.vstack([tilt, nominal.forces / nominal.mass])

    def explained(self, effects: Values, rows: range, order: tuple[int, ...] | None = None) -> Values:
        """Return R2 of rows, eq. (1), for rotors in an order."""
        pick = list(order) if order is not None else list(range(self.XX.shape[0]))
        XX, XY = self.XX[np.ix_(pick, pick)], self.XY[pick]
        found = np.zeros(len(rows))
        for k, row in enumerate(rows):
            b = effects[row]
            below = float(b @ XX @ b) * float(self.YY[row])
            found[k] = max(float(b @ XY[:, row]), 0.0) ** 2 / below if below > 0.0 else 0.0
        return np.clip(found, 0.0, 1.0 - 1e-9)


def _order(source: Channel, moved: Motion, nominal: Nominal, measures: dict[str, float]) -> Iterator[Finding | Unknown]:
    """Yield whether another order of the motors fits the motion better, eq. (2)."""
    fit = _Fit(source, moved, nominal)
    count = len(nominal.names)
    if not fit.enough or count < 2:
        return
    rows = range(0, 3)
    same = tuple(range(count))
    asis = fit.explained(fit.effects, rows)
    for axis, share in zip(("roll", "pitch", "yaw"), asis, strict=True):
        measures[f"rotors.explain.{axis}"] = float(share)
    orders = list(permutations(same)) if factorial(count) <= 800 else _swaps(count)
    scores = {order: float(-np.sum(np.log1p(-fit.explained(fit.effects, rows, order)))) for order in orders}
    best = max(scores, key=lambda order: scores[order])
    shares = fit.explained(fit.effects, rows, best)
    if best == same or scores[best] < scores[same] + GAIN or np.max(shares[:2]) < EXPLAINED:
        if np.max(asis[:2]) < 0.2 and np.max(shares[:2]) < EXPLAINED:
            yield Unknown(
                "motor-order",
                f"the nominal rotors explain {100 * np.max(asis[:2]):.0f} % of roll and pitch at best: too weakly excited to tell",
                "fly livelier: quick tilts and yaw turns",
            )
        return
    names = nominal.names
    wrong = ", ".join(f"column {i + 1} is {names[best.index(i)]}" for i in same if best.index(i) != i)
    ties = [order for order in orders if order != best and scores[order] > scores[best] - 0.3 * GAIN]
    yield Finding(
        "motor-order",
        f"{source.name}: {wrong}: so ordered the rotors explain {_percent(shares)} of roll, pitch and yaw, {_percent(asis)} as logged",
        f"take the columns in the order {[i + 1 for i in best]}",
        not ties and bool(np.min(shares[:2]) > EXPLAINED),
        BOTH,
        reordered(BOTH, best),
    )


def _percent(shares: Values) -> str:
    return ", ".join(f"{100 * share:.0f}" for share in shares) + " %"


def _swaps(count: int) -> list[tuple[int, ...]]:
    orders = [tuple(range(count))]
    for i in range(count):
        for j in range(i):
            order = list(range(count))
            order[i], order[j] = j, i
            orders.append(tuple(order))
    return orders


def _spin(source: Channel, moved: Motion, nominal: Nominal, measures: dict[str, float]) -> Iterator[Finding | Unknown]:
    """Yield whether rotors spin the other way than the airframe says, from the yaw row alone."""
    fit = _Fit(source, moved, nominal)
    count = len(nominal.names)
    if not fit.enough or count > 8:
        return
    reaction = np.linalg.solve(nominal.inertia, nominal.yaw)
    rest = np.linalg.solve(nominal.inertia, nominal.torques) - reaction
    yaw = range(2, 3)
    shares = {}
    for signs in product((1.0, -1.0), repeat=count):
        effects = np.vstack([rest + reaction * np.array(signs), fit.effects[3:]])
        shares[signs] = float(fit.explained(effects, yaw)[0])
    asis = shares[(1.0,) * count]
    measures["rotors.explain.yaw"] = asis
    best = max(shares, key=lambda signs: shares[signs])
    if best == (1.0,) * count or shares[best] < EXPLAINED or (1.0 - asis) < 1.8 * (1.0 - shares[best]):
        return
    rivals = [s for s in shares if s != best and (1.0 - shares[s]) < 1.3 * (1.0 - shares[best])]
    wrong = [nominal.names[i] for i in range(count) if best[i] < 0.0]
    yield Finding(
        "motor-spin",
        f"{', '.join(wrong)} spin(s) the other way than the airframe says: so the rotors explain {100 * shares[best]:.0f} % of "
        f"yaw, {100 * asis:.0f} % as described",
        "mend `spin` in the airframe, or the wiring of these motors",
        not rivals,
        ("rotors.speed",),
    )


def _late(speed: Channel, moved: Motion, nominal: Nominal | None, measures: dict[str, float]) -> Iterator[Finding | Unknown]:
    """Yield by how much the speeds come late, eq. (4)."""
    rows = _rows(moved, nominal)
    if rows is None:
        return
    edge = int(1.5 * RATE)
    rows = rows - _slow(rows)
    now = low_pass(smooth(speed, moved.time) ** 2, BAND)
    there = finite_rows(now)
    if there.sum() < 200:
        return
    clock = moved.seconds
    course = interpolate.CubicSpline(clock[there], (now - _slow(now))[there])
    squares = {float(d): course(np.clip(clock + d, *clock[there][[0, -1]])) for d in DELAYS}
    reach = int(max(abs(DELAYS)) * RATE) + 2
    good = np.convolve(~there | ~finite_rows(rows), np.ones(2 * reach + 1), mode="same") == 0
    good &= flying(now)
    good[:edge] = good[-edge:] = False
    if good.sum() < 200:
        return
    for chosen, label in (([0, 1], "roll and pitch"), ([5], "thrust")):
        Y = rows[good][:, chosen]
        Y = Y - Y.mean(axis=0)
        power = np.sum(Y**2, axis=0)
        left = np.array([_residual(squares[float(d)][good], Y) / power for d in DELAYS])
        total = left.mean(axis=1)
        place = int(np.argmin(total))
        if 1.0 - total[place] < 2 * EXPLAINED - 0.3 or not 0 < place < len(DELAYS) - 1:
            continue
        step = DELAYS[1] - DELAYS[0]
        a, b, c = total[place - 1], total[place], total[place + 1]
        curvature = (a - 2 * b + c) / step**2
        delay = float(DELAYS[place] + 0.5 * step * (a - c) / (a - 2 * b + c))
        independent = good.sum() * 2.0 * BAND / RATE * len(chosen)
        sigma = float(np.sqrt(2.0 * b / (curvature * independent)))
        measures["rotors.speed.delay"] = delay
        measures["rotors.speed.delay_sigma"] = sigma
        if abs(delay) > max(LATE, 4.0 * sigma) and delay > 0.0:
            yield Finding(
                "rotor-latency",
                f"rotors.speed comes {1e3 * delay:.1f} ms (sigma {1e3 * sigma:.1f} ms) after its effect on {label}",
                "shift it by this delay, or fit a delay",
                True,
                ("rotors.speed",),
                shifted("rotors.speed", delay),
            )
        return
    yield Unknown("rotor-latency", "the rotors' effect on the motion is too weak to time it", "fly livelier")


def _slow(values: Values) -> Values:
    """Return what changes more slowly than `HIGH`: air forces and gravity act there, too, and blur the timing."""
    return low_pass(values, HIGH)


def _residual(X: Values, Y: Values) -> Values:
    """Return the sums of squares (k,) that regressing Y (T, k) on X (T, R) leaves."""
    X = X - X.mean(axis=0)
    X = X / np.maximum(np.sqrt(np.sum(X**2, axis=0)), 1e-30)
    XX = X.T @ X + 1e-6 * np.eye(X.shape[1])
    return np.asarray(np.sum((Y - X @ np.linalg.solve(XX, X.T @ Y)) ** 2, axis=0))
