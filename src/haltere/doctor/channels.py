"""Checks of single channels: missing or impossible values, dead or stuck axes, dropouts, spikes, clipping, vibration.

Vibration is the root mean square of the accelerometer above 5 Hz, median over windows of a second; ArduPilot's
documentation calls levels below 30 m/s2 acceptable, and that is the limit here. It is a measure always and a
finding beyond the limit. Time stamps are checked for gaps, jumps of the clock, and samples that repeat the one before.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import signal

from haltere.airframe import Airframe
from haltere.doctor.finding import Finding, Mend, Undecided, blanked, longer_side, mapped
from haltere.flight import Channel, Flight
from haltere.flight.resampling import runs_of_true
from haltere.foundation.numbers import Bools

DEAD = "dead"
"""Kind of the finding of a sensor that never changes."""
MISSING_FRACTION = 0.01
IMPOSSIBLE = {"accel": (2e4, "m/s2"), "gyro": (2e4, "rad/s")}
"""Beyond any sensor, even one that is logged in degrees."""
LEVELS = 40
"""Different readings of an axis that lives, at least."""
STUCK_SECONDS = 0.5
STUCK_SAMPLES = 25
CLIP_COUNT = 6
"""Samples at the very same extreme value that count as clipped at least."""
CLIP_FACTOR = 12.0
SPIKE_FACTOR = 3.0
"""Rotor speed over that before and after, from which on it is a spike."""
SPIKE_EXCESS = 1.5
"""The same over all other samples of the rotor."""
SPIKE_SECONDS, SPIKE_SAMPLES = 0.05, 3
"""Longest spike: so many seconds or samples."""
VIBRATION_LIMIT = 30.0
SENSORS = {"accel", "gyro", "position", "wxyz", "speed", "field"}


def check_signals(
    flight: Flight, _: Airframe | None, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield what is wrong with single channels."""
    for channel in flight.channels.values():
        last = channel.name.rsplit(".", 1)[-1]
        if last not in SENSORS or len(channel) < STUCK_SAMPLES or channel.values.ndim != 2:
            continue
        yield from _missing(channel)
        if last in {"accel", "gyro"}:
            yield from _dead(flight, channel)
            yield from _impossible(channel)
        if last != "speed":
            yield from _stuck(flight, channel)
        if last in {"accel", "gyro"}:
            yield from _clipped(channel)
    if "imu.accel" in flight:
        yield from _vibration(flight["imu.accel"], measures)


def check_speed_samples(flight: Flight, speed: Channel) -> Iterator[Finding]:
    """Yield what is wrong with single samples of rotor speeds."""
    if speed.values.ndim == 2 and len(speed) >= STUCK_SAMPLES:
        yield from _stuck(flight, speed)
        yield from _dropouts(speed)
        yield from _spikes(speed)


def _missing(channel: Channel) -> Iterator[Finding]:
    share = 1.0 - float(np.mean(channel.finite))
    if share > MISSING_FRACTION:
        bad = np.mean(~np.isfinite(channel.values), axis=0)
        worst = ", ".join(f"{_label(channel, i)} {100 * bad[i]:.1f} %" for i in np.flatnonzero(bad).tolist())
        yield Finding(
            "broken-channel",
            f"{channel.name}: no number in {100 * share:.1f} % of the samples ({worst})",
            "these samples are left out; check the sensor and its cable",
            True,
            (channel.name,),
            None if channel.finite.any() else (lambda flight: flight.without(channel.name)),
        )


def _label(channel: Channel, column: int) -> str:
    names = channel.columns or {3: "xyz", 4: "wxyz"}.get(channel.values.shape[1])
    return names[column] if names else str(column)


