"""Throws of many unknown vehicles: who hovers six seconds later, how well each knew itself, and why the others fell.

`recovered` = no contact with the ground and within 0.5 m and 0.5 m/s of the setpoint 6 s after release. The position
of the IMU and the shape of the inertia are what two tumbles of the same vehicle gave
(`haltere.scenarios.throw.tumbles`), or, without prior throws, nothing: then the position is learnt with the rotors,
and the inertia taken for a ball's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from os import PathLike, fspath
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, AirframeError, load_airframe
from haltere.control.throw_loop import LearnedVehicle, SensorNoise
from haltere.dynamics import State
from haltere.estimation.throw.alignment import Fixes
from haltere.estimation.throw.effectiveness import LATENCIES
from haltere.estimation.throw.excitation import excitation_time
from haltere.estimation.throw.refinement import RetainedRows
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.constants import GRAVITY
from haltere.foundation.tables import TextTable, text_lines
from haltere.lie import so3
from haltere.scenarios.throw.case import NOISES, RATE, TICK, Launch, ThrowCase
from haltere.scenarios.throw.chain import GYRO_RANGE, HAND_SECONDS, LOOP, RELEASE, hover, launch
from haltere.scenarios.throw.tumbles import simulate_tumbles
from haltere.scenarios.throw.vehicles import ThrownVehicle, random_vehicles, same_vehicles, template

SECONDS = 6.0
WIDTH = 20
"""Throws that fly together; what is left over is not counted. Batches of 250 were seen to wait for ever inside XLA."""
NEAR, SLOW = 0.5, 0.5
KINDS = {"random-quad": 4, "random-hexa": 6, "random-octo": 8}

Progress = Callable[[str], None]
SHOWN = 20
"""Failures in the table; `to_dict` has all."""


@dataclass(frozen=True)
class LaunchSettings:
    """How the vehicles are thrown.

    Attributes:
        height: of the apex of a free throw above the ground, m.
        spin: largest component of the spin at release, rad/s.
        noise: of the sensors.
        heading: "track" (from the positions) or "compass" (a sensor with 0.01 rad; IMU rotated about axes in the
            xy plane of the thrust frame, as in [Blaha2024]).
        goal: (3,) setpoint, m; z above the ground.
        prior_throws: whether two tumbles gave the position of the IMU and the shape of the inertia before.
    """

    height: float = 3.5
    spin: float = 7.0
    noise: str = "strong"
    heading: str = "track"
    goal: tuple[float, float, float] = (0.0, 0.0, 5.0)
    prior_throws: bool = True

    def __post_init__(self) -> None:
        if self.noise not in NOISES:
            raise HaltereError(f"noise {self.noise!r}; give one of {', '.join(NOISES)}")
        if self.heading not in {"track", "compass"}:
            raise HaltereError(f"heading {self.heading!r}; give track or compass")
        if not self.height > RELEASE + 0.5:
            raise HaltereError(f"height {self.height:g} m; give more than {RELEASE + 0.5:g} m")


@dataclass(frozen=True, repr=False)
class ThrowResults:
    """What came of all throws; arrays over the throws."""

    recovered: np.ndarray
    causes: tuple[str, ...]
    """Empty where it hovers."""
    axis_error: np.ndarray
    """rad."""
    altitude_lost: np.ndarray
    """m, from the first apex to the lowest point after it."""
    imu_position_error: np.ndarray
    """m, of the IMU: as the tumbles gave it, or as learnt in flight where there were none."""
    latency_error: np.ndarray
    """s, of the rotor speeds."""
    heading_error: np.ndarray
    """rad, when the excitation was over."""
    parameters: dict[str, np.ndarray]
    """Relative rms errors of `torque`, `force`, `spin`, `max_speed`, and `time_constant` in s."""
    final: np.ndarray
    """(throws, 2) distance in m and speed in m/s at the end."""
    fastest: np.ndarray
    """rad/s, the largest rate on one axis of the gyro during the excitation."""
    vehicle: str = "random-quad"
    """Kind or name of the vehicles."""
    settings: LaunchSettings = field(default_factory=LaunchSettings)

    @property
    def statistics(self) -> dict[str, dict[str, float]]:
        """Median, mean, 95th percentile and maximum of each quantity; SI but for the angles that say so."""
        quantities = {
            "axis_error_deg": np.degrees(self.axis_error),
            "imu_position_error": self.imu_position_error,
            "latency_error": self.latency_error,
            "altitude_lost": self.altitude_lost,
            "heading_error_deg": np.degrees(self.heading_error),
            "final_distance": self.final[:, 0],
        }
        return {name: _summary(values) for name, values in quantities.items()}

    @property
    def parameter_errors(self) -> dict[str, dict[str, float]]:
        """The same of the errors in `parameters`."""
        return {name: _summary(values) for name, values in self.parameters.items()}

    def to_dict(self) -> dict[str, Any]:
        """The summary as `haltere throw --json` prints it."""
        return {
            "vehicle": self.vehicle,
            "noise": self.settings.noise,
            "prior_throws": self.settings.prior_throws,
            "runs": len(self.recovered),
            "recovered": int(self.recovered.sum()),
            **self.statistics,
            "parameter_errors": self.parameter_errors,
            "failures": [{"run": i, "cause": cause} for i, cause in enumerate(self.causes) if cause],
        }

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """The statistics, and the causes of the first failures if there were any."""
        rows = [
            (name, *values.values()) for name, values in (self.statistics | self.parameter_errors).items()
        ]
        title = f"{self.vehicle}: {int(self.recovered.sum())} of {len(self.recovered)} throws end in a hover"
        found = TextTable(title, ("quantity", "median", "mean", "p95", "max"), rows)
        failures = [(i, cause) for i, cause in enumerate(self.causes) if cause][:SHOWN]
        return (found, TextTable("Failures", ("throw", "cause"), failures)) if failures else (found,)

    def __repr__(self) -> str:
        return text_lines(self.tables)

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables)


def _summary(values: np.ndarray) -> dict[str, float]:
    x = np.asarray(values, float)
    return {
        "median": float(np.median(x)),
        "mean": float(np.mean(x)),
        "p95": float(np.quantile(x, 0.95)),
        "max": float(np.max(x)),
    }


@double_precision()
def throw_vehicles(
    key: Array | int,
    runs: int,
    vehicle: str | PathLike[str] | Airframe = "random-quad",
    settings: LaunchSettings | None = None,
    progress: Progress | None = None,
) -> ThrowResults:
    """Throw unknown vehicles and see whether they hover six seconds later.

    Args:
        key: of all randomness, or its seed.
        runs: how many throws.
        vehicle: a kind of `KINDS`, a new one for each throw; or an airframe, a name of the catalogue, or a file.
        settings: how they are thrown.
        progress: called with a sentence before each batch.

    Raises:
        HaltereError: the vehicle is not known, or cannot be thrown.
    """
    chosen, talk = settings or LaunchSettings(), progress or (lambda _: None)
    key = jax.random.key(key) if isinstance(key, int) else key
    name = vehicle.name if isinstance(vehicle, Airframe) else fspath(vehicle)
    airframe = None if name in KINDS else _described(vehicle)
    rotors = KINDS[name] if airframe is None else len(airframe.rotors)
    if rotors < 4:
        raise HaltereError(
            f"vehicle {name!r}; give one of {', '.join(KINDS)}, or an airframe with four rotors or more"
        )
    width = WIDTH
    compass = chosen.heading == "compass"
    fly = _compiled(rotors, compass, chosen.prior_throws)
    numbers = (chosen.height, chosen.spin, chosen.goal, NOISES[chosen.noise])
    given = jax.tree.map(lambda x: jnp.asarray(x, float), numbers)
    pieces = []
    for first in range(0, runs, width):
        talk(f"throws {first + 1} to {min(first + width, runs)} of {runs}")
        part = jax.random.split(jax.random.fold_in(key, first), 2)
        if airframe is None:
            vehicles = random_vehicles(part[0], width, rotors, compass)
        else:
            vehicles = same_vehicles(airframe, width)
        count = min(width, runs - first)
        known = tumble_knowledge(vehicles, count, chosen, jax.random.fold_in(part[1], 3))
        out = jax.tree.map(np.asarray, fly(vehicles, *known, jax.random.split(part[1], width), *given))
        pieces.append({name: values[:count] for name, values in out.items()})
    columns = {column: np.concatenate([p[column] for p in pieces]) for column in pieces[0]}
    return replace(_results(columns), vehicle=name, settings=chosen)


def _described(vehicle: str | PathLike[str] | Airframe) -> Airframe:
    try:
        return load_airframe(vehicle)
    except AirframeError as error:
        raise HaltereError(f"{error}; or give one of {', '.join(KINDS)}") from None


def tumble_knowledge(
    vehicles: ThrownVehicle, count: int, settings: LaunchSettings, key: Array
) -> tuple[Array, Array]:
    """Positions (n, 3) and shapes (n, 3, 3) as tumbles gave them to the first `count` vehicles; not the others."""
    width = vehicles.imu_position.shape[0]
    imu_position, shape = np.zeros((width, 3)), np.tile(np.eye(3) / 3.0, (width, 1, 1))
    if settings.prior_throws:
        noise = NOISES[settings.noise]
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
        inertia, where, turn = (
            np.asarray(x)[:count] for x in (vehicles.shape, vehicles.imu_position, vehicles.imu_rotation)
        )
        found = simulate_tumbles(
            inertia, where, turn, (float(np.asarray(noise.gyro)), float(np.asarray(noise.accel))), rng
        )
        imu_position[:count], shape[:count] = found.imu_position, found.shape
    return jnp.asarray(imu_position), jnp.asarray(shape)


@cache
def _compiled(rotors: int, compass: bool, known: bool) -> Callable[..., dict[str, Array]]:
    """The whole throw for a batch: one compilation for every height, spin, setpoint and noise.

    Three programs, one after the other: as a single one it was seen to wait for ever inside XLA on two cores.
    """
    rise = jax.jit(
        jax.vmap(partial(_launch, rotors=rotors, known=known), (0, 0, 0, 0, None, None, None, None))
    )
    sure = jax.jit(jax.vmap(partial(_learn, compass=compass, known=known), (0, 0, 0, None)))
    end = jax.jit(jax.vmap(partial(_end, rotors=rotors, known=known), (0, 0, 0, 0, None)))

    def fly(*given: Any) -> dict[str, Array]:
        case, launched, fixes, rising = jax.block_until_ready(rise(*given))
        learned, true_psi = jax.block_until_ready(sure(case, launched, fixes, given[-1]))
        out: dict[str, Array] = end(case, launched, learned, true_psi, given[-1])
        return out | {"path": jnp.concatenate([rising, out["path"]], axis=1)}

    return fly


def _ticks(rotors: int) -> int:
    return int(np.ceil((HAND_SECONDS + 0.035 + excitation_time(rotors)) / TICK))


def _launch(
    vehicle: ThrownVehicle,
    imu_position: Array,
    shape: Array,
    key: Array,
    height: Array,
    spin: Array,
    goal: tuple[Array, Array, Array],
    noise: SensorNoise,
    rotors: int,
    known: bool,
) -> tuple[ThrowCase, Launch, tuple[Fixes, RetainedRows], Array]:
    model, _ = template(rotors)
    case = case_of(vehicle, (imu_position, shape), key, height, spin, jnp.stack(goal), noise)
    launched, fixes, rising = launch(model, case, noise, _ticks(rotors), known)
    return case, launched, fixes, rising


def _learn(
    case: ThrowCase,
    launched: Launch,
    fixes: tuple[Fixes, RetainedRows],
    noise: SensorNoise,
    compass: bool,
    known: bool,
) -> tuple[LearnedVehicle, Array]:
    R = launched.state.R_WB @ case.vehicle.imu_rotation
    turned = R @ so3.from_wxyz(launched.ascent.reckoning.wxyz).T
    true_psi = jnp.arctan2(turned[1, 0], turned[0, 0])
    seen = true_psi + 0.01 * jax.random.normal(jax.random.fold_in(case.key, 11))
    return LOOP[known].learn(launched.ascent, *fixes, noise, seen if compass else None), true_psi


def _end(
    case: ThrowCase,
    launched: Launch,
    learned: LearnedVehicle,
    true_psi: Array,
    noise: SensorNoise,
    rotors: int,
    known: bool,
) -> dict[str, Array]:
    model, _ = template(rotors)
    vehicle = case.vehicle
    ticks = round((SECONDS + HAND_SECONDS) / TICK) - _ticks(rotors)
    log = hover(model, case, launched, learned, noise, ticks, known)
    e, motors = learned.effectiveness, vehicle.motors
    believed = case.imu_position if known else case.imu_position + e.shift

    def relative(found: Array, true: Array) -> Array:
        return jnp.sqrt(jnp.sum((found - true) ** 2) / jnp.sum(true**2))

    return {
        "path": log["position"],
        "end": jnp.stack(
            [jnp.linalg.norm(log["position"][-1] - case.goal), jnp.linalg.norm(log["velocity"][-1])]
        ),
        "released": launched.ascent.throw.released,
        "inside": learned.thrust.inside & learned.thrust.steerable,
        "axis_error": jnp.arccos(jnp.clip(learned.thrust.axis @ vehicle.axis, -1.0, 1.0)),
        "imu_position_error": jnp.linalg.norm(believed - vehicle.imu_rotation.T @ vehicle.imu_position),
        "latency_error": jnp.abs(learned.latency - case.latency / RATE),
        "heading_error": jnp.abs(
            jnp.arctan2(jnp.sin(learned.alignment.psi - true_psi), jnp.cos(learned.alignment.psi - true_psi))
        ),
        "attitude_error": log["attitude_error"],
        "fastest": launched.worst,
        "torque": relative(e.torque, vehicle.torque),
        "force": relative(e.force, vehicle.force),
        "spin": relative(e.spin, vehicle.spin),
        "max_speed": jnp.sqrt(jnp.mean((e.max_speed / motors.max_speed - 1.0) ** 2)),
        "time_constant": jnp.sqrt(jnp.mean((e.time_constant - motors.time_constant) ** 2)),
    }


def case_of(
    vehicle: ThrownVehicle,
    known: tuple[Array, Array],
    key: Array,
    height: Array,
    spin: Array,
    goal: Array,
    noise: SensorNoise,
) -> ThrowCase:
    """One throw, drawn: attitude, velocity and spin at release, bias and latency of the sensors."""
    keys = jax.random.split(key, 8)
    four = jax.random.normal(keys[0], (4,))
    rise = jnp.sqrt(2.0 * GRAVITY * (height - RELEASE))
    velocity = jnp.concatenate([0.4 * jax.random.normal(keys[1], (2,)), rise[None]])
    turning = spin * jax.random.uniform(keys[2], (3,), minval=-1.0, maxval=1.0)
    m = vehicle.motors.curve.shape[0]
    start = State(
        jnp.asarray([0.0, 0.0, RELEASE]) - 0.5 * HAND_SECONDS * velocity,
        four / jnp.linalg.norm(four),
        jnp.zeros(6), jnp.zeros(0), jnp.zeros(0), jnp.zeros(m), jnp.zeros(m),
    )  # fmt: skip
    return ThrowCase(
        vehicle,
        start,
        *known,
        goal,
        velocity,
        turning,
        jnp.asarray(noise.bias) * jax.random.normal(keys[5], (3,)),
        jax.random.uniform(keys[4], (), maxval=float(LATENCIES[-1])),
        keys[6],
    )


def _results(out: dict[str, Any]) -> ThrowResults:
    z = out["path"][:, :, 2]
    apex = np.array([_first_apex(row) for row in z])
    lost = np.array([max(row[k] - row[k:].min(), 0.0) for row, k in zip(z, apex, strict=True)])
    crashed = ~(z > 0.0).all(axis=1)
    off, speed = out["end"].T
    there = (off < NEAR) & (speed < SLOW)
    good = out["released"] & out["inside"] & ~crashed & there
    causes = tuple(_cause(out, i, bool(crashed[i])) if not good[i] else "" for i in range(len(z)))
    names = ("torque", "force", "spin", "max_speed", "time_constant")
    return ThrowResults(
        good,
        causes,
        out["axis_error"],
        lost,
        out["imu_position_error"],
        out["latency_error"],
        out["heading_error"],
        {name: out[name] for name in names},
        out["end"],
        out["fastest"],
    )


def _first_apex(z: np.ndarray) -> int:
    falling = np.flatnonzero(np.diff(z) < 0.0)
    return int(falling[0]) if len(falling) else len(z) - 1


def _cause(out: dict[str, Any], i: int, crashed: bool) -> str:
    """Why a throw failed, the earliest reason first."""
    if not out["released"][i]:
        return "the release was not noticed"
    if out["fastest"][i] >= GYRO_RANGE:
        return f"the gyro left its range in the excitation ({out['fastest'][i]:.0f} rad/s)"
    if not out["inside"][i]:
        return "by what it learnt it cannot hover"
    axis = np.degrees(out["axis_error"][i])
    if axis > 15.0:
        return f"thrust axis wrong by {axis:.0f} deg"
    attitude = np.degrees(np.nanmax(out["attitude_error"][i]))
    torque = 100.0 * out["torque"][i]
    where = (
        "touched the ground"
        if crashed
        else f"{out['end'][i, 0]:.1f} m and {out['end'][i, 1]:.1f} m/s off at the end"
    )
    return f"{where}; torque rows off by {torque:.0f} %, attitude by up to {attitude:.0f} deg"
