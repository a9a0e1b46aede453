"""The table of the centre of gravity, loop closed: `python -m tests.world.cog_table FOLDER`.

Each cell is four flights of one vehicle in one condition, hover or gentle. With `--kind marked` a payload of 12 % of
the mass is gripped at 20 s of 40, of which the filter is told; with `unmarked` it is not told; with `none` nothing
happens for 150 s: two hours in all. Cells that stand in the folder are not flown again.
"""

import argparse
import itertools
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from tests.world.adapters.cog_loop import FilterLoop
from tests.world.catalogue import VEHICLES, catalogue_drawing, center_sigma
from tests.world.cog_flights import CONDITIONS, CogFlight, Event, fly_cog, trim_left
from tests.world.plan import SEEDS

GRIP = 20.0
SETTLED = 12.0
"""s after which the pilot's integral has found the wind."""
PROFILES = ("hover", "gentle")
FLIGHTS = 4
KINDS = ("marked", "unmarked", "none")
DURATION, QUIET_DURATION = 40.0, 150.0
"""s of a flight, and of one in which nothing happens."""
FOLLOWED = 0.9
"""Of the step of the trim, after which it counts as followed."""


def scores(flight: CogFlight) -> dict[str, list[list[float]]]:
    """Errors and deviations by row, and what has no interval with a deviation of NaN; m, relative for the mass."""
    said, last = flight.said, len(flight.said_time) - 1
    at = {
        second: int(np.searchsorted(flight.said_time, second - 1e-6)) for second in (GRIP + 1.0, GRIP + 10.0)
    }
    arm = arm_of(flight.vehicle)
    true = flight.com[-1] - flight.com[0]

    def pairs(error, sigma) -> list[list[float]]:
        return [[float(e), float(s)] for e, s in zip(np.atleast_1d(error), np.atleast_1d(sigma), strict=True)]

    def deviation(cov) -> np.ndarray:
        return np.sqrt(np.diagonal(cov))[:2]

    left = trim_left(flight)
    trim = flight.trim[last] - (said["trim"][last, :2] - flight.nominal_com[:2])
    steady = flight.position_error[(flight.said_time > SETTLED) & (flight.said_time < GRIP)]
    bound = np.hypot(*center_sigma(catalogue_drawing(flight.vehicle))) / np.sqrt(2.0)
    com = (said["com"][last] - flight.com[last])[:2]
    found = {
        "trim left, mm": [[1e3 * left, np.nan]],
        "trim left, % of the arm": [[100 * left / arm, np.nan]],
        "position, mm": [[1e3 * float(np.sqrt((steady**2).sum(axis=1).mean())), np.nan]],
        "trim": pairs(trim, deviation(said["trim_cov"][last])),
        "absolute x, y": pairs(com, deviation(said["cov"][last])),
        "absolute x, y, over the bound": [[float(x) / float(bound), np.nan] for x in com],
        "mass, %": pairs(
            100 * (said["mass"][last] / flight.mass[last] - 1),
            100 * said["mass_sigma"][last] / flight.mass[last],
        ),
    }
    for second, k in at.items():
        error = (said["change"][k] - true)[:2]
        found[f"change after {second - GRIP:g} s"] = pairs(error, deviation(said["change_cov"][k]))
    return found


def arm_of(vehicle: str) -> float:
    """Largest distance of a rotor from the nominal centre, m."""
    drawing = catalogue_drawing(vehicle)
    return float(np.hypot(*(drawing.position - drawing.com[:, None])[:2]).max())


