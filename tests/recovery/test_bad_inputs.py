"""Tables from which nothing can be identified, or in part: one clear line each, and no number from what is spoiled."""

import numpy as np
import pytest

import haltere as ht
from haltere.foundation import HaltereError

RATE = 200.0
AXES = "xyz"
GYRO, ACCEL = ([f"imu.{sensor}.{axis}" for axis in AXES] for sensor in ("gyro", "accel"))
SPEEDS = [f"rotors.speed.m{i}" for i in range(1, 5)]


def nothing(t):
    return np.full(len(t), np.nan)


def zero(t):
    return np.zeros(len(t))


def after(value, start=1.0):
    return lambda t: np.where(t > start, value, np.sin(3.0 * t))


def table(path, count=600, rate=RATE, leave_out=(), **change):
    """A table of sensors that have nothing to do with each other; `change` are columns by name, functions of time."""
    rng = np.random.default_rng(7)
    t = np.arange(count) / rate
    columns = {"time": t}
    for i, (gyro, accel) in enumerate(zip(GYRO, ACCEL, strict=True)):
        columns[gyro] = np.sin(3.0 * t + i) + 0.01 * rng.standard_normal(count)
        columns[accel] = 9.81 * (i == 2) + 0.1 * rng.standard_normal(count)
    for i, speed in enumerate(SPEEDS):
        columns[speed] = 500.0 + 50.0 * np.sin(5.0 * t + i) + rng.standard_normal(count)
    columns |= {name: values(t) for name, values in change.items()}
    for name in leave_out:
        del columns[name]
    rows = np.stack(list(columns.values()), axis=1)
    np.savetxt(path, rows, delimiter=",", header=",".join(columns), comments="", fmt="%.9g")
    return path


def every(names, values):
    return dict.fromkeys(names, values)


REFUSED = {
    "gyro without a number": (every(GYRO, nothing), "gyro"),
    "one axis of the gyro without a number": ({GYRO[0]: nothing}, "gyro"),
    "accelerometer without a number": (every(ACCEL, nothing), "accel"),
    "one axis of the accelerometer without a number": ({ACCEL[2]: nothing}, "accel"),
    "rotor speeds without a number": (every(SPEEDS, nothing), "rotor"),
    "rotors that stand": (every(SPEEDS, zero), "rotor"),
    "rotors that run backwards": (every(SPEEDS, lambda t: -500.0 + 0.0 * t), "rotor"),
    "gyro that is dead": (every(GYRO, zero), "imu.gyro"),
    "gyro that reads one value": (every(GYRO, lambda t: 1.0 + 0.0 * t), "imu.gyro"),
    "one axis of the gyro dead": ({GYRO[1]: zero}, "imu.gyro: y"),
    "accelerometer that is dead": (every(ACCEL, zero), "imu.accel"),
    "one axis of the accelerometer dead": ({ACCEL[0]: zero}, "imu.accel: x"),
    "accelerometer at the end of its range": ({ACCEL[2]: lambda t: 156.9 + 0.0 * t}, "imu.accel: z"),
    "accelerometer of another world": ({ACCEL[2]: lambda t: 1e20 + t}, "accel"),
    "gyro that grows without end": ({GYRO[0]: lambda t: 1e30 * t}, "imu.gyro"),
    "gyro that is infinite from 0.5 s on": ({GYRO[0]: after(np.inf, 0.5)}, "imu.gyro"),
    "gyro that is lost after 0.5 s": (every(GYRO, after(np.nan, 0.5)), "gyro"),
    "accelerometer that is lost after 0.5 s": (every(ACCEL, after(np.nan, 0.5)), "accel"),
    "speeds that are lost after 0.5 s": (every(SPEEDS, after(np.nan, 0.5)), "rotor"),
    "no gyro": ({"leave_out": GYRO}, "gyro"),
    "no accelerometer": ({"leave_out": ACCEL}, "accel"),
    "no rotors": ({"leave_out": SPEEDS}, "rotor"),
    "time that stands": ({"time": zero}, ""),
    "time without a number": ({"time": nothing}, "time"),
    "time of another world": ({"time": lambda t: 1e18 * t}, "time"),
    **{
        f"a table of {n} rows": ({"count": n}, "")
        for n in (1, 2, 3, 10, 24, 25, 26, 40, 49, 50, 51, 60, 100, 199)
    },
    **{f"a table at {rate:g} Hz": ({"rate": rate}, "") for rate in (0.01, 1.0, 1e5, 1e6)},
}
"""What is changed, and a word that the line must have."""


@pytest.mark.parametrize("case", REFUSED)
def test_bad_tables_get_one_clear_line(case, tmp_path):
    change, word = REFUSED[case]
    path = table(tmp_path / "flight.csv", **change)
    with pytest.raises(HaltereError) as caught:
        ht.identify(ht.read(path))
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 400
    assert word in line


@pytest.mark.parametrize("case", [case for case, (change, _) in REFUSED.items() if "time" not in change])
def test_the_doctor_looks_at_every_table_without_raising(case, tmp_path):
    change, _ = REFUSED[case]
    try:
        flight = ht.read(table(tmp_path / "flight.csv", **change))
    except HaltereError:
        return
    assert ht.diagnose(flight).measures is not None


@pytest.mark.parametrize(
    "text", ["", "\n\n\n", "time\n", "a,b\n1,2\n", "time,imu.gyro.x\n0,1\n", "\0" * 100, "{}", "0,5;1,5\n"]
)
def test_files_that_are_no_table_get_one_clear_line(text, tmp_path):
    path = tmp_path / "flight.csv"
    path.write_text(text)
    with pytest.raises(HaltereError) as caught:
        ht.identify(ht.read(path))
    assert "\n" not in str(caught.value)
