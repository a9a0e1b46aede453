"""Every fault is one line that names the file, the field, what was got and what to give.

`faults.txt` holds a change to a sound vehicle (a TOML value at a path, or `is missing`) and under it the line that
must follow.
"""

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from haltere.airframe import Airframe, AirframeError, Body, Joint, Link, Rotor, loads
from haltere.foundation import HaltereError

SOUND = """
name = "test"

[body]
mass = 1.0
inertia = [0.01, 0.01, 0.015, 0, 0, 0]
drag = { linear = [0.1, 0.1, 0.2] }

[[links]]
name = "arm"
joint = { origin = [0, 0.1, 0], axis = [0, 1, 0], limits = [-1, 1] }
mass = 0.1
inertia = [1e-4, 1e-4, 1e-4, 0, 0, 0]

[links.wing]
area = 0.05
span = 0.4
chord = 0.12
coefficients = { kind = "wind", alpha = [-0.1, 0.1], beta = [-0.2, 0, 0.2], CL = [0.1, 0.3] }

[[links]]
name = "hand"
parent = "arm"
joint = { axis = [0, 1, 0] }
mass = 0.0

[[rotors]]
name = "front"
position = [0.2, 0, 0]
axis = [0, 0, 1]
spin = "ccw"
thrust_coefficient = 1e-5
torque_ratio = 0.016
speed_limits = [0, 800]

[[rotors]]
name = "back"
position = [-0.2, 0, 0]
axis = [0, 0, 1]
spin = "cw"
thrust_coefficient = 1e-5
torque_ratio = 0.016

[imu]
position = [0, 0, 0]
rate = 200

[[pose]]
name = "mocap"
position = [0, 0, 0]

[[pose]]
name = "camera"
position = [0, 0, 0.1]
"""
FAULTS = (Path(__file__).parent / "faults.txt").read_text(encoding="utf-8").splitlines()


def broken(change: str) -> str:
    """TOML of the sound vehicle after a change such as `rotors.0.axis = [0, 0, 0]` or `body.mass is missing`."""
    path, _, value = change.partition(" = ")
    *steps, last = [
        int(step) if step.isdigit() else step for step in path.removesuffix(" is missing").split(".")
    ]
    data = tomllib.loads(SOUND)
    place: Any = data
    for step in steps:
        place = place[step]
    if value:
        place[last] = tomllib.loads(f"value = {value}")["value"]
    else:
        del place[last]
    return tomli_w.dumps(data)


def line_of(text: str) -> str:
    with pytest.raises(AirframeError) as caught:
        loads(text, "my.toml")
    return str(caught.value)


def test_the_vehicle_to_break_is_sound():
    assert [rotor.name for rotor in loads(SOUND, "my.toml").rotors] == ["front", "back"]


@pytest.mark.parametrize(
    ("change", "words"), list(zip(FAULTS[::2], FAULTS[1::2], strict=True)), ids=FAULTS[::2]
)
def test_fault(change, words):
    assert line_of(broken(change)) == f"my.toml: {words.strip()}"


def test_unknown_fields_come_first_and_the_others_are_counted():
    text = SOUND.replace("mass = 1.0", "mas = 1.0")
    assert line_of(text) == "my.toml: body: mas: unknown field; did you mean 'mass'? (and 1 more)"


def test_a_number_too_large_for_a_float():
    assert "body: mass: got a number too large" in line_of(
        SOUND.replace("mass = 1.0", f"mass = 1{'0' * 400}")
    )


def test_long_and_multiline_values_stay_on_one_line():
    text = SOUND.replace('name = "test"', 'name = """a\n' + "b" * 300 + '"""')
    line = line_of(text)
    assert "\n" not in line
    assert len(line) < 200
    assert line_of(SOUND + '\n["a\\nb"]\n').startswith(r"my.toml: 'a\nb': unknown field")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name = ", "my.toml: line 1, end of the text: "),
        ('name = "a"\n[body', "my.toml: line 2, end of the text: "),
        ('name = "a"\nmass = 1 kg\n', "my.toml: line 2, column 10: "),
        ('name = "a"\nname = "b"\n', "my.toml: line 2, column "),
        ("a = " + "[" * 5000, "my.toml: is no sound TOML (nested too deeply); "),
        ("", "my.toml: name: missing; "),
    ],
)
def test_what_is_no_toml(text, line):
    found = line_of(text)
    assert found.startswith(line)
    assert "\n" not in found
    assert "; " in found


def test_faults_are_errors_of_the_project():
    assert issubclass(AirframeError, HaltereError)


ROTOR = {
    "position": (0, 0, 0),
    "axis": (0, 0, 1),
    "spin": "ccw",
    "thrust_coefficient": 1e-5,
    "torque_ratio": 0.016,
}


def test_parts_made_in_python_speak_the_same_way():
    with pytest.raises(AirframeError, match=r"^Rotor: axis: got \(0, 0, 0\), which has no direction; give"):
        Rotor(**{**ROTOR, "name": "a", "axis": (0, 0, 0)})
    with pytest.raises(AirframeError, match=r"^Link: joint.axis: missing"):
        Link(name="a", mass=0, joint={"origin": (0, 0, 0)})
    with pytest.raises(AirframeError, match=r"^Rotor: colour: unknown field; known are name, link"):
        Rotor(**ROTOR, name="a", colour="red")
    body = Body(mass=1, inertia=(1, 1, 1, 0, 0, 0))
    twice = [Rotor(**ROTOR, name="a")] * 2
    with pytest.raises(AirframeError, match=r"^Airframe: rotors\[1\] 'a': name: 'a' is taken by rotors\[0\]"):
        Airframe(name="x", body=body, rotors=twice)


def test_parts_never_change():
    joint = Joint(axis=(0, 0, 1))
    with pytest.raises(ValueError, match="frozen"):
        joint.axis = (1, 0, 0)
    assert joint == copy.copy(joint)
    assert hash(joint) == hash(Joint(axis=(0, 0, 1)))
