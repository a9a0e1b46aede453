"""Ranks of the regressor, and what its base parameters mean."""

import jax
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import BaseParameters, Model, base_parameters


def base(name: str, samples: int = 60) -> BaseParameters:
    return base_parameters(Model.from_airframe(from_catalogue(name)), jax.random.key(0), samples)


@pytest.mark.parametrize(
    ("name", "rank", "parameters"), [("hong-quadrotor", 46, 58), ("hong-tilt-rotor", 74, 98)]
)
def test_rank(name: str, rank: int, parameters: int) -> None:
    """Ranks known for these two vehicles, with a wide gap behind the last singular value."""
    found = base(name)
    assert (found.rank, len(found.names)) == (rank, parameters)
    assert found.gap > 1e6
    assert found.combinations.shape == (rank, parameters)


def test_total_mass_is_one_parameter() -> None:
    """Masses of body and rotors act together: a rotor's mass moves the same combinations as the body's does."""
    found = base("hong-quadrotor")
    names = list(found.names)
    body, rotor = (
        names.index("body.mass"),
        next(i for i, n in enumerate(names) if n.endswith(".mass") and i > 0),
    )
    rows = [i for i, column in enumerate(found.independent) if found.combinations[i, body] != 0.0]
    assert any(np.isclose(found.combinations[i, rotor], found.combinations[i, body]) for i in rows)