def _dead(flight: Flight, channel: Channel) -> Iterator[Finding]:
    """Yield a finding for an accelerometer or gyro of which all or single axes never change while the vehicle moves."""
    known = channel.values[channel.finite]
    if len(known) < STUCK_SAMPLES:
        return
    constant = np.ptp(known, axis=0) == 0.0
    changing = np.array([len(np.unique(line)) for line in known.T]) > LEVELS
    weightless = channel.name.endswith("accel") and not np.any(known)
    if not constant.any() or not (weightless or changing.any() or _lives(flight, channel)):
        return
    axes = np.flatnonzero(constant).tolist()
    which = "" if constant.all() else " and ".join(_label(channel, i) for i in axes) + " "
    values = ", ".join(f"{value:g}" for value in known[0, constant])
    yield Finding(
        DEAD,
        f"{channel.name}: {which}reads {values} in every sample",
        "the sensor is not used; see that it is connected, switched on in the firmware and logged, and fly again",
        True,
        (channel.name,),
        lambda flight: flight.without(channel.name),
    )


def _lives(flight: Flight, channel: Channel) -> bool:
    """Whether the vehicle moves, or the other sensor of the IMU has noise, so that this one should have some."""
    other = flight.channels.get("imu.gyro" if channel.name.endswith("accel") else "imu.accel")
    noisy = other is not None and all(len(np.unique(line)) > LEVELS for line in other.values.T)
    return noisy or bool(_moving(flight, channel).mean() > 0.2)


def _impossible(channel: Channel) -> Iterator[Finding]:
    """Yield a finding for readings that no such sensor gives."""
    limit, unit = IMPOSSIBLE[channel.name.rsplit(".", 1)[-1]]
    beyond = np.any(np.abs(np.nan_to_num(channel.values)) > limit, axis=1)
    if beyond.any():
        count = f"{int(beyond.sum())} of {len(beyond)} samples"
        yield Finding(
            "impossible",
            f"{channel.name}: {count} exceed {limit:g} {unit}, which no sensor reads",
            "these samples are left out; check the units of the log, and the sensor and its cable",
            True,
            (channel.name,),
            mapped((channel.name,), lambda values: np.where(beyond[:, None], np.nan, values)),
        )


def _stuck(flight: Flight, channel: Channel) -> Iterator[Finding]:
    """Yield a finding for a sensor that stands still while the vehicle moves: one axis, or a whole pose."""
    last = channel.name.rsplit(".", 1)[-1]
    values = channel.values
    if channel.name.startswith("estimate.") or np.all(np.nan_to_num(np.ptp(values, axis=0)) == 0.0):
        return
    needed = max(STUCK_SAMPLES, int(STUCK_SECONDS * channel.rate)) if last not in {"position", "wxyz"} else 8
    moves = _moving(flight, channel)
    whole = last in {"position", "wxyz"}
    still = np.diff(values, axis=0) == 0.0
    for column, flags in enumerate([np.all(still, axis=1)] if whole else list(still.T)):
        for start, stop in runs_of_true(flags):
            length = (channel.time[stop] - channel.time[start]) * 1e-9
            if stop - start < needed or length < STUCK_SECONDS:
                continue
            if not _suspect(flight, channel, column, (start, stop), moves):
                continue
            which = "" if whole else f"{_label(channel, column)} "
            at = (channel.time[start] - flight.start) * 1e-9
            yield Finding(
                "broken-channel",
                f"{channel.name}: {which}stands still for {length:.2f} s from {at:.2f} s while the vehicle moves",
                "leave that stretch out; check the sensor and its cable",
                True,
                (channel.name,),
                blanked(channel.name, start, stop),
            )
            break


