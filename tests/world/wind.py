"""Wind: a mean, and gusts with rotation.

Gusts are first-order Dryden (MIL-F-8785C, section 3.7.2): per axis dg = -(V / L) g dt + sigma sqrt(2 V / L) dB with
length L of 10 to 30 m, at the mean speed V of the air past the vehicle; the rotation of the air has the deviation
sigma / L_b and the same form with the shorter length L_b, 4 m, of the eddies that a vehicle feels as torque. The
series stand on a grid of 10 ms and are linear between, so they do not depend on the step of the plant.
"""

import numpy as np
from tests.world.draws import generator
from tests.world.levels import Level

GRID = 0.01  # s
EDDY = 4.0  # m


def draw_wind(level: Level, seed: int, duration: float):
    """Wind (K, 6) of a flight: velocity in world axes m/s, rotation of the air rad/s, every 10 ms."""
    rng = generator(seed, "wind")
    count = int(np.ceil(duration / GRID)) + 2
    strength, heading = level.wind_mean * rng.uniform(0.7, 1.3), rng.uniform(0, 2 * np.pi)
    lean = 0.05 * strength * rng.standard_normal()
    mean = np.array([strength * np.cos(heading), strength * np.sin(heading), lean])
    speed = np.hypot(strength, 2.0)
    length = rng.uniform(10.0, 30.0)
    noise = rng.standard_normal((count, 6))
    series = np.zeros((count, 6))
    if level.gust > 0:
        decay = np.exp(-GRID * speed / np.array([length] * 3 + [EDDY] * 3))
        sigma = level.gust * np.array([1.0, 1.0, 0.6] + [1 / EDDY] * 3)
        series[0] = sigma * noise[0]
        kick = sigma * np.sqrt(1 - decay**2) * noise
        for k in range(1, count):
            series[k] = decay * series[k - 1] + kick[k]
    series[:, :3] += mean
    return series


class Wind:
    """The wind of a batch at any time."""

    def __init__(self, level: Level, seeds, duration: float):
        self.calm = level.wind_mean == 0.0 and level.gust == 0.0
        self.series = np.stack([draw_wind(level, seed, duration) for seed in seeds], axis=-1)

    def at(self, time: float):
        """Velocity (3, N) m/s in world axes and rotation (3, N) rad/s in body axes."""
        index = int(time / GRID)
        part = time / GRID - index
        now = self.series[index] * (1 - part) + self.series[index + 1] * part
        return now[:3], now[3:]
