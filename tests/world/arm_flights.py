"""Flights of a vehicle with an arm: servos move two links in flight, with readings of their own and a payload gripped.

flights = fly_with_arm(text_of_quad_arm_toml, REALISTIC, "gentle", seeds=range(10), payload=0.15)
flights[0].streams["joints.load"]
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import scipy.signal
from tests.world.arm import Arm, ArmMotion, draw_arm, read_arm, slope_of, solve_arm, stack_arms, wash_on_arm
from tests.world.batch import SETTLE, Batch, Setup
from tests.world.draws import generator
from tests.world.flights import Flight, default_height, has_crashed
from tests.world.levels import Level
from tests.world.pilot import Mixer, Pilot
from tests.world.plant import Plant
from tests.world.sensors import interpolate, sample
from tests.world.servo import Servo, draw_servos
from tests.world.streams import Stream, draw_clock
from tests.world.truth import truth_of
from tests.world.vectors import rotation_matrix
from tests.world.vehicles import TICK, draw_vehicle

REPORT_RATE = 50.0  # Hz
LOAD_STEP = 1 / 1023  # of the stall torque
READINGS = ("angle", "rate", "goal", "duty", "torque")


class ArmPlant(Plant):
    """The plant with two joints as further degrees of freedom."""

    def equip(self, bare: Arm, loaded: Arm, servo: Servo, carried: Callable, start) -> None:
        """Attach the arm: bare and with its payload, who carries it at a time (N), and the joints' start (2, N)."""
        self.arm, self.loaded, self.servo, self.carried = bare, loaded, servo, carried
        self.goal = start
        self.bristles = np.zeros_like(start)
        self.motion = ArmMotion(*vars(self.motion).values(), start, np.zeros_like(start))
        self.torque = np.zeros_like(start)
        self.duty = np.zeros_like(start)

    def arm_at(self, time: float) -> Arm:
        """The arm with the payloads that it carries now."""
        carried = self.carried(time)
        if not carried.any():
            return self.arm
        return replace(
            self.arm,
            **{
                k: np.where(carried, getattr(self.loaded, k), getattr(self.arm, k))
                for k in ("mass", "com", "inertia")
            },
        )

    def slope(self, time, motion, speed, target):
        attitude = rotation_matrix(motion.wxyz)
        wrench = self.wrench(time, motion, speed, self.motors.acceleration(speed, target), attitude)
        arm = self.arm_at(time)
        force, torque, joint_torque = wrench.force, wrench.torque, 0.0
        if self.level.aero > 0:
            washed = wash_on_arm(arm, self.vehicle, speed, motion.joints)
            force, torque = force + self.level.aero * washed[0], torque + self.level.aero * washed[1]
            joint_torque = self.level.aero * washed[2]
        self.duty = self.servo.duty(self.goal, motion.joints)
        self.torque = self.servo.motor_torque(self.duty, motion.joint_rates)
        self.transmitted = self.torque - self.servo.friction(self.bristles, motion.joint_rates)
        specific, angular, accelerations = solve_arm(
            self.body, arm, self.servo.inertia, motion.rate, motion.joints, motion.joint_rates,
            force, torque, joint_torque + self.transmitted, wrench.spin, wrench.spin_rate,
        )  # fmt: skip
        return slope_of(motion, attitude, specific, angular, accelerations), specific, angular

    def after_step(self):
        self.bristles = self.servo.advance_bristles(
            self.bristles, self.motion.joint_rates, self.transmitted, self.step
        )


class Poses:
    """Servo commands: poses drawn by seed, reached at 0.8 rad/s and held for 2 to 3.5 s."""

    def __init__(self, seeds, duration: float):
        self.times, self.angles = [], []
        for seed in seeds:
            rng = generator(seed, "poses")
            count = int(duration / 2) + 3
            self.times.append(np.cumsum(rng.uniform(2.0, 3.5, count)))
            self.angles.append(
                np.stack([rng.uniform(0.1, 1.2, count + 1), rng.uniform(-0.6, 1.0, count + 1)])
            )
        self.last = np.stack([angles[:, 0] for angles in self.angles], axis=-1)
        self.now = 0.0

    def __call__(self, time: float, measured=None):
        """Goals (2, N) rad at this time."""
        wanted = np.stack(
            [
                angles[:, int(np.searchsorted(times, time, side="right"))]
                for times, angles in zip(self.times, self.angles, strict=True)
            ],
            axis=-1,
        )
        most = 0.8 * max(time - self.now, 0.0)
        self.now = max(time, self.now)
        self.last = self.last + np.clip(wanted - self.last, -most, most)
        return self.last


