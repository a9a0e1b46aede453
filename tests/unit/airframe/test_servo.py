"""The servo of a joint: read, refused, and needed by those who move it."""

import numpy as np
import pytest

from haltere.airframe import AirframeError, Servo, dumps, from_catalogue, loads
from haltere.dynamics.servo import Servos


def test_the_paper_s_arm_has_its_servos():
    servos = Servos.from_airframe(from_catalogue("quad-arm"))
    assert np.allclose(servos.stall_torque, [2.5, 1.8])
    assert np.allclose(np.rad2deg(np.asarray(servos.resolution)), [360.0 / 4096.0, 300.0 / 1024.0])


def test_it_survives_writing():
    arm = from_catalogue("quad-arm")
    assert loads(dumps(arm)).links[0].joint.servo == arm.links[0].joint.servo


def test_losses_above_one_are_refused():
    with pytest.raises(AirframeError, match="loss_down"):
        Servo(stall_torque=1.0, no_load_speed=5.0, resolution=1e-3, stiffness=5.0, loss_down=1.5)


def test_a_joint_without_servo_is_named():
    with pytest.raises(AirframeError, match="has no servo"):
        Servos.from_airframe(from_catalogue("hong-tilt-wing"))