def _suspect(flight: Flight, channel: Channel, column: int, run: tuple[int, int], moves: Bools) -> bool:
    """Whether it is odd that a column (a pose: all of them) stands still in a run of samples."""
    last, (start, stop) = channel.name.rsplit(".", 1)[-1], run
    if last in {"position", "wxyz"}:
        return bool(moves[start : stop + 1].mean() > 0.9)
    others = np.delete(channel.values[start : stop + 1], column, axis=1)
    if others.size == 0 or np.any(np.mean(np.diff(others, axis=0) == 0.0, axis=0) > 0.5):
        return False
    if last == "speed":
        whole = stop - start > 0.95 * len(channel)  # a column that is none: the count of motors tells
        return (
            not whole
            and moves[start : stop + 1].mean() > 0.9
            and _commanded(flight, channel, column, start, stop)
        )
    line = channel.values[:, column]
    levels = np.unique(line[np.isfinite(line)])
    quantum = float(np.min(np.diff(levels), initial=np.inf))
    return bool(len(levels) > LEVELS and np.all(np.ptp(others, axis=0) > 20.0 * quantum))


def _commanded(flight: Flight, channel: Channel, column: int, start: int, stop: int) -> bool:
    """Whether the command of a rotor moved while its speed stood still; True if there is no command to ask."""
    command = flight.channels.get("rotors.command")
    if command is None or command.values.shape[1:] != channel.values.shape[1:]:
        return True
    asked = command.between(int(channel.time[start]), int(channel.time[stop])).values[:, column]
    return len(asked) > 2 and float(np.ptp(asked)) > 0.02


def _moving(flight: Flight, channel: Channel) -> Bools:
    """Where the vehicle rotates or its motors are worked, at the samples of a channel."""
    moves = np.zeros(len(channel), bool)
    for name, least in (("imu.gyro", 0.05), ("rotors.command", 5e-3)):
        if name not in flight or name == channel.name or len(flight[name]) < 30:
            continue
        other = flight[name]
        values = np.nan_to_num(other.values)
        window = min(max(int(0.25 * other.rate), 3), len(other))
        mean = np.apply_along_axis(np.convolve, 0, values, np.ones(window) / window, mode="same")
        lively = np.max(np.abs(values - mean), axis=1) > least
        if name == "imu.gyro":
            lively |= np.max(np.abs(values), axis=1) > 2.0 * least
        share = np.convolve(lively, np.ones(window) / window, mode="same")
        moves |= np.interp(channel.time, other.time, share) > 0.2
    return moves


def _clipped(channel: Channel) -> Iterator[Finding]:
    """Yield a finding if an axis has its very largest value far more often than the values next to it.

    The end of a range piles up there whatever lay beyond. The top of a smooth peak in steps of one quantum also holds
    more than the steps below it, about five times; hence the factor.
    """
    values = channel.values[channel.finite]
    if len(values) < 50:
        return
    values = values[np.concatenate([[True], np.any(np.diff(values, axis=0) != 0.0, axis=1)])]
    largest = float(np.max(np.abs(values)))
    found = []
    for column in range(values.shape[1]):
        line = values[:, column]
        steps = np.diff(np.unique(line))
        if not len(steps):
            continue
        quantum = float(steps.min())
        for extreme in (float(line.max()), float(line.min())):
            apart = np.abs(line - extreme)
            there = int(np.sum(apart == 0.0))
            near = float(np.sum((apart > 0.0) & (apart < 20.5 * quantum))) / 20.0
            if (
                abs(extreme) > 0.9 * largest
                and there >= CLIP_COUNT
                and there > CLIP_FACTOR * near
                and len(steps) > 40
            ):
                found.append((_label(channel, column), extreme, there))
    if found:
        said = ", ".join(
            f"{axis} at {extreme:.5g} {channel.unit} ({count} samples)" for axis, extreme, count in found
        )
        yield Finding(
            "clipping",
            f"{channel.name}: piles up at the end of its range: {said}",
            "leave these stretches out; choose a wider range of the sensor, or mount it softer",
            True,
            (channel.name,),
        )