def found_scores(flight: CogFlight) -> dict[str, list[list[float]]]:
    """What becomes of a change that nobody marked: when it is found and followed, s, and whether its interval holds."""
    events, time = flight.said["events"], flight.said_time
    before, last = int(events[time < GRIP - 1e-6][-1]), len(time) - 1
    found = np.flatnonzero((events > before) & (time >= GRIP))
    step = (flight.com[-1] - flight.com[0])[:2]
    moved = flight.said["trim"][:, :2] - flight.said["trim"][time < GRIP][-1, :2]
    followed = np.flatnonzero((moved @ step > FOLLOWED * step @ step) & (time > GRIP))
    rows = {
        "found, % of the changes": [[100.0 * (len(found) > 0), np.nan]],
        "false": [[float(before + max(int(events[-1]) - before - 1, 0)), np.nan]],
    }
    if len(found):
        rows["found after, s"] = [[float(time[found[0]] - GRIP), np.nan]]
        rows["followed after, s"] = [[float(time[followed[0]] - GRIP) if len(followed) else np.inf, np.nan]]
        since = time[-1] - flight.said["since"][last]
        if since > GRIP - 0.5:
            error = (flight.said["change"][last] - (flight.com[-1] - flight.com[0]))[:2]
            sigma = np.sqrt(np.diagonal(flight.said["change_cov"][last]))[:2]
            rows["change at the end"] = [[float(e), float(s)] for e, s in zip(error, sigma, strict=True)]
    return rows


def fly_cell(
    folder: Path, kind: str, vehicle: str, condition: str, profile: str, seeds: Sequence[int]
) -> None:
    """Fly a cell and keep its scores."""
    path = folder / f"{kind}-{vehicle}-{condition}-{profile}.json"
    if path.exists():
        return
    event = None if kind == "none" else Event(GRIP, marked=kind == "marked")
    duration = DURATION if event else QUIET_DURATION
    flights = fly_cog(vehicle, condition, profile, seeds, FilterLoop, duration=duration, event=event)
    rows: dict[str, list[list[float]]] = {}
    for flight in flights:
        found = {} if kind == "none" else (scores if kind == "marked" else found_scores)(flight)
        for name, pairs in found.items():
            rows.setdefault(name, []).extend(pairs)
    events = [int(flight.said["events"][-1]) for flight in flights]
    text = json.dumps({"rows": rows, "events": events, "crashed": [flight.crashed for flight in flights]})
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def lines(folder: Path, kind: str) -> Iterable[str]:
    """The table: root mean square of each row, its intervals that hold, and rms of error over sigma."""
    yield "| condition | profile | flights | row | rms (mean of %, s and counts) | held, % | error over sigma |"
    yield "|---|---|---|---|---|---|---|"
    for condition, profile in itertools.product(CONDITIONS, PROFILES):
        cells = [
            json.loads(path.read_text())
            for path in sorted(folder.glob(f"{kind}-*-{condition}-{profile}.json"))
        ]
        names = list(dict.fromkeys(name for cell in cells for name in cell["rows"]))
        for name in names:
            error, sigma = np.concatenate([cell["rows"].get(name, np.empty((0, 2))) for cell in cells]).T
            if name.startswith(("found", "followed", "false")):
                size = float(np.mean(error))
            else:
                relative = "%" in name or "mm" in name or "bound" in name
                size = float(np.sqrt(np.mean(error**2))) * (1.0 if relative else 1e3)
            held, over = 100 * np.mean(np.abs(error) < 1.96 * sigma), np.sqrt(np.mean((error / sigma) ** 2))
            some = f"{held:.0f} | {over:.2f}" if np.isfinite(sigma).all() else "- | -"
            yield f"| {condition} | {profile} | {FLIGHTS * len(cells)} | {name} | {size:.3g} | {some} |"
        events, lost = sum(sum(cell["events"]) for cell in cells), sum(sum(cell["crashed"]) for cell in cells)
        yield f"| {condition} | {profile} | {FLIGHTS * len(cells)} | events; crashed | {events}; {lost} | - | - |"


def main() -> None:
    """Fly what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", default="marked", choices=KINDS)
    parser.add_argument("--conditions", default=",".join(CONDITIONS), help="with commas")
    parser.add_argument("--vehicles", default=",".join(VEHICLES), help="with commas")
    parser.add_argument("--seeds", default="development", choices=tuple(SEEDS))
    given = parser.parse_args()
    first = SEEDS[given.seeds].start
    given.folder.mkdir(parents=True, exist_ok=True)
    for condition in given.conditions.split(","):
        for vehicle, profile in itertools.product(given.vehicles.split(","), PROFILES):
            own = first + FLIGHTS * VEHICLES.index(vehicle)
            fly_cell(given.folder, given.kind, vehicle, condition, profile, range(own, own + FLIGHTS))
    for line in lines(given.folder, given.kind):
        print(line)


if __name__ == "__main__":
    main()
