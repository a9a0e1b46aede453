"""Where recorded logs are: the folder in HALTERE_DATA, or ../shared/data beside the repository; never in it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def recorded():
    """Return the function that gives the path of a recorded file, or skips the test that asks for it."""
    folder = Path(os.environ.get("HALTERE_DATA", ROOT.parent / "shared" / "data"))

    def path(name, what):
        file = folder / name
        if not file.exists():
            pytest.skip(f"{file} is not here; it would check {what}")
        return file

    return path