def _dropouts(channel: Channel) -> Iterator[Finding]:
    """Yield a finding if a rotor's speed falls to zero for moments, which no rotor does."""
    found, names = 0, []
    for column in range(channel.values.shape[1]):
        values = channel.values[:, column]
        usual = float(np.nanmedian(values[values > 0.0])) if np.any(values > 0.0) else 0.0
        inner = [
            (a, b)
            for a, b in runs_of_true(values <= 0.02 * usual)
            if a > 0 and b < len(values) and (b - a) <= max(0.05 * channel.rate, 1)
        ]
        sudden = [
            (a, b) for a, b in inner if min(values[a - 1], values[min(b, len(values) - 1)]) > 0.5 * usual
        ]
        if sudden:
            found += len(sudden)
            names.append(_label(channel, column))
    if found:
        yield Finding(
            "dropout",
            f"{channel.name}: the speed of {', '.join(names)} falls to zero for a moment {found} time(s)",
            "these samples count as missing",
            True,
            (channel.name,),
            _without_zeros(channel.name),
        )


def _without_zeros(name: str) -> Mend:
    def mend(flight: Flight) -> Flight:
        channel = flight[name]
        usual = np.nanmedian(np.where(channel.values > 0.0, channel.values, np.nan), axis=0)
        good = np.all(channel.values > 0.02 * usual, axis=1) | np.all(channel.values <= 0.02 * usual, axis=1)
        return flight.with_channel(replace(channel, time=channel.time[good], values=channel.values[good]))

    return mend


def _spikes(channel: Channel) -> Iterator[Finding]:
    """Yield a finding if a rotor is for a moment many times as fast as before and after, which no rotor is."""
    high = _spiked(channel)
    if np.any(high):
        columns = np.flatnonzero(high.any(axis=0))
        names = ", ".join(_label(channel, column) for column in columns.tolist())
        usual = np.nanmax(np.where(high, np.nan, channel.values)[:, columns], axis=0)
        times = np.max(np.nanmax(channel.values[:, columns], axis=0) / usual)
        yield Finding(
            "spike",
            f"{channel.name}: the speed of {names} is up to {times:.0f} times its highest otherwise in "
            f"{int(high.any(axis=1).sum())} sample(s)",
            "these samples count as missing; check the telemetry of the motor controllers",
            True,
            (channel.name,),
            _without_spikes(channel.name),
        )


def _spiked(channel: Channel) -> Bools:
    """(T, R) samples of short moments whose neighbours are far slower, and that exceed all others of the rotor."""
    found = np.zeros(channel.values.shape, bool)
    longest = max(int(SPIKE_SECONDS * channel.rate), SPIKE_SAMPLES)
    for column, values in enumerate(np.nan_to_num(channel.values, posinf=0.0, neginf=0.0).T):
        high = np.zeros(len(values), bool)
        turning = values[values > 0.0]
        usual = float(np.median(turning)) if len(turning) else np.inf
        for first, last in runs_of_true(values > SPIKE_FACTOR * usual):
            beside = [values[at] for at in (first - 1, last) if 0 <= at < len(values)]
            if last - first <= longest and values[first:last].min() > SPIKE_FACTOR * max(
                beside, default=np.inf
            ):
                high[first:last] = True
        if high.any() and values[high].min() > SPIKE_EXCESS * values[~high].max(initial=0.0):
            found[:, column] = high
    return found


def _without_spikes(name: str) -> Mend:
    def mend(flight: Flight) -> Flight:
        channel = flight[name]
        good = ~np.any(_spiked(channel), axis=1)
        return flight.with_channel(replace(channel, time=channel.time[good], values=channel.values[good]))

    return mend


def _vibration(channel: Channel, measures: dict[str, float]) -> Iterator[Finding]:
    values = channel.values[channel.finite]
    rate = channel.rate
    if len(values) < 2 * rate or rate < 40.0:
        return
    sections = signal.butter(2, 5.0, "highpass", output="sos", fs=rate)
    fast = signal.sosfiltfilt(sections, values, axis=0)
    window = int(rate)
    count = len(fast) // window
    levels = np.sqrt(np.mean(fast[: count * window].reshape(count, window, 3) ** 2, axis=1))
    level = np.median(levels, axis=0)
    measures["imu.accel.vibration"] = float(level.max())
    if level.max() > VIBRATION_LIMIT:
        axis = "xyz"[int(np.argmax(level))]
        yield Finding(
            "vibration",
            f"imu.accel: {level.max():.1f} m/s2 rms above 5 Hz on {axis} (median over seconds); beyond "
            f"{VIBRATION_LIMIT:g} estimates suffer",
            "balance the propellers, mount the controller softer, and low-pass before identification",
            True,
            ("imu.accel",),
        )


