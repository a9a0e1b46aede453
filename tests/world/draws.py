"""Random numbers by seed and purpose.

Each purpose of each flight has a generator of its own: switching one effect on or off changes no draw of another,
and a flight's draws do not depend on the flights beside it.
"""

import zlib

import numpy as np


def generator(seed: int, purpose: str):
    """The generator of one purpose (such as "vehicle" or "pose") of the flight with this seed."""
    return np.random.default_rng([int(seed), zlib.crc32(purpose.encode())])


def clipped_normal(rng, size=None, limit=2.5):
    """Standard normal numbers, those beyond `limit` moved to it: no rotor with a negative thrust."""
    return np.clip(rng.standard_normal(size), -limit, limit)
