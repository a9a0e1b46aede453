"""The centre of gravity over simulated flights: offsets that are known, marks, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.identification.dropping_flight import DROP, mass_and_center, scenario_file

import haltere as ht
from haltere.foundation import HaltereError

Z95 = 1.96


@pytest.fixture(scope="module")
def flight(tmp_path_factory):
    return ht.simulate(scenario_file(tmp_path_factory.mktemp("dropping")))


@pytest.fixture(scope="module")
def found(flight):
    return ht.track_cog(flight, "hummingbird")


@pytest.fixture(scope="module")
def marked(flight):
    return ht.track_cog(flight, "hummingbird", marks=[DROP])


def at(history, time):
    return int(np.searchsorted(history.time, time)) - 1


@pytest.mark.parametrize("time", [DROP - 0.3, 13.8])
def test_offsets_and_mass_are_recovered(found, marked, time):
    mass, center = mass_and_center(loaded=time < DROP)
    for history in (found, marked):
        k = at(history, time)
        assert np.all(np.abs(history.trim[k, :2] - center[:2]) < 1e-3)
        assert np.all(np.abs(history.trim[k, :2] - center[:2]) < 4 * history.trim_sigma[k, :2])
        assert np.all(np.abs(history.com[k, :2] - center[:2]) < Z95 * history.sigma[k, :2])
        assert abs(history.mass[k] - mass) < Z95 * history.mass_sigma[k]


def test_a_position_is_no_surer_than_rotors_unlike_the_file_leave_it(found):
    arm = np.hypot(*np.array([r.position for r in ht.load_airframe("hummingbird").rotors])[:, :2].T).max()
    expected = 0.04 * arm / np.sqrt(8.0)  # four rotors of 4 %, each a quarter of the thrust
    assert np.all(found.sigma[-1, :2] > expected)
    assert np.all(found.sigma[-1, :2] < 1.5 * expected)
    assert np.all(found.trim_sigma[-1, :2] < 0.5 * expected)


def test_the_height_is_not_observable_in_a_hover(found):
    assert np.isnan(found.com[:, 2]).all()
    assert np.isnan(found.sigma[:, 2]).all()
    assert np.isnan(found.trim[:, 2]).all()
    assert any("not observable in a hover" in note for note in found.notes)


def test_a_drop_is_found_without_a_mark(found):
    (event,) = found.events
    (loaded, before), (empty, after) = mass_and_center(loaded=True), mass_and_center(loaded=False)
    assert event.kind == "change"
    assert DROP - 0.1 < event.time < DROP + 0.5
    assert np.all(np.abs(event.change - (after - before))[:2] < 3 * event.sigma[:2])
    assert np.all(event.sigma[:2] < 1.5e-3)
    assert abs(event.mass_change - (empty - loaded)) < 3 * event.mass_change_sigma


def test_a_marked_drop_counts_from_its_mark(marked):
    (event,) = marked.events
    change = mass_and_center(loaded=False)[1] - mass_and_center(loaded=True)[1]
    assert event.kind == "mark"
    assert event.time == pytest.approx(DROP, abs=0.01)
    for k in (at(marked, DROP + 1.0), -1):
        assert np.all(np.abs(marked.change[k] - change)[:2] < 3 * marked.change_sigma[k, :2])
        assert np.all(marked.change_sigma[k, :2] < 1.5e-3)


def test_a_vehicle_that_does_not_fly_is_refused(flight):
    channels = []
    for channel in flight.channels.values():
        values = channel.values
        if channel.name in ("rotors.speed", "rotors.command", "imu.gyro"):
            values = np.zeros_like(values)
        if channel.name == "imu.accel":
            values = np.tile([0.0, 0.0, 9.81], (len(values), 1))
        channels.append(replace(channel, values=values))
    with pytest.raises(HaltereError):
        ht.track_cog(ht.Flight.of(*channels), "hummingbird")


def test_other_rotors_and_marks_outside_are_refused(flight):
    with pytest.raises(HaltereError, match="4 rotors, the airframe neo 6; give its own airframe"):
        ht.track_cog(flight, "neo")
    with pytest.raises(HaltereError, match="mark at 99 s, expected one between"):
        ht.track_cog(flight, "hummingbird", marks=[99.0])


def test_the_file_of_another_vehicle_is_doubted(flight, marked):
    """Twice as heavy by its file, and so with other thrust: what it says of positions is in doubt."""
    vehicle = ht.load_airframe("hummingbird")
    heavy = vehicle.model_copy(
        update={"body": vehicle.body.model_copy(update={"mass": 2.0 * vehicle.body.mass})}
    )
    notes = ht.track_cog(flight.between(0.0, DROP - 1.0), heavy).notes
    assert any("of what its airframe file says" in note for note in notes)
    assert not any("airframe file" in note for note in marked.notes)
