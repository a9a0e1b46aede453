"""Files and texts become airframes; the format is the one that users were promised."""

import subprocess
import sys

import pytest

from haltere.airframe import AirframeError, Imu, dumps, load, loads

PROMISED = """
name = "hummingbird"
[body]                       # the base link; mass, com, inertia about the com, in body axes
mass = 0.716
com = [0.0, 0.0, 0.0]
inertia = [7.5e-3, 7.5e-3, 1.3e-2, 0.0, 0.0, 0.0]   # xx yy zz xy xz yz

[[links]]                    # tilt mechanisms, wings, arm segments: a tree
name = "left_wing"
parent = "body"
joint = { origin = [0.0, 0.3, 0.0], axis = [0.0, 1.0, 0.0], limits = [-1.6, 1.6] }
mass = 0.1
com = [0.0, 0.1, 0.0]        # in the link frame: at the joint origin, axes parallel to the parent's at angle zero
inertia = [1e-3, 1e-4, 1e-3, 0, 0, 0]

[links.wing]
area = 0.05
span = 0.4
chord = 0.12
frame = { position = [0, 0.1, 0], wxyz = [1, 0, 0, 0] }
coefficients = "..."

[[rotors]]
name = "front"
link = "body"
position = [0.17, 0.0, 0.01]
axis = [0.0, 0.0, 1.0]       # direction of thrust
spin = "ccw"                 # seen from where the thrust points to
thrust_coefficient = 8.54858e-6   # N/(rad/s)^2
torque_ratio = 0.016         # m
time_constant = 0.0125
speed_limits = [0.0, 838.0]
mass = 0.005                 # optional spinning body, with inertia about its own com and com in the rotor frame
inertia = [1e-6, 1e-6, 2e-6, 0, 0, 0]

[imu]
position = [0.019, -0.0093, 0.003]
wxyz = [1, 0, 0, 0]
rate = 200
sigma_accel = 0.83           # or densities
sigma_gyro = 0.013

[pose]                       # a motion-capture or visual pose; [position] for GNSS
position = [0.026, 0.038, 0.059]
wxyz = [1, 0, 0, 0]
rate = 50
"""
TABLE = '{ kind = "wind", alpha = [-0.2, 0.0, 0.2], beta = [-0.1, 0.1], CL = [[-1, -1], [0, 0], [1, 1]], CD = 0.02 }'
BARE = 'name = "bare"\nbody = { mass = 1, inertia = [1, 1, 1, 0, 0, 0] }\n'


def test_the_promised_example():
    airframe = loads(PROMISED.replace('"..."', TABLE))
    assert airframe.body.mass == 0.716
    assert airframe.body.com == (0.0, 0.0, 0.0)
    wing = airframe.link("left_wing").wing
    assert wing is not None
    assert wing.frame.position == (0.0, 0.1, 0.0)
    assert wing.coefficients.CL == ((-1.0, -1.0), (0.0, 0.0), (1.0, 1.0))
    assert wing.coefficients.CD == 0.02
    assert wing.coefficients.CC == 0.0
    assert wing.reduced_rate_limit == 0.05
    rotor = airframe.rotor("front")
    assert rotor.speed_limits == (0.0, 838.0)
    assert rotor.inertia == (1e-6, 1e-6, 2e-6, 0.0, 0.0, 0.0)
    assert rotor.com == (0.0, 0.0, 0.0)
    assert airframe.imu == (
        Imu(position=(0.019, -0.0093, 0.003), rate=200, sigma_accel=0.83, sigma_gyro=0.013),
    )
    assert airframe.pose[0].rate == 50.0
    assert airframe.position == ()
    assert airframe.total_mass == pytest.approx(0.716 + 0.1 + 0.005)


def test_the_dots_of_the_promised_example_are_refused():
    with pytest.raises(
        AirframeError, match=r"wing.coefficients: got '...'; give a table of coefficients, such as {"
    ):
        loads(PROMISED)


def test_one_sensor_or_many():
    one = loads(BARE + "[imu]\nposition = [0, 0, 0.1]\n")
    many = loads(BARE + '[[imu]]\nposition = [0, 0, 0.1]\n[[imu]]\nname = "second"\nposition = [0, 0, 0]\n')
    assert one.imu == many.imu[:1]
    assert [imu.name for imu in many.imu] == ["imu", "second"]
    position = loads(BARE + "[position]\nposition = [0, 0, 0.1]\nrate = 5\n").position
    assert [(sensor.name, sensor.rate) for sensor in position] == [("position", 5.0)]


def test_directions_and_rotations_get_unit_length_once():
    text = BARE + '[[links]]\nname = "a"\nmass = 0\njoint = { axis = [0, 3, 4] }\n'
    text += "[imu]\nposition = [0, 0, 0]\nwxyz = [0.7071068, 0.7071068, 0, 0]\n"
    airframe = loads(text)
    assert airframe.links[0].joint.axis == (0.0, 0.6, 0.8)
    assert sum(q * q for q in airframe.imu[0].wxyz) == pytest.approx(1.0, abs=1e-15)
    assert loads(dumps(airframe)) == airframe
    tiny = BARE + '[[links]]\nname = "a"\nmass = 0\njoint = { axis = [0, 0, 1e-300] }\n'
    assert loads(tiny).links[0].joint.axis == (0.0, 0.0, 1.0)


def test_a_file_and_its_faults(tmp_path):
    file = tmp_path / "my.toml"
    with pytest.raises(AirframeError, match=r"my.toml: no such file; give"):
        load(file)
    with pytest.raises(AirframeError, match=r"is a directory; give"):
        load(tmp_path)
    file.write_bytes(b'name = "caf\xe9"\n')
    with pytest.raises(
        AirframeError, match=r"my.toml: is not text in UTF-8 \(byte 11 is 0xe9\); save it as UTF-8"
    ):
        load(file)
    file.write_text(BARE.replace("mass = 1", "mass = -1"), encoding="utf-8")
    with pytest.raises(AirframeError, match=r"my.toml: body: mass: got -1"):
        load(str(file))
    file.write_text("\ufeff" + BARE, encoding="utf-8")
    assert load(file).name == "bare"
    with pytest.raises(AirframeError, match="cannot be read"):
        load("a\0b")


def test_reading_needs_no_jax():
    code = "import sys, haltere.airframe as a; a.from_catalogue('x500'); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
