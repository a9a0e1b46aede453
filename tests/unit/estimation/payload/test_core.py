"""Payload from servo loads: the paper's estimator by hand, derivatives, recovery on drawn servos, held and refused."""

from dataclasses import replace

import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.events import detect_changes
from haltere.estimation.payload.model import (
    PER_JOINT,
    ArmBelief,
    DriftBudget,
    coefficients,
    payload_parameters,
)
from haltere.estimation.payload.record import ArmRecord, PayloadError
from haltere.estimation.payload.state import ROTATING_BASE
from haltere.papers.schmitz import bench as arms
from haltere.papers.schmitz import paper_estimator, series
from haltere.papers.schmitz.runs import run_of

RUNS = 8


@pytest.fixture(scope="module")
def bench():
    return arms.draw_arms(RUNS, 77)


@pytest.fixture(scope="module")
def belief(bench):
    return series.calibrate_arms(bench)


@pytest.fixture(scope="module")
def grip(bench):
    return series.series_record(bench, (45.0, 45.0), 0.273)


def test_listing_one_gives_back_a_weight_on_its_own_ideal_servos():
    """Servos that read torque / correction for payload and arm as the listing models them: exact."""
    arm = paper_estimator.PaperArm()
    angle = np.deg2rad(np.asarray([[45.0, 45.0], [90.0, 0.0], [20.0, 80.0]]))
    l1, l2 = paper_estimator.lever_arms(angle, arm)
    mass, g, w = 0.2, 9.81, 0.06 * 9.81
    torque = np.stack(
        [
            mass * (l1 + l2) * g / 2.4 + (0.9 * l1 + l1 + l2) * w,
            mass * l2 * g / 1.65 + 0.5 * l2 * w,
        ],
        axis=-1,
    )
    record = ArmRecord.on_bench(50.0, angle, torque / np.asarray(arm.stall))
    assert np.allclose(paper_estimator.direct_mass(record), mass, rtol=1e-12)


def test_listing_one_has_no_result_straight_down():
    record = ArmRecord.on_bench(50.0, np.zeros((5, 2)), np.full((5, 2), 0.1))
    assert np.isnan(paper_estimator.direct_mass(record)).all()


def test_the_running_average_has_a_memory_of_21_samples():
    values = paper_estimator.running_average(np.ones(200))
    assert values[0] == pytest.approx(1.0 / 21.0)
    assert values[20] == pytest.approx(1.0 - (20.0 / 21.0) ** 21)
    assert paper_estimator.mean_of_last(np.arange(40.0), 20)[-1] == pytest.approx(
        np.arange(20.0, 40.0).mean()
    )


def test_closed_form_of_ideal_torques():
    arm = paper_estimator.PaperArm(corrections=(1.0, 1.0))
    angle = np.deg2rad(np.asarray([[90.0, 0.0]]))
    l1, l2 = paper_estimator.lever_arms(angle, arm)
    force, offset = 2.5, 0.03
    torque = np.stack([force * (l1 + l2 + offset), force * (l2 + offset)], axis=-1)
    record = ArmRecord.on_bench(50.0, angle, torque / np.asarray(arm.stall))
    found, place = paper_estimator.closed_form(record, arm)
    assert np.allclose(found, force)
    assert np.allclose(place, offset)


def test_derivatives_of_the_reading_model():
    belief = ArmBelief.from_airframe(from_catalogue("quad-arm"))
    x = np.concatenate([[0.2, 0.01, -0.02, 0.03, 1e-4], belief.mean])
    _, slope = coefficients(belief, x)
    step = 1e-6
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        numeric = (coefficients(belief, up)[0] - coefficients(belief, down)[0]) / (2.0 * step)
        assert np.allclose(slope[..., i], numeric, rtol=1e-6, atol=1e-8), belief.names[i - 5]


def test_inertial_parameters_of_a_payload_are_those_of_the_dynamics():
    import jax.numpy as jnp

    from haltere.dynamics.inertia import inertial_parameters

    gripper, shift = np.asarray([0.0, 0.0, -0.1]), np.asarray([0.01, 0.02, -0.03])
    ours, _ = payload_parameters(gripper, np.asarray([0.3, *shift, 2e-4]))
    theirs = inertial_parameters(jnp.asarray(0.3), jnp.asarray(gripper + shift), 2e-4 * jnp.eye(3))
    assert np.allclose(ours, theirs, rtol=1e-12)


def test_a_calibrated_arm_weighs_273_g(belief, grip):
    found, _ = series.measure_record(PayloadCore(belief), grip)
    error = np.abs(found.last.mass - 0.273) / 0.273
    assert error.mean() < 0.03
    assert np.all(np.abs(found.last.mass - 0.273) < 4.0 * found.last.sigma)
    assert found.last.observable.all()
    assert np.all(found.settled < 2.5)
    assert np.all(found.last.sigma > 0.001)


