"""Vehicles of the catalogue: sound, sourced, able to hover, and as their papers say."""

import math
import re

import numpy as np
import pytest

from haltere.airframe import (
    Airframe,
    AirframeError,
    catalogue_names,
    catalogue_text,
    dumps,
    from_catalogue,
    load_airframe,
    loads,
    save,
)

NAMES = catalogue_names()
EXPECTED = {
    "coaxial": (4.5, 8),
    "crazyflie": (0.027, 4),
    "hexa-tilted": (0.41, 6),
    "hong-fixed-wing": (1.58, 4),
    "hong-quadrotor": (1.08, 4),
    "hong-tilt-rotor": (1.4, 4),
    "hong-tilt-wing": (2.08, 4),
    "hummingbird": (0.716, 4),
    "indiflight-3inch": (0.428, 4),
    "neo": (2.853, 6),
    "octorotor": (6.0, 8),
    "quad-arm": (2.25630769, 4),
    "x500": (2.06430769, 4),
}


def origins(airframe: Airframe) -> dict[str, np.ndarray]:
    """Origin of each link in the body frame, all angles zero."""
    found = {"body": np.zeros(3)}
    for i in airframe.link_order():
        link = airframe.links[i]
        found[link.name] = found[link.parent] + link.joint.origin
    return found


