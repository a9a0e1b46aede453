"""Flights with the loop closed through a foreign estimator: trim, position, payloads, faults, wind, draws."""

from dataclasses import replace

import numpy as np
import pytest
from tests.world.catalogue import VEHICLES, catalogue_drawing, catalogue_text, center_sigma, hover_shares
from tests.world.cog_flights import CogBatch, Event, NominalLoop, fly_cog
from tests.world.conditions import CONDITIONS, Condition, draw_steady_wind, draw_weighed_vehicle
from tests.world.draws import generator
from tests.world.reading_faults import CLIPPED, FAULTS, RANGE, ReadingFault
from tests.world.readings import Readings
from tests.world.rigid import GRAVITY, Motion, momentum
from tests.world.trim import averaged, nominal_loads, trim_left
from tests.world.vectors import apply, cross, point_inertia, quaternion_of_euler, rotation_matrix, yaw_of
from tests.world.vehicles import stack

SEEDS = (3, 4)
ONLY_CENTER = Condition(
    "only the centre",
    replace(
        CONDITIONS["calm"].level, rotor_spread=0.0, position_error=0.0, axis_error=0.0, inertia_error=0.0,
        inertia_products=0.0,
    ),
)  # fmt: skip


class Recorder(NominalLoop):
    """The nominal loop, keeping what it gets."""

    def __init__(self, nominal, count, offset=(0.0, 0.0)):
        super().__init__(nominal, count, offset)
        self.readings, self.marks, self.asked = [], [], []

    def read(self, time, gyro, accel, speeds, commands):
        self.readings.append((time, gyro, accel, speeds, commands))

    def mark(self, time):
        self.marks.append(time)

    def mix(self, lift, torque):
        self.asked.append(np.concatenate([lift[:, None], torque], axis=1))
        return super().mix(lift, torque)

    def arrays(self):
        """Readings over time: stamps (K, N), gyro, accel, speeds, commands (K, N, ...)."""
        return tuple(np.stack(parts) for parts in zip(*self.readings, strict=True))


def recorded(*arguments, **options):
    """The flights and the recorder that flew them."""
    loops = []

    def make_loop(nominal, count):
        loops.append(Recorder(nominal, count))
        return loops[0]

    return fly_cog(*arguments, make_loop, **options), loops[0]


# --------------------------------------------------------------------------------------------------- vehicles


