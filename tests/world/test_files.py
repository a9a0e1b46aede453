"""Flights as CSV, ULog and ROS 2 MCAP: every sample with its own stamp, the same bytes for the same seed."""

import csv

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from pyulog import ULog
from tests.world.csv_files import write_csv
from tests.world.drawings import QUADROTOR
from tests.world.files import WRITERS, write
from tests.world.flights import fly
from tests.world.levels import REALISTIC
from tests.world.ulog_files import attitude_to_ned, to_frd, to_ned
from tests.world.vectors import apply, rotation_matrix


@pytest.fixture(scope="module")
def flight():
    return fly(QUADROTOR, REALISTIC, "full", (31,), 0.6, settle=0.2)[0]


@pytest.fixture(scope="module")
def twin():
    return fly(QUADROTOR, REALISTIC, "full", (31,), 0.6, settle=0.2)[0]


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_every_sample_is_there_once(flight, layout, tmp_path):
    write_csv(flight, tmp_path / "a.csv", layout)
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for channel, stream in flight.streams.items():
        for i, column in enumerate(stream.columns):
            name = channel if len(stream.columns) == 1 else f"{channel}.{column}"
            clock = "time" if layout == "rows" else f"{channel}.time"
            pairs = [(float(row[clock]), float(row[name])) for row in rows if row[name] != ""]
            np.testing.assert_allclose(pairs, np.column_stack([stream.time, stream.values[:, i]]), atol=1e-6)


@pytest.mark.parametrize("ending", WRITERS)
def test_the_same_seed_gives_the_same_bytes(flight, twin, ending, tmp_path):
    one, two = (write(f, tmp_path / f"{i}{ending}") for i, f in enumerate((flight, twin)))
    assert one.read_bytes() == two.read_bytes()


def test_a_ulog_is_read_by_pyulog(flight, tmp_path):
    log = ULog(str(write(flight, tmp_path / "a.ulg")))
    data = {entry.name: entry.data for entry in log.data_list}
    imu, pose, speed = data["sensor_combined"], data["vehicle_visual_odometry"], data["esc_status"]
    streams = flight.streams
    np.testing.assert_allclose(imu["timestamp"] * 1e-6 - 10, streams["imu.gyro"].time, atol=1e-6)
    np.testing.assert_allclose(imu["gyro_rad[1]"], -streams["imu.gyro"].values[:, 1], rtol=1e-6)
    np.testing.assert_allclose(imu["accelerometer_m_s2[2]"], -streams["imu.accel"].values[:, 2], rtol=1e-6)
    np.testing.assert_allclose(pose["position[0]"], streams["pose.position"].values[:, 1], rtol=1e-6)
    np.testing.assert_allclose(
        speed["esc[3].esc_rpm"] * 2 * np.pi / 60, streams["rotors.speed"].values[:, 3], atol=0.06
    )
    np.testing.assert_allclose(
        data["actuator_motors"]["control[0]"], streams["rotors.command"].values[:, 0], rtol=1e-6
    )
    assert np.isnan(data["actuator_motors"]["control[4]"]).all()
    np.testing.assert_allclose(
        data["battery_status"]["voltage_v"], streams["battery.voltage"].values[:, 0], rtol=1e-6
    )


def test_attitudes_in_a_ulog_are_those_of_other_axes(flight):
    """A vector of the body, brought to the world and then to north, east, down, is the same both ways."""
    wxyz = flight.streams["pose.wxyz"].values
    vector = np.tile([0.3, -0.5, 0.8], (len(wxyz), 1))
    one = to_ned(apply(rotation_matrix(wxyz.T), vector.T).T)
    two = apply(rotation_matrix(attitude_to_ned(wxyz).T), to_frd(vector).T).T
    np.testing.assert_allclose(one, two, atol=1e-12)


def test_a_recording_of_ros_2_is_read_by_its_reader(flight, tmp_path):
    path = write(flight, tmp_path / "a.mcap")
    found = {}
    with path.open("rb") as file:
        for _, channel, _, message in make_reader(
            file, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            found.setdefault(channel.topic, []).append(message)
    streams = flight.streams
    assert {topic: len(messages) for topic, messages in found.items()} == {
        "/imu/data": len(streams["imu.gyro"].time),
        "/mocap/pose": len(streams["pose.wxyz"].time),
        "/rotors/state": len(streams["rotors.speed"].time),
        "/rotors/command": len(streams["rotors.command"].time),
        "/battery": len(streams["battery.voltage"].time),
    }
    last = found["/imu/data"][-1]
    assert last.angular_velocity.y == streams["imu.gyro"].values[-1, 1]
    stamp = last.header.stamp.sec - 1_700_000_000 + last.header.stamp.nanosec * 1e-9
    assert stamp == pytest.approx(streams["imu.gyro"].time[-1], abs=1e-6)
    assert list(found["/rotors/state"][0].velocity) == streams["rotors.speed"].values[0].tolist()
    assert found["/mocap/pose"][5].pose.orientation.w == streams["pose.wxyz"].values[5, 0]


def test_an_unknown_ending_is_refused(flight, tmp_path):
    with pytest.raises(ValueError, match=r"no writer for 'a\.bag'"):
        write(flight, tmp_path / "a.bag")


def test_an_unknown_layout_is_refused(flight, tmp_path):
    with pytest.raises(ValueError, match="no layout 'wide'"):
        write_csv(flight, tmp_path / "a.csv", "wide")
