"""Drawn vehicles stand where a hand calculation puts them."""

import numpy as np
import pytest

from haltere.airframe import from_catalogue, loads
from haltere.dynamics import Model
from haltere.dynamics.rigid import MassProperties
from haltere.foundation import HaltereError
from haltere.report.drawing import scene, shapes
from haltere.report.drawing.vehicle import disc_radius, draw

# A tilting wing with a rotor on the left, a fixed rotor on the right, and sensors. At +90 degrees about y, the
# link's z axis points along the body's x axis and its x axis along the body's -z axis.
TEXT = """
name = "lopsided"
[body]
mass = 1.0
inertia = [0.01, 0.01, 0.02, 0, 0, 0]
[[links]]
name = "wing"
joint = { origin = [0.3, 0.4, 0.1], axis = [0, 1, 0] }
mass = 0.5
com = [0, 0, 0.2]
inertia = [1e-3, 1e-3, 1e-3, 0, 0, 0]
wing = { area = 0.06, span = 0.3, chord = 0.2, frame = { position = [0, 0, 0.05] }, coefficients = { kind = "wind" } }
[[rotors]]
name = "left"
link = "wing"
position = [0, 0, 0.2]
axis = [0, 0, 1]
spin = "ccw"
thrust_coefficient = 1e-5
torque_ratio = 0.01
[[rotors]]
name = "right"
position = [0, -0.5, 0]
axis = [0, 0, 2]
spin = "cw"
thrust_coefficient = 2e-5
torque_ratio = 0.01
[imu]
position = [0.05, 0, 0]
wxyz = [0.7071067811865476, 0, 0, 0.7071067811865476]
[pose]
link = "wing"
position = [0.1, 0, 0]
"""
UPRIGHT, FORWARD = [0.0], [np.pi / 2]


@pytest.fixture(scope="module")
def airframe():
    return loads(TEXT)


def centre(part):
    return part.mesh.vertices[0]


def normal(part):
    """Unit normal of a disc, right-handed with the order of its rim."""
    a, b = part.mesh.vertices[1] - centre(part), part.mesh.vertices[2] - centre(part)
    return shapes.unit(np.cross(a, b))


@pytest.mark.parametrize(
    ("angles", "where", "axis"),
    [(UPRIGHT, (0.3, 0.4, 0.3), (0, 0, 1)), (FORWARD, (0.5, 0.4, 0.1), (1, 0, 0))],
)
def test_rotors_follow_their_link(airframe, angles, where, axis):
    left, right = draw(airframe, angles).of_kind("rotor")
    assert (left.name, right.name) == ("left", "right")
    assert centre(left) == pytest.approx(where)
    assert normal(left) == pytest.approx(axis, abs=1e-12)
    assert centre(right) == pytest.approx((0.0, -0.5, 0.0))
    assert normal(right) == pytest.approx((0, 0, 1), abs=1e-12)


def test_thrust_arrows_point_along_the_axis_and_show_the_thrust(airframe):
    drawing = draw(airframe, FORWARD)
    left, right = (part.mesh.vertices for part in drawing.of_kind("thrust"))
    reach_left = (left - np.array([0.5, 0.4, 0.1])) @ np.array([1.0, 0.0, 0.0])
    reach_right = (right - np.array([0.0, -0.5, 0.0])) @ np.array([0.0, 0.0, 1.0])
    assert reach_right.max() == pytest.approx(
        2.0 * reach_left.max()
    )  # twice the thrust coefficient, equal speed
    faster = draw(airframe, FORWARD, rotor_rates=[2.0, 1.0])
    left = faster.of_kind("thrust")[0].mesh.vertices
    assert (left[:, 0] - 0.5).max() == pytest.approx(reach_right.max())  # 1e-5 * 4 is now the largest


def test_reversed_rotors_push_the_other_way(airframe):
    right = draw(airframe, UPRIGHT, rotor_rates=[1.0, -1.0]).of_kind("thrust")[1].mesh.vertices
    assert right[:, 2].max() < 0.05
    assert right[:, 2].min() < -0.2


@pytest.mark.parametrize(("name", "sense"), [("left", 1.0), ("right", -1.0)])
def test_the_arrow_on_the_rim_turns_as_the_rotor_does(airframe, name, sense):
    drawing = draw(airframe, UPRIGHT)
    disc = next(p for p in drawing.of_kind("rotor") if p.name == name)
    turn = next(p for p in drawing.of_kind("spin") if p.name == name)
    tip, base = turn.mesh.vertices[-1], turn.mesh.vertices[-18]  # the cone: base centre, 16 on its rim, tip
    assert np.sign(np.cross(base - centre(disc), tip - base)[2]) == sense


def test_wings_have_their_size_and_place(airframe):
    (wing,) = draw(airframe, FORWARD).of_kind("wing")
    low, high = wing.mesh.vertices.min(axis=0), wing.mesh.vertices.max(axis=0)
    assert 0.5 * (low + high)[1:] == pytest.approx([0.4, 0.1])
    assert (high - low)[1:] == pytest.approx([0.3, 0.2])  # span along y, chord now along z
    assert low[0] < 0.35 < high[0]


