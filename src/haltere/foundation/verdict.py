"""What is said of a number that a log was asked for, and the rule for it.

`identified`: the 95 % interval is narrower than half the value; `weak`: wider; `combination`: only together with
partners; `unobservable`: the log says nothing about it.
"""

from typing import Literal

Verdict = Literal["identified", "weak", "combination", "unobservable"]
VERDICTS: tuple[Verdict, ...] = ("identified", "weak", "combination", "unobservable")
NORMAL = 1.96
"""Standard deviations on each side of a normal 95 % interval."""
WIDE = 0.5
"""Width of an interval, over the value, from which a number is weak."""


def judge(value: float, interval: tuple[float, float]) -> Verdict:
    """Whether the interval of a measured number is narrow enough."""
    return "weak" if interval[1] - interval[0] > WIDE * abs(value) else "identified"