def lumps(airframe: Airframe) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Mass, place and inertia of every rigid part, in the body frame."""
    at = origins(airframe)
    parts = [(airframe.body, np.zeros(3))]
    parts += [(link, at[link.name]) for link in airframe.links]
    parts += [(rotor, at[rotor.link] + rotor.position) for rotor in airframe.rotors]
    return [(part.mass, origin + part.com, tensor(part.inertia)) for part, origin in parts]


def tensor(six) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def centre(airframe: Airframe) -> np.ndarray:
    return sum(mass * place for mass, place, _ in lumps(airframe)) / airframe.total_mass


def inertia(airframe: Airframe) -> np.ndarray:
    """Of the whole vehicle with all joints locked, about its centre of mass."""
    c = centre(airframe)
    total = np.zeros((3, 3))
    for mass, place, own in lumps(airframe):
        r = place - c
        total += own + mass * (r @ r * np.eye(3) - np.outer(r, r))
    return total


def effectiveness(airframe: Airframe) -> np.ndarray:
    """(6, R) force and moment about the centre of mass of each rotor at its top speed."""
    at, c, columns = origins(airframe), centre(airframe), []
    for rotor in airframe.rotors:
        assert rotor.speed_limits is not None
        axis, sense = np.array(rotor.axis), {"ccw": 1, "cw": -1}[rotor.spin]
        arm = at[rotor.link] + rotor.position - c
        moment = np.cross(arm, axis) - sense * rotor.torque_ratio * axis
        columns.append(rotor.thrust_coefficient * rotor.speed_limits[1] ** 2 * np.r_[axis, moment])
    return np.array(columns).T


def test_what_the_catalogue_holds():
    assert list(EXPECTED) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_entry(name):
    airframe = from_catalogue(name)
    mass, rotors = EXPECTED[name]
    assert airframe.name == name
    assert airframe.description
    assert airframe.total_mass == pytest.approx(mass, rel=1e-8)
    assert len(airframe.rotors) == rotors
    assert loads(dumps(airframe)) == airframe


@pytest.mark.parametrize("name", NAMES)
def test_every_value_names_its_source(name):
    for line in catalogue_text(name).splitlines():
        key, equals, rest = line.partition(" = ")
        if equals and line[0] != "#" and key not in ("name", "description"):
            assert re.search(r"  # \S.*\w", rest), line


@pytest.mark.parametrize("name", NAMES)
def test_it_can_hover_and_turn(name):
    airframe = from_catalogue(name)
    effect = effectiveness(airframe)
    assert effect[2].sum() > 1.3 * airframe.total_mass * 9.81
    assert np.linalg.matrix_rank(effect) >= 4
    even = effect.sum(axis=1)
    assert np.abs(even[[0, 1, 3, 4, 5]]).max() < 1e-9 * even[2]


@pytest.mark.parametrize(
    ("name", "hub", "motor", "arm", "count"),
    [
        ("octorotor", (4.0, 0.12, 0.12), (0.16, 0.5, 0.0), (0.09, 0.1, 0.5), 8),
        ("coaxial", (2.9, 0.10, 0.12), (0.13, 0.35, 0.04), (0.14, 0.08, 0.35), 4),
    ],
)
def test_made_up_inertia_is_that_of_its_parts(name, hub, motor, arm, count):
    mass, radius, height = hub
    total = np.array([3 * radius**2 + height**2] * 2 + [6 * radius**2]) * mass / 12
    each, place, up = motor
    total += 8 * each * np.array([0.5 * place**2 + up**2] * 2 + [place**2])
    rod, inner, outer = arm
    square = (outer**3 - inner**3) / (3 * (outer - inner))
    total += count * rod * np.array([0.5, 0.5, 1.0]) * square
    body = from_catalogue(name).body
    assert body.inertia[:3] == pytest.approx(total, rel=2e-3)
    assert body.mass == pytest.approx(mass + 8 * each + count * rod)


def test_hong_layouts():
    quadrotor = from_catalogue("hong-quadrotor")
    assert [rotor.spin for rotor in quadrotor.rotors] == ["cw", "ccw", "cw", "ccw"]
    angles = [math.atan2(rotor.position[1], rotor.position[0]) for rotor in quadrotor.rotors]
    assert angles == pytest.approx([math.pi, -math.pi / 2, 0, math.pi / 2])
    tilting = from_catalogue("hong-tilt-rotor")
    assert [link.joint.fixed for link in tilting.links] == [False] * 4
    for link in tilting.links:
        assert link.joint.axis == pytest.approx(np.array(link.joint.origin) / 0.25)
    winged = from_catalogue("hong-fixed-wing")
    assert [link.joint.fixed for link in winged.links] == [True, True]
    # Signs of roll and pitch in equation (80).
    roll, pitch, yaw = np.sign(effectiveness(winged)[3:])
    assert roll.tolist() == [1, -1, -1, 1]
    assert pitch.tolist() == [1, 1, -1, -1]
    assert yaw.tolist() == [1, -1, 1, -1]
    assert sum(link.wing is not None for link in from_catalogue("hong-tilt-wing").links) == 4


def test_neo_keeps_the_printed_ratios_that_are_possible():
    neo = from_catalogue("neo")
    full = neo.rotors[0].thrust_coefficient * 1047.2**2
    assert full / neo.body.mass == pytest.approx(4.5, rel=1e-6)
    assert [full / moment for moment in neo.body.inertia[:2]] == pytest.approx([81, 78], rel=1e-4)
    assert full * neo.rotors[0].torque_ratio / neo.body.inertia[2] == pytest.approx(3.9, rel=1e-3)
    assert np.sum([rotor.axis for rotor in neo.rotors], axis=0) == pytest.approx(
        [0, 0, 6 * math.cos(math.radians(5))], abs=1e-12
    )
    assert neo.total_mass * 9.81 / (6 * full * math.cos(math.radians(5))) == pytest.approx(0.365, abs=5e-4)


def test_hexarotor_is_the_authors_in_other_axes():
    hexa = from_catalogue("hexa-tilted")
    assert np.linalg.matrix_rank(effectiveness(hexa)) == 6
    for rotor in hexa.rotors:
        axis = np.array(rotor.axis)
        assert math.degrees(math.acos(axis[2])) == pytest.approx(20)
        assert axis @ rotor.position == pytest.approx(0, abs=1e-9)
        assert tensor(rotor.inertia) @ axis == pytest.approx(1e-6 * axis, abs=1e-18)
    # In the axes of the authors, rolled by 45 degrees and with y right and z down, the inertia is diagonal.
    half = math.sqrt(0.5)
    roll = np.diag([1.0, -1, -1]) @ np.array([[1, 0, 0], [0, half, -half], [0, half, half]]).T
    authors = roll.T @ inertia(hexa) @ roll
    assert authors == pytest.approx(0.75e-3 * np.diag([0.75, 0.8, 0.9]), abs=1e-12)


def test_three_inch_quadrotor_has_the_bench_effectiveness():
    quadrotor = from_catalogue("indiflight-3inch")
    assert np.diag(inertia(quadrotor)) == pytest.approx([7.206e-4, 7.70e-4, 8.90e-4], rel=1e-4)
    per_speed = effectiveness(quadrotor) / 4113.06**2
    flip = np.array([1, -1, -1])
    turning = flip[:, None] * per_speed[3:] / np.diag(inertia(quadrotor))[:, None] * 1e6
    assert turning[0] == pytest.approx([-23.44, -23.44, 23.44, 23.44], rel=1e-3)
    assert turning[1] == pytest.approx([-15.72, 15.72, -15.72, 15.72], rel=1e-3)
    assert turning[2] == pytest.approx([-2.989, 2.989, 2.989, -2.989], rel=1e-3)


def test_arm_hangs_down_and_swings_forward():
    arm = from_catalogue("quad-arm")
    upper, fore = arm.links
    assert (fore.parent, fore.joint.origin[2], upper.com[2]) == ("upper_arm", -0.0733, -0.9 * 0.0733)
    assert np.cross(upper.joint.axis, upper.com)[0] > 0


def test_names_and_paths(tmp_path, monkeypatch):
    hummingbird = from_catalogue("hummingbird")
    assert load_airframe("hummingbird") == hummingbird
    monkeypatch.chdir(tmp_path)
    save(from_catalogue("neo"), "hummingbird.toml")
    assert load_airframe("hummingbird") == hummingbird
    assert load_airframe("hummingbird.toml").name == "neo"
    assert load_airframe(tmp_path / "hummingbird.toml").name == "neo"
    with pytest.raises(
        AirframeError, match=r"'humingbird' is neither a file .* did you mean 'hummingbird'\?"
    ):
        load_airframe("humingbird")
    with pytest.raises(AirframeError, match=r"missing.toml: no such file"):
        load_airframe("missing.toml")
    with pytest.raises(AirframeError, match="is a directory"):
        load_airframe(f"{tmp_path}/")
    for name in ("", "../airframe", "Hummingbird"):
        with pytest.raises(AirframeError):
            load_airframe(name)
