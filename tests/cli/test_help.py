"""The outside of the command line: help, exit codes, one-line errors, and how fast `--help` answers."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from haltere.cli.app import main

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [
    [],
    ["airframe"],
    ["airframe", "list"],
    ["airframe", "show"],
    ["airframe", "check"],
    ["airframe", "import"],
    ["dynamics"],
    ["observe"],
    ["design"],
    ["reproduce"],
    ["simulate"],
    ["doctor"],
    ["export"],
    ["compare"],
    ["identify"],
    ["plot"],
    ["throw"],
    ["bench"],
    ["payload"],
    ["calibrate"],
    ["calibrate", "servo"],
    ["demo"],
]


def run(*arguments, **options):
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
        **options,
    )


def call(capsys, *words):
    """Exit code, stdout and stderr of one command, run in this process."""
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(command, capsys):
    code, out, err = call(capsys, *command, "--help")
    assert code == 0
    assert err == ""
    assert "Usage: haltere" in out
    assert f"Example: {' '.join(['haltere', *command])}" in out


def test_help_answers_in_less_than_0_4_seconds():
    def processor():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def seconds():
        """Of processor time, which waits for nobody: on an idle machine the clock shows the same."""
        start = processor()
        assert run("-m", "haltere", "--help").returncode == 0
        return processor() - start

    seconds()  # byte code is written once after an installation
    # The best of many counts: other work on the machine can only make it slower.
    assert any(seconds() < 0.4 for _ in range(12))


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom haltere.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'jax', 'numpy', 'pydantic', 'plotly', 'jinja2'} & set(sys.modules)), file=sys.stderr)"
    )
    assert run("-c", code).stderr.strip() == "[]"


def test_version(capsys):
    from haltere import __version__

    assert call(capsys, "--version") == (0, f"haltere {__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["dynamics"],
        ["dynamics", "hummingbird"],
        ["airframe", "check"],
        ["airframe", "import"],
        ["reproduce", "nobody"],
        ["reproduce", "hong", "--runs", "0"],
        ["reproduce", "hong", "--runs", "many"],
        ["bench", "--jsn"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(words, capsys):
    code, out, err = call(capsys, *words)
    assert code == 2
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["airframe", "show", "humingbird"], "hummingbird"),
        (["airframe", "check", "missing.toml"], "missing.toml"),
        (["airframe", "check", "missing.toml", "--json"], "missing.toml"),
        (["dynamics", "hummingbird", "--state", "missing.json", "--json"], "missing.json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_errors_are_one_line_and_exit_with_1(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *words)
    assert code == 1
    assert out == ""
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize("place", [0, 3])
def test_debug_shows_the_traceback(place, tmp_path):
    words = ["airframe", "check", "missing.toml"]
    words.insert(place, "--debug")
    result = run("-m", "haltere", *words, cwd=tmp_path)
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_what_was_not_foreseen_is_one_line_too(capsys, monkeypatch):
    def fail():
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("haltere.airframe.catalogue_names", fail)
    code, out, err = call(capsys, "airframe", "list")
    assert (code, out) == (1, "")
    assert err == "haltere: RuntimeError: two lines; run again with --debug for the traceback\n"