class ArmBatch(Batch):
    """A batch whose vehicles have arms."""

    def __init__(self, text, level, seeds, duration, setup, payload, gripped, dropped, servo):
        drawing, links, joints = read_arm(text)
        self.text = text
        self.arms = [draw_arm(generator(seed, "arm"), links) for seed in seeds]
        self.servos = [draw_servos(generator(seed, "servo"), joints) for seed in seeds]
        self.payload, self.gripped, self.dropped = payload, gripped, dropped
        self.servo_goals = servo or Poses(seeds, duration)
        vehicles = []
        for seed, arm in zip(seeds, self.arms, strict=True):
            vehicle = draw_vehicle(drawing, level, seed)
            scale = vehicle.weighed / vehicle.mass
            vehicles.append(replace(vehicle, weighed=(vehicle.mass + arm.mass.sum()) * scale))
        super().__init__(drawing, level, seeds, vehicles, duration, setup)
        for name in READINGS:
            self.columns[f"arm {name}"] = np.empty((self.ticks, 2, len(seeds)))

    def _make_plant(self, *parts):
        plant = ArmPlant(*parts)
        arms = stack_arms(self.arms)
        keys = vars(self.servos[0])
        servo = Servo(**{k: np.stack([getattr(s, k) for s in self.servos], axis=-1) for k in keys})
        loads = np.full(len(self.seeds), float(self.payload))
        everyone = np.ones(len(self.seeds), bool)
        plant.equip(
            arms,
            arms.with_payload(loads),
            servo,
            lambda time: (
                everyone & (self.gripped <= time + 1e-9) & (time + 1e-9 < self.dropped) & (self.payload > 0)
            ),
            self.servo_goals(0.0),
        )
        return plant

    def measured(self, tick, time, gyro):
        found = super().measured(tick, time, gyro)
        found = replace(found, joints=self.plant.motion.joints)
        self.plant.goal = self.servo_goals(time, found)
        return found

    def _keep(self, tick, motion, speed, angle, command, gyro):
        super()._keep(tick, motion, speed, angle, command, gyro)
        plant = self.plant
        for name, values in zip(
            READINGS, (motion.joints, motion.joint_rates, plant.goal, plant.duty, plant.torque), strict=True
        ):
            self.columns[f"arm {name}"][tick] = values

    def record(self, index):
        arm = {name: self.columns[f"arm {name}"][:, :, index].copy() for name in READINGS}
        every = self.columns
        self.columns = {name: values for name, values in every.items() if not name.startswith("arm ")}
        record = super().record(index)
        self.columns = every
        return replace(record, arm=arm)


def fly_with_arm(
    text: str,
    level: Level,
    profile: str,
    seeds: Sequence[int],
    duration: float = 24.0,
    *,
    payload: float = 0.0,
    gripped: float = 0.0,
    dropped: float = float("inf"),
    servo: Callable | None = None,
    controller: Callable | None = None,
    mixer: Callable | None = None,
    settle: float = SETTLE,
    substeps: int = 1,
    keep_record: bool = False,
) -> list[Flight]:
    """Fly the airframe file `text`, which has two links in a row, one flight per seed.

    A `payload` of that many kg is in the gripper from `gripped` to `dropped` s. `servo(time, measured)` gives the goals
    (2, N) rad of the joints; by default poses drawn by seed. `controller` and `mixer` as in `fly`.
    """
    seeds = [int(seed) for seed in seeds]
    chosen = seeds if len(seeds) > 1 else seeds * 2
    setup = Setup(default_height(level), substeps=substeps, settle=settle)
    batch = ArmBatch(text, level, chosen, duration, setup, payload, gripped, dropped, servo)
    batch.run(profile, controller or Pilot, mixer or Mixer)
    return [finish_arm(batch, index, keep_record) for index in range(len(seeds))]


