"""How bad the world is: sizes of every effect at three levels, each group of effects switchable alone.

`IDEAL.with_effects("wind")` is the ideal world with the wind of the realistic one;
`IDEAL.with_effects("wind", "vibration", source=NASTY)` takes both from the nasty one.
"""

from dataclasses import dataclass, replace

EFFECTS: dict[str, tuple[str, ...]] = {
    "rates": ("imu_rate", "speed_rate", "command_rate", "pose_rate"),
    "imu_noise": ("accel_noise", "gyro_noise"),
    "speed_noise": ("speed_noise", "speed_quantum"),
    "pose_noise": ("position_noise", "attitude_noise"),
    "pose_outliers": ("outlier_fraction", "outlier_size", "attitude_flips"),
    "imu_errors": (
        "accel_bias", "gyro_bias", "accel_bias_walk", "gyro_bias_walk", "imu_scale", "imu_misalignment",
    ),
    "vibration": ("accel_vibration", "gyro_vibration"),
    "filters": ("gyro_cutoff", "accel_cutoff"),
    "latency": ("speed_latency", "pose_latency"),
    "clocks": ("clock_offset", "stamp_jitter", "dropped", "gap"),
    "motors": ("lag_difference", "dead_time", "sag"),
    "rotor_draws": ("rotor_spread", "position_error", "axis_error"),
    "body_draws": ("com_offset", "inertia_products", "inertia_error"),
    "aero": ("aero",),
    "wind": ("wind_mean", "gust"),
    "ground": ("ground_effect", "rotor_wash"),
}  # fmt: skip


@dataclass(frozen=True)
class Level:
    """Sizes of all effects; deviations are one standard deviation of the draw unless said otherwise."""

    name: str
    imu_rate: int = 500  # Hz
    speed_rate: int = 500  # Hz
    command_rate: int = 500  # Hz
    pose_rate: int = 200  # Hz
    accel_noise: float = 0.05  # m/s2, white, per sample
    gyro_noise: float = 0.002  # rad/s, white, per sample
    speed_noise: float = 0.001  # relative
    speed_quantum: float = 0.0  # rpm
    position_noise: float = 0.0005  # m
    attitude_noise: float = 0.002  # rad
    outlier_fraction: float = 0.0  # of the poses
    outlier_size: float = 0.0  # m, largest
    attitude_flips: bool = False  # half of the outliers flip the attitude by half a revolution
    accel_bias: float = 0.0  # m/s2, per axis
    gyro_bias: float = 0.0  # rad/s, per axis
    accel_bias_walk: float = 0.0  # m/s2 after 60 s
    gyro_bias_walk: float = 0.0  # rad/s after 60 s
    imu_scale: float = 0.0  # relative, per axis
    imu_misalignment: float = 0.0  # rad, per axis of the rotation vector
    accel_vibration: float = 0.0  # m/s2 rms per axis at hover, before the filters
    gyro_vibration: float = 0.0  # rad/s rms per axis at hover, before the filters
    gyro_cutoff: float = 0.0  # Hz of the second-order low-pass; 0 is none
    accel_cutoff: float = 0.0  # Hz
    speed_latency: float = 0.0  # s
    pose_latency: float = 0.0  # s
    clock_offset: float = 0.0  # s, largest, of each stream from the IMU's
    stamp_jitter: float = 0.0  # s
    dropped: float = 0.0  # fraction of the samples
    gap: float = 0.0  # s, one per stream
    lag_difference: float = 0.0  # of the lags down and up, relative to their mean
    dead_time: float = 0.0  # s from command to motor
    sag: float = 0.0  # relative loss of voltage in 60 s
    rotor_spread: float = 0.04  # relative: thrust, torque, lag
    position_error: float = 0.002  # m per axis: rotors, sensors
    axis_error: float = 0.005  # rad: rotor axes, pose sensor
    com_offset: float = 0.04  # of the arm, per axis
    inertia_products: float = 0.03  # of the root of the two moments
    inertia_error: float = 0.08  # relative, moments
    aero: float = 0.0  # 1: inflow, hub force, flapping moment and body drag of a real propeller
    wind_mean: float = 0.0  # m/s
    gust: float = 0.0  # m/s rms per axis
    ground_effect: float = 0.0  # 1: thrust grows near the ground
    rotor_wash: float = 0.0  # 1: a rotor works in the wash of another

    def with_effects(self, *groups: str, source: "Level | None" = None) -> "Level":
        """The groups of effects named, taken from `source` (default: the realistic level)."""
        source = REALISTIC if source is None else source
        unknown = sorted(set(groups) - set(EFFECTS))
        if unknown:
            raise ValueError(f"no effects {unknown}; there are {sorted(EFFECTS)}")
        fields = {field: getattr(source, field) for group in groups for field in EFFECTS[group]}
        return replace(self, name="+".join((self.name, *groups)), **fields)


IDEAL = Level("ideal")
REALISTIC = Level(
    "realistic",
    imu_rate=250, speed_rate=200, command_rate=250, pose_rate=100,
    accel_noise=0.12, gyro_noise=0.004,
    speed_noise=0.0015, speed_quantum=20.0,
    position_noise=0.001, attitude_noise=0.003, outlier_fraction=0.001, outlier_size=0.3,
    accel_bias=0.1, gyro_bias=0.01, accel_bias_walk=0.03, gyro_bias_walk=0.002,
    imu_scale=0.004, imu_misalignment=0.008,
    accel_vibration=2.0, gyro_vibration=0.05, gyro_cutoff=90.0, accel_cutoff=90.0,
    speed_latency=0.005, pose_latency=0.008, clock_offset=0.002, stamp_jitter=0.0001, dropped=0.002,
    lag_difference=0.4, dead_time=0.003, sag=0.08,
    aero=1.0, wind_mean=2.0, gust=0.6,
)  # fmt: skip
NASTY = Level(
    "nasty",
    imu_rate=200, speed_rate=100, command_rate=200, pose_rate=50,
    accel_noise=0.3, gyro_noise=0.01,
    speed_noise=0.004, speed_quantum=100.0,
    position_noise=0.002, attitude_noise=0.006, outlier_fraction=0.01, outlier_size=1.0, attitude_flips=True,
    accel_bias=0.3, gyro_bias=0.03, accel_bias_walk=0.1, gyro_bias_walk=0.006,
    imu_scale=0.01, imu_misalignment=0.02,
    accel_vibration=6.0, gyro_vibration=0.2, gyro_cutoff=80.0, accel_cutoff=30.0,
    speed_latency=0.015, pose_latency=0.025, clock_offset=0.010, stamp_jitter=0.001, dropped=0.02, gap=0.5,
    lag_difference=0.6, dead_time=0.006, sag=0.15,
    rotor_spread=0.06, position_error=0.004, axis_error=0.015,
    com_offset=0.07, inertia_products=0.05, inertia_error=0.15,
    aero=1.5, wind_mean=5.0, gust=1.8, ground_effect=1.0, rotor_wash=1.0,
)  # fmt: skip
LEVELS = {level.name: level for level in (IDEAL, REALISTIC, NASTY)}
