"""The numbers that a change of names, places or structure must not move.

Each section gives a dictionary of cases; a case is a dictionary of numbers by name: [value, sigma] for an estimate, a
single number for a closed form. Recorded logs are read from the folder in HALTERE_DATA, or ../shared/data.
"""

import os
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("HALTERE_DATA", ROOT.parent / "shared" / "data"))
LOGS = (
    "betaflight/sample-short.BFL",
    "crazyflie_command/log*",
    "crazyflie_rpm/*",
    "field/*.*",
    "px4/*",
    "throw_real/*.BFL",
    "throw_sim/*.BFL",
    "thrown_body/*.BFL",
    "nanodrone/raw/*.csv",
)
WITHOUT_POSE = (
    "hummingbird", "x500", "crazyflie", "indiflight-3inch", "neo", "hexa-tilted", "octorotor", "coaxial", "quad-arm",
    "hong-quadrotor", "hong-tilt-rotor", "hong-fixed-wing", "hong-tilt-wing",
)  # fmt: skip
WITH_POSE = ("hummingbird", "neo", "hexa-tilted", "octorotor")
SAMPLES = 20


def identified(*args, **options):
    """What `identify` says, or that it refused."""
    from haltere.foundation import HaltereError
    from haltere.identification.pipeline import identify

    try:
        result = identify(*args, **options)
    except HaltereError:
        return {"refused": 1.0}
    numbers = {p.name: [p.value, p.sigma] for p in result.parameters if p.value is not None}
    return {f"{result.method}: {name}": value for name, value in numbers.items()}


def recorded():
    """Every recorded log; those of the nano-drone with its mapping and airframe."""
    from haltere.airframe import load_airframe
    from haltere.foundation import HaltereError
    from haltere.logs import read

    for pattern in LOGS:
        for file in sorted(DATA.glob(pattern)):
            if file.suffix in {".md", ".json", ".toml"}:
                continue
            name = str(file.relative_to(DATA))
            nano = name.startswith("nanodrone")
            try:
                flight = read(file, mapping=DATA / "nanodrone" / "map.toml") if nano else read(file)
            except HaltereError:
                yield name, {"not read": 1.0}
                continue
            airframe = load_airframe(str(DATA / "nanodrone" / "cf-brushless.toml")) if nano else None
            yield name, identified(flight, airframe)


def catalogue():
    """Flights of the catalogue with known truth, all without pose and some with."""
    from tests.recovery.catalogue_flights import DRAWING, PRIOR
    from tests.recovery.test_catalogue import flown

    for name in WITHOUT_POSE:
        airframe, _, _, flight, weighed = flown(name, 1, DRAWING, 10.0)
        yield (
            f"{name} without pose",
            identified(flight, airframe, known={"mass": weighed}, method="effectiveness"),
        )
    for name in WITH_POSE:
        airframe, _, _, flight, weighed = flown(name, 1, PRIOR, 10.0)
        yield f"{name} with pose", identified(flight, airframe, known={"mass": weighed}, method="filter")


def observe():
    """Ranks and verdicts of the catalogue with pose and IMU."""
    from haltere.foundation import HaltereError
    from haltere.observability.answer import observe as ask

    for name in WITHOUT_POSE:
        try:
            found = ask(name).to_dict()
        except HaltereError:
            yield name, {"refused": 1.0}
            continue
        numbers = {key: float(found[key]) for key in ("states", "error_states", "rank")}
        numbers |= {f"{p['name']} is {p['verdict']}": 1.0 for p in found["parameters"]}
        yield name, numbers


def flight():
    """The channels of one simulated flight at a few instants, and their root mean square."""
    from haltere.scenarios.scenario_flight import simulate

    found = simulate(ROOT / "examples" / "lissajous.toml")
    for name in found.names:
        channel = found[name]
        values = np.atleast_2d(channel.values.T).T.reshape(len(channel), -1)
        chosen = np.linspace(0, len(channel) - 1, SAMPLES).astype(int)
        numbers = {f"{k}.{c}": float(values[k, c]) for k in chosen for c in range(values.shape[1])}
        size = {f"rms.{c}": float(np.sqrt(np.mean(values[:, c] ** 2))) for c in range(values.shape[1])}
        yield name, {"samples": float(len(channel)), **numbers, **size}


RUNS = {"hong": 2, "fresk": 4, "blaha": 4, "schmitz": 4, "boehm": 2}


def papers():
    """The tables of the five papers, of few runs."""
    from haltere.papers.tables import reproduce_paper

    for name, runs in RUNS.items():
        yield from paper_numbers(name, reproduce_paper(name, runs, seed=0).to_dict())


def paper_numbers(name, result):
    """Each table of a paper: our numbers, without times of this machine; of Hong's also those of the printed forms."""
    columns = ("ours", "paper", "corrected") if name == "hong" else ("ours",)
    for table in result["tables"]:
        rows = [r for r in table["rows"] if r["unit"] != "us" and not r["quantity"].startswith("CPU time")]
        numbers = {
            row["quantity"] if column == "ours" else f"{row['quantity']}, {column}": float(row[column])
            for row in rows
            for column in columns
            if isinstance(row[column], int | float)
        }
        if numbers:
            yield f"{name}: {table['name']}", numbers


SECTIONS = {
    "flight": flight,
    "observe": observe,
    "catalogue": catalogue,
    "recorded": recorded,
    "papers": papers,
}


def prepare():
    """64 bits, and compiled functions kept beside the tests'."""
    import jax

    jax.config.update("jax_enable_x64", True)
    cache = ROOT / ".cache" / "jax" if os.access(ROOT, os.W_OK) else Path(tempfile.gettempdir())
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
