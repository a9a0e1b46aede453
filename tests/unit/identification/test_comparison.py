"""Two vehicles beside each other, from Python."""

import pytest

from haltere.airframe import from_catalogue, save
from haltere.identification.comparison import compare, rename_rotors


@pytest.fixture(scope="module")
def heavier():
    airframe = from_catalogue("x500")
    body = airframe.body.model_copy(update={"mass": airframe.body.mass + 0.1})
    return airframe.model_copy(update={"body": body, "name": "<heavier>"})


def test_airframes_names_and_files_are_compared(heavier, tmp_path):
    comparison = compare("x500", heavier)
    assert (comparison.a, comparison.b) == ("x500", "<heavier>")
    (mass,) = [row for row in comparison.different if row.name == "mass"]
    assert mass.difference == pytest.approx(0.1)
    assert mass.deviations is None
    assert repr(comparison).splitlines()[0] == "x500 and <heavier>"
    assert repr(comparison).endswith(comparison.sentence)
    assert "&lt;heavier&gt;" in comparison._repr_html_()
    assert comparison.to_dict()["different"] == len(comparison.different)
    assert list(comparison.to_dict()) == ["a", "b", "rows", "different"]
    save(heavier.model_copy(update={"name": "heavier"}), tmp_path / "heavier.toml")
    assert not compare(heavier, tmp_path / "heavier.toml").different
    assert compare(heavier, heavier).table(everything=True).rows


def test_rotors_are_renamed_in_order_where_names_differ_and_the_count_does_not():
    table = {"mass": 1.0, "rotors.a.position.x": 2.0}
    assert rename_rotors(table, ("a", "b"), ("c", "d")) == {"mass": 1.0, "rotors.c.position.x": 2.0}
    assert rename_rotors(table, ("a", "b"), ("b", "a")) == table
    assert rename_rotors(table, ("a", "b"), ("c",)) == table
