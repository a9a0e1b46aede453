"""Every format gives back the flight that was written into it, in our units and axes."""

import sys

import numpy as np
import pytest
from tests.unit.logs import writers

from haltere.flight.mcap import write_mcap
from haltere.logs import read, sniff

SINGLE = 3e-6  # relative, of numbers stored with 32 bits


def near(found, flown, name, tolerance, wanted=None):
    a, b = found[name], flown[wanted or name]
    assert a.unit == b.unit
    assert np.max(np.abs(a.time - b.time)) <= 1_000_000
    values = b.values
    if name.endswith("wxyz"):  # q and -q are one attitude
        values = values * np.sign(np.sum(a.values * values, axis=1, keepdims=True))
    assert np.max(np.abs(a.values - values)) < tolerance, name


@pytest.mark.parametrize("ending", ["ulg", "log", ""])
def test_ulog(flown, tmp_path, ending):
    path = tmp_path / f"flight.{ending}".rstrip(".")
    writers.ulog(flown, path)
    assert sniff(path).name == "PX4 ULog"
    found = read(path)
    near(found, flown, "imu.accel", 15 * SINGLE)
    near(found, flown, "imu.gyro", 2 * SINGLE)
    near(found, flown, "rotors.command", SINGLE)
    near(found, flown, "rotors.speed", 0.06)  # whole rpm
    near(found, flown, "pose.position", 3 * SINGLE)
    near(found, flown, "pose.wxyz", SINGLE)
    near(found, flown, "battery.voltage", 20 * SINGLE)


@pytest.mark.parametrize("version", [1, 2])
def test_crazyflie(flown, tmp_path, version):
    path = tmp_path / "log00"
    writers.usd(flown, path, version)
    found = read(path)
    assert sniff(path).name == "Crazyflie uSD log"
    if version == 1:  # whole ms: samples at 200 Hz keep their stamps
        assert found["imu.gyro"].rate == pytest.approx(200.0)
    near(found, flown, "imu.accel", 20 * SINGLE)
    near(found, flown, "imu.gyro", 5 * SINGLE)
    near(found, flown, "rotors.speed", 600 * SINGLE)
    near(found, flown, "rotors.command", 3 * SINGLE)
    near(found, flown, "pose.position", 3 * SINGLE)
    near(found, flown, "pose.wxyz", SINGLE)
    assert not [note for note in found.notes if "truncated" in note]


def test_dataflash(flown, tmp_path):
    path = tmp_path / "00000001.BIN"
    writers.dataflash(flown, path)
    found = read(path)
    near(found, flown, "imu.accel", 15 * SINGLE)
    near(found, flown, "imu.gyro", 2 * SINGLE)
    near(found, flown, "rotors.command", 6e-4)  # whole us
    near(found, flown, "rotors.speed", 600 * SINGLE)
    near(found, flown, "estimate.wxyz", SINGLE, "pose.wxyz")
    near(found, flown, "battery.voltage", 20 * SINGLE)


@pytest.mark.parametrize("outputs", ["Chan", "Ch"])
def test_dataflash_of_ten_years_ago(flown, tmp_path, outputs):
    path = tmp_path / "2014-06-01.bin"
    writers.dataflash_2014(flown, path, outputs)
    found = read(path)
    near(found, flown, "imu.accel", 15 * SINGLE)
    near(found, flown, "imu.gyro", 2 * SINGLE)
    near(found, flown, "rotors.command", 6e-4)
    assert found["rotors.command"].values.shape[1] == 4  # and not the gimbal on outputs 5 and 6
    near(found, flown, "rotors.speed", 1.05)  # tens of rpm
    near(found, flown, "battery.voltage", 0.006)
    gps = found["gps.position"]
    assert np.max(np.abs(gps.values)) < 1e-6  # without the rows before the fix
    assert np.all(
        np.abs(gps.seconds(found.start)) <= found.duration
    )  # and not on the clock of the satellites


