"""Names of units as they stand in mapping files, with what they are in SI."""

import numpy as np

from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.logs.builder import GAUSS, RPM

DEGREE = np.pi / 180.0

#: For each name the SI unit and the factor to it.
UNITS: dict[str, tuple[str, float]] = {
    "1": ("1", 1.0),
    "%": ("1", 0.01),
    "m": ("m", 1.0),
    "cm": ("m", 0.01),
    "mm": ("m", 1e-3),
    "ft": ("m", 0.3048),
    "m/s": ("m/s", 1.0),
    "cm/s": ("m/s", 0.01),
    "mm/s": ("m/s", 1e-3),
    "m/s2": ("m/s2", 1.0),
    "g": ("m/s2", STANDARD_GRAVITY),
    "mg": ("m/s2", STANDARD_GRAVITY * 1e-3),
    "rad": ("rad", 1.0),
    "deg": ("rad", DEGREE),
    "mrad": ("rad", 1e-3),
    "rad/s": ("rad/s", 1.0),
    "deg/s": ("rad/s", DEGREE),
    "mrad/s": ("rad/s", 1e-3),
    "rpm": ("rad/s", RPM),
    "Hz": ("rad/s", 2.0 * np.pi),
    "rev/s": ("rad/s", 2.0 * np.pi),
    "V": ("V", 1.0),
    "mV": ("V", 1e-3),
    "A": ("A", 1.0),
    "T": ("T", 1.0),
    "uT": ("T", 1e-6),
    "gauss": ("T", GAUSS),
    "mgauss": ("T", 1e-3 * GAUSS),
    "N": ("N", 1.0),
    "N m": ("N m", 1.0),
    "kg": ("kg", 1.0),
}

#: Nanoseconds in each unit of time.
TIMES: dict[str, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
