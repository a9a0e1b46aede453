"""No old private word comes back: in names, docstrings, messages and documents.

`python -m tests.architecture.words ROOM` lists the uses, `--text` those in texts. What is kept stands there, with the
reason.
"""

import ast
from collections import Counter

import pytest
from tests.architecture import words

DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs")


def count(uses):
    return Counter(use.file.removeprefix("src/haltere/").split("/")[0] for use in uses)


@pytest.fixture(scope="module")
def in_names():
    return count(words.in_names())


@pytest.fixture(scope="module")
def in_text():
    return count(words.in_text())


def rooms():
    return sorted(path.parent.name for path in words.PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", rooms())
def test_names_are_plain(room, in_names):
    assert in_names[room] == 0


@pytest.mark.parametrize("room", [*rooms(), *DOCUMENTS])
def test_texts_are_plain(room, in_text):
    assert in_text[room] == 0


def test_every_kept_name_is_still_there():
    names = {
        f"{module}:{name}"
        for module, path in words.modules()
        for name, _ in [(path.stem, 1), *words.defined_names(ast.parse(path.read_text(encoding="utf-8")))]
    }
    unused = [kept for kept in words.KEPT if not any(words.fnmatchcase(name, kept) for name in names)]
    assert unused == []


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("imu_place", "place"),
        ("ImuPlace", "place"),
        ("placement", None),
        ("left", "left"),
        ("left_wing", None),
        ("_told", "told"),
        ("least_squares", None),
        ("position", None),
    ],
)
def test_the_scan_sees_what_it_should(name, word):
    assert words.old_word(name) == word
