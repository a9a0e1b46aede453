"""The plugin that watches the workers says what they took, and fails a test where it is too much."""

import subprocess
import sys
from pathlib import Path

import pytest

from haltere.foundation.memory import count_maps

ROOT = Path(__file__).resolve().parents[2]


def run(folder, *options):
    (folder / "test_one.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT} {ROOT / 'src'}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.worker_memory", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.skipif(not count_maps(), reason="the system does not tell its memory maps")
def test_a_worker_with_too_many_maps_fails_clearly(tmp_path):
    done = run(tmp_path, "-n", "1", "--most-maps", "10")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "memory maps, 10 are allowed; see 'Memory maps' in CONTRIBUTING.md" in done.stdout
    assert "gw0: at most" in done.stdout


def test_a_run_ends_with_what_it_took(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests: at most" in done.stdout
    assert "GB, programs released 0 times" in done.stdout
