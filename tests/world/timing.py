"""Print how long a batch of flights takes.

python -m tests.world.timing [FLIGHTS] [SECONDS] [VEHICLE] [LEVEL]
"""

import sys
import time

from tests.world.drawings import DRAWINGS
from tests.world.flights import fly
from tests.world.levels import LEVELS


def main(arguments: list[str]) -> int:
    """Fly and print wall and processor time."""
    given = dict(enumerate(arguments))
    count, seconds = int(given.get(0, "100")), float(given.get(1, "24"))
    drawing, level = DRAWINGS[given.get(2, "quadrotor-x")], LEVELS[given.get(3, "realistic")]
    wall, cpu = time.perf_counter(), time.process_time()
    flights = fly(drawing, level, "full", range(count), seconds)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{count} flights of {seconds:g} s, {drawing.name}, {level.name}: {wall:.1f} s wall, {cpu:.1f} s processor, "
        f"{sum(flight.crashed for flight in flights)} crashed"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
