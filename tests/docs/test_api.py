"""The API pages: every public name has a section with an example, and every room a page that can be built."""

import re
from pathlib import Path

import pytest

import haltere
from docs import tree

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")


def test_the_front_door_documents_every_public_name_and_no_other():
    sections = re.findall(r"^### (\w+)$", PAGE, flags=re.MULTILINE)
    assert sorted(sections) == sorted(haltere.PUBLIC)


@pytest.mark.parametrize("name", sorted(haltere.PUBLIC))
def test_a_public_name_has_an_example_that_uses_it_and_its_own_docstring(name):
    section = re.split(r"^#{2,3} ", PAGE.partition(f"### {name}\n")[2], flags=re.MULTILINE)[0]
    example = section.partition("```python\n")[2].partition("```")[0]
    assert f"ht.{name}" in example or name == "Identification"
    assert f"::: {haltere.PUBLIC[name].replace(':', '.')}\n" in section


def test_every_room_but_commands_papers_and_benchmark_has_a_page():
    pages = pytest.importorskip("docs.api_pages", reason="needs mkdocs: the extra docs")
    rooms = {path.parent.name for path in tree.PACKAGE.glob("*/__init__.py")}
    assert set(pages.rooms()) == rooms - {"cli", "papers", "bench"}
    assert "::: haltere.flight.mcap.reader\n" in pages.page("flight")
