"""The code in the documents runs: Python blocks in order, and every `haltere` command of a shell block.

Blocks of one document share their names and one empty folder. Commands that take longer than a test should
are listed below and only checked for their usage.
"""

import shlex
import shutil
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from haltere.cli.app import main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONG = {"demo", "bench", "reproduce", "simulate", "design"}


def run_commands(example):
    """Evaluate a shell block: each line that starts with `haltere` must succeed."""
    text = example.parsed.replace("\\\n", " ")
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] != ["haltere"]:
            continue
        arguments = words[1:] if words[1] not in LONG else [*words[1:], "--help"]
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert not end.value.code, line


def write_file(example):
    """Evaluate a JSON or TOML block whose line before the fence names its file, as in `state.json`:."""
    before = example.document.text[: example.region.start].rstrip().splitlines()
    last = before[-1] if before else ""
    if last.startswith("`") and last.endswith("`:"):
        Path(last[1:-2]).write_text(example.parsed, encoding="utf-8")


PARSERS = [
    PythonCodeBlockParser(),
    *(CodeBlockParser(language, run_commands) for language in ("bash", "sh", "console")),
    *(CodeBlockParser(language, write_file) for language in ("json", "toml")),
]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_code_in_a_document_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples")
    Path("state.json").write_text(
        "{}", encoding="utf-8"
    )  # the vehicle at rest, unless the document says more
    for example in Sybil(parsers=PARSERS).parse(path).examples():
        example.evaluate()