@pytest.mark.parametrize(("drift", "strain", "least"), [(0.03, (0.85, 1.15), 0.93), (0.1, (4.0, 9.0), 0.88)])
def test_strain_tells_more_drift_than_budgeted(belief, grip, drift, strain, least):
    """Readings drawn from the model itself, b = G beta(x) + noise of covariance G, friction as budgeted or worse."""
    arm = belief.of_run(0)
    filter_ = PayloadCore(arm)
    signals = filter_.signals(run_of(grip, 0))
    read = filter_.update(filter_.begin(), signals, round(series.FIRST * grip.rate), grip.samples)
    matrix = filter_.readings(read)[0]
    runs, rng = 600, np.random.default_rng(5)
    x = np.zeros((runs, len(read.x)))
    x[:, 0] = 0.273
    more = DriftBudget(friction=np.sqrt(drift**2 - DriftBudget().friction ** 2), voltage=0.0, ripple=0.0)
    x[:, 5:] = rng.multivariate_normal(arm.mean, arm.drifted(more).cov, runs)
    noise = np.linalg.cholesky(matrix + 1e-12 * np.eye(matrix.shape[-1]))
    vector = (matrix @ coefficients(arm, x)[0][..., None])[..., 0]
    vector += (noise @ rng.standard_normal((*vector.shape, 1)))[..., 0]
    start = filter_.begin((runs,))
    drawn = replace(start, matrix=np.broadcast_to(matrix, (runs, *matrix.shape)), vector=vector)
    for _ in range(3):
        drawn = replace(drawn, x=filter_.posterior(drawn)[0])
    found, cov, told = filter_.posterior(drawn)
    assert strain[0] < told.mean() < strain[1]
    inside = np.abs(found[:, 0] - 0.273) < 1.96 * np.sqrt(cov[:, 0, 0])
    assert least < inside.mean() < 0.99


def test_calibration_finds_the_losses_and_their_doubt(bench, belief):
    truth = np.stack([bench.servos.loss_up, bench.servos.loss_down], axis=-1)
    found = belief.mean[:, [0, 1, len(PER_JOINT), len(PER_JOINT) + 1]].reshape(RUNS, 2, 2)
    assert np.abs(found - truth).max() < 0.03


def test_a_held_value_is_flagged(belief, bench):
    time, held = series.timeline(6.0)
    motion = arms.sweep_motion(time, series.SWEEP, end=series.SWEEP + 2.0)
    record = arms.trace_arms(bench, (45.0, 45.0), 0.273, motion, held)[0]
    found, _ = series.measure_record(PayloadCore(belief), record)
    assert found.stale[:, -1].all()
    assert not found.stale[:, 15].any()


def test_the_place_is_refused_where_both_joints_feel_the_same(belief, bench):
    offset = np.zeros((RUNS, 3))
    offset[:, 2] = -0.03
    wide = series.wide_filter(belief)
    refused = series.measure_in_poses(bench, wide, ((0.0, 90.0),), 0.273, offset, series.QUICK)
    assert not refused.position_observable.any()
    seen = series.measure_in_poses(bench, wide, ((90.0, -90.0), (90.0, 0.0)), 0.273, offset)
    assert seen.position_observable.all()
    along = (seen.center_of_mass - wide.arm.gripper)[:, 2]
    assert np.abs(along + 0.03).mean() < 0.005


@pytest.mark.parametrize(("swing", "own", "told"), [(5.0, 4e-4, True), (5.0, 0.0, True), (0.0, 4e-4, False)])
def test_the_payload_s_own_inertia_is_told_where_the_base_turns(belief, bench, swing, own, told):
    """273 g with a gyration radius of 38 mm, or a point, under a base that pitches to and fro, or does not."""
    filter_ = PayloadCore(belief, ROTATING_BASE)
    record = series.turning(bench, 0.273, own, swing)
    signals, now = filter_.signals(record), filter_.begin((RUNS,))
    for first in range(100, record.samples, 300):
        now = filter_.update(now, signals, first, first + 300)
    found = filter_.estimate(now)
    assert (found.inertia_observable == told).all()
    assert found.observable.all()
    assert np.all(np.abs(found.inertia - own) < 2.0 * found.inertia_sigma)
    assert np.abs(found.mass - 0.273).mean() < 0.03 * 0.273
    if told:
        assert np.abs(found.inertia.mean() - own) < 1.5e-4
        assert 5e-5 < np.median(found.inertia_sigma) < 2e-4


def test_straight_down_is_not_observable(belief, bench):
    record = series.series_record(bench, (0.0, 0.0), 0.273)
    found, _ = series.measure_record(PayloadCore(belief), record)
    assert not found.last.observable.any()


