"""Check of a payload that was estimated: nothing weighs less than nothing, so such a number is an error of the data.

A payload m with deviation sigma is below zero by more than its 95 % interval where

    (1)  m + 1.96 sigma < 0

Then the readings, or the numbers given beside them, contradict each other, and nothing that follows from them holds.
"""

from haltere.doctor.finding import Finding
from haltere.foundation.verdict import NORMAL

PAYLOAD_NEGATIVE = "payload-negative"
"""Kind of the finding."""


def check_payload(mass: float, sigma: float, remedy: str, channels: tuple[str, ...] = ()) -> Finding | None:
    """Return the finding that a payload of `mass` and `sigma`, kg, is below zero by eq. (1); None if it is not."""
    if not mass + NORMAL * sigma < 0.0:
        return None
    return Finding(
        PAYLOAD_NEGATIVE,
        f"a payload of {1e3 * mass:.3g} g (sigma {1e3 * sigma:.2g} g) is below zero by {-mass / sigma:.1f} sigma, and "
        "nothing weighs less than nothing",
        remedy,
        True,
        channels,
    )
