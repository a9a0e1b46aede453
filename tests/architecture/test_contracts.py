"""The import contracts of pyproject.toml hold, and no package escapes them."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def contracts():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["importlinter"]["contracts"]


def lint(folder):
    code = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-logo", "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(folder / "src")},
    )


def test_contracts_hold():
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(contracts())} kept, 0 broken" in result.stdout


def test_a_plotting_library_below_report_would_be_noticed(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = tmp_path / "src" / "haltere" / "foundation" / "errors.py"
    path.write_text(path.read_text(encoding="utf-8") + "\nimport plotly.graph_objects\n", encoding="utf-8")
    result = lint(tmp_path)
    assert result.returncode == 1
    assert "haltere.foundation.errors -> plotly" in result.stdout
