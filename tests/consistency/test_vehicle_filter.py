"""Does the self-calibrating filter tell the truth about its own uncertainty? Seeded Monte Carlo, two-sided bands.

The default form flies few and short flights; `make test-slow` has the full ones, whose figures stand in
`docs/results.md`.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.core.consistency import Fit, fit_of, mean_band, nees
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.model import linear_imu, linear_pose, linear_step
from haltere.estimation.vehicle.prior import VehiclePrior, prior_at, ten_percent
from haltere.estimation.vehicle.smoother import smooth
from haltere.estimation.vehicle.steps import VehicleNoise
from haltere.papers.boehm.flights import SPEED_SIGMA, Conditions, dragged, fly, ring, spinning, tilted
from haltere.papers.boehm.series import SeriesSettings, estimate, frames_of, paper_hand_measurements

HUMMINGBIRD = from_catalogue("hummingbird")
SHORT = Conditions(duration=4.0)


@pytest.fixture(scope="module")
def short():
    return fly(HUMMINGBIRD, range(40, 46), SHORT)


def test_band_is_two_sided_and_holds_what_it_should() -> None:
    rng = np.random.default_rng(3)
    band = mean_band(65, 30)
    means = rng.chisquare(65, size=(20000, 30)).mean(axis=1)
    outside = np.mean((means < band.low) | (means > band.high))
    assert 0.0003 < outside < 0.002


def test_nees_is_the_mahalanobis_distance() -> None:
    root = np.random.default_rng(0).normal(size=(5, 5)) * [1.0, 1e-6, 1e3, 1.0, 1e-3]
    cov, error = root.T @ root, root.T @ np.ones(5)
    np.testing.assert_allclose(nees(jnp.asarray(error), jnp.asarray(cov)), 5.0, rtol=1e-6)


def test_short_flights_are_consistent_from_ten_percent_off(short) -> None:
    coordinates = describe_vehicle(HUMMINGBIRD).coordinates
    series = estimate(
        HUMMINGBIRD,
        range(40, 46),
        SeriesSettings(hand_measurements=paper_hand_measurements(coordinates)),
        SHORT,
        short,
    )
    o = series.outcome
    assert float(np.mean(o.nees)) in mean_band(65, 6)
    assert float(np.max(o.worst)) < 5.0
    np.testing.assert_allclose(o.information, 1.0, rtol=0.01)


def test_smoothed_start_is_stationary(short) -> None:
    """At the result the gradient of the negative log posterior vanishes, by a cost written here and shot forward."""
    coordinates = describe_vehicle(HUMMINGBIRD).coordinates
    physical = describe_vehicle(HUMMINGBIRD).physical
    noise = VehicleNoise.from_airframe(HUMMINGBIRD, SPEED_SIGMA)._replace(walk=jnp.zeros(6))
    one = jax.tree.map(lambda x: x[0], short)
    frames = jax.tree.map(lambda x: x[:3], frames_of(one, SHORT))
    moving_sigma, sigma = ten_percent(coordinates, physical, 0.3)
    first = {
        "position": one.state.position[0], "velocity": one.state.twist[0, :3], "attitude": one.state.wxyz[0],
        "rates": one.state.twist[0, 3:], "accel_bias": one.bias[0, :3], "gyro_bias": one.bias[0, 3:],
    }  # fmt: skip
    key = jax.random.key(5)
    prior = VehiclePrior(
        coordinates.moving.plus(first, moving_sigma * jax.random.normal(key, moving_sigma.shape)),
        moving_sigma,
        physical,
        sigma,
    )
    at = partial(prior_at, coordinates, prior, (), jnp.zeros(0))
    begin = {**prior.moving, **coordinates.to_coordinates(physical)}
    belief, nominal, sizes = jax.jit(lambda: smooth(coordinates, noise, begin, at, frames, 8))()
    assert float(sizes[-1]) < 1e-4
    start = {**nominal.constants, **{name: x[0, 0] for name, x in nominal.moving.items()}}

    steady = jnp.zeros(coordinates.count)

    def cost(error, w):
        state = coordinates.space.plus(start, error)
        away = (
            coordinates.moving.minus(prior.moving, {name: state[name] for name in prior.moving})
            / moving_sigma
        )
        told = (
            coordinates.physical.minus(prior.physical, coordinates.to_physical(coordinates.constants(state)))
            / sigma
        )
        total = away @ away + told @ told + jnp.sum((w / noise.speed) ** 2)
        for k in range(frames.position.shape[0]):
            pose, _ = linear_pose(state, frames.position[k], frames.wxyz[k], coordinates.moving.dimension)
            total += jnp.sum((pose / noise.pose) ** 2)
            for j in range(frames.steps.dt.shape[1]):
                speeds = frames.steps.speeds[k, j] + w[k, j]
                expected = linear_imu(state, speeds, coordinates, steady)[0]
                total += jnp.sum(((frames.steps.imu[k, j] - expected) / noise.imu) ** 2)
                state = {**state, **linear_step(state, speeds, frames.steps.dt[k, j], coordinates, steady)[0]}
        return 0.5 * total

    # the gradient by central differences along random directions, measured in posterior sigmas
    go = jax.jit(cost)
    spread = jnp.sqrt(jnp.diagonal(belief.cov))
    still, quiet = jnp.zeros(coordinates.space.dimension), nominal.noise
    size = 1e-3
    for i in range(6):
        keys = jax.random.split(jax.random.key(i))
        d, v = jax.random.normal(keys[0], still.shape) * spread, jax.random.normal(keys[1], quiet.shape)
        rise = go(still + size * d, quiet + size * v) - go(still - size * d, quiet - size * v)
        curve = (
            go(still + d * size, quiet + v * size)
            + go(still - d * size, quiet - v * size)
            - 2 * go(still, quiet)
        )
        # Newton's step along this line, in units of the random direction
        assert abs(float(0.5 * rise * size / curve)) < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("axes", "factor", "runs"), [("spherical", 1.0, 100), ("spherical", 2.0, 30), ("sphere", 1.0, 30)]
)
def test_flights_of_30_s_are_consistent(axes, factor, runs) -> None:
    coordinates = describe_vehicle(HUMMINGBIRD, axes).coordinates
    seeds = range(2000, 2000 + runs)
    series = estimate(HUMMINGBIRD, seeds, SeriesSettings(axes, paper_hand_measurements(coordinates), factor))
    assert float(np.mean(series.outcome.nees)) in mean_band(65, runs)
    assert float(np.max(series.outcome.worst)) < 5.0
    assert series.ratio < 1.1
    if runs == 100:
        assert max(series.group_ratios.values()) < 1.2


@pytest.mark.slow
def test_smoother_over_the_whole_flight_reaches_the_bound() -> None:
    coordinates = describe_vehicle(HUMMINGBIRD).coordinates
    series = estimate(
        HUMMINGBIRD,
        range(500, 530),
        SeriesSettings(hand_measurements=paper_hand_measurements(coordinates), start=30.0),
    )
    assert series.ratio < 1.05
    assert float(np.mean(series.outcome.nees)) in mean_band(65, 30)


def hands_without(airframe, *endings):
    coordinates = describe_vehicle(airframe).coordinates
    return tuple(
        h for h in paper_hand_measurements(coordinates) if not any(part in h.name for part in endings)
    )


@pytest.mark.slow
@pytest.mark.parametrize("missing", [("mass",), ("position.z", "distance")])
def test_what_was_not_measured_stays_unknown(missing) -> None:
    """[Boehm2022] Figs. 4 and 5: no information along directions that no flight shows."""
    setting = SeriesSettings(hand_measurements=hands_without(HUMMINGBIRD, *missing))
    outcome = estimate(HUMMINGBIRD, range(500, 530), setting).outcome
    assert float(np.mean(outcome.nees)) in mean_band(65, 30)
    np.testing.assert_allclose(outcome.information, 1.0, rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("airframe", "runs"), [(tilted(), 30), (ring(6), 10), (ring(8), 10)], ids=["tilted", "6", "8"]
)
def test_other_vehicles_are_consistent(airframe, runs) -> None:
    series = estimate(
        airframe, range(500, 500 + runs), SeriesSettings(hand_measurements=hands_without(airframe))
    )
    assert float(np.mean(series.outcome.nees)) in mean_band(series.coordinates.space.dimension, runs)
    assert series.ratio < 1.2


@pytest.mark.slow
def test_position_and_imu_without_attitude_are_consistent() -> None:
    setting = SeriesSettings(
        hand_measurements=hands_without(HUMMINGBIRD), attitude=False, start=5.0, iterations=8
    )
    series = estimate(HUMMINGBIRD, range(500, 510), setting)
    assert float(np.mean(series.outcome.nees)) in mean_band(65, 10)


@pytest.mark.slow
def test_without_any_hand_measurement_it_is_consistent() -> None:
    series = estimate(HUMMINGBIRD, range(500, 530), SeriesSettings(start=5.0, iterations=8))
    assert float(np.mean(series.outcome.nees)) in mean_band(65, 30)
    np.testing.assert_allclose(series.outcome.information, 1.0, rtol=0.01)


BLOWN = Conditions(wind=(3.0, 0.0, 0.0), gusts=True)
FAST = Conditions(amplitude=(1.6, 1.6, 1.0, 1.0))
LAGGED = Conditions(lag=True, substeps=5)
LEFT_OUT = {
    "drag": (dragged(), FAST, ("drag",)),
    "wind": (dragged(), BLOWN, ("drag", "wind")),
    "spin": (spinning(), LAGGED, ("spin",)),
}


def fits(outcome) -> list[Fit]:
    """The residual test of every run."""
    found = []
    for pose, imu in zip(outcome.pose_nis, outcome.imu_nis, strict=True):
        time = 2.0 + 0.02 * np.arange(len(pose))
        found.append(fit_of(time, pose, np.full(len(pose), 6), imu, np.ones(imu.shape, bool), 40.0))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LEFT_OUT))
def test_what_the_paper_leaves_out_is_estimated_or_noticed(name) -> None:
    """Rotor inertia, hub force and body drag up to 5 m/s, 3 m/s wind with gusts; 10 flights each."""
    airframe, conditions, effects = LEFT_OUT[name]
    recording = fly(airframe, range(500, 510), conditions)
    hand_measurements = hands_without(airframe)
    plain = estimate(
        airframe, range(500, 510), SeriesSettings(hand_measurements=hand_measurements), conditions, recording
    )
    assert all(fit.mismatch for fit in fits(plain.outcome))
    whole = estimate(
        airframe,
        range(500, 510),
        SeriesSettings(hand_measurements=hand_measurements, effects=effects),
        conditions,
        recording,
    )
    assert float(np.mean(whole.outcome.nees)) in mean_band(whole.coordinates.space.dimension, 10)
    assert not any(fit.mismatch for fit in fits(whole.outcome))


@pytest.mark.slow
def test_a_change_in_flight_is_found_within_3_s() -> None:
    """10 % more mass and 10 mm of centre of gravity at 15 s."""
    conditions = Conditions(duration=19.0, change=(15.0, 1.1, (0.01, 0.0, 0.0)))
    recording = fly(HUMMINGBIRD, range(900, 905), conditions)
    rng = np.random.default_rng(0)
    for i in range(5):
        frames = frames_of(jax.tree.map(lambda x, i=i: x[i], recording), conditions)
        coordinates = describe_vehicle(HUMMINGBIRD).coordinates
        truth = {"mass": 0.716, "pose.rotation.z": 0.0, "distance.front.left": 0.17 * np.sqrt(2.0)}
        truth |= {f"rotors.{r}.position.z": 0.011 for r in coordinates.rotors}
        hand_measurements = {
            h.name: (truth[h.name] + h.sigma * rng.normal(), h.sigma)
            for h in paper_hand_measurements(coordinates)
        }
        for change in (None, (0.03, 3e-3, 0.03)):
            vehicle = VehicleCore.from_airframe(
                HUMMINGBIRD, hand_measurements=hand_measurements, change=change
            )
            before, after = (
                vehicle.estimate(jax.tree.map(lambda x, t=t: x[: round(50 * t)], frames))
                for t in (14.98, 18.0)
            )
            assert not before.fit.mismatch
            if change is None:
                assert abs(after.fit.since - 15.0) <= 1.0
                assert any("cannot be told apart" in note for note in after.notes)
                continue
            mass = next(row for row in after.table() if row.name == "mass")
            assert abs(mass.value - 1.1 * 0.716) < 4.0 * mass.sigma
            assert mass.sigma < 0.03 * 0.716
            shift = np.mean(before.physical["rotor_position"] - after.physical["rotor_position"], axis=0)
            sigma = next(row.sigma for row in after.table() if row.name == "pose.position.x")
            assert abs(shift[0] - 0.01) < min(4.0 * sigma, 3e-3)


@pytest.mark.slow
def test_lag_outliers_outage_and_delay_are_borne() -> None:
    conditions = Conditions(lag=True, substeps=5, outliers=0.01, outage=(10.0, 12.0), pose_delay=1)
    setting = SeriesSettings(hand_measurements=hands_without(HUMMINGBIRD), gate=40.0)
    outcome = estimate(HUMMINGBIRD, range(500, 510), setting, conditions).outcome
    assert float(np.mean(outcome.nees)) in mean_band(65, 10)