def test_links_are_merged_into_one_body():
    drawing = catalogue_drawing("hong-tilt-rotor")
    assert drawing.mass == pytest.approx(1.0 + 4 * (0.08 + 0.02))
    height = 4 * 0.02 * 0.03 / 1.4
    np.testing.assert_allclose(drawing.com, [0.0, 0.0, height], atol=1e-12)
    expected = 0.0082 + 4 * (3e-5 + 5e-5) + 2 * 0.1 * 0.25**2 + 4 * 0.02 * 0.03**2 - 1.4 * height**2
    assert drawing.inertia[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize("name", VEHICLES)
def test_vehicles_have_motors_to_fly_with(name):
    drawing = catalogue_drawing(name)
    top = (drawing.thrust_coefficient * drawing.max_speed**2 * drawing.axis[2]).sum()
    assert 1.5 < top / (drawing.mass * GRAVITY) < 4.0
    assert (drawing.spin_inertia > 0).all()
    assert (drawing.drag_area < 0.5 * drawing.arm).all()
    assert drawing.axis[2].min() > 0.99


def test_the_mass_is_what_the_file_says_to_half_a_percent():
    drawing, level = catalogue_drawing("neo"), CONDITIONS["calm"].level
    bodies = [draw_weighed_vehicle(drawing, level, seed) for seed in range(300)]
    relative = np.array([float(body.mass) / drawing.mass for body in bodies]) - 1
    assert relative.std() == pytest.approx(0.005, rel=0.15)
    moments = np.array([np.diag(body.inertia) / np.diag(drawing.inertia) for body in bodies]) - 1
    assert moments.std() == pytest.approx(0.08, rel=0.1)
    centers = np.array([body.com - drawing.com for body in bodies])
    np.testing.assert_allclose(centers.std(axis=0), 0.04 * drawing.arm, rtol=0.12)


def test_rotors_unlike_the_drawing_leave_what_is_said():
    drawing = catalogue_drawing("hummingbird")
    np.testing.assert_allclose(hover_shares(drawing), 0.25)
    by_hand = np.hypot(0.04 * 0.25 * 0.17 * np.sqrt(2), 0.002 * 0.25 * 2)
    np.testing.assert_allclose(center_sigma(drawing), by_hand)


@pytest.mark.parametrize("name", ["octorotor", "hong-tilt-rotor"])
def test_what_rotors_leave_is_the_scatter_of_the_trim(name):
    """Thrusts of a nominal hover, each rotor a little stronger and elsewhere: the trim by statics."""
    drawing = catalogue_drawing(name)
    rng = generator(5, "statics")
    thrust = hover_shares(drawing) * (1 + 0.04 * rng.standard_normal((4000, len(drawing.spin))))
    moved = drawing.position[:2] + 0.002 * rng.standard_normal((4000, 2, len(drawing.spin)))
    center_of_thrust = (thrust[:, None] * moved).sum(axis=-1) / thrust.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(center_of_thrust.std(axis=0), center_sigma(drawing), rtol=0.05)


# ------------------------------------------------------------------------------------------- trim and position


@pytest.mark.parametrize("name", ["hummingbird", "neo", "hong-tilt-rotor"])
def test_trim_of_a_moved_centre_is_its_offset(name):
    for flight in fly_cog(name, ONLY_CENTER, "hover", SEEDS, NominalLoop, duration=6.0):
        offset = flight.com[-1, :2] - flight.nominal_com[:2]
        assert np.abs(offset).max() > 0.001
        np.testing.assert_allclose(flight.trim_mean[-1], offset, atol=2e-4)


def test_a_mixer_that_knows_the_trim_holds_better_and_leaves_nothing():
    flights = fly_cog("x500", "calm", "hover", SEEDS, NominalLoop, duration=6.0)
    trims = np.stack([flight.trim_mean[-1] for flight in flights])
    again = fly_cog("x500", "calm", "hover", SEEDS, lambda text, n: NominalLoop(text, n, trims), duration=6.0)
    for before, after in zip(flights, again, strict=True):
        assert trim_left(before) == pytest.approx(np.hypot(*before.trim_mean[-1]), rel=0.02)
        assert trim_left(after) < 2e-4
        assert trim_left(after, np.zeros((len(after.trim), 2))) == pytest.approx(trim_left(before), rel=0.05)
        assert np.abs(after.position_error[:, :2]).max() < 0.3 * np.abs(before.position_error[:, :2]).max()


@pytest.mark.parametrize(
    "name", [name if name == "x500" else pytest.param(name, marks=pytest.mark.slow) for name in VEHICLES]
)
def test_the_nominal_loop_holds_the_position(name):
    for flight in fly_cog(name, "calm", "hover", SEEDS, NominalLoop, duration=16.0):
        assert not flight.crashed
        assert np.abs(flight.position_error[-20:]).max() < 0.05
        drawing = catalogue_drawing(name)
        assert (np.abs(flight.trim_mean[-1] - flight.com[-1, :2]) < 4 * center_sigma(drawing)).all()


def test_gentle_sticks_move_the_setpoint_and_the_vehicle_follows():
    for profile, most in (("hover", 0.0), ("gentle", 1.0)):
        batch = CogBatch("x500", CONDITIONS["calm"], profile, list(SEEDS), 12.0, None)
        away = np.abs(batch.points.position - batch.points.position[0])[:, :2].max()
        assert (0.2 < away < most) if most else away == 0.0
    for flight in fly_cog("x500", "calm", "gentle", SEEDS, NominalLoop, duration=12.0):
        assert np.abs(flight.position_error[60:]).max() < 0.1


def test_wind_changes_the_trim_and_the_vehicle_stays():
    for flight in fly_cog("hummingbird", "wind 6", "hover", SEEDS, NominalLoop, duration=10.0):
        assert not flight.crashed
        assert np.abs(flight.position_error[-30:]).max() < 2.0
        assert flight.trim_mean[20:].std(axis=0).max() > 2e-4


def test_the_heading_is_held_in_wind():
    """Of the vehicle whose rotors, when accelerated, give most yaw torque beside that of their drag."""
    batch = CogBatch("hummingbird", CONDITIONS["wind 6"], "hover", list(SEEDS), 6.0, None)
    nominal = catalogue_text("hummingbird")
    batch.run(nominal, NominalLoop(nominal, len(SEEDS)), None)
    off = np.remainder(yaw_of(batch.plant.motion.wxyz) - batch.points.yaw[-1] + np.pi, 2 * np.pi) - np.pi
    assert np.abs(off).max() < np.deg2rad(15)


def test_nominal_loads_are_about_the_nominal_centre():
    drawing = catalogue_drawing("hong-tilt-rotor")
    speed = np.full((4, 1), drawing.hover_speed)
    force, torque = nominal_loads(drawing, speed)
    np.testing.assert_allclose(force[:, 0], [0.0, 0.0, drawing.mass * GRAVITY], atol=1e-9)
    np.testing.assert_allclose(torque, 0.0, atol=1e-9)
    speed[2] *= 1.1  # the rotor ahead: nose up
    assert nominal_loads(drawing, speed)[1][1, 0] < -0.1


def test_means_are_of_the_records_before():
    values = np.arange(12.0)[:, None]
    np.testing.assert_allclose(averaged(values, 3)[:, 0], [0.0, 0.5, *np.arange(1.0, 11.0)])


# ------------------------------------------------------------------------------------------------- payloads


@pytest.mark.parametrize("name", VEHICLES)
@pytest.mark.parametrize("share", [0.12, -0.12])
def test_a_payload_keeps_the_balance_of_mass_and_momentum(name, share):
    body = draw_weighed_vehicle(catalogue_drawing(name), CONDITIONS["calm"].level, 8)
    after = Event(20.0, share, 0.010).after(body, 8)
    shift, mass = after.com - body.com, share * body.mass
    assert float(after.mass) == pytest.approx(float(body.mass) * (1 + share))
    assert np.hypot(*shift[:2]) == pytest.approx(0.010)
    assert 0 < abs(shift[2]) < 0.0076
    position = (after.mass * after.com - body.mass * body.com) / mass
    assert np.sqrt(((position - body.com) ** 2).sum()) < 0.15
    about_origin = [v.inertia + point_inertia(v.mass, v.com) for v in (body, after)]
    ball = point_inertia(mass, position) + 0.4 * mass * 0.02**2 * np.eye(3)
    np.testing.assert_allclose(about_origin[1] - about_origin[0], ball, atol=1e-12)
    principal = np.linalg.eigvalsh(after.inertia)
    assert principal[0] > 0
    assert principal[0] + principal[1] > principal[2]
    motion = Motion(
        np.zeros((3, 1)), quaternion_of_euler(*np.array([[0.1], [-0.2], [0.7]])),
        np.array([[0.5], [-0.3], [0.2]]), np.array([[0.4], [-0.6], [0.3]]),
    )  # fmt: skip
    linear = [momentum(stack([v]).mass_properties, motion, 0.0)[0] for v in (body, after)]
    of_payload = motion.velocity + apply(rotation_matrix(motion.wxyz), cross(motion.rate, position[:, None]))
    np.testing.assert_allclose(linear[1] - linear[0], mass * of_payload, atol=1e-12)


@pytest.mark.parametrize("marked", [True, False])
def test_an_event_comes_when_it_should(marked):
    event = Event(2.0, 0.12, 0.010, marked)
    flights, loop = recorded("x500", "calm", "hover", SEEDS, duration=5.0, event=event)
    assert loop.marks == ([2.0] if marked else [])
    for flight in flights:
        changed = flight.said_time > 2.0 - 1e-6
        np.testing.assert_allclose(flight.mass, np.where(changed, 1.12, 1.0) * flight.body.mass)
        step = flight.com[-1] - flight.com[0]
        np.testing.assert_allclose(np.hypot(*step[:2]), 0.010)
        np.testing.assert_allclose(flight.trim_mean[-1] - flight.trim_mean[18], step[:2], atol=1.5e-3)
        asked = np.stack(loop.asked)[:, 0, 0]
        assert asked[-1] > 1.05 * asked[450]


# ------------------------------------------------------------------------------------------------- readings


def test_readings_are_those_of_the_condition():
    loops = {
        name: recorded("x500", name, "hover", SEEDS, duration=3.0)[1]
        for name in ("calm", "bias", "vibration")
    }
    calm, bias, shaken = (loops[name].arrays() for name in ("calm", "bias", "vibration"))
    np.testing.assert_allclose(calm[0][:, 0], 0.003 + 0.004 * np.arange(750))
    difference = (bias[2] - calm[2])[250:].mean(axis=0)
    np.testing.assert_allclose(np.sqrt((difference**2).sum(axis=1)), 0.3, atol=0.01)
    assert np.diff(calm[2][250:], axis=0).std() / np.sqrt(2) == pytest.approx(0.12, rel=0.15)
    assert np.diff(calm[1][250:], axis=0).std() / np.sqrt(2) == pytest.approx(0.004, rel=0.15)
    assert 1.5 * calm[2][250:].std(axis=0).max() < shaken[2][250:].std(axis=0).max() < 2.5
    quantum = 20 * 2 * np.pi / 60
    np.testing.assert_allclose(calm[3] / quantum, np.round(calm[3] / quantum), atol=1e-9)
    np.testing.assert_allclose(calm[2][250:].mean(axis=0)[:, 2], GRAVITY, atol=0.1)
    assert ((calm[4] > 0) & (calm[4] < 1)).all()


def test_speeds_are_late():
    """With a lateness of 3 ms and 1 ms to hand over, a reading holds the speed of the sample before."""
    level = replace(CONDITIONS["calm"].level, speed_latency=0.003, speed_noise=0.0, speed_quantum=0.0)
    batch = CogBatch("x500", Condition("late", level), "gentle", list(SEEDS), 2.0, None)
    true = []

    class Watching(Recorder):
        def read(self, *readings):
            super().read(*readings)
            true.append(batch.plant.speed.T)

    nominal = catalogue_text("x500")
    loop = Watching(nominal, len(SEEDS))
    batch.run(nominal, loop, None)
    np.testing.assert_array_equal(loop.arrays()[3][1:], np.stack(true)[:-1])


def faulty(name, count=4000, rotors=4):
    """Readings as they are and as they arrive, arrays (K, N, ...), from 2 s before the fault on; 250 Hz."""
    level = CONDITIONS["calm"].level
    fault = ReadingFault(name, SEEDS, 2.0, level, rotors)
    rng = generator(1, "readings")
    clean, arrived = [], []
    for k in range(count):
        readings = Readings(
            np.full(2, 0.004 * k), 0.1 * rng.standard_normal((2, 3)),
            [0.0, 0.0, GRAVITY] + 0.3 * rng.standard_normal((2, 3)), 700 + rng.standard_normal((2, rotors)),
        )  # fmt: skip
        clean.append(readings)
        arrived.append(fault(readings))
    return tuple(
        {key: np.stack([getattr(r, key) for r in rows]) for key in ("time", "gyro", "accel", "speeds")}
        for rows in (clean, arrived)
    )


def check_sensor(sensor, kind, true, read):
    """What a fault of gyro or accelerometer does: values (K, N, 3) from its first sample on."""
    size = {"accel": 0.12, "gyro": 0.004}[sensor]
    more = read - true
    checks = {
        "dead": (read == 0).all,
        "dead with noise": lambda: read.std() == pytest.approx(size, rel=0.05) and abs(read.mean()) < size,
        "frozen": (read == true[0]).all,
        "axis frozen": lambda: (
            ((read == true[0]).all(axis=0).sum(axis=-1) == 1).all()
            and ((read == true).all(axis=0).sum(axis=-1) == 2).all()
        ),
        "clipped": lambda: np.abs(read).max() == CLIPPED[sensor] and (np.abs(more) > 0).mean() > 0.2,
        "at range": (read == RANGE[sensor]).all,
        "NaN": lambda: np.isnan(read).all(),
        "tripled": lambda: np.allclose(read, 3 * true),
        "spikes": lambda: (
            (more != 0).any(axis=-1).mean() == pytest.approx(0.01, rel=0.4)
            and np.allclose(
                np.unique(np.abs(more).max(axis=-1).round(6)), [0.0, {"accel": 100, "gyro": 20}[sensor]]
            )
        ),
        "bias jump": lambda: np.allclose(
            np.sqrt((more**2).sum(axis=-1)), {"accel": 2.0, "gyro": 0.5}[sensor]
        ),
    }
    assert checks[kind]()


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_does_what_its_name_says(name):
    clean, arrived = faulty(name)
    for key, values in arrived.items():
        np.testing.assert_array_equal(values[:500], clean[key][:500])
    sensor, _, kind = name.partition(" ")
    true, read = ({key: values[500:] for key, values in rows.items()} for rows in (clean, arrived))
    missing = np.isnan(read["gyro"]).all(axis=-1)
    touched = {sensor} if sensor in CLIPPED else {"speeds"} if sensor == "speed" else set(read)
    for key in set(read) - touched:
        np.testing.assert_array_equal(read[key], true[key])
    if sensor in CLIPPED:
        check_sensor(sensor, kind, true[sensor], read[sensor])
    elif sensor == "speed":
        wrong = {"NaN": np.isnan, "zeros": lambda v: v == 0, "frozen": lambda v: v == true["speeds"][0]}[kind]
        share = wrong(read["speeds"]).mean(axis=0)
        expected = 0.05 if kind == "zeros" else 1.0
        np.testing.assert_allclose(share.max(axis=1), expected, rtol=0.25)
        assert (np.sort(share, axis=1)[:, :-1] <= 1 / len(read["time"])).all()
    elif name == "stamps back":
        steps = np.diff(arrived["time"], axis=0)
        np.testing.assert_allclose(read["time"] - true["time"] + 2.0, 0.0, atol=0.021)
        assert steps[499].max() < -1.9
        assert 0.005 < (steps[500:] < 0).mean() < 0.04
    else:
        share = {"half lost": 0.5, "70 % lost": 0.7, "gap": 500 / 3500, "all NaN": 250 / 3500}[name]
        np.testing.assert_allclose(missing.mean(axis=0), share, rtol=0.1)
        for key in ("accel", "speeds"):
            np.testing.assert_array_equal(np.isnan(read[key]).all(axis=-1), missing)
        stamps = np.zeros_like(missing) if name == "all NaN" else missing
        np.testing.assert_array_equal(np.isnan(read["time"]), stamps)
        np.testing.assert_array_equal(read["gyro"][~missing], true["gyro"][~missing])
        assert name not in {"gap", "all NaN"} or not np.diff(missing[: round(share * 3500)], axis=0).any()


def test_a_fault_reaches_the_loop_and_not_the_pilot():
    options = {"duration": 2.0}
    flights, loop = recorded("x500", "vibration", "gentle", SEEDS, **options)
    for name in ("accel clipped", "gyro clipped", "speed NaN"):
        faulty_flights, faulty_loop = recorded("x500", "vibration", "gentle", SEEDS, fault=name, **options)
        np.testing.assert_array_equal(faulty_flights[1].position_error, flights[1].position_error)
        pairs = list(zip(loop.arrays(), faulty_loop.arrays(), strict=True))
        unlike = [(a != b).any(axis=(1, 2) if a.ndim == 3 else 1) for a, b in pairs]
        assert not np.stack(unlike)[:, :250].any()
        touched = {"gyro": 1, "accel": 2, "speed": 3}[name.split()[0]]
        assert unlike[touched][250:].mean() > 0.5
        assert [k for k in range(5) if unlike[k].any()] == [touched]


def test_names_that_do_not_exist_are_errors():
    with pytest.raises(ValueError, match="no fault 'accel odd'"):
        fly_cog("x500", "calm", "hover", SEEDS, NominalLoop, 0.2, fault="accel odd")
    with pytest.raises(ValueError, match="no vehicle 'x50'"):
        fly_cog("x50", "calm", "hover", SEEDS, NominalLoop, 0.2)


# ---------------------------------------------------------------------------------------- wind, draws, crashes


@pytest.mark.parametrize("mean", [3.0, 6.0])
def test_wind_has_the_stated_mean_and_gusts(mean):
    level = CONDITIONS[f"wind {mean:g}"].level
    series = np.stack([draw_steady_wind(level, seed, 600.0) for seed in range(12)])
    average = series.mean(axis=1)  # of 600 s: within some 5 % of the mean of the wind
    assert np.hypot(*average[:, :2].T).mean() == pytest.approx(mean, rel=0.05)
    steady = draw_steady_wind(replace(level, gust=0.0), 0, 1.0)
    np.testing.assert_allclose(np.hypot(*steady[:, :2].T), mean)
    np.testing.assert_allclose(average[:, 2:], 0.0, atol=0.1 * mean)
    deviation = np.sqrt((series - average[:, None]).var(axis=1).mean(axis=0))
    gust = 0.3 * mean
    np.testing.assert_allclose(deviation, gust * np.array([1, 1, 0.6, 0.25, 0.25, 0.25]), rtol=0.1)
    headings = np.arctan2(average[:, 1], average[:, 0])
    assert headings.std() > 0.7


def test_seeds_reproduce_and_flights_do_not_depend_on_their_neighbours():
    def fly(seeds):
        return fly_cog("hummingbird", "wind 3", "gentle", seeds, NominalLoop, duration=2.0, event=Event(1.0))

    first, again, other = fly(SEEDS), fly(SEEDS), fly((9, SEEDS[1]))
    for name in ("position_error", "trim", "com", "mass", "commands"):
        np.testing.assert_array_equal(getattr(first[0], name), getattr(again[0], name))
        np.testing.assert_allclose(getattr(first[1], name), getattr(other[1], name), rtol=1e-9, atol=1e-12)
    assert np.abs(first[0].com - other[0].com).max() > 1e-4
    assert len(first[0].said_time) == 20
    np.testing.assert_allclose(first[0].said_time, 0.1 * np.arange(1, 21))
    assert first[0].said["used"].shape == (20, 2)


def test_a_mixer_without_numbers_crashes():
    class Broken(NominalLoop):
        def mix(self, lift, torque):
            return np.full((len(lift), 4), np.nan)

    assert all(f.crashed for f in fly_cog("x500", "calm", "hover", SEEDS, Broken, duration=6.0))