def test_dataflash_takes_the_range_of_the_stick_where_no_other_is_set(flown, tmp_path):
    path = tmp_path / "flight.bin"
    ranges = {
        "MOT_PWM_MIN": 0.0,
        "MOT_PWM_MAX": 0.0,
        "RCMAP_THROTTLE": 2.0,
        "RC2_MIN": 1100.0,
        "RC2_MAX": 1900.0,
    }
    writers.dataflash_2014(flown, path, parameters=ranges)
    wanted = np.clip((1000.0 * flown["rotors.command"].values - 100.0) / 800.0, 0.0, 1.0)
    assert np.allclose(read(path)["rotors.command"].values, wanted, atol=7e-4)


def test_a_tricopter_has_three_rotors(flown, tmp_path):
    path = tmp_path / "flight.bin"
    writers.dataflash_2014(flown, path, frame="TRI")
    found = read(path)
    assert found["rotors.command"].values.shape[1] == 3
    assert any("outputs [1, 2, 4] (frame TRI)" in note for note in found.notes)


def test_dataflash_is_what_pymavlink_reads(flown, tmp_path):
    reader = pytest.importorskip("pymavlink.DFReader")
    path = tmp_path / "log.bin"
    writers.dataflash(flown, path)
    theirs = reader.DFReader_binary(str(path))
    rows = []
    while (message := theirs.recv_match(type="IMU")) is not None:
        if message.I == 0:
            rows.append([message.GyrX, -message.GyrY, -message.GyrZ])
    theirs.close()
    assert np.allclose(rows, read(path)["imu.gyro"].values, atol=1e-7)


@pytest.mark.parametrize(
    "firmware", ["Betaflight 4.5.1 (test) TEST", "Indiflight 5.0.0 (test) TEST", "INAV 7.1.2 (test) TEST"]
)
def test_blackbox(flown, tmp_path, firmware, monkeypatch):
    monkeypatch.setitem(sys.modules, "orangebox", None)  # for our tests only; no user has it
    path = tmp_path / "LOG00001.BFL"
    writers.blackbox(flown, path, firmware)
    found = read(path)
    near(found, flown, "imu.accel", 0.003)
    near(found, flown, "imu.gyro", 1e-3)
    near(found, flown, "rotors.command", 3e-4)
    near(found, flown, "rotors.speed", 0.8)  # hundreds of electrical rpm
    if "Indiflight" in firmware:
        near_attitude = found["estimate.wxyz"].values[::4]
        wanted = flown["pose.wxyz"].values
        signs = np.sign(np.sum(near_attitude * wanted, axis=1, keepdims=True))
        assert np.max(np.abs(near_attitude * signs - wanted)) < 3e-4
    assert not [note for note in found.notes if "truncated" in note]


def test_table(flown, tmp_path):
    path = tmp_path / "flight.csv"
    writers.table(flown, path)
    found = read(path)
    for name in ("imu.accel", "imu.gyro", "rotors.speed", "rotors.command"):
        near(found, flown, name, 1e-9)
    assert found["rotors.speed"].columns == ("m1", "m2", "m3", "m4")


def test_a_slower_channel_of_a_table_has_empty_cells(flown, tmp_path):
    path = tmp_path / "flight.csv"
    writers.table(flown, path, pose=True)
    found = read(path)
    for name in ("pose.position", "pose.wxyz"):
        assert len(found[name]) == len(flown[name])
        near(found, flown, name, 1e-9)
    assert not [note for note in found.notes if "broken" in note]


@pytest.mark.parametrize(
    ("version", "name"), [(1, "a.bag"), (1, "renamed"), ("sqlite", "bag"), ("mcap", "bag")]
)
def test_ros_bags(flown, tmp_path, version, name):
    path = tmp_path / name
    first = tmp_path / "first.bag" if name == "renamed" else path
    writers.ros_bag(flown, first, version)
    if name == "renamed":
        first.rename(path)
    found = read(path)
    for channel in ("imu.accel", "imu.gyro", "pose.position", "pose.wxyz", "rotors.speed"):
        near(found, flown, channel, 1e-9)


def test_a_single_file_of_a_ros_2_bag(flown, tmp_path):
    writers.ros_bag(flown, tmp_path / "bag", "mcap")
    (file,) = (tmp_path / "bag").glob("*.mcap")
    near(read(file), flown, "imu.gyro", 1e-9)


def test_our_own_mcap_is_read_bit_by_bit(flown, tmp_path):
    write_mcap(flown, tmp_path / "flight.mcap")
    assert read(tmp_path / "flight.mcap") == flown
