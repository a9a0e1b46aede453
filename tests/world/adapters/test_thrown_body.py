"""A body thrown with a flywheel, through the adapter of the world."""

from tests.world import estimators
from tests.world.adapters.thrown_body import BODY
from tests.world.plan import Batch

SEED = 10_203
"""Its wheel speeds up before the fall that can be used begins."""


def test_a_wheel_that_speeds_up_too_early_is_refused_with_a_remedy():
    batch = Batch("realistic", BODY, "", (SEED,), scenario="bodies")
    (flight,) = estimators.fly(batch)
    found = estimators.attempt("inertia of a thrown body", batch, SEED, flight)
    assert found.claims == ()
    assert "after the release" in found.refusal
