"""All estimators of the program that the world scores, and the flights that each gets.

The adapters, one module for each estimator, alone join the world and the program.
"""

from dataclasses import replace

from tests.world import flights as world
from tests.world import plan
from tests.world.adapters import base
from tests.world.adapters.cog import COG_FILTER
from tests.world.adapters.identify import identify_by
from tests.world.adapters.payload import PAYLOAD, fly_grips
from tests.world.adapters.payload import VEHICLE as WITH_ARM
from tests.world.adapters.throw import THROW, fly_to_hover, with_end
from tests.world.adapters.thrown_body import BODY, THROWN_BODY, attempt_body, fly_thrown
from tests.world.adapters.tumble import TUMBLE, fly_throws
from tests.world.attempts import Attempt
from tests.world.drawings import DRAWINGS
from tests.world.levels import EFFECTS as GROUPS_OF_EFFECTS
from tests.world.levels import IDEAL, LEVELS, NASTY, REALISTIC, Level
from tests.world.plan import Batch

SCENARIOS = (*plan.SCENARIOS, "grips", "hover", "bodies")
"""Those of the plan; a bench and a flight in which an arm grips something; a throw that is to end in a hover; a body
thrown with a flywheel."""
EFFECTS = tuple(GROUPS_OF_EFFECTS)
ESTIMATORS = {
    "effectiveness from speeds": identify_by("effectiveness", "com", ("imu.", "rotors.", "battery.")),
    "effectiveness from commands": identify_by("command", "com", ("imu.", "rotors.command", "battery.")),
    "vehicle smoother": identify_by("batch", "airframe", ("imu.", "rotors.", "pose.", "battery.")),
    "vehicle in flight": identify_by("filter", "airframe", ("imu.", "rotors.", "pose.", "battery.")),
    "centre-of-gravity filter": COG_FILTER,
    "tumble": TUMBLE,
    "inertia of a thrown body": THROWN_BODY,
    "payload on the arm": PAYLOAD,
    "throw to hover": THROW,
}


def batches(size: plan.Size, scenario: str, seeds: str = "", profile: str = "full") -> list[Batch]:
    """All flights of a size in a scenario; the vehicle with an arm, and bodies, as often as all the others together.

    Sticks of another profile than "full" are flown without single effects.
    """
    alone = {"grips": WITH_ARM, "bodies": BODY}
    if scenario in alone:
        size = replace(size, vehicles=(alone[scenario],), flights=size.flights * len(size.vehicles))
    effects = EFFECTS if scenario == "flight" and profile == "full" else ()
    return [replace(batch, profile=profile) for batch in plan.batches(size, effects, seeds, scenario)]


def fly(batch: Batch) -> list[world.Flight]:
    """The flights of a batch."""
    level = level_of(batch.level, batch.effect)
    if batch.scenario == "grips":
        return fly_grips(level, batch.seeds)
    if batch.scenario == "bodies":
        return fly_thrown(level, batch.seeds)
    drawing = DRAWINGS[batch.vehicle]
    if batch.scenario == "throws":
        return fly_throws(drawing, level, batch.seeds)
    if batch.scenario == "hover":
        return fly_to_hover(drawing, level, batch.seeds)
    return world.fly(drawing, level, batch.profile, batch.seeds, batch.duration)


def level_of(name: str, effect: str = "") -> Level:
    """A level, with one effect of the realistic world if one is named, or of the nasty one if only that has it."""
    level = LEVELS[name]
    if not effect:
        return level
    realistic = level.with_effects(effect, source=REALISTIC)
    changed = any(getattr(realistic, field) != getattr(IDEAL, field) for field in GROUPS_OF_EFFECTS[effect])
    return realistic if changed else level.with_effects(effect, source=NASTY)


def attempt(name: str, batch: Batch, seed: int, flight: world.Flight) -> Attempt:
    """What the estimator of that name says of a flight."""
    if batch.scenario == "bodies":
        return attempt_body(name, batch, seed, flight)
    found = base.attempt(name, ESTIMATORS[name], batch, seed, flight)
    return with_end(found, flight) if batch.scenario == "hover" else found
