"""Stamps as loggers leave them become strictly increasing, and what was done is said."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.logs import writers

from haltere.logs import read
from haltere.logs.builder import settle, unwrapped

MS = 1_000_000


def kinds(settled):
    return [kind for kind, _ in settled.notes]


def test_a_good_clock_needs_nothing():
    settled = settle(np.arange(100) * MS)
    assert settled.notes == ()
    assert len(settled.remaining) == 100


def test_samples_out_of_order_and_repeated_ones():
    settled = settle(np.array([0, 2, 1, 3, 3, 4]) * MS)
    assert settled.time.tolist() == [0, MS, 2 * MS, 3 * MS, 4 * MS]
    assert settled.remaining.tolist() == [0, 2, 1, 3, 5]
    assert kinds(settled) == ["order", "repeated"]


def test_a_clock_set_back_leaves_the_longest_stretch():
    time = np.concatenate([np.arange(300), np.arange(100) - 10_000]) * MS
    settled = settle(time)
    assert len(settled.remaining) == 300
    assert kinds(settled) == ["clock jump"]


def test_gaps_and_jumps_ahead_are_told_apart():
    time = np.arange(100) * MS
    time[60:] += 500 * MS
    assert kinds(settle(time)) == ["gaps"]
    time[60:] += 3_600_000 * MS
    assert kinds(settle(time)) == ["clock jump"]


def test_a_counter_that_runs_over_is_carried_on():
    time = (np.arange(1000) * 10_000_000) % 2**32
    assert np.all(np.diff(unwrapped(time, 2**32)) == 10_000_000)


@given(st.lists(st.integers(-(2**61), 2**61), max_size=60))
def test_any_stamps_become_increasing(stamps):
    settled = settle(np.array(stamps, np.int64))
    assert np.all(np.diff(settled.time) > 0)
    assert np.array_equal(np.array(stamps, np.int64)[settled.remaining], settled.time)


@pytest.mark.parametrize("write", [writers.ulog, writers.usd, writers.dataflash, writers.table])
def test_a_gap_in_a_log_is_in_its_notes(flown, tmp_path, write):
    parted = flown
    for name in flown.names:
        channel = flown[name]
        seconds = (channel.time - flown.start) * 1e-9
        keep = (seconds < 1.5) | (seconds > 1.801)
        parted = parted.with_channel(replace(channel, time=channel.time[keep], values=channel.values[keep]))
    write(parted, tmp_path / "log")
    notes = [note for note in read(tmp_path / "log").notes if note.startswith("gaps")]
    assert any("imu.gyro" in note and "the longest 31" in note for note in notes)