def test_sensors_show_their_axes(airframe):
    parts = draw(airframe, FORWARD).of_kind("sensor")
    assert [part.name for part in parts] == ["imu"] * 3 + ["pose"] * 3
    imu_x, pose_x = parts[0].mesh.vertices[-1], parts[3].mesh.vertices[-1]
    assert shapes.unit(imu_x - np.array([0.05, 0.0, 0.0])) == pytest.approx((0, 1, 0), abs=1e-9)
    assert shapes.unit(pose_x - np.array([0.3, 0.4, 0.0])) == pytest.approx((0, 0, -1), abs=1e-9)


def test_the_centre_of_mass_is_that_of_all_bodies(airframe):
    expected = 0.5 * np.array([0.3 + 0.2, 0.4, 0.1]) / 1.5
    drawing = draw(airframe, FORWARD)
    (ball,) = drawing.of_kind("com")
    assert drawing.com == pytest.approx(expected)
    assert ball.mesh.vertices.mean(axis=0) == pytest.approx(expected, abs=1e-3)


def test_mass_properties_by_hand(airframe):
    whole = MassProperties.of(Model.from_airframe(airframe), FORWARD)
    apart = np.array([0.5, 0.4, 0.1])  # from the body's centre of mass to the wing's
    reduced = 1.0 * 0.5 / 1.5
    expected = np.diag([0.011, 0.011, 0.021]) + reduced * (apart @ apart * np.eye(3) - np.outer(apart, apart))
    assert whole.mass == pytest.approx(1.5)
    assert whole.inertia == pytest.approx(expected)


def test_the_figure_has_a_trace_for_every_rotor_and_equal_axes(airframe):
    figure = scene.vehicle_figure(airframe, FORWARD)
    kinds = [trace.meta for trace in figure.data]
    assert kinds.count("rotor") == kinds.count("spin") == kinds.count("thrust") == 2
    assert kinds.count("wing") == 1
    assert {"ground", "shadow", "labels", "com", "hull"} <= set(kinds)
    left = next(trace for trace in figure.data if trace.meta == "rotor" and trace.name == "left")
    assert (left.x[0], left.y[0], left.z[0]) == pytest.approx((0.5, 0.4, 0.1))
    texts = next(trace for trace in figure.data if trace.meta == "labels").text
    assert {"left", "right", "imu", "pose", "CoM"} <= set(texts)
    assert figure.layout.scene.aspectmode == "data"


def test_the_ground_is_below_everything(airframe):
    figure = scene.vehicle_figure(airframe)
    solid = [trace for trace in figure.data if trace.type == "mesh3d" and trace.meta != "shadow"]
    ground = next(trace for trace in figure.data if trace.meta == "ground")
    assert np.nanmax(ground.z) < min(float(np.min(trace.z)) for trace in solid if len(trace.z))


def test_along_a_path_the_vehicle_is_placed_in_the_world(airframe):
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    path = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 1.0]])
    drawings = [draw(airframe, UPRIGHT), draw(airframe, UPRIGHT)]
    figure = scene.path_figure(drawings, [np.eye(3), quarter], path, path, (0.0, 1.0))
    rotors = [trace for trace in figure.data if trace.meta == "rotor"]
    assert [trace.name for trace in rotors] == ["t = 0.00 s", "t = 1.00 s"]
    # The left rotor's centre (0.3, 0.4, 0.3) in the body, turned by a quarter about z and moved.
    assert (rotors[1].x[0], rotors[1].y[0], rotors[1].z[0]) == pytest.approx((1.6, 0.3, 1.3))


@pytest.mark.parametrize("name", ["hummingbird", "hexa-tilted", "quad-arm"])
def test_vehicles_of_the_catalogue_can_be_drawn(name):
    airframe = from_catalogue(name)
    figure = scene.vehicle_figure(airframe)
    assert [trace.meta for trace in figure.data].count("rotor") == len(airframe.rotors)
    assert all(np.isfinite(trace.x).all() for trace in figure.data if trace.type == "mesh3d")


def test_discs_do_not_touch():
    centres = np.array([[0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, 0.5, 0.0]])
    assert 2.0 * disc_radius(centres, 0.5) < 0.4
    assert disc_radius(centres[:1], 0.5) > 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(([0.0, 0.0],), "expected \\(1,\\).*wing"), (([0.0], [1.0]), "expected \\(2,\\)")],
)
def test_wrong_numbers_of_joints_and_rotors_are_named(airframe, arguments, words):
    with pytest.raises(HaltereError, match=words):
        draw(airframe, *arguments)


@pytest.mark.parametrize(("reach", "step"), [(2.0, 1.0), (1.9, 0.5), (0.9, 0.2), (30.0, 10.0)])
def test_the_grid_has_a_round_spacing(reach, step):
    assert scene.grid_step(reach) == pytest.approx(step)
