"""The flight world of the tests shares no code with the package."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORLD = ROOT / "tests" / "world"
JOINING = {"__main__.py", "estimators.py", "test_estimators.py"}
"""Files of the world that join it to the package: there, and only there, the package may be imported."""


def imports(text):
    """Every module that a text imports, also inside functions and by name."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            found |= {ast.unparse(argument).strip("'\"") for argument in node.args[:1]}
    return found


def shared(name):
    """Whether a module is the package's, or of other tests, which use the package."""
    first = name.split(".")[0]
    return (
        first == "haltere"
        or name.startswith(".")
        or (first == "tests" and not name.startswith("tests.world"))
    )


@pytest.mark.parametrize("path", sorted(WORLD.rglob("*.py")), ids=lambda path: path.name)
def test_the_world_imports_nothing_of_the_package(path):
    if path.name not in JOINING:
        assert {name for name in imports(path.read_text(encoding="utf-8")) if shared(name)} == set()


def test_no_file_of_the_world_that_others_import_joins_it_to_the_package():
    joined = {f"tests.world.{Path(name).stem}" for name in JOINING}
    for path in WORLD.rglob("*.py"):
        if path.name not in JOINING:
            assert not imports(path.read_text(encoding="utf-8")) & joined, path.name


def test_files_of_the_world_hold_one_noun():
    assert {
        p.name for p in WORLD.rglob("*.py") if len(p.read_text(encoding="utf-8").splitlines()) > 450
    } == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import haltere", True),
        ("def f():\n    from haltere.lie import so3", True),
        ("import importlib\nimportlib.import_module('haltere.flight')", True),
        ("from tests.unit.flight import x", True),
        ("from . import x", True),
        ("from tests.world.rigid import Motion\nimport numpy", False),
    ],
)
def test_the_scan_of_imports_sees_what_it_should(text, found):
    assert any(shared(name) for name in imports(text)) is found
