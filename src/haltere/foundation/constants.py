"""Constants of nature, of units and of statistics: gravity by convention and in simulations; degree, rpm; MAD."""

import math

STANDARD_GRAVITY = 9.80665
"""m/s2, what "g" means as a unit (third General Conference on Weights and Measures, 1901)."""
GRAVITY = 9.81
"""m/s2, of simulated flights where nothing else is said."""
DEGREE = math.pi / 180.0
"""rad."""
RPM = 2.0 * math.pi / 60.0
"""rad/s."""
MAD_TO_SIGMA = 1.4826
"""Deviation of a normal distribution over its median absolute deviation."""
