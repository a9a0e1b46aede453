"""The page on airframes names every field, and its numbers and errors are real."""

import re
from pathlib import Path

import pytest

from haltere.airframe import Airframe, AirframeError, loads
from haltere.airframe.errors import model_at
from haltere.airframe.fields import AirframePart

PAGE = Path(__file__).parents[3] / "docs" / "airframe.md"
TEXT = PAGE.read_text(encoding="utf-8")


def parts() -> list[type[AirframePart]]:
    found: list[type[AirframePart]] = [Airframe]
    for part in found:
        for name in part.model_fields:
            inner = model_at(part, (name,))
            if inner is not None and inner not in found:
                assert issubclass(inner, AirframePart)
                found.append(inner)
    return found


def section(part: type[AirframePart]) -> str:
    found = re.search(rf"^#+ [^\n]*`{part.__name__}`.*?(?=^#|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"no section on {part.__name__}"
    return found[0]


def test_all_parts_are_found():
    assert len(parts()) == 15


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.__name__)
def test_every_field_stands_in_its_section(part):
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section(part), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(part.model_fields)


def test_required_fields_are_marked_so():
    for part in parts():
        for name, field in part.model_fields.items():
            row = re.search(rf"^\|[^|]*`{name}`[^|]*\|[^|]*\|[^|]*\|([^|]*)\|", section(part), re.MULTILINE)
            assert row, name
            assert (row[1].strip() == "required") == field.is_required(), f"{part.__name__}.{name}"


def test_the_toml_on_the_page_is_sound():
    blocks = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    whole = [block for block in blocks if block.startswith("name =")]
    assert whole
    for block in whole:
        loads(block, "page")


def test_the_errors_on_the_page_are_those_that_appear():
    (block,) = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    known = (Path(__file__).parent / "faults.txt").read_text(encoding="utf-8")
    for line in block.splitlines():
        assert f"    {line.removeprefix('my.toml: ')}\n" in known, line


def test_broken_toml_is_refused():
    with pytest.raises(AirframeError):
        loads("name", "page")