def finish_arm(batch: ArmBatch, index: int, keep_record: bool) -> Flight:
    """The flight with the streams of its servos and the truth of arm and payload."""
    record, vehicle, seed, level = batch.record(index), batch.vehicles[index], batch.seeds[index], batch.level
    streams, lateness = sample(record, vehicle, batch.drawing, level, batch.errors[index], seed)
    arm, servo = batch.arms[index], batch.servos[index]
    streams |= measure_joints(record, arm, servo, level, seed)
    truth = truth_of(vehicle, batch.drawing, batch.duration, lateness.speed + lateness.speed_clock)
    kept = {
        k: v
        for k, v in truth.items()
        if not k.startswith(("mass", "com.", "inertia.", "thrust_to")) and ".effectiveness." not in k
    }
    kept |= {f"body.{k}": v for k, v in truth.items() if k.startswith(("mass", "com.", "inertia."))}
    kept["mass"] = float(vehicle.mass + arm.mass.sum())
    for i, name in enumerate(arm.names):
        kept[f"links.{name}.mass"] = float(arm.mass[i])
        kept |= {f"links.{name}.com.{k}": float(v) for k, v in zip("xyz", arm.com[i], strict=True)}
        for constant in ("coulomb", "static_excess", "load_loss", "viscous", "stall_torque", "stiffness"):
            kept[f"joints.{name}.{constant}"] = float(getattr(servo, constant)[i])
    if batch.payload > 0:
        kept |= {
            "payload.mass": batch.payload,
            "payload.gripped": batch.gripped,
            "payload.dropped": batch.dropped,
        }
        kept |= {f"payload.position.{k}": float(v) for k, v in zip("xyz", arm.reach, strict=True)}
    return Flight(
        seed, level, batch.drawing, vehicle, streams, kept, weighed_text(batch.text, batch, vehicle), lateness,
        has_crashed(record), None, record if keep_record else None,
    )  # fmt: skip


def weighed_text(text: str, batch: ArmBatch, vehicle) -> str:
    """The airframe file with the body's mass such that the whole weighs what the scale says."""
    _, links, _ = read_arm(text)
    others = sum(link["mass"] for link in links) + float(batch.drawing.rotor_mass.sum())
    head, rest = text.split("[[links]]", 1)
    head = re.sub(r"(?m)^mass = [^#\n]*", f"mass = {float(vehicle.weighed) - others:.9g}  ", head, count=1)
    return f"{head}[[links]]{rest}"


def measure_joints(record, arm: Arm, servo: Servo, level: Level, seed: int) -> dict[str, Stream]:
    """What the servos report, 50 times a second."""
    rng = generator(seed, "joints")
    clock = draw_clock(level, generator(seed, "joints clock"), float(record.time[-1]), level.clock_offset)
    time = np.arange(rng.uniform(0.0, 1 / REPORT_RATE), float(record.time[-1]), 1 / REPORT_RATE)
    readings = record.arm
    loads = np.empty_like(readings["duty"])
    for i, lag in enumerate(servo.report_lag):
        keep = np.exp(-TICK / lag)
        loads[:, i] = scipy.signal.lfilter(
            [1 - keep], [1, -keep], readings["duty"][:, i], zi=[keep * readings["duty"][0, i]]
        )[0]
    effort = readings["torque"] * (1 + 0.04 * rng.standard_normal(2))
    angle = interpolate(record, readings["angle"], time)
    values = {
        "angle": np.round(angle / servo.resolution) * servo.resolution,
        "rate": interpolate(record, readings["rate"], time) + 0.01 * rng.standard_normal(angle.shape),
        "goal": interpolate(record, readings["goal"], time),
        "load": np.round(interpolate(record, loads, time) / LOAD_STEP) * LOAD_STEP,
        "effort": interpolate(record, effort, time)
        + 0.01 * servo.stall_torque * rng.standard_normal(angle.shape),
    }
    units = {"angle": "rad", "rate": "rad/s", "goal": "rad", "load": "1", "effort": "N m"}
    stamps, arrived = clock.stamp(time, generator(seed, "joints stamps"))
    return {
        f"joints.{name}": Stream(stamps[arrived], found[arrived], arm.names, units[name])
        for name, found in values.items()
    }
