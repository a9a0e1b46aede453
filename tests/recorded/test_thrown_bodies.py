"""Blocks of known inertia, thrown with a flywheel: moments, axes and centre of mass as their makers state them."""

import numpy as np
import pytest

from haltere.identification.tumble.free_rotation import find_rotations
from haltere.identification.tumble.imu_position import locate_imu
from haltere.identification.tumble.inertia import inertia_of_falls, spin_up, throw_inertia
from haltere.identification.tumble.tumble import filter_tumble, find_tumbles
from haltere.logs import read

MOUNT = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
WHEEL = 1.689e-6
DEVICE_MASS = 0.10067
DEVICE = np.array([[75.4, -1.7, 1.1], [-1.7, 21.8, 6.8], [1.1, 6.8, 88.1]]) * 1e-6
DEVICE_COM = np.array([10.9, 1.6, 9.0]) * 1e-3
SECONDS = 0.36
DELAYS = tuple(np.arange(-2, 7) * 5e-4)
BODIES = {  # kg, kg m2, and the bound on the median error of the three moments in this one throw, %
    "thrown_body/A_LOG00133.BFL": (0.4589, (1524.7, 189.8, 1577.1), 3.0, 5.0),
    "thrown_body/B_LOG00152.BFL": (0.7393, (681.8, 437.1, 906.3), 3.0, 2.5),
    "thrown_body/C_LOG00164.BFL": (1.3001, (2448.0, 749.7, 2835.2), 3.0, 2.5),
    "thrown_body/empty_LOG00179.BFL": (0.1785, (368.1, 123.4, 431.0), 3.0, 2.5),
}


def steiner(mass, lever):
    return mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))


@pytest.mark.parametrize(
    "name", [n if n.startswith("thrown_body/C") else pytest.param(n, marks=pytest.mark.slow) for n in BODIES]
)
def test_moments_and_axes_of_a_thrown_body(recorded, name):
    flight = read(recorded(name, "inertia from a throw with a flywheel"))
    mass, moments, most, widest = BODIES[name]
    gyro, accel = (flight[f"imu.{k}"].values @ MOUNT.T for k in ("gyro", "accel"))
    time = flight["imu.gyro"].seconds(flight.start)
    rate = (len(time) - 1) / (time[-1] - time[0])
    first = int(np.argmax(flight["rotors.command"].values[:, 0] > 0.3))
    begin = spin_up(flight["rotors.speed"].values[:, 0], first)
    part = slice(begin, min(first + round(SECONDS * rate), len(time) - round(0.05 * rate)))
    momentum = np.zeros_like(gyro[part])
    momentum[:, 2] = -WHEEL * flight["rotors.speed"].values[part, 0]
    found = throw_inertia(gyro[part], rate, momentum, delays=DELAYS)
    assert found.absolute
    assert found.enough
    com = -locate_imu([filter_tumble(gyro[part], accel[part], rate)]).position
    block = ((DEVICE_MASS + mass) * com - DEVICE_MASS * DEVICE_COM) / mass
    own = found.inertia - DEVICE - steiner(DEVICE_MASS, DEVICE_COM - com) - steiner(mass, block - com)
    values, axes = np.linalg.eigh(own)
    order = np.argsort(moments)
    errors = 100.0 * np.abs(values / (np.sort(moments) * 1e-6) - 1.0)
    turned = np.degrees(np.arccos(np.minimum(np.abs(axes[order, range(3)]), 1.0)))
    assert np.median(errors) < most
    # Sigma is that of the whole body, and the makers state moments of boxes: 1 % for what a box is not.
    sigma = np.hypot(found.sigma, 0.01 * np.sort(moments) * 1e-6)
    assert np.max(np.abs(values - np.sort(moments) * 1e-6) / sigma) < 5.0
    assert np.median(turned) < widest
    if "C_LOG" in name:
        np.testing.assert_allclose(com, np.array([10.5, 1.6, 43.5]) * 1e-3, atol=1e-3)


@pytest.mark.slow
def test_moments_from_whole_logs(recorded):
    """No window by hand: the falls of each log by their physics; the hand may still touch a body when they begin."""
    middle = []
    for name, (mass, moments, _, _) in BODIES.items():
        flight = read(recorded(name, "inertia from a log with a throw and a flywheel"))
        found = inertia_of_falls(find_rotations(flight, np.array([[0.0, 0.0, -WHEEL]])))
        assert found.enough, found.advice
        inertia = MOUNT @ found.inertia @ MOUNT.T
        com = -MOUNT @ locate_imu(find_tumbles(flight)).position
        block = ((DEVICE_MASS + mass) * com - DEVICE_MASS * DEVICE_COM) / mass
        own = inertia - DEVICE - steiner(DEVICE_MASS, DEVICE_COM - com) - steiner(mass, block - com)
        true = np.sort(moments) * 1e-6
        errors = np.linalg.eigvalsh(own) - true
        assert np.all(np.abs(errors) < 5.0 * np.hypot(found.sigma, 0.01 * true)), name
        middle.append(np.median(np.abs(errors) / true))
    assert np.median(middle) < 0.03
