import copy
import pickle

import numpy as np
import pytest

from haltere.flight import Channel, FlightError, nanoseconds
from haltere.foundation import HaltereError


def channel(time=(0, 1, 2), values=(1.0, 2.0, 3.0), **other):
    words = {"name": "imu.accel", "unit": "m/s2", "frame": "imu", **other}
    return Channel(time=np.asarray(time), values=np.asarray(values), **words)


def test_arrays_are_read_only_copies():
    time, values = np.arange(3), np.arange(3.0)
    made = Channel("a", time, values, "1", "")
    values[0] = 7.0
    assert made.values[0] == 0.0
    for array in (made.time, made.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        made.unit = "m"


def test_copies_from_other_processes_are_equal_and_read_only():
    made = channel()
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert other == made
        assert not other.values.flags.writeable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": (0, 2, 2)}, "does not increase at sample 2 (2 ns, then 2 ns)"),
        ({"time": (0, 2)}, "2 time stamps but 3 values"),
        ({"time": (0.0, 0.1, 0.2)}, "time is float64; give integer nanoseconds"),
        ({"time": ((0, 1, 2),)}, "time has shape (1, 3)"),
        ({"time": np.array([0, 1, 2**63], np.uint64)}, "does not fit into int64"),
        ({"values": (1j, 2j, 3j)}, "values are complex128"),
        ({"values": ("a", "b", "c")}, "give real numbers"),
        ({"values": (1, 2, 2**60)}, "beyond 2^53"),
        ({"values": 1.0}, "a single number"),
        ({"name": "imu accel"}, "words joined by dots"),
        ({"name": "imu..accel"}, "words joined by dots"),
        ({"name": 3}, "words joined by dots"),
        ({"unit": ""}, "'1' if there is none"),
        ({"frame": None}, "frame None"),
        ({"columns": ("a",)}, "1 column names for values of shape (3,)"),
        ({"columns": "abc"}, "give a tuple of names"),
        ({"values": np.ones((3, 2)), "columns": ("a", "a")}, "a different, non-empty name for each"),
    ],
)
def test_faults_are_told_in_one_line(change, message):
    with pytest.raises(FlightError) as caught:
        channel(**change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, HaltereError)


def test_unequal_rows_are_refused():
    with pytest.raises(FlightError, match="unequal lengths"):
        Channel("a", np.arange(2), [[1.0, 2.0], [3.0]], "1", "")


def test_other_real_numbers_become_float64():
    assert channel(values=np.array([True, False, True])).values.tolist() == [1.0, 0.0, 1.0]
    assert channel(values=np.array([1, 2, 3], np.uint8)).values.dtype == np.float64
    assert channel(values=np.array([0.1, 0.2, 0.3], np.float32)).values[0] == np.float32(0.1)


def test_equality_is_by_bits():
    nan = channel(values=(np.nan, 0.0, 1.0))
    assert nan == channel(values=(np.nan, 0.0, 1.0))
    assert nan != channel(values=(np.nan, -0.0, 1.0))
    assert nan != channel(time=(0, 1, 3), values=(np.nan, 0.0, 1.0))
    assert nan != channel(values=(np.nan, 0.0, 1.0), unit="m")
    assert nan != "imu.accel"
    assert channel(values=np.ones((3, 1))) != channel(values=np.ones(3))


def test_missing_values_are_told():
    made = channel(values=[[1.0, np.nan], [1.0, 2.0], [np.inf, 0.0]])
    assert made.finite.tolist() == [False, True, False]


def test_rate_seconds_columns_and_parts():
    made = channel(time=np.array([0, 5, 10]) * 1_000_000, values=np.ones((3, 2)), columns=("a", "b"))
    assert made.rate == 200.0
    assert np.allclose(made.seconds(5_000_000), [-0.005, 0.0, 0.005], atol=1e-15)
    assert made.column("b").tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(FlightError, match="no column 'c'; its columns are: a, b"):
        made.column("c")
    assert made.between(1, 10_000_000).time.tolist() == [5_000_000, 10_000_000]
    assert made.renamed("b").name == "b"


def test_a_channel_may_be_empty():
    made = Channel("a", [], np.empty((0, 3)), "1", "")
    assert len(made) == 0
    assert made.rate == 0.0
    assert made.time.dtype == np.int64


def test_seconds_become_the_nearest_nanosecond():
    assert nanoseconds([0.1, 1.7e9 + 0.25, -0.5]).tolist() == [
        100_000_000,
        1_700_000_000_250_000_000,
        -500_000_000,
    ]
    with pytest.raises(FlightError, match="finite"):
        nanoseconds([np.nan])
