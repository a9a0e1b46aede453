"""`read_log`: one file in, one flight out, by the reader of its kind."""

import importlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np

from haltere.flight import Flight, FlightError
from haltere.logs.fault import LogError
from haltere.logs.mapping import Mapping, load_mapping
from haltere.logs.sniff import Kind, sniff

#: Module and function of each kind; imported only when such a file is read, because their parsers are heavy.
READERS: dict[Kind, tuple[str, str]] = {
    Kind.ULOG: ("ulog", "read_ulog"),
    Kind.BLACKBOX: ("blackbox", "read_blackbox"),
    Kind.USD: ("crazyflie", "read_usd"),
    Kind.DATAFLASH: ("dataflash", "read_dataflash"),
}
MAPPED: dict[Kind, tuple[str, str]] = {
    Kind.MCAP: ("rosbag", "read_mcap_log"),
    Kind.BAG: ("rosbag", "read_bag"),
    Kind.CSV: ("table", "read_table"),
}
_EXTRAS = {"orangebox": "pip install 'haltere[blackbox]'"}


def read_log(path: str | PathLike[str], mapping: Mapping | str | PathLike[str] | None = None) -> Flight:
    """Return the flight in a log file, whatever its format; a `LogError` of one line if it cannot be read.

    Args:
        path: MCAP, PX4 ULog, Blackbox, Crazyflie uSD, ArduPilot .bin, ROS bag (file or folder) or CSV.
        mapping: For CSV and ROS bags: which columns or topics are which channels; a `Mapping` or its TOML file.
    """
    file = Path(path)
    kind = sniff(file)
    chosen = mapping if mapping is None or isinstance(mapping, Mapping) else load_mapping(mapping)
    if chosen is not None and kind not in MAPPED:
        raise LogError(f"{file}: is a {kind.value}, which needs no mapping; leave it out")
    read = _function(file, *(MAPPED.get(kind) or READERS[kind]))
    try:
        with np.errstate(all="ignore"):  # a damaged log may hold any numbers
            return read(file, chosen) if kind in MAPPED else read(file)
    except LogError:
        raise
    except FlightError as error:  # a channel that cannot be, whose file it does not know
        raise LogError(f"{file}: {error}") from None


def _function(file: Path, module: str, name: str) -> Callable[..., Flight]:
    try:
        found: Callable[..., Flight] = getattr(importlib.import_module(f"haltere.logs.{module}"), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        remedy = _EXTRAS.get(package, f"pip install {package}")
        raise LogError(f"{file}: reading it needs the package '{package}'; {remedy}") from None
    return found
