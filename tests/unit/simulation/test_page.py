"""The page on simulation names every field of a scenario, with the right defaults."""

import re
from pathlib import Path

import pytest

from haltere.airframe import Airframe
from haltere.airframe.errors import model_at
from haltere.airframe.fields import AirframePart
from haltere.simulation.scenario import Scenario, scenario_from_text

TEXT = (Path(__file__).parents[3] / "docs" / "simulate.md").read_text(encoding="utf-8")


def parts() -> list[type[AirframePart]]:
    """Every table of a scenario; an airframe in it has a page of its own."""
    found: list[type[AirframePart]] = [Scenario]
    for part in found:
        for name in part.model_fields:
            inner = model_at(part, (name,))
            if inner is not None and inner not in (*found, Airframe):
                assert issubclass(inner, AirframePart)
                found.append(inner)
    return found


def rows(part: type[AirframePart]) -> dict[str, str]:
    section = re.search(rf"^### [^\n]*`{part.__name__}`.*?(?=^#|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert section, f"no section on {part.__name__}"
    return {name: line for line in section[0].splitlines() for name in re.findall(r"^\| `(\w+)` \|", line)}


def test_all_parts_are_found():
    assert len(parts()) == 10


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.__name__)
def test_every_field_stands_in_its_section(part):
    assert set(rows(part)) == set(part.model_fields)


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.__name__)
def test_defaults_are_those_of_the_code(part):
    for name, row in rows(part).items():
        default = part.model_fields[name].get_default()
        if isinstance(default, bool):
            assert f"| {str(default).lower()} |" in row, name
        elif isinstance(default, int | float):
            assert f"| {default:g} |" in row, name
        elif isinstance(default, str):
            assert f"| {default} |" in row, name
        elif isinstance(default, tuple) and default:
            assert "| [" + ", ".join(f"{x:g}" for x in default) + "] |" in row, name


def test_all_kinds_are_named():
    for part in parts():
        if "kind" in part.model_fields:
            for kind in part.model_fields["kind"].annotation.__args__:
                assert f"`{kind}`" in rows(part)["kind"]


def test_the_scenario_on_the_page_is_sound():
    (block,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert scenario_from_text(block).trajectory.kind == "circle"
