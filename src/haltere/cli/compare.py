"""`haltere compare`: two vehicles beside each other."""

from typing import Annotated

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_line, emit_table, prepare_jax, progress

EXAMPLE = "Example: haltere compare x500 identified/result.json"
_HELP = "An airframe file or name of the catalogue, or the result.json of identify."


def compare(
    a: Annotated[str, typer.Argument(help=_HELP, metavar="A")],
    b: Annotated[str, typer.Argument(help=_HELP, metavar="B")],
    everything: Annotated[bool, typer.Option("--all", help="Show numbers that agree, too.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show where two vehicles differ: airframes, results of identify, or one of each.

    Numbers with a deviation differ if they are three of them apart. Rotors go by name, or by their order where the
    names differ. Exit 0 whether they differ or not.
    """
    prepare_jax()
    from haltere.identification.comparison import compare

    with progress(f"comparing {a} and {b}"):
        comparison = compare(a, b)
    if json:
        emit_json(comparison.to_dict())
        return
    table = comparison.table(everything)
    if table.rows:
        emit_table(table.title, table.columns, table.rows)
    emit_line(comparison.sentence)
