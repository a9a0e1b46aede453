"""Nodes of a flight whose signals are known as functions of time."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.spatial.transform import Rotation
from tests.unit.estimation.vehicle.quadrotor import NAMES, nominal_vehicle

import haltere as ht
from haltere.estimation.vehicle.motion import NODE
from haltere.estimation.vehicle.nodes import EDGE, SHORTEST, FlightNodes, steady_clock
from haltere.flight import Channel, nanoseconds
from haltere.flight.window import IdentifyError

LENGTH = 6.0
RATES = {
    "imu.gyro": 500.0,
    "imu.accel": 500.0,
    "rotors.speed": 200.0,
    "pose.position": 100.0,
    "pose.wxyz": 100.0,
}
UNITS = {
    "imu.gyro": "rad/s",
    "imu.accel": "m/s^2",
    "rotors.speed": "rad/s",
    "pose.position": "m",
    "pose.wxyz": "1",
}
MANY = np.array([0.31, 0.43, 0.57, 0.71])


def speed(t):
    """(T, 4) rad/s."""
    return 1000.0 + 60.0 * np.sin(2.0 * np.pi * np.outer(t, MANY) + MANY)


def accel(t):
    """(T, 3) m/s2."""
    return np.array([0.0, 0.0, 9.8]) + 2.0 * np.sin(2.0 * np.pi * np.outer(t, [0.5, 0.7, 0.9]))


def rotvec(t):
    """(T, 3) of the attitude."""
    return 0.3 * np.sin(2.0 * np.pi * np.outer(t, [0.3, 0.4, 0.2]))


def position(t):
    """(T, 3) m."""
    return np.sin(2.0 * np.pi * np.outer(t, [0.2, 0.3, 0.1]))


def gyro(t):
    """(T, 3) rad/s, of the attitude."""
    h = 1e-4
    before, after = (Rotation.from_rotvec(rotvec(t + d)) for d in (-h, h))
    return (before.inv() * after).as_rotvec() / (2.0 * h)


def wxyz(t):
    """(T, 4)."""
    return np.roll(Rotation.from_rotvec(rotvec(t)).as_quat(), 1, axis=1)


SIGNALS = {
    "imu.gyro": gyro,
    "imu.accel": accel,
    "rotors.speed": speed,
    "pose.position": position,
    "pose.wxyz": wxyz,
}


def channel(name, time, values):
    columns = NAMES if name == "rotors.speed" else ()
    return Channel(name, nanoseconds(time), values, UNITS[name], "", columns)


def flight(length=LENGTH, **changes):
    """A flight; `changes` by the last word of a channel make other times and values of (time, values), or None."""
    channels = []
    for name, signal in SIGNALS.items():
        time = np.arange(0.0, length, 1.0 / RATES[name])
        both = (time, signal(time))
        change = changes.get(name.split(".")[1], lambda time, values: (time, values))
        if change is not None:
            channels.append(channel(name, *change(*both)))
    return ht.Flight.of(*channels)


@pytest.fixture(scope="module")
def nodes():
    return FlightNodes.from_flight(flight(), NAMES)


@pytest.mark.parametrize("delay", [0.0, 0.0137, -0.0059])
def test_rotor_inputs_are_means_of_the_signal_at_a_delay(nodes, delay):
    """What is logged `delay` late was true that much earlier."""
    found, slopes = nodes.rotors_at(delay)
    ahead, behind = (nodes.rotors_at(delay + d)[0] for d in (2e-3, -2e-3))
    at = nodes.time + delay

    def mean(f):
        return quad_vec(f, 0.0, NODE)[0] / NODE

    square = mean(lambda s: speed(at + s) ** 2)
    early = mean(lambda s: 2.0 * (1.0 - s / NODE) * speed(at + s) ** 2)
    slope = (speed(at + 1e-4) - speed(at - 1e-4)) / 2e-4
    wanted = [square, early, mean(lambda s: speed(at + s)), speed(at) ** 2, speed(at), slope]
    inner = slice(5, -5)
    for k, (value, tolerance) in enumerate(zip(wanted, (400.0, 400.0, 0.2, 400.0, 0.2, 5.0), strict=True)):
        np.testing.assert_allclose(found[inner, k], value[inner], rtol=0.0, atol=tolerance)
    for k, difference in enumerate(np.moveaxis(ahead - behind, 1, 0) / 4e-3):
        tolerance = 0.01 * np.abs(difference).max()
        np.testing.assert_allclose(slopes[inner, k], difference[inner], rtol=0.0, atol=tolerance)
    # The change within a step, not the swing of the signal, is what the early mean is for.
    np.testing.assert_allclose((found[:, 1] - found[:, 0])[inner], (early - square)[inner], atol=20.0)


@pytest.mark.parametrize("delay", [0.0, 0.0071, -0.0033])
def test_accelerometer_at_a_delay_is_the_signal_there(nodes, delay):
    found, slopes = nodes.accel_at(delay)
    at = nodes.time + delay
    np.testing.assert_allclose(found, accel(at), atol=3e-3)
    np.testing.assert_allclose(slopes, (accel(at + 1e-4) - accel(at - 1e-4)) / 2e-4, atol=5e-2)


def test_gyro_and_times_are_those_of_the_flight(nodes):
    np.testing.assert_allclose(np.diff(nodes.time), NODE, atol=1e-12)
    assert nodes.time[0] == pytest.approx(EDGE)
    assert nodes.time[-1] <= LENGTH - EDGE
    np.testing.assert_allclose(nodes.gyro, gyro(nodes.time), atol=1e-3)
    assert nodes.imu_valid.all()
    assert nodes.rotor_valid.all()


def test_rotors_come_in_the_order_of_the_airframe(nodes):
    shuffled = (2, 0, 3, 1)
    made = flight()
    own = made["rotors.speed"]
    other = Channel(
        own.name, own.time, own.values[:, shuffled], own.unit, "", tuple(NAMES[k] for k in shuffled)
    )
    found = FlightNodes.from_flight(made.with_channel(other), NAMES)
    np.testing.assert_allclose(found.speed, nodes.speed, rtol=1e-9)


def test_noise_of_the_readings_is_found():
    rng = np.random.default_rng(0)

    def noisy(sigma):
        return lambda t, x: (t, x + sigma * rng.normal(size=x.shape))

    found = FlightNodes.from_flight(flight(gyro=noisy(0.02), accel=noisy(0.5)), NAMES)
    passed = [np.std(found.gyro - gyro(found.time)), np.std(found.accel_at(0.0)[0] - accel(found.time))]
    np.testing.assert_allclose(found.white, passed, rtol=0.15)


def test_noise_of_rotor_speeds_is_shrunk():
    """Readings with the noise of telemetry come out nearer to the truth than any low-pass of the nodes makes them."""
    rng = np.random.default_rng(1)
    noise = 8.0 * rng.normal(size=(int(LENGTH * RATES["rotors.speed"]), 4))
    found = FlightNodes.from_flight(flight(speed=lambda t, x: (t, x + noise)), NAMES)
    apart = found.rotors_at(0.0)[0][:, 4] - speed(found.time)
    assert np.std(apart) < 0.5 * 8.0 * np.sqrt(2.0 * 25.0 / 200.0)
    swing = speed(found.time) - 1000.0
    share = np.sum(found.rotors_at(0.0)[0][:, 4] * swing) / np.sum(swing**2) - 1000.0 * swing.sum() / np.sum(
        swing**2
    )
    assert share == pytest.approx(1.0, abs=0.02)


def test_a_saturated_sensor_reads_nothing():
    """80 ms at the end of its range are a gap: what was read there counts for nothing."""
    clipped = (2.0, 2.08)

    def saturate(t, x):
        inside = (t >= clipped[0]) & (t < clipped[1])
        return t, np.where(inside[:, None], 160.0, x)

    found = FlightNodes.from_flight(flight(accel=saturate), NAMES)
    inside = (found.time > clipped[0]) & (found.time < clipped[1])
    assert not found.imu_valid[inside].any()
    assert found.imu_valid[np.abs(found.time - 2.04) > 0.12].all()
    assert np.abs(found.accel_at(0.0)[0] - accel(found.time)).max() < 2.0
    assert found.rotor_valid.all()


def test_a_short_saturation_is_bridged():
    """20 ms are no gap; the reading of them is what lies around, not the end of the range."""

    def saturate(t, x):
        inside = (t >= 2.0) & (t < 2.02)
        return t, np.where(inside[:, None], -160.0, x)

    found = FlightNodes.from_flight(flight(accel=saturate, gyro=saturate), NAMES)
    assert np.abs(found.accel_at(0.0)[0] - accel(found.time)).max() < 0.2
    assert np.abs(found.gyro - gyro(found.time)).max() < 0.05


@pytest.mark.parametrize("name", ["gyro", "accel", "speed"])
def test_a_gap_is_not_read(name):
    def without(t, x):
        kept = (t < 3.0) | (t > 3.5)
        return t[kept], x[kept]

    found = FlightNodes.from_flight(flight(**{name: without}), NAMES)
    valid = found.rotor_valid if name == "speed" else found.imu_valid
    other = found.imu_valid if name == "speed" else found.rotor_valid
    assert not valid[(found.time > 3.0) & (found.time < 3.5)].any()
    assert valid[(found.time < 2.94) | (found.time > 3.56)].all()
    assert other.all()
    far = (found.time < 2.8) | (found.time > 3.7)
    np.testing.assert_allclose(found.accel_at(0.0)[0][far], accel(found.time)[far], atol=0.02)
    np.testing.assert_allclose(found.gyro[far], gyro(found.time)[far], atol=5e-3)
    np.testing.assert_allclose(found.rotors_at(0.0)[0][far, 4], speed(found.time)[far], atol=2.0)


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("delay", [0.0, 0.013])
def test_poses_go_to_the_node_that_is_nearest_to_when_they_were_true(nodes, delay, slots):
    later, poses, present = nodes.poses_at(delay, slots)
    assert later.shape == present.shape == (len(nodes.time), slots)
    stamps = nodes.time[:, None] + later
    assert np.abs((stamps - delay - nodes.time[:, None])[present]).max() <= 0.5 * NODE + 1e-9
    np.testing.assert_allclose(poses[present][:, :3], position(stamps[present]), atol=1e-9)
    used = np.sort(stamps[present])
    assert len(np.unique(np.round(used, 6))) == len(used)  # none twice
    near = nodes.pose_time - delay
    inside = (near > nodes.time[0] - 0.5 * NODE + 1e-6) & (near < nodes.time[-1] + 0.5 * NODE - 1e-6)
    if slots == 3:
        assert present.sum() == pytest.approx(inside.sum(), abs=1)
    assert present[2:-2].any(axis=1).all()
    assert nodes.slots in (2, 3)


def test_first_guess_follows_the_poses(nodes):
    """Position of the centre of mass, its velocity and the attitude; outliers among the poses do no harm."""
    nominal = nominal_vehicle()
    guess = nodes.first_guess(nominal)
    R = Rotation.from_rotvec(rotvec(nodes.time))
    own = Rotation.from_quat(np.roll(np.asarray(nominal.pose_wxyz), -1)).inv()
    body = R * own
    arm = np.asarray(nominal.pose_position) - np.asarray(nominal.com)
    np.testing.assert_allclose(guess[:, :3], position(nodes.time) - body.apply(arm), atol=5e-3)
    speeds = (position(nodes.time + 1e-4) - position(nodes.time - 1e-4)) / 2e-4
    np.testing.assert_allclose(guess[5:-5, 3:6], speeds[5:-5], atol=0.05)
    apart = (body.inv() * Rotation.from_quat(np.roll(guess[:, 6:10], -1, axis=1))).magnitude()
    assert apart.max() < 5e-3
    np.testing.assert_array_equal(guess[:, 13:], 0.0)

    def outliers(t, x):
        x = x.copy()
        x[50::100] += 3.0
        return t, x

    spoiled = FlightNodes.from_flight(flight(position=outliers), NAMES).first_guess(nominal)
    np.testing.assert_allclose(spoiled[:, :3], guess[:, :3], atol=0.02)


def test_jittered_poses_are_all_kept_and_keep_their_attitude(nodes):
    """Position and attitude of a pose have one stamp; that its jitter goes must not part them."""
    rng = np.random.default_rng(7)
    jitter = 3e-3 * rng.uniform(-1.0, 1.0, len(np.arange(0.0, LENGTH, 0.01)))

    def late(t, x):
        return t + jitter, x

    found = FlightNodes.from_flight(flight(position=late, wxyz=late), NAMES)
    assert len(found.pose_time) == len(nodes.pose_time)
    np.testing.assert_allclose(np.diff(found.pose_time), 0.01, atol=1e-4)
    np.testing.assert_array_equal(found.pose, nodes.pose)


def test_a_stretch_has_the_signals_of_the_whole(nodes):
    part = nodes.between(50, 120)
    np.testing.assert_array_equal(part.time, nodes.time[50:120])
    for delay in (0.0, 0.01):
        np.testing.assert_array_equal(part.accel_at(delay)[0], nodes.accel_at(delay)[0][50:120])
        np.testing.assert_array_equal(part.rotors_at(delay)[0], nodes.rotors_at(delay)[0][50:120])
    for own, whole in zip(part.poses_at(0.013, 2), nodes.poses_at(0.013, 2), strict=True):
        np.testing.assert_array_equal(own[1:-1], whole[51:119])


class TestSteadyClock:
    RATE = 200.0

    def signal(self, t):
        return np.stack([np.sin(2.0 * np.pi * 3.0 * t), np.cos(2.0 * np.pi * 2.2 * t)], axis=1)

    def stamps(self, length=8.0):
        return np.arange(0.0, length, 1.0 / self.RATE)

    @pytest.mark.parametrize("jitter", [0.05, 0.2])
    def test_jitter_of_steady_samples_goes(self, jitter):
        true = self.stamps()
        stamped = true + jitter / self.RATE * np.random.default_rng(0).uniform(-1.0, 1.0, len(true))
        found = steady_clock(stamped, self.signal(true))
        left = found - true
        assert np.std(left) < 0.3 * np.std(stamped - true)
        assert np.std(np.diff(left)) < 0.01 * np.std(np.diff(stamped - true))
        assert np.all(np.diff(found) > 0.0)

    def test_lost_samples_stay_lost(self):
        rng = np.random.default_rng(1)
        true = self.stamps()
        true = true[rng.uniform(size=len(true)) > 0.1]
        stamped = true + 0.15 / self.RATE * rng.uniform(-1.0, 1.0, len(true))
        found = steady_clock(stamped, self.signal(true))
        assert np.abs(found - true).max() < 0.1 / self.RATE

    def test_a_clock_that_drifts_is_followed(self):
        true = self.stamps(40.0)
        drift = 2e-3 * np.sin(2.0 * np.pi * true / 40.0)
        rng = np.random.default_rng(2)
        stamped = true + drift + 0.15 / self.RATE * rng.uniform(-1.0, 1.0, len(true))
        found = steady_clock(stamped, self.signal(true))
        inner = slice(300, -300)
        assert np.abs(found - true - drift)[inner].max() < 0.1 / self.RATE

    def test_irregular_samples_keep_their_stamps(self):
        rng = np.random.default_rng(3)
        stamped = self.stamps() + 0.3 / self.RATE * rng.uniform(-1.0, 1.0, len(self.stamps()))
        np.testing.assert_array_equal(steady_clock(stamped, self.signal(stamped)), stamped)
        random = np.sort(rng.uniform(0.0, 8.0, 1600))
        np.testing.assert_array_equal(steady_clock(random, self.signal(random)), random)

    def test_few_samples_keep_their_stamps(self):
        time = np.linspace(0.0, 1.0, 20)
        np.testing.assert_array_equal(steady_clock(time, self.signal(time)), time)

    def test_a_sensor_that_reads_nothing_does_no_harm(self):
        time = self.stamps()
        found = steady_clock(time, np.zeros((len(time), 3)))
        np.testing.assert_allclose(found, time, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": None}, "rotors.speed"),
        ({"gyro": None}, "imu.gyro"),
        ({"position": None}, "pose.position"),
        ({"accel": lambda t, x: (t, np.full_like(x, np.nan))}, "the log has no imu.accel"),
        ({"speed": lambda t, x: (t[:3], x[:3])}, "the log has no rotors.speed"),
        ({"position": lambda t, x: (t[:200], x[:200])}, f"at least {SHORTEST:g} s are needed"),
        ({"speed": lambda t, x: (t + 100.0, x)}, "logged together for 0 s"),
        ({"wxyz": lambda t, x: (t[:1] + 50.0, x[:1])}, "no stamps in common"),
        ({"wxyz": lambda t, x: (t + 4e-3, x)}, "no stamps in common"),
    ],
)
def test_what_is_missing_is_said_in_one_line(changes, message):
    with pytest.raises(ht.HaltereError, match=message) as caught:
        FlightNodes.from_flight(flight(**changes), NAMES)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wxyz", [None, lambda t, x: (t, np.full_like(x, np.nan)), lambda t, x: (t, np.zeros_like(x))]
)
def test_a_hover_without_attitude_is_refused_in_one_line(wxyz):
    """Only accelerations to the side show where a vehicle heads."""
    rng = np.random.default_rng(3)

    def still(t, x, level=0.0):
        return t, np.array([0.0, 0.0, level]) + 1e-3 * rng.normal(size=x.shape)

    hover = flight(wxyz=wxyz, gyro=still, position=still, accel=lambda t, x: still(t, x, 9.81))
    with pytest.raises(IdentifyError, match="heading") as caught:
        FlightNodes.from_flight(hover, NAMES).first_guess(nominal_vehicle())
    assert "\n" not in str(caught.value)


def test_a_reading_that_never_changes_is_not_saturated():
    calm = flight(accel=lambda t, x: (t, np.stack([np.zeros(len(t)), x[:, 1], x[:, 2]], axis=1)))
    found = FlightNodes.from_flight(calm, NAMES)
    assert found.imu_valid.mean() > 0.95


def test_missing_samples_everywhere_do_no_harm(nodes):
    """NaN in single samples of all channels, which is how a log says that there is no value."""
    rng = np.random.default_rng(5)

    def holes(t, x):
        x = x.copy()
        x[rng.uniform(size=len(x)) < 0.03, rng.integers(x.shape[1])] = np.nan
        return t, x

    names = ("gyro", "accel", "speed", "position", "wxyz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = FlightNodes.from_flight(flight(**dict.fromkeys(names, holes)), NAMES)
    for delay in (0.0, 0.01):
        assert np.isfinite(found.rotors_at(delay)[0]).all()
        assert np.isfinite(found.accel_at(delay)[0]).all()
    np.testing.assert_allclose(found.gyro, gyro(found.time), atol=3e-3)
    np.testing.assert_allclose(found.accel_at(0.0)[0], accel(found.time), atol=0.02)
    assert np.isfinite(found.first_guess(nominal_vehicle())).all()


def test_stamps_a_nanosecond_apart_do_no_harm(nodes):
    """Channels refuse repeated and backward stamps; a reader that mends them leaves such ones."""

    def crowded(t, x):
        t = t.copy()
        t[100::50] = t[99::50][: len(t[100::50])] + 1e-9
        return t, x

    names = ("gyro", "accel", "speed", "position", "wxyz")
    found = FlightNodes.from_flight(flight(**dict.fromkeys(names, crowded)), NAMES)
    for own, true, tolerance in (
        (found.gyro, gyro, 0.02), (found.accel_at(0.0)[0], accel, 0.1), (found.rotors_at(0.0)[0][:, 4], speed, 3.0),
    ):  # fmt: skip
        np.testing.assert_allclose(own, true(found.time), atol=tolerance)


@pytest.mark.parametrize("stamps", [[0, 1, 1, 2], [0, 2, 1, 3]])
def test_repeated_and_backward_stamps_never_reach_the_nodes(stamps):
    with pytest.raises(ht.HaltereError, match="time does not increase"):
        Channel("imu.gyro", np.array(stamps), np.zeros((4, 3)), "rad/s", "imu")


def test_samples_that_were_logged_again_are_left_out():
    """Telemetry at half the pace of the log, each sample twice: the speeds between them are no steps."""

    def twice(time, values):
        return time, np.repeat(values[::2], 2, axis=0)[: len(time)]

    found = FlightNodes.from_flight(flight(speed=twice), NAMES)
    inside = slice(20, -20)
    expected = speed(found.fine)[inside]
    assert np.max(np.abs(found.speed[inside] - expected)) < 0.1
    assert found.rotor_valid.all()


def test_an_attitude_that_was_logged_again_is_not_read(nodes):
    """Its position is, and the first guess goes on."""
    held = FlightNodes.from_flight(
        flight(wxyz=lambda t, q: (t, np.repeat(q[::2], 2, axis=0)[: len(t)])), NAMES
    )
    read = np.isfinite(held.pose[:, 3])
    assert 0.4 < read.mean() < 0.6
    assert np.isfinite(held.pose[:, :3]).all()
    guess, wanted = (each.first_guess(nominal_vehicle()) for each in (held, nodes))
    assert np.abs(guess - wanted)[:, :10].max() < 0.05


def test_positions_alone_have_no_attitude(nodes):
    assert nodes.has_attitude
    alone = nodes.without_attitude()
    assert not alone.has_attitude
    np.testing.assert_array_equal(alone.pose[:, :3], nodes.pose[:, :3])


def test_a_sensor_that_repeats_itself_for_long_leaves_no_gap():
    def frozen(time, values):
        values[(time > 2.0) & (time < 4.0)] = values[time <= 2.0][-1]
        return time, values

    found = FlightNodes.from_flight(flight(speed=frozen), NAMES)
    assert found.rotor_valid.all()
    still = found.speed[(found.fine > 2.3) & (found.fine < 3.7)]
    assert np.ptp(still, axis=0).max() < 0.5
