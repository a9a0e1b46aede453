import json

import numpy as np
import pytest

from haltere.airframe import loads
from haltere.dynamics import Model
from haltere.dynamics.state_file import StateFileError, parse_state, read_state

VEHICLE = """
name = "test"
[body]
mass = 1.0
inertia = [0.01, 0.01, 0.02, 0, 0, 0]
[[links]]
name = "hand"
parent = "arm"
joint = { origin = [0.1, 0, 0], fixed = true }
mass = 0.1
inertia = [1e-3, 1e-3, 1e-3, 0, 0, 0]
[[links]]
name = "arm"
joint = { origin = [0, 0, -0.1], axis = [0, 1, 0] }
mass = 0.1
inertia = [1e-3, 1e-3, 1e-3, 0, 0, 0]
[[links]]
name = "wing"
joint = { origin = [0, 0.2, 0], axis = [0, 1, 0] }
mass = 0.1
inertia = [1e-3, 1e-3, 1e-3, 0, 0, 0]
[[rotors]]
name = "front"
position = [0.2, 0, 0]
axis = [0, 0, 1]
spin = "ccw"
thrust_coefficient = 1e-5
torque_ratio = 0.016
[[rotors]]
name = "back"
position = [-0.2, 0, 0]
axis = [0, 0, 1]
spin = "cw"
thrust_coefficient = 1e-5
torque_ratio = 0.016
mass = 0.01
inertia = [1e-5, 1e-5, 2e-5, 0, 0, 0]
"""


@pytest.fixture(scope="module")
def model():
    return Model.from_airframe(loads(VEHICLE))


def parse(model, **entries):
    return parse_state(json.dumps(entries), model, "s.json")


def test_an_empty_file_is_rest_on_earth(model):
    state, drive, environment, wrenches = parse_state("{}", model)
    np.testing.assert_array_equal(state.wxyz, [1, 0, 0, 0])
    np.testing.assert_array_equal(state.twist, np.zeros(6))
    np.testing.assert_array_equal(drive.rotors, np.zeros(2))
    assert not any(drive.joint_torque_given + drive.rotor_torque_given)
    np.testing.assert_array_equal(environment.gravity, [0, 0, -9.81])
    assert environment.air_density == 1.225
    assert wrenches.shape == (4, 6)
    assert not wrenches.any()


def test_every_entry_lands_where_its_name_says(model):
    state, drive, environment, wrenches = parse(
        model,
        position=[1, 2, 3],
        wxyz=[0.6, 0.8, 0, 0],
        linear_velocity=[4, 5, 6],
        angular_velocity=[7, 8, 9],
        joints={"wing": {"angle": 0.1, "rate": 0.2, "torque": 0.3}, "arm": {"acceleration": -0.5}},
        rotors={"back": {"angle": 1, "rate": 500, "acceleration": -10}},
        gravity=[0, 1, -9],
        wind=[1, -1, 0.5],
        air_density=1.1,
        wrenches={"hand": {"torque": [1, 2, 3]}, "body": [6, 5, 4, 3, 2, 1]},
    )
    wing, arm = (model.topology.joint_names.index(name) for name in ("wing", "arm"))
    np.testing.assert_array_equal(state.position, [1, 2, 3])
    np.testing.assert_allclose(state.wxyz, [0.6, 0.8, 0, 0], atol=1e-16)
    np.testing.assert_array_equal(state.twist, [4, 5, 6, 7, 8, 9])
    assert (state.joint_angles[wing], state.joint_rates[wing], drive.joints[wing]) == (0.1, 0.2, 0.3)
    assert (state.joint_angles[arm], drive.joints[arm]) == (0.0, -0.5)
    assert (drive.joint_torque_given[wing], drive.joint_torque_given[arm]) == (True, False)
    np.testing.assert_array_equal(state.rotor_rates, [0, 500])
    np.testing.assert_array_equal(drive.rotors, [0, -10])
    np.testing.assert_array_equal(environment.gravity, [0, 1, -9])
    np.testing.assert_array_equal(environment.wind, [1, -1, 0.5])
    links = model.topology.link_names
    np.testing.assert_array_equal(wrenches[links.index("hand")], [0, 0, 0, 1, 2, 3])
    np.testing.assert_array_equal(wrenches[links.index("body")], [6, 5, 4, 3, 2, 1])
    assert np.count_nonzero(wrenches) == 9


