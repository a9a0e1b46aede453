"""The flight world of the tests shares no code with the package."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORLD = ROOT / "tests" / "world"
JOINING = {"__main__.py", "cog_table.py", "estimators.py", "test_estimators.py"}
"""Files that lead to the adapters, which join the world to the package: nowhere else may the package be imported."""


def imports(text):
    """Every module that a text imports, also inside functions and by name."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
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


def joins(path):
    """Whether a file of the world may import the package."""
    return path.parent.name == "adapters" or path.name in JOINING


@pytest.mark.parametrize("path", sorted(WORLD.rglob("*.py")), ids=lambda path: path.name)
def test_the_world_imports_nothing_of_the_package(path):
    if not joins(path):
        assert {name for name in imports(path.read_text(encoding="utf-8")) if shared(name)} == set()


def test_no_file_of_the_world_that_others_import_joins_it_to_the_package():
    joined = tuple(f"tests.world.{name}" for name in ("adapters", *(Path(name).stem for name in JOINING)))
    for path in WORLD.rglob("*.py"):
        if not joins(path):
            found = imports(path.read_text(encoding="utf-8"))
            assert not [name for name in found if name.startswith(joined)], path.name


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
