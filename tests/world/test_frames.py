"""The truth in the frames of results, against a rotated and shifted copy, and the groups of names."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.world.frames import group_of, in_frame, principal_axes

TRUTH = {
    "mass": 0.5, "com.x": 0.01, "com.y": -0.02, "com.z": 0.005,
    "inertia.xx": 3e-3, "inertia.yy": 4e-3, "inertia.zz": 6e-3,
    "inertia.xy": 1e-4, "inertia.xz": -2e-4, "inertia.yz": 1.5e-4,
    "rotors.a.position.x": 0.1, "rotors.a.position.y": 0.1, "rotors.a.position.z": 0.02,
    "rotors.a.axis.x": 0.0, "rotors.a.axis.y": 0.1, "rotors.a.axis.z": np.sqrt(0.99),
    "rotors.a.delay": (0.003, 0.008),
    "imu.rotation.w": 0.9, "imu.rotation.x": 0.1, "imu.rotation.y": -0.3, "imu.rotation.z": 0.3,
}  # fmt: skip


def vector(truth, head):
    return np.array([truth[f"{head}.{axis}"] for axis in "xyz"])


MOUNTED = Rotation.from_quat([0.1, -0.3, 0.3, 0.9])


def test_the_frame_of_the_airframe_is_that_of_the_truth():
    found = in_frame(TRUTH, "airframe")
    assert vector(found, "imu.rotation") == pytest.approx(MOUNTED.as_rotvec())
    assert all(found[name] == TRUTH[name] for name in found if not name.startswith("imu"))
    assert set(found) == set(TRUTH) - {"imu.rotation.w"}


def test_positions_count_from_the_centre_of_mass():
    found = in_frame(TRUTH, "com")
    assert vector(found, "rotors.a.position") == pytest.approx([0.09, 0.12, 0.015])
    assert "com.x" not in found
    assert vector(found, "imu.rotation") == pytest.approx(MOUNTED.as_rotvec())
    for name in ("rotors.a.axis.y", "inertia.xy", "rotors.a.delay"):
        assert found[name] == pytest.approx(TRUTH[name])


def test_principal_axes_are_those_nearest_to_the_body():
    R = Rotation.from_rotvec([0.1, -0.2, 0.15]).as_matrix()
    moments = np.array([6.0, 4.0, 3.0])
    axes, found = principal_axes(R @ np.diag(moments) @ R.T)
    assert found == pytest.approx(moments)
    assert axes == pytest.approx(R)


def test_the_principal_frame_keeps_distances_and_energy():
    found = in_frame(TRUTH, "principal")
    inertia = np.array([[3e-3, 1e-4, -2e-4], [1e-4, 4e-3, 1.5e-4], [-2e-4, 1.5e-4, 6e-3]])
    R, _ = principal_axes(inertia)
    moments = np.array([found[f"inertia.{c}{c}"] for c in "xyz"])
    assert R @ np.diag(moments) @ R.T == pytest.approx(inertia)
    arm = vector(TRUTH, "rotors.a.position") - vector(TRUTH, "com")
    assert R @ vector(found, "rotors.a.position") == pytest.approx(arm)
    assert R @ vector(found, "rotors.a.axis") == pytest.approx(vector(TRUTH, "rotors.a.axis"))
    mounted = Rotation.from_rotvec(vector(found, "imu.rotation")).as_matrix()
    assert R @ mounted == pytest.approx(MOUNTED.as_matrix())
    assert "inertia.xy" not in found


def test_positions_in_the_axes_of_the_imu():
    found = in_frame(TRUTH, "imu")
    arm = vector(TRUTH, "rotors.a.position") - vector(TRUTH, "com")
    assert MOUNTED.apply(vector(found, "rotors.a.position")) == pytest.approx(arm)
    assert vector(found, "imu.rotation") == pytest.approx(np.zeros(3), abs=1e-12)
    assert "inertia.xx" not in found


def test_a_frame_has_a_name():
    with pytest.raises(ValueError, match="expected airframe, com, principal, imu"):
        in_frame(TRUTH, "world")


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("mass", "mass"),
        ("com.x", "centre of mass"),
        ("inertia.xx", "moment of inertia"),
        ("inertia.xz", "product of inertia"),
        ("inertia.yy/inertia.xx", "inertia ratio"),
        ("rotors.m1.effectiveness.fx", "effectiveness fx fy"),
        ("rotors.m1.effectiveness.fz", "effectiveness fz"),
        ("rotors.m1.effectiveness.q", "effectiveness p q"),
        ("rotors.m1.effectiveness.r_dot", "effectiveness of rotor acceleration"),
        ("rotors.m1.authority.p", "authority p q"),
        ("rotors.m1.position.z", "rotor position"),
        ("rotors.m1.axis.z", "rotor axis"),
        ("rotors.m1.thrust_coefficient", "thrust coefficient"),
        ("rotors.m1.idle_speed", "motor curve"),
        ("imu.position.x", "imu position"),
        ("pose.rotation.x", "pose rotation"),
        ("gravity.z", "gravity"),
        ("thrust_to_weight", "thrust to weight"),
    ],
)
def test_groups(name, group):
    assert group_of(name) == group