def test_a_rotor_with_inertia_can_be_driven_by_torque(model):
    drive = parse(model, rotors={"back": {"torque": 0.1}})[1]
    assert drive.rotor_torque_given == (False, True)
    np.testing.assert_array_equal(drive.rotors, [0, 0.1])


def test_gravity_as_a_number_points_down(model):
    np.testing.assert_array_equal(parse(model, gravity=1.62)[2].gravity, [0, 0, -1.62])
    np.testing.assert_array_equal(parse(model, gravity=0)[2].gravity, [0, 0, 0])


def test_a_rounded_quaternion_is_scaled(model):
    wxyz = parse(model, wxyz=[0.7071068, 0, 0, 0.7071068])[0].wxyz
    assert np.linalg.norm(wxyz) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"positon": [0, 0, 0]}, ["positon", "did you mean 'position'"]),
        ({"position": [0, 0]}, ["position", "2 entries", "expected 3"]),
        ({"position": 3}, ["position", "got 3", "3 numbers"]),
        ({"position": [0, "x", 0]}, ["position[1]", '"x"', "number"]),
        ({"position": [0, True, 0]}, ["position[1]", "true"]),
        ({"wind": [0, 10**400, 0]}, ["wind[1]", "inf", "finite"]),
        ({"air_density": -1}, ["air_density", "-1"]),
        ({"gravity": -9.81}, ["gravity", "-9.81", "straight down", "[0, 0, -9.81]"]),
        ({"wxyz": [2, 0, 0, 0]}, ["wxyz", "length 2", "[1.0, 0.0, 0.0, 0.0]"]),
        ({"wxyz": [0, 0, 0, 0]}, ["wxyz", "length 0", "[1, 0, 0, 0]"]),
        ({"joints": {"wong": {}}}, ["joints", "wong", "did you mean 'wing'"]),
        ({"joints": {"zzz": {}}}, ["unknown joint 'zzz'", "wing"]),
        ({"joints": {"hand": {"rate": 1}}}, ["hand", "no joint that moves"]),
        ({"joints": {"wing": 3}}, ["joints.wing", "object"]),
        ({"joints": {"wing": {"speed": 1}}}, ["joints.wing", "speed", "rate"]),
        ({"joints": {"wing": {"torque": 1, "acceleration": 0}}}, ["joints.wing", "torque and acceleration"]),
        ({"rotors": {"frnt": {"rate": 1}}}, ["rotors", "did you mean 'front'"]),
        ({"rotors": {"front": {"rate": None}}}, ["rotors.front.rate", "null"]),
        ({"rotors": {"front": {"torque": 1}}}, ["rotors.front", "no inertia", "acceleration"]),
        ({"rotors": [1, 2]}, ["rotors", "object"]),
        ({"wrenches": {"bdy": [0] * 6}}, ["wrenches", "did you mean 'body'"]),
        ({"wrenches": {"body": [0] * 5}}, ["wrenches.body", "5 entries", "expected 6"]),
        ({"wrenches": {"body": {"forces": [0, 0, 0]}}}, ["wrenches.body", "'force'"]),
    ],
)
def test_faults_name_file_field_and_remedy(model, entries, words):
    with pytest.raises(StateFileError) as error:
        parse(model, **entries)
    message = str(error.value)
    assert message.startswith("s.json: ")
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"position": [0, NaN, 0]}', "position[1]: got nan"),
        ('{"air_density": Infinity}', "air_density: got inf"),
        ('{"position": [0, 1e999, 0]}', "position[1]: got inf"),
        ("{", "not JSON at line 1"),
        ("", "not JSON at line 1"),
        ("[]", "expected a JSON object"),
        ('{"wind": [0,0,0], "wind": [1,0,0]}', "'wind' stands twice"),
    ],
)
def test_faulty_text(model, text, word):
    with pytest.raises(StateFileError, match=r"^<text>: ") as error:
        parse_state(text, model)
    assert word in str(error.value)


def test_files_are_read_and_missing_ones_named(model, tmp_path):
    path = tmp_path / "state.json"
    path.write_text('{"position": [1, 2, 3]}', encoding="utf-8")
    np.testing.assert_array_equal(read_state(path, model)[0].position, [1, 2, 3])
    with pytest.raises(StateFileError, match=r"nothing\.json.*cannot be read"):
        read_state(tmp_path / "nothing.json", model)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StateFileError, match="UTF-8"):
        read_state(path, model)
