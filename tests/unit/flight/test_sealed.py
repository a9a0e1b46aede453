"""Arrays that are handed over are not copied; all others are."""

import numpy as np
import pytest

from haltere.flight import Channel
from haltere.flight.channel import sealed

TIME = np.arange(5) * 1_000_000


def test_sealed_arrays_are_kept_as_they_are():
    time, values = sealed(TIME.copy()), sealed(np.ones((5, 3)))
    channel = Channel("imu.gyro", time, values, "rad/s", "imu")
    assert channel.time is time
    assert channel.values is values
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 2.0


@pytest.mark.parametrize(
    "values",
    [
        np.ones((5, 3)),
        sealed(np.ones((10, 3))[::2]),
        sealed(np.ones((5, 3), np.float32)),
        sealed(np.ones((3, 5)).T),
    ],
)
def test_what_can_still_be_changed_is_copied(values):
    channel = Channel("imu.gyro", TIME, values, "rad/s", "imu")
    assert not np.shares_memory(channel.values, values)
    assert not np.shares_memory(channel.time, TIME)
    np.testing.assert_array_equal(channel.values, values)


def test_views_cannot_be_sealed():
    whole = np.ones((5, 3))
    sealed(whole[:4])
    whole[0] = 2.0
