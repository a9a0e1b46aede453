"""Vehicles that are all different, simulated and identified one after the other in this process.

    python -m tests.recovery.many_vehicles 0 100

prints a line of JSON for each: its number, memory maps, memory in GB, compiled programs, and what was identified.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.worker_memory import memory


def vehicle(number):
    """A ring of 4 to 8 rotors, drawn by its number: size, mass, inertia and rotors differ."""
    from haltere.airframe import from_catalogue

    rng = np.random.default_rng(number)
    base, count = from_catalogue("hummingbird"), 4 + number % 5
    radius, rotor = rng.uniform(0.12, 0.25), base.rotors[0]
    angles = 2.0 * np.pi * np.arange(count) / count + rng.uniform(0.0, 0.3)
    rotors = tuple(
        rotor.model_copy(
            update={
                "name": f"r{i + 1}",
                "position": (radius * np.cos(a), radius * np.sin(a), rotor.position[2]),
                "spin": "ccw" if i % 2 else "cw",
                "thrust_coefficient": rotor.thrust_coefficient * rng.uniform(0.95, 1.05),
            }
        )
        for i, a in enumerate(angles)
    )
    heavier = 0.25 * count * rng.uniform(0.8, 1.1)
    stiffer = heavier * (radius / 0.17) ** 2
    body = base.body.model_copy(
        update={"mass": heavier * base.body.mass, "inertia": tuple(stiffer * x for x in base.body.inertia)}
    )
    return base.model_copy(update={"name": f"ring-{number}", "rotors": rotors, "body": body})


def simulated(number):
    """The airframe, and a flight with it that has a length of its own."""
    from haltere.airframe import dumps
    from haltere.scenarios.scenario_flight import simulate
    from haltere.simulation.scenario import Scenario

    airframe = vehicle(number)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vehicle.toml"
        file.write_text(dumps(airframe), encoding="utf-8")
        scenario = {
            "airframe": str(file),
            "duration": 6.0 + 0.01 * (number % 97),
            "seed": number,
            "trajectory": {"kind": "lissajous", "centre": [0, 0, 5.0], "cycles": [3, 4, 5, 3]},
        }
        return airframe, simulate(Scenario.model_validate(scenario))


def identified(airframe, flight):
    """The method, and what it identifies: value and sigma by name."""
    from haltere.identification.known import Known
    from haltere.identification.pipeline import identify

    known = {"mass": Known(airframe.total_mass, 1e-3 * airframe.total_mass)}
    result = identify(flight, airframe, known=known)
    return result.method, {p.name: (p.value, p.sigma) for p in result.parameters}


def main(first, last):
    import jax

    from haltere.foundation.memory import count_maps, count_programs

    jax.config.update("jax_enable_x64", True)
    for number in range(first, last):
        method, parameters = identified(*simulated(number))
        line = {"number": number, "maps": count_maps(), "memory": memory(), "programs": count_programs()}
        print(json.dumps({**line, "method": method, "identified": parameters}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
