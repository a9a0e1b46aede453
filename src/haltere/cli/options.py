"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

_LOG = "MCAP, ULog, Blackbox, uSD, .bin, ROS bag or CSV"

FlightArgument = Annotated[Path, typer.Argument(help=f"A log: {_LOG}.", metavar="FLIGHT")]
FlightsArgument = Annotated[list[Path], typer.Argument(help=f"Logs: {_LOG}.", metavar="FLIGHT...")]
VehicleArgument = Annotated[
    str,
    typer.Argument(
        help="An airframe file or name of the catalogue, or the result.json of identify.",
        metavar="AIRFRAME_OR_RESULT",
    ),
]
AirframeOption = Annotated[
    str | None, typer.Option("--airframe", help="The nominal vehicle.", metavar="NAME_OR_FILE")
]
ArmOption = Annotated[
    str, typer.Option("--airframe", help="The vehicle with its arm.", metavar="NAME_OR_FILE")
]
MapOption = Annotated[
    Path | None,
    typer.Option("--map", help="For CSV and ROS bags: which columns are which.", metavar="FILE"),
]
ApplyOption = Annotated[
    list[str] | None,
    typer.Option("--apply", help="Kind of a finding to mend though it is not certain.", metavar="KIND"),
]
OverwriteFlag = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
