"""`haltere reproduce hong`: the equations of [Hong2021] as printed and this package's dynamics, both against Pinocchio.

Each row has the largest relative error over all random draws of three things: `paper`, the equation as printed with
everything else right; `corrected`, the same equation or closed form corrected; `ours`, this package. `note` says which
reading is meant.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from haltere.foundation import HaltereError
from haltere.papers.hong.cases import CASES, Sample, samples
from haltere.papers.hong.forms import Form, relative_error
from haltere.papers.hong.rows import EXAMPLES, RIGHT, WRONG, Row

BOUND = 1e-9

TABLES = (
    ("Equations that are wrong as printed, or hold under conditions", WRONG),
    ("Equations that are right although they look wrong", RIGHT),
    ("The four examples in closed form", EXAMPLES),
)


def reproduce(runs: int = 20, seed: int = 0, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """The tables of the study.

    Args:
        runs: random draws for each row.
        seed: same seed, same tables.
        progress: called with a sentence before each vehicle.

    Returns:
        `tables`, each with `name` and `rows` of `quantity`, `unit`, `paper`, `ours`, `bound`, `corrected` and `note`.
    """
    if runs < 1:
        raise HaltereError(f"got {runs} runs, expected one or more; try 20")
    found: dict[str, list[Sample]] = {}
    for index, (name, case) in enumerate(CASES.items()):
        if progress is not None:
            progress(f"{name}: {runs} draws with Pinocchio and haltere ({index + 1} of {len(CASES)})")
        found[name] = samples(case, runs, np.random.default_rng([seed, index]))
    tables = [{"name": name, "rows": [_line(row, found[row.case]) for row in rows]} for name, rows in TABLES]
    return {"tables": tables}


def _line(row: Row, draws: list[Sample]) -> dict[str, Any]:
    def largest(form: Form) -> float:
        return max(relative_error(form(s), row.measure.reference(s)) for s in draws)

    return {
        "quantity": row.quantity,
        "unit": "relative",
        "paper": largest(row.paper),
        "ours": largest(row.measure.ours),
        "bound": BOUND,
        "corrected": largest(row.corrected),
        "note": f"{row.case}: {row.note}",
    }