def test_gripping_and_releasing_are_told_with_their_time(belief, bench):
    time = np.arange(900) / arms.RATE
    held = np.clip((time - 2.0) / 0.3, 0.0, 1.0) * np.clip(1.0 - (time - 6.0) / 0.2, 0.0, 1.0)
    motion = arms.sweep_motion(time, 3.0, end=5.0) + arms.sweep_motion(time, 6.7, end=8.7)
    record = arms.trace_arms(bench, (45.0, 45.0), 0.273, motion, held)[0]
    for run in range(2):
        filter_, mine = PayloadCore(belief.of_run(run)), run_of(record, run)
        found = detect_changes(filter_, mine, filter_.signals(mine))
        events = found.events
        assert [event.kind for event in events] == ["gripped", "released"]
        assert abs(events[0].time - 2.15) < 0.3
        assert abs(events[1].time - 6.1) < 0.3
        assert abs(events[0].after - 0.273) < 0.02
        assert abs(events[1].after) < 0.006
        assert min(event.confidence for event in events) > 0.99
        late = (found.time > 5.2) & (found.time < 5.95)
        assert np.all(np.abs(found.mass[late] - 0.273) < 4.0 * found.sigma[late])
        assert found.stale[late][-1]


def test_records_of_unlike_shape_are_refused():
    with pytest.raises(PayloadError, match="one clock"):
        ArmRecord.on_bench(50.0, np.zeros((5, 2)), np.zeros((4, 2)))


def test_a_force_sensor_at_the_mount_weighs_arm_and_payload_together():
    """By hand: 0.15 kg and an arm of 0.12 kg, whose mass is known to 0.05 / sqrt(3) for each link."""
    filter_ = PayloadCore(ArmBelief.from_airframe(from_catalogue("quad-arm")))
    belief = filter_.with_mount_force(filter_.begin(), np.asarray(0.27 * 9.81), np.asarray(9.81), 0.01)
    found = filter_.estimate(belief)
    links = 0.06 * 0.05 / np.sqrt(3.0) * np.sqrt(2.0)
    assert found.mass == pytest.approx(0.15, abs=1e-4)
    assert found.sigma == pytest.approx(np.hypot(0.01 / 9.81, links), rel=1e-2)
    assert bool(found.observable)


def three_joints():
    """The catalogue's arm with a third link like the second, and servos without friction."""
    arm = from_catalogue("quad-arm")
    free = {"loss_up": 0.0, "loss_down": 0.0, "coulomb": 0.0, "lag": 0.0}
    upper, fore = (
        link.model_copy(
            update={
                "joint": link.joint.model_copy(update={"servo": link.joint.servo.model_copy(update=free)})
            }
        )
        for link in arm.links
    )
    joint = fore.joint.model_copy(update={"origin": (0.0, 0.0, 2.0 * fore.com[2])})
    wrist = fore.model_copy(update={"name": "wrist", "parent": fore.name, "joint": joint})
    return arm.model_copy(update={"links": (upper, fore, wrist)})


def test_an_arm_of_three_joints_weighs_what_levers_by_hand_say():
    """A planar chain at rest under a base that goes up and down: torque = sum of masses times levers times f_z."""
    airframe, rate = three_joints(), 100.0
    time = np.arange(600) / rate
    angle = np.deg2rad([40.0, 30.0, 20.0]) + np.deg2rad(8.0) * np.sin(
        2.0 * np.pi * time[:, None] * np.asarray([0.3, 0.4, 0.5])
    )
    force = np.zeros((len(time), 3))
    force[:, 2] = 9.81 + np.sin(2.0 * np.pi * 0.7 * time)
    lengths, centres, masses, held = (0.0733, 0.1055, 0.1055), (0.06597, 0.05275, 0.05275), 0.06, 0.2
    lean = np.sin(np.cumsum(angle, axis=-1))
    torque = np.zeros((len(time), 3))
    for j in range(3):
        for link in range(j, 3):
            place = sum(lengths[k] * lean[:, k] for k in range(j, link)) + centres[link] * lean[:, link]
            torque[:, j] += masses * place * force[:, 2]
        tip = sum(lengths[k] * lean[:, k] for k in range(j, 3))
        torque[:, j] += held * tip * force[:, 2]
    belief = ArmBelief.from_airframe(airframe)
    speed = np.gradient(angle, axis=0) * rate
    acceleration = np.gradient(speed, axis=0) * rate
    drive = torque + belief.damping * speed + np.asarray(belief.servos.inertia) * acceleration
    record = ArmRecord(
        rate, angle, drive / np.asarray(belief.servos.stall_torque), force, np.zeros_like(force)
    )
    filter_ = PayloadCore(belief)
    found = filter_.estimate(filter_.update(filter_.begin(), filter_.signals(record), 50, record.samples))
    assert bool(found.observable)
    assert abs(float(found.mass) - held) < 0.01 * held
