"""One rotor's telemetry at fault: found, the right rotor named, not used; rotors that are really different are not."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.unit.identification.made_flight import MASS, NAMES, PLACES, SPINS, K, airframe, made

from haltere.doctor.diagnosis import diagnose
from haltere.flight.window import IdentifyError
from haltere.identification.pipeline import identify

flown = cache(made)


def altered(flight, rotor, change):
    channel = flight["rotors.speed"]
    values = np.array(channel.values)
    values[:, rotor] = change(values[:, rotor], channel.seconds(int(channel.time[0])))
    return flight.with_channel(replace(channel, values=values))


def dead(values, seconds):
    return np.zeros_like(values)


def dying(values, seconds):
    return np.where(seconds > 6.5, 0.0, values)


def lost(values, seconds):
    return np.where(seconds > 6.5, np.nan, values)


def zeros(values, seconds):
    return np.where((7.0 * seconds) % 1.0 < 0.15, 0.0, values)


def jumps(values, seconds):
    return np.where(np.arange(len(values)) % 20 == 3, 1.4 * values, values)


def holds(values, seconds):
    places = np.arange(len(values))
    return values[np.where(places // 20 % 2, places // 20 * 20, places)]


def frozen(values, seconds):
    start = np.searchsorted(seconds, np.floor(seconds / 2.0) * 2.0 + 1.0)
    return np.where(seconds % 2.0 > 1.0, values[np.minimum(start, len(values) - 1)], values)


def half(values, seconds):
    return 0.5 * values


def double(values, seconds):
    return 2.0 * values


def halved_later(values, seconds):
    return np.where(seconds > 4.0, 0.5 * values, values)


KINDS = {
    dead: "motor-count",
    dying: "rotor-dead",
    lost: "rotor-dead",
    zeros: "rotor-stutter",
    jumps: "rotor-stutter",
    holds: "rotor-stutter",
    frozen: "rotor-frozen",
    half: "rotor-half",
    double: "rotor-double",
    halved_later: "rotor-half",
}


def findings_of(flight, nominal=None):
    return [finding for finding in diagnose(flight, nominal).findings if finding.rotors]


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("rotor", [0, 3])
def test_a_fault_is_found_and_its_rotor_named(fault, rotor):
    [finding] = findings_of(altered(flown(rotor + 1, pose=False), rotor, fault))
    assert (finding.kind, finding.rotors) == (KINDS[fault], (NAMES[rotor],))
    assert NAMES[rotor] in finding.evidence
    assert NAMES[rotor] in finding.remedy


@pytest.mark.parametrize(
    "fault", [dead, dying, zeros, jumps, holds, frozen, half, double, halved_later], ids=lambda f: f.__name__
)
def test_it_is_found_without_commands(fault):
    flight = flown(5, pose=False).without("rotors.command")
    [finding] = findings_of(altered(flight, 2, fault))
    assert (finding.kind, finding.rotors) == (KINDS[fault], (NAMES[2],))


@pytest.mark.parametrize(("fault", "kind"), [(half, "rotor-half"), (double, "rotor-double")])
def test_an_airframe_of_rotors_alike_makes_it_certain(fault, kind):
    found = diagnose(altered(flown(3, pose=False), 1, fault), airframe())
    assert [(f.kind, f.certain, f.rotors) for f in found.findings] == [(kind, True, (NAMES[1],))]
    assert np.isnan(found.mended["rotors.speed"].values[:, 1]).all()
    alone = diagnose(altered(flown(3, pose=False), 1, fault))
    assert [f.certain for f in alone.findings] == [False]
    assert np.isfinite(alone.mended["rotors.speed"].values).all()


def test_all_at_the_same_factor_is_a_matter_of_poles():
    channel = flown(3, pose=False)["rotors.speed"]
    scaled = flown(3, pose=False).with_channel(replace(channel, values=14.0 / 12.0 * channel.values))
    assert diagnose(scaled, airframe()).kinds() == ("rotor-scale",)


@pytest.mark.parametrize("factor", [0.3, 0.7, 0.85, 1.2, 1.6, 3.0])
def test_another_propeller_is_no_fault(factor):
    assert findings_of(altered(flown(4, pose=False), 1, lambda values, _: factor * values)) == []


def test_a_rotor_that_is_drawn_stronger_may_run_at_half_the_speed():
    drawn = airframe(SPINS, PLACES)
    rotors = list(drawn.rotors)
    rotors[2] = rotors[2].model_copy(update={"thrust_coefficient": 4.0 * K})
    flight = altered(flown(4, pose=False), 2, half)
    assert findings_of(flight, drawn.model_copy(update={"rotors": tuple(rotors)})) == []


def test_a_hover_without_noise_is_looked_at():
    """Speeds that differ by rounding only have no resolution."""
    flight = altered(flown(4, pose=False), 1, lambda values, _: 450.0 + 1e-9 * np.sin(np.arange(len(values))))
    assert diagnose(flight, airframe()).mended is not None


@pytest.mark.parametrize("step", [0.0, 2.0, 10.0])
def test_good_flights_raise_no_alarm(step):
    for seed in range(20, 24):
        flight = flown(seed, pose=False, lively=(0.05, 0.3, 1.0, 2.0)[seed % 4])
        channel = flight["rotors.speed"]
        rng = np.random.default_rng(seed)
        values = channel.values * (1.0 + 0.004 * rng.normal(size=channel.values.shape))
        values = np.round(values / step) * step if step else values
        coarse = flight.with_channel(replace(channel, values=values))
        assert findings_of(coarse) == []
        assert findings_of(coarse.without("rotors.command")) == []


def test_what_a_rotor_does_while_its_command_is_not_logged_is_no_fault():
    flight = flown(4, pose=False)
    command, speed = flight["rotors.command"], flight["rotors.speed"]
    time = command.seconds(int(speed.time[0]))
    kept = (time < 4.6) | (time > 6.2)
    gap = replace(command, time=command.time[kept], values=command.values[kept])

    def surge(values, seconds):
        return values * (1.0 + 0.4 * np.exp(-(((seconds - 5.4) / 0.25) ** 2)))

    moved = altered(flight, 2, surge)
    assert [f.kind for f in findings_of(moved)] != []
    assert [f.kind for f in findings_of(moved.with_channel(gap))] == []


def test_what_is_good_of_a_dying_rotor_is_used():
    mended = diagnose(altered(flown(2, pose=False), 1, dying)).mended["rotors.speed"]
    kept = np.isfinite(mended.values[:, 1])
    assert 0.7 < kept.mean() < 0.9
    assert np.all(mended.values[kept, 1] > 0.0)


@pytest.mark.parametrize("fault", [dead, holds, half], ids=lambda fault: fault.__name__)
def test_identify_goes_on_with_the_commands(fault):
    known = {"rotors.*.thrust_coefficient": K}
    result = identify(altered(flown(1, pose=False), 2, fault), known=known)
    assert result.method == "command"
    assert result.parameters["mass"].value is None
    assert any(NAMES[2] in note and "commands" in note for note in result.notes)
    assert NAMES[2] in result.next_steps[0]
    with pytest.raises(IdentifyError, match=NAMES[2]):
        identify(altered(flown(1, pose=False), 2, fault), known=known, method="effectiveness")


def test_the_mass_of_a_dying_rotor_holds():
    flight = altered(flown(2, pose=False), 1, dying)
    mass = identify(flight, known={"rotors.*.thrust_coefficient": K}).parameters["mass"]
    assert mass.interval[0] < MASS < mass.interval[1]


@pytest.mark.parametrize("fault", [holds, half], ids=lambda fault: fault.__name__)
def test_identify_refuses_a_log_without_commands(fault):
    flight = altered(flown(1, pose=False), 2, fault).without("rotors.command")
    with pytest.raises(IdentifyError, match=f"{NAMES[2]}.*log the motor commands"):
        identify(flight)


def test_columns_that_are_no_rotors_are_not_named():
    channel = flown(5, pose=False)["rotors.speed"]
    wide = np.hstack([channel.values, np.zeros((len(channel), 2))])
    more = replace(channel, values=wide, columns=(*channel.columns, "m5", "m6"))
    found = diagnose(flown(5, pose=False).without("rotors.command").with_channel(more))
    assert found.kinds() == ("motor-count",)
    assert found.findings[0].rotors == ()


def test_what_a_log_without_commands_leaves_open_gives_no_mass():
    """One rotor at 0.42 of the others: read at half, or little loaded."""
    flight = altered(flown(5, pose=False), 2, lambda values, _: 0.42 * values).without("rotors.command")
    found = diagnose(flight)
    assert [f for f in found.findings if f.rotors] == []
    [undecided] = [each for each in found.undecided if each.kind == "rotor-factor"]
    assert NAMES[2] in undecided.reason
    result = identify(flight, known={"rotors.*.thrust_coefficient": K})
    assert result.parameters["mass"].verdict == "unobservable"
    assert "airframe" in result.parameters["mass"].fix
