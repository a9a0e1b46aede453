"""Flights as files of three kinds, by the ending of the name."""

from pathlib import Path

from tests.world.csv_files import write_csv
from tests.world.flights import Flight
from tests.world.mcap_files import write_mcap
from tests.world.ulog_files import write_ulog

WRITERS = {".csv": write_csv, ".ulg": write_ulog, ".mcap": write_mcap}


def write(flight: Flight, path: Path) -> Path:
    """Write a flight as CSV (.csv), ULog (.ulg) or ROS 2 recording (.mcap); returns the path."""
    path = Path(path)
    if path.suffix not in WRITERS:
        raise ValueError(f"no writer for '{path.name}'; end the name with one of {sorted(WRITERS)}")
    WRITERS[path.suffix](flight, path)
    return path
