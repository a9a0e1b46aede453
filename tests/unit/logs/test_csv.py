"""Tables in which a channel is not in every row: its samples are the rows in which it is filled."""

import numpy as np
import pytest
from tests.unit.logs import writers

from haltere.doctor.diagnosis import diagnose
from haltere.flight import Channel, Flight
from haltere.logs import LogError, read
from haltere.logs.mapping import mapping_from_text


def write(path, names, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n", encoding="utf-8")
    return path


def notes(flight, kind):
    return [note for note in flight.notes if note.startswith(kind)]


@pytest.mark.parametrize("empty", ["", " ", "nan", "NaN", "-nan"])
@pytest.mark.parametrize("joined", [True, False])
def test_streams_in_one_table_keep_their_own_clocks(flown, tmp_path, joined, empty):
    late = flown["pose.position"].time + 1_234_567
    pose = [Channel("pose.position", late, flown["pose.position"].values, "m", "world")]
    imu = [flown[name] for name in ("imu.gyro", "imu.accel")]
    rotors = [flown[name] for name in ("rotors.speed", "rotors.command")]
    path = tmp_path / "log.csv"
    writers.stream_table([imu, rotors, pose], path, joined, empty)
    found = read(path)
    expected = Flight.of(*imu, *rotors, *pose)
    for name in expected:
        assert found[name] == expected[name]
    assert found.not_finite() == {}
    assert not notes(found, "broken")
    assert not notes(found, "incomplete")
    rows = 1000 if joined else 1800
    (fast,) = (n for n in notes(found, "rows: ") if "imu.gyro" in n)
    assert f"filled in 800 of {rows} rows" in fast


def test_a_row_with_a_part_of_a_vector_is_no_sample(tmp_path):
    names = ["time", "imu.gyro.x", "imu.gyro.y", "imu.gyro.z", "rotors.speed.m1", "rotors.speed.m2"]
    rows = [[0.01 * k, k, "" if k % 10 == 3 else k, k, 500 + k, 400 + k] for k in range(100)]
    flight = read(write(tmp_path / "log.csv", names, rows))
    assert len(flight["imu.gyro"]) == 90
    assert len(flight["rotors.speed"]) == 100
    (note,) = notes(flight, "incomplete")
    assert "imu.gyro: 10 of 100 rows" in note
    assert "imu.gyro.y 90" in note
    assert "incomplete" in diagnose(flight).kinds()


def test_components_that_are_never_in_one_row_are_named(tmp_path):
    names = ["time", "imu.gyro.x", "imu.gyro.y", "imu.gyro.z", "rotors.speed.m1"]
    rows = [[0.01 * k, *(k if k % 3 == i else "" for i in range(3)), 500] for k in range(99)]
    flight = read(write(tmp_path / "log.csv", names, rows))
    assert flight.names == ("rotors.speed",)
    (note,) = notes(flight, "incomplete")
    assert "99 of 99 rows have only a part" in note
    assert "imu.gyro.x 33, imu.gyro.y 33, imu.gyro.z 33" in note


def test_a_column_that_is_always_empty_is_a_broken_one(tmp_path):
    names = [
        "time",
        "rotors.speed.m1",
        "rotors.speed.m2",
        "pose.position.x",
        "pose.position.y",
        "pose.position.z",
    ]
    rows = [[0.01 * k, 500 + k, "", "", "", ""] for k in range(100)]
    flight = read(write(tmp_path / "log.csv", names, rows))
    assert len(flight["rotors.speed"]) == 100
    assert np.all(np.isnan(flight["rotors.speed"].column("m2")))
    assert np.all(np.isnan(flight["pose.position"].values))
    assert not notes(flight, "incomplete")
    broken = [f.evidence for f in diagnose(flight).findings if f.kind == "broken-channel"]
    assert any("pose.position: no number in any of its 100 samples" in text for text in broken)
    assert any("m2 100.0 %" in text for text in broken)


def test_a_text_that_is_no_number_is_a_sample_without_value(tmp_path):
    names = ["time", "imu.gyro.x", "imu.gyro.y", "imu.gyro.z"]
    rows = [[0.01 * k, k, ["ERR", "inf", "nan", ""][k] if k < 4 else k, k] for k in range(100)]
    flight = read(write(tmp_path / "log.csv", names, rows))
    assert len(flight["imu.gyro"]) == 98
    assert flight.not_finite() == {"imu.gyro": 2}
    assert np.isnan(flight["imu.gyro"].values[:2, 1]).all()
    assert notes(flight, "broken: 2 entries")


def test_a_table_without_any_sample_is_refused(tmp_path):
    rows = [[0.01 * k, *(k if k % 3 == i else "nan" for i in range(3))] for k in range(9)]
    with pytest.raises(LogError, match=r"holds no samples; imu.gyro: 9 of 9 rows have only a part"):
        read(write(tmp_path / "log.csv", ["time", "imu.gyro.x", "imu.gyro.y", "imu.gyro.z"], rows))


def test_gravity_is_added_with_the_attitude_between_its_samples(tmp_path):
    text = """
    gravity = "excluded"
    [time]
    column = "t"
    [channels."imu.accel"]
    columns = ["ax", "ay", "az"]
    [channels."pose.wxyz"]
    columns = ["roll", "pitch", "yaw"]
    order = "rpy"
    """
    roll = 0.01 * np.arange(100)  # constant rate: interpolation along the arc is exact
    rows = [[0.01 * k, 0, 0, 0, *([roll[k], 0, 0] if k % 2 == 0 else [""] * 3)] for k in range(100)]
    path = write(tmp_path / "log.csv", ["t", "ax", "ay", "az", "roll", "pitch", "yaw"], rows)
    force = read(path, mapping=mapping_from_text(text))["imu.accel"]
    assert len(force) == 99  # behind the last attitude there is none
    expected = 9.80665 * np.column_stack([0 * roll, np.sin(roll), np.cos(roll)])
    assert force.values == pytest.approx(expected[:99], abs=1e-9)
