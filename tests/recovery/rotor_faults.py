"""Faults of one rotor's telemetry in flights of the foreign world: what the doctor finds, and what becomes of the mass.

    python -m tests.recovery.rotor_faults FOLDER

flies 204 flights of all vehicles and levels, puts each of five kinds of fault into 56 of the lively and 12 of the calm
ones, and prints the table of `docs/results.md`. What is done is kept in FOLDER, so that a run that was stopped goes on
where it was.
"""

import json
import pickle
import sys
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from tests.world.adapters.base import to_flight
from tests.world.drawings import COAXIAL_Y, HEXAROTOR, QUADROTOR, TILTED
from tests.world.flights import fly
from tests.world.levels import IDEAL, NASTY, REALISTIC
from tests.world.rotor_faults import KINDS, with_fault
from tests.world.vehicles import Damage

from haltere.doctor.diagnosis import diagnose
from haltere.flight.window import IdentifyError
from haltere.identification.pipeline import identify

SEED = 91_000
"""First seed of the recorded table; development uses others."""
EACH = 17
"""Flights of every vehicle and level."""
FAULTY = {"full": 7, "gentle": 3, "hover": 3}
"""How many of them get faults, by the sticks."""
MASSES = ("refused", "held", "wrong anyway", "wrong")
DURATION = 12.0
CHANNELS = ("imu.", "rotors.", "pose.", "battery.")
FLEET = (
    (QUADROTOR, IDEAL, "gentle", None),
    (QUADROTOR, REALISTIC, "full", None),
    (QUADROTOR, NASTY, "full", Damage(2)),
    (HEXAROTOR, IDEAL, "full", None),
    (HEXAROTOR, REALISTIC, "hover", None),
    (HEXAROTOR, NASTY, "full", None),
    (TILTED, IDEAL, "full", Damage(1)),
    (TILTED, REALISTIC, "full", None),
    (TILTED, NASTY, "hover", None),
    (COAXIAL_Y, IDEAL, "full", None),
    (COAXIAL_Y, REALISTIC, "full", Damage(3)),
    (COAXIAL_Y, NASTY, "gentle", None),
)
"""Vehicle, level, sticks and damage of each group of flights."""


@dataclass(frozen=True)
class Outcome:
    """Of one flight: what was put into it, what was found, and what `identify` says of the mass.

    Attributes:
        flight: `vehicle level sticks seed`.
        kind: of the fault, or "" for a good flight.
        rotor: that has it.
        rotors: that the doctor named, in all findings of single rotors.
        findings: all kinds.
        mass: one of `MASSES`, "wrong anyway" if it is without the fault, too; "" if it was not identified.
    """

    flight: str
    kind: str
    rotor: str
    rotors: tuple[str, ...]
    findings: tuple[str, ...]
    mass: str

    @property
    def is_found(self):
        """Whether there is a finding of a single rotor."""
        return bool(self.rotors)

    @property
    def is_calm(self):
        """Whether the sticks were gentle or the vehicle hovered."""
        return "full" not in self.flight.split()

    @property
    def is_right(self):
        """Whether the rotor that is at fault is named, and no other."""
        return set(self.rotors) == {self.rotor}


def outcome(flight, label, kind="", rotor=0, seed=0, with_mass=True):
    """Identify a flight with a fault, or only diagnose it, as every good one."""
    names = tuple(flight.streams["rotors.speed"].columns)
    record = to_flight(with_fault(flight, kind, rotor, seed) if kind else flight, CHANNELS)
    mass, findings = mass_of(record, flight) if kind and with_mass else ("", None)
    if findings is None:
        findings = [finding.to_dict() for finding in diagnose(record).findings]
    named = tuple(dict.fromkeys(name for finding in findings for name in finding["rotors"]))
    if mass == "wrong" and mass_of(to_flight(flight, CHANNELS), flight)[0] == "wrong":
        mass = "wrong anyway"
    return Outcome(label, kind, names[rotor] if kind else "", named, tuple(f["kind"] for f in findings), mass)


def mass_of(record, flight):
    """What becomes of the mass where the true thrust coefficients are known, and the findings unless it is an error."""
    names = flight.streams["rotors.speed"].columns
    paths = [f"rotors.{name}.thrust_coefficient" for name in names]
    try:
        result = identify(record, known={path: flight.truth[path] for path in paths})
    except IdentifyError:
        return "refused", None
    mass = result.parameters["mass"]
    if mass.value is None:
        return "refused", result.findings
    low, high = mass.interval
    return ("held" if low <= flight.truth["mass"] <= high else "wrong"), result.findings


def flights_of(group, seed, count, duration=DURATION):
    """Flights of a group and their labels."""
    drawing, level, sticks, damage = group
    seeds = range(seed, seed + count)
    flights = fly(drawing, level, sticks, seeds, duration, damage=damage)
    return [(f"{drawing.name} {level.name} {sticks} {s}", f) for s, f in zip(seeds, flights, strict=True)]


def study(folder, report=print):
    """All outcomes; flights and outcomes are kept in a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for number, group in enumerate(FLEET):
        kept = folder / f"flights-{number}.pkl"
        if not kept.exists():
            kept.write_bytes(pickle.dumps(flights_of(group, SEED + 100 * number, EACH)))
            report(f"flown: group {number + 1} of {len(FLEET)}")
        done = folder / f"outcomes-{number}.json"
        if not done.exists():
            found = list(_outcomes(pickle.loads(kept.read_bytes()), number))
            done.write_text(json.dumps([asdict(each) for each in found]))
            report(f"diagnosed: group {number + 1} of {len(FLEET)}")
        outcomes += [Outcome(**each) for each in json.loads(done.read_text())]
    return outcomes


def _outcomes(flights, number):
    for label, flight in flights:
        yield outcome(flight, label)
    for index in range(FAULTY[FLEET[number][2]]):
        label, flight = flights[index]
        count = flight.streams["rotors.speed"].values.shape[1]
        for k, kind in enumerate(KINDS):
            yield outcome(flight, label, kind, (number + index + k) % count, 100 * number + 10 * index + k)


def table(outcomes):
    """The table of `docs/results.md`."""
    lines = [
        "| fault | flights | found | right rotor | mass refused | held | wrong, without the fault too | wrong |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, is_calm in product(KINDS, (False, True)):
        own = [o for o in outcomes if o.kind == kind and o.is_calm is is_calm]
        masses = [sum(o.mass == word for o in own) for word in MASSES]
        found, right = sum(o.is_found for o in own), sum(o.is_right for o in own)
        name = f"{kind}, calm flights" if is_calm else kind
        lines.append(f"| {name} | {len(own)} | {found} | {right} | {' | '.join(map(str, masses))} |")
    good = [o for o in outcomes if not o.kind]
    lines.append(f"| none | {len(good)} | {sum(o.is_found for o in good)} | - | - | - | - | - |")
    return "\n".join(lines)


if __name__ == "__main__":
    everything = study(sys.argv[1], lambda line: print(line, file=sys.stderr, flush=True))
    print(table(everything))
    for each in everything:
        if each.mass == "wrong" or (each.is_found if not each.kind else not each.is_right):
            print(each, file=sys.stderr)
