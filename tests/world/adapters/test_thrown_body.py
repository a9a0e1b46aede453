"""A body thrown with a flywheel, through the adapter of the world."""

from tests.world import estimators
from tests.world.adapters.thrown_body import BODY
from tests.world.plan import Batch

SEED = 10_203


def test_principal_moments_of_a_thrown_body():
    batch = Batch("realistic", BODY, "", (SEED,), scenario="bodies")
    (flight,) = estimators.fly(batch)
    found = estimators.attempt("inertia of a thrown body", batch, SEED, flight)
    assert found.refusal == ""
    assert [claim.name for claim in found.claims] == ["principal.1", "principal.2", "principal.3"]
    for claim in found.claims:
        assert claim.verdict == "identified"
        sigma = (claim.interval[1] - claim.interval[0]) / 3.92
        assert abs(claim.value - claim.truth) < 4.0 * sigma
        assert abs(claim.value / claim.truth - 1.0) < 0.1
