"""The command `haltere`: its list of commands, and what becomes of errors.

Exit 0: done. Exit 1: the input is at fault or the job failed, and one line on stderr says what and what to
try. Exit 2: wrong usage. A traceback appears with `--debug` only, which may stand anywhere before `--`.

A command imports only its own module, and modules import JAX, pydantic and plotly inside their functions, so that
`--help` is quick.
"""

import sys
from importlib import import_module
from typing import Annotated

import typer

from haltere.cli.output import emit_line
from haltere.foundation import HaltereError

DEBUG = "--debug"
COMMANDS = (
    "dynamics",
    "simulate",
    "observe",
    "design",
    "reproduce",
    "identify",
    "doctor",
    "compare",
    "export",
    "plot",
    "throw",
    "payload",
    "cog",
    "bench",
    "demo",
    "airframe",
    "calibrate",
)
"""Each in the module of its name: a function of that name and its `EXAMPLE`, or an `app` of commands of its own."""


def make_app(words: list[str]) -> typer.Typer:
    """The command line for `words`: with the one command that they call, or with all of them."""
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
    app.callback()(options)
    called = next((word for word in words if not word.startswith("-")), "")
    for name in (called,) if called in COMMANDS else COMMANDS:
        module = import_module(f"haltere.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name, epilog=module.EXAMPLE)(getattr(module, name))
    return app


def show_version(wanted: bool) -> None:
    """Print the version and stop, if it was asked for."""
    if wanted:
        from haltere import __version__

        emit_line(f"haltere {__version__}")
        raise typer.Exit


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
        make_app(words)(args=words, prog_name="haltere")
    except Exception as error:
        if debug:
            raise
        emit_line(f"haltere: {sentence(error)}", err=True)
        sys.exit(1)


def sentence(error: Exception) -> str:
    """One line for `error`; what we did not foresee also says how to learn more."""
    text = " ".join(str(error).split())
    if isinstance(error, HaltereError):
        return text
    return f"{type(error).__name__}: {text or 'no message'}; run again with {DEBUG} for the traceback"
