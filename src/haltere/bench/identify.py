"""`haltere identify` against the clock: a log of 30 s at 500 Hz, in a process of its own as a user starts it.

The first run begins with an empty store of compiled functions, the later one finds there what the first left. Two
logs of one flight: with pose (the vehicle filter) and without (effectiveness). Wall time is what a user waits, on as
many cores as there are; CPU time is that of all cores together, and changes less with what else the machine does.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from haltere.airframe import dumps, from_catalogue
from haltere.flight import Flight
from haltere.flight.mcap import write_mcap
from haltere.foundation import HaltereError
from haltere.papers.blaha.timings import timing_row
from haltere.papers.tables import Progress
from haltere.scenarios.scenario_flight import simulate
from haltere.simulation.scenario import Scenario

VEHICLE = "hummingbird"
DURATION = 30.0
RATE = 500.0
FIRST = 20.0
LATER = 5.0
"""Seconds that a run may take."""
WAIT = 900.0


def identify_rows(progress: Progress) -> list[dict[str, Any]]:
    """Rows of `haltere bench`: wall and CPU seconds of a first and a later run, with and without pose."""
    rows = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        progress("a flight of 30 s at 500 Hz, to be identified")
        whole = recorded(folder)
        bare = whole
        for channel in whole.names:
            if channel.startswith("pose."):
                bare = bare.without(channel)
        for what, flight in (("with pose", whole), ("without pose", bare)):
            log = folder / f"{what.replace(' ', '-')}.mcap"
            write_mcap(flight, log)
            for which, bound in (("first run", FIRST), ("later run", LATER)):
                progress(f"haltere identify {what}, {which}")
                wall, cpu = timed(log, folder / f"{log.stem}-store")
                rows.append(timing_row(f"identify 30 s at 500 Hz {what}, {which}", wall, "s", "bound", bound))
                rows.append(timing_row("the same, CPU time", cpu, "s"))
    return rows


def recorded(folder: Path, duration: float = DURATION, rate: float = RATE) -> Flight:
    """A simulated flight of the catalogue's vehicle with an IMU as fast as asked, without the truth."""
    airframe = from_catalogue(VEHICLE)
    imu = airframe.imu[0].model_copy(update={"rate": rate})
    file = folder / "airframe.toml"
    file.write_text(dumps(airframe.model_copy(update={"imu": (imu,)})))
    scenario = {
        "airframe": str(file),
        "duration": duration,
        "seed": 3,
        "trajectory": {"kind": "lissajous", "centre": [0.0, 0.0, 5.0], "cycles": [6, 8, 10, 6]},
        "noise": {"rotor_rate": rate},
    }
    flight = simulate(Scenario.model_validate(scenario))
    for channel in flight.names:
        if channel.startswith("truth."):
            flight = flight.without(channel)
    return flight


def timed(log: Path, store: Path) -> tuple[float, float]:
    """Wall and CPU seconds of `haltere identify` on a log; compiled functions are kept in the folder `store`.

    Raises:
        HaltereError: the command failed.
    """
    settings = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    settings["XDG_CACHE_HOME"] = str(store)
    out = log.parent / f"{log.stem}-identified"
    command = [sys.executable, "-m", "haltere", "identify", str(log), "--airframe", VEHICLE]
    command += ["--out", str(out), "--overwrite", "--json"]
    before, begin = os.times(), time.perf_counter()
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=WAIT, check=False)
    wall, after = time.perf_counter() - begin, os.times()
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise HaltereError(f"{' '.join(command[1:5])} ended with {done.returncode}: {last}")
    user = after.children_user - before.children_user
    return wall, user + after.children_system - before.children_system
