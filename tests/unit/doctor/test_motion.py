"""Attitudes without outliers: single wrong quaternions are left out, true motion is not."""

import numpy as np

from haltere.doctor.motion import without_outliers
from haltere.flight import Channel, nanoseconds


def attitude(angle):
    seconds = np.arange(len(angle)) / 50.0
    wxyz = np.column_stack([np.cos(angle / 2), np.sin(angle / 2), 0.0 * angle, 0.0 * angle])
    return Channel("pose.wxyz", nanoseconds(seconds + 1.0), wxyz, "1", "world")


def test_outliers_are_left_out_and_the_rest_stays():
    angle = 0.4 * np.sin(np.arange(400) / 15.0)
    wrong = [40, 41, 120, 250, 251, 399]
    spoiled = angle.copy()
    spoiled[wrong[:5]] += 2.0
    cleaned = without_outliers(attitude(spoiled))
    kept = np.isin(attitude(angle).time, cleaned.time)
    assert np.flatnonzero(~kept).tolist() == wrong[:5]


def test_steps_and_reversed_quaternions_are_no_outliers():
    angle = 0.4 * np.sin(np.arange(400) / 15.0) + 1.0 * (np.arange(400) > 200)
    channel = attitude(angle)
    assert len(without_outliers(channel)) == 400
    signs = np.where(np.arange(400) % 2, 1.0, -1.0)[:, None]
    mirrored = Channel("pose.wxyz", channel.time, channel.values * signs, "1", "world")
    assert len(without_outliers(mirrored)) == 400
    assert len(without_outliers(attitude(angle[:4]))) == 4
