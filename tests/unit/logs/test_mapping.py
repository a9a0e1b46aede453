"""Mapping files: units, axes and orders are brought to ours, and faults are named in one line."""

import numpy as np
import pytest
from tests.unit.logs import writers

from haltere.logs import LogError, read
from haltere.logs.mapping import mapping_from_text

TEXT = """
[time]
column = "t"
unit = "ms"
[channels."imu.accel"]
columns = ["ax", "ay", "az"]
unit = "g"
axes = "frd"
[channels."imu.gyro"]
columns = ["p", "q", "r"]
unit = "deg/s"
axes = "frd"
[channels."pose.wxyz"]
columns = ["qx", "qy", "qz", "qw"]
order = "xyzw"
axes = "ned"
[channels."rotors.speed"]
columns = ["n1", "n2"]
unit = "rpm"
names = ["left", "right"]
[channels."baro.altitude"]
columns = ["h"]
unit = "cm"
"""


def write(path, rows):
    names = ["t", "ax", "ay", "az", "p", "q", "r", "qx", "qy", "qz", "qw", "n1", "n2", "h"]
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows():
    c = np.sqrt(0.5)  # FRD body, nose east in an NED world: yaw of 90 deg
    return [[k * 5, 0.1, 0.2, -1.0, 10, 20, 30, 0, 0, c, c, 6000, 3000, 250] for k in range(50)]


def test_units_axes_and_orders(tmp_path):
    flight = read(write(tmp_path / "log.csv", rows()), mapping=mapping_from_text(TEXT))
    assert flight["imu.accel"].rate == pytest.approx(200.0)
    assert flight["imu.accel"].values[0] == pytest.approx([0.980665, -1.96133, 9.80665])
    assert flight["imu.gyro"].values[0] == pytest.approx(np.radians([10, -20, -30]))
    assert np.abs(flight["pose.wxyz"].values[0]) == pytest.approx(
        [1, 0, 0, 0], abs=1e-12
    )  # nose east, level: ours
    assert flight["rotors.speed"].values[0] == pytest.approx([628.3185, 314.159], rel=1e-5)
    assert flight["rotors.speed"].columns == ("left", "right")
    assert flight["baro.altitude"].values[0] == pytest.approx(2.5)


def test_an_acceleration_without_gravity_gets_it_back(tmp_path):
    text = TEXT.replace('unit = "g"', 'unit = "m/s2"')
    level = [[*row[:1], 0.0, 0.0, 0.0, *row[4:]] for row in rows()]
    mapping = mapping_from_text('gravity = "excluded"\n' + text)
    flight = read(write(tmp_path / "log.csv", level), mapping=mapping)
    assert flight["imu.accel"].values[0] == pytest.approx([0, 0, 9.80665], abs=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"ax"', '"nope"'), "no column 'nope'"),
        (('column = "t"', 'column = "when"'), "no column of time called 'when'"),
        (('unit = "g"', 'unit = "furlong"'), "furlong"),
        (('unit = "g"', 'unit = "V"'), "none of m/s2"),
        (('unit = "ms"', 'unit = "weeks"'), "weeks"),
        (('order = "xyzw"', 'order = "zyxw"'), "order"),
        (('columns = ["p", "q", "r"]', 'columns = ["p", "q"]'), "2 columns"),
        (("[time]", "[tyme]"), "tyme"),
        (("[time]", "[time"), "no TOML"),
    ],
)
def test_faults_of_a_mapping_are_one_line(tmp_path, change, said):
    path = write(tmp_path / "log.csv", rows())
    with pytest.raises(LogError, match=said) as error:
        read(path, mapping=mapping_from_text(TEXT.replace(*change)))
    assert "\n" not in str(error.value)


def test_a_table_without_mapping_and_without_our_names(tmp_path):
    with pytest.raises(LogError, match="--map"):
        read(write(tmp_path / "log.csv", rows()))


def test_stray_texts_and_short_rows_are_counted(tmp_path):
    path = write(tmp_path / "log.csv", rows())
    text = path.read_text().splitlines()
    text[3] = text[3].replace("10,20,30", "10,oops,30")
    text[5] = "1,2,3"
    path.write_text("\n".join(text), encoding="utf-8")
    flight = read(path, mapping=mapping_from_text(TEXT))
    assert any(note.startswith("broken: 2") for note in flight.notes)
    assert len(flight["imu.gyro"]) == 49


def test_topics_and_fields_of_a_bag(flown, tmp_path):
    writers.ros_bag(flown, tmp_path / "log.bag", 1)
    text = '[channels."imu.gyro"]\ntopic = "/mavros/imu/data_raw"\nfield = "angular_velocity"\naxes = "frd"\n'
    flight = read(tmp_path / "log.bag", mapping=mapping_from_text(text))
    assert flight.names == ("imu.gyro",)
    assert flight["imu.gyro"].values[:, 1] == pytest.approx(-flown["imu.gyro"].values[:, 1])
    for change, said in (("angular_velocity", "no field 'angular_v'"), ("/mavros", "no topic")):
        with pytest.raises(LogError, match=said):
            read(
                tmp_path / "log.bag",
                mapping=mapping_from_text(text.replace(change, change[:-7] if "_" in change else "/x")),
            )
