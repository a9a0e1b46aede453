"""The command `haltere`: its list of commands, and what becomes of errors.

Exit 0: done. Exit 1: the input is at fault or the job failed, and one line on stderr says what and what to
try. Exit 2: wrong usage. A traceback appears with `--debug` only, which may stand anywhere before `--`.

The modules of the commands import JAX, pydantic and plotly inside their functions, so that `--help` is quick.
"""

import sys
from typing import Annotated

import typer

from haltere.cli import (
    airframe,
    bench,
    calibrate,
    compare,
    demo,
    design,
    doctor,
    dynamics,
    export,
    identify,
    observe,
    payload,
    plot,
    reproduce,
    simulate,
    throw,
)
from haltere.foundation import HaltereError

DEBUG = "--debug"

app = typer.Typer(
    name="haltere",
    help="What a multirotor can find out about its own body.",
    epilog="Example: haltere airframe list",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(airframe.app, name="airframe")
app.add_typer(calibrate.app, name="calibrate")
app.command("dynamics", epilog=dynamics.EXAMPLE)(dynamics.dynamics)
app.command("simulate", epilog=simulate.EXAMPLE)(simulate.simulate)
app.command("observe", epilog=observe.EXAMPLE)(observe.observe)
app.command("design", epilog=design.EXAMPLE)(design.design)
app.command("reproduce", epilog=reproduce.EXAMPLE)(reproduce.reproduce)
app.command("identify", epilog=identify.EXAMPLE)(identify.identify)
app.command("doctor", epilog=doctor.EXAMPLE)(doctor.doctor)
app.command("compare", epilog=compare.EXAMPLE)(compare.compare)
app.command("export", epilog=export.EXAMPLE)(export.export)
app.command("plot", epilog=plot.EXAMPLE)(plot.plot)
app.command("throw", epilog=throw.EXAMPLE)(throw.throw)
app.command("payload", epilog=payload.EXAMPLE)(payload.payload)
app.command("bench", epilog=bench.EXAMPLE)(bench.bench)
app.command("demo", epilog=demo.EXAMPLE)(demo.demo)


def show_version(wanted: bool) -> None:
    """Print the version and stop, if it was asked for."""
    if wanted:
        from haltere import __version__

        typer.echo(f"haltere {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option(DEBUG, help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """What a multirotor can find out about its own body."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command and leave with its exit code.

    Args:
        arguments: what stands after the program's name; None takes them from the command line.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    end = words.index("--") if "--" in words else len(words)
    debug = DEBUG in words[:end]
    words = [word for word in words[:end] if word != DEBUG] + words[end:]
    try:
        app(args=words, prog_name="haltere")
    except Exception as error:
        if debug:
            raise
        typer.echo(f"haltere: {sentence(error)}", err=True)
        sys.exit(1)


def sentence(error: Exception) -> str:
    """One line for `error`; what we did not foresee also says how to learn more."""
    text = " ".join(str(error).split())
    if isinstance(error, HaltereError):
        return text
    return f"{type(error).__name__}: {text or 'no message'}; run again with {DEBUG} for the traceback"
