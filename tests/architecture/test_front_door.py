"""`import haltere`: cheap, complete, the same for type checkers, and no name that means two things."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import haltere

ROOT = Path(haltere.__file__).parent
HEAVY = ("jax", "scipy", "plotly", "numpy", "pydantic", "pandas")
MOST_SECONDS = 0.05
"""Of processor time that `import haltere` may take."""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_import_loads_no_other_package():
    code = "import sys, haltere; print(*(m for m in sys.modules if m.split('.')[0] in sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *HEAVY, "haltere"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["haltere"]


def test_import_is_quick():
    """In processor time, the smallest of three, so that a busy machine does not count."""
    code = "from time import process_time as now; start = now(); import haltere; print(now() - start)"
    assert min(float(run(code).stdout) for _ in range(3)) < MOST_SECONDS


@pytest.mark.parametrize("name", sorted(haltere.PUBLIC))
def test_every_name_resolves(name):
    module, _, attribute = haltere.PUBLIC[name].partition(":")
    value = getattr(haltere, name)
    assert value is getattr(importlib.import_module(module), attribute)
    assert inspect.isclass(value) or callable(value)
    assert inspect.getdoc(value)
    assert name in dir(haltere)


def test_type_checkers_see_the_same_names():
    tree = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    imported = {
        alias.asname: f"{node.module}:{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == haltere.PUBLIC
    assert (ROOT / "py.typed").is_file()


def test_an_unknown_name_is_an_error_that_names_the_known_ones():
    with pytest.raises(AttributeError, match=r"no attribute 'idenfity'; it has .*identify"):
        haltere.idenfity  # noqa: B018 - the access is the test


def test_no_name_of_the_front_door_is_a_module_beside_it():
    assert not {module.name for module in pkgutil.iter_modules(haltere.__path__)} & set(haltere.PUBLIC)


def packages():
    """Every package outside the command line, after everything has been imported."""
    for module in pkgutil.walk_packages(haltere.__path__, "haltere."):
        if module.name != "haltere.__main__":
            importlib.import_module(module.name)
    modules = [sys.modules[m.name] for m in pkgutil.walk_packages(haltere.__path__, "haltere.") if m.ispkg]
    return [haltere, *(p for p in modules if p.__name__ != "haltere.cli")]


def test_no_package_exports_a_function_named_like_its_submodule():
    clashes = {
        (package.__name__, module.name)
        for package in packages()
        for module in pkgutil.iter_modules(package.__path__)
        if not isinstance(getattr(package, module.name, package), types.ModuleType)
    }
    assert clashes == set()
