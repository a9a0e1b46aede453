"""`haltere cog`: the centre of gravity over a log."""

from math import isnan
from typing import TYPE_CHECKING, Annotated

import typer

from haltere.cli.options import ApplyOption, FlightArgument, MapOption
from haltere.cli.output import JsonFlag, emit_json, emit_line, emit_table, prepare_jax, progress

if TYPE_CHECKING:
    from haltere.foundation.numbers import Floats

EXAMPLE = "Example: haltere cog flight.ulg --airframe x500 --mark 12.5 --json"


def cog(
    flight: FlightArgument,
    airframe: Annotated[str, typer.Option("--airframe", help="The vehicle.", metavar="NAME_OR_FILE")],
    mapping: MapOption = None,
    mark: Annotated[
        list[float] | None,
        typer.Option(
            "--mark", help="s since the log began at which something was gripped or dropped.", metavar="T"
        ),
    ] = None,
    apply: ApplyOption = None,
    json: JsonFlag = False,
) -> None:
    """Follow the centre of gravity through a log: trim, position, changes, mass.

    The trim is what a mixer needs. The position of the centre of mass is less sure, because a rotor stronger than its
    file looks like an offset. What changes in flight is sure again: changes are found, or given with --mark.
    """
    prepare_jax()
    from haltere.identification.cog_log import track_cog
    from haltere.logs import read

    with progress(f"reading {flight}") as report:
        record = read(flight, mapping=mapping)
        report("following the centre of gravity")
        history = track_cog(record, airframe, marks=mark or (), apply=apply or ())
    if json:
        emit_json(history.to_dict())
        for note in history.notes:
            emit_line(f"note: {note}", err=True)
        return
    end = [
        (name, *_intervals(1e3 * value[-1], 1e3 * sigma[-1]))
        for name, value, sigma in (
            ("trim", history.trim, history.trim_sigma),
            ("centre of mass", history.com, history.sigma),
            ("change since the last event", history.change, history.change_sigma),
        )
    ]
    title = f"centre of gravity at {history.time[-1]:.1f} s, mm from the airframe's origin (95 %)"
    emit_table(title, ("quantity", "x", "y", "z"), end)
    emit_line(f"mass {history.mass[-1]:.4g} +- {1.96 * history.mass_sigma[-1]:.2g} kg (95 %)")
    if history.events:
        rows = [
            (
                f"{event.time:.1f}",
                event.kind,
                *_intervals(1e3 * event.change, 1e3 * event.sigma),
                _interval(event.mass_change, event.mass_change_sigma),
            )
            for event in history.events
        ]
        emit_table("changes, mm", ("time, s", "kind", "x", "y", "z", "mass, kg"), rows)
    for note in history.notes:
        emit_line(f"note: {note}")


def _intervals(value: "Floats", sigma: "Floats") -> list[str]:
    return [_interval(v, s) for v, s in zip(value.tolist(), sigma.tolist(), strict=True)]


def _interval(value: float, sigma: float) -> str:
    return "not observable" if isnan(value) else f"{value:.3g} +- {1.96 * sigma:.2g}"
