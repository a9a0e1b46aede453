"""`haltere compare`: two vehicles beside each other."""

from typing import Annotated

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress

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
    with progress(f"comparing {a} and {b}"):
        from haltere.cli.export import subject_of
        from haltere.identification.comparison import compare as compared

        rows = compared(subject_of(a), subject_of(b))
    apart = [row for row in rows if row.differs]
    if json:
        emit_json({"a": a, "b": b, "rows": [row.to_dict() for row in rows], "different": len(apart)})
        return
    shown = rows if everything else apart
    if shown:
        lines = [
            (r.name, r.a, r.b, None if r.relative is None else 100.0 * r.relative, r.deviations)
            for r in shown
        ]
        emit_table(f"{a} and {b}", ("number", "A", "B", "difference / %", "in sigma"), lines)
    typer.echo(f"{len(apart)} of {len(rows)} numbers differ")