GAP_SECONDS = 0.05
"""Shortest gap worth a finding: filters and derivatives across a shorter one are still sound, s."""
GAP_INTERVALS = 5.0
REPEATED_FRACTION = 0.6
"""Share of samples equal to the one before, beyond which a channel counts as held."""
SLOW = 100.0
"""A true rate above this, Hz, is fast enough whatever the log repeats."""
ONE_SIDE, INTERRUPTED = (
    "use one side of it only",
    "nothing is interpolated across it; log fewer topics or to a faster card",
)
FAST = ("imu.accel", "imu.gyro", "rotors.speed", "rotors.command")


def check_time(
    flight: Flight, _: Airframe | None, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield what is wrong with the time stamps."""
    gaps: dict[tuple[int, int], list[str]] = {}
    for channel in flight.channels.values():
        if len(channel) < 3:
            continue
        intervals = np.diff(channel.time)
        usual = float(np.median(intervals))
        measures[f"{channel.name}.rate"] = 1e9 / usual
        long = np.flatnonzero(intervals > max(GAP_INTERVALS * usual, GAP_SECONDS * 1e9))
        if long.size:
            worst = int(long[np.argmax(intervals[long])])
            gaps.setdefault((int(channel.time[worst]), int(intervals[worst])), []).append(channel.name)
    for (at, length), names in gaps.items():
        jump = (seconds := length * 1e-9) > 60.0
        yield Finding(
            "clock-jump" if jump else "gap",
            f"{', '.join(names)}: no sample for {seconds:.3f} s at {(at - flight.start) * 1e-9:.3f} s",
            ONE_SIDE if jump else INTERRUPTED,
            True,
            tuple(names),
            longer_side(at, at + length) if jump else None,
        )
    for name in FAST:
        if name in flight:
            yield from _repeated(flight[name], measures)
    for note in flight.notes:
        if note.startswith(("clock jump:", "order:", "truncated:", "broken:", "incomplete:")):
            kind, said = note.split(": ", 1)
            yield Finding(
                kind.replace(" ", "-"), said, "the reader has dealt with it; look at what is missing", True
            )


def _repeated(channel: Channel, measures: dict[str, float]) -> Iterator[Finding]:
    """Yield a finding if a sensor repeats the sample before where it changes quickly: it is slower than its log."""
    values = channel.values.reshape(len(channel), -1)
    window = max(int(0.25 * channel.rate), 10)
    count = len(values) // window
    if count < 8 or channel.name.endswith("command"):
        return
    blocks = values[: count * window].reshape(count, window, -1)
    steps = np.abs(np.diff(blocks, axis=1))
    quantum = np.min(np.where(steps > 0.0, steps, np.inf), axis=(0, 1))
    lively = np.any(np.ptp(blocks, axis=1) > 50.0 * quantum, axis=1)
    if lively.sum() < 4:
        return
    share = float(np.mean(np.all(steps[lively] == 0.0, axis=2)))
    true_rate = channel.rate * (1.0 - share)
    measures[f"{channel.name}.true_rate"] = true_rate
    if share > REPEATED_FRACTION and true_rate < SLOW:
        yield Finding(
            "held",
            f"{channel.name}: {100 * share:.0f} % of the samples repeat the one before while it changes: its true "
            f"rate is about {true_rate:.0f} Hz, not {channel.rate:.0f} Hz",
            "use the samples that are new only",
            True,
            (channel.name,),
        )
