"""`haltere compare` from the outside."""

import json

import pytest

from haltere.airframe import from_catalogue, save
from haltere.cli.app import main


def run(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out = capsys.readouterr()
    return end.value.code, out.out, out.err


def test_the_same_vehicle_does_not_differ(capsys):
    code, out, _ = run(capsys, "compare", "x500", "x500")
    assert not code
    assert out.startswith("0 of ")


def test_a_changed_number_is_found_and_renamed_rotors_go_by_their_order(capsys, tmp_path):
    airframe = from_catalogue("x500")
    first, *rest = airframe.rotors
    stronger = first.model_copy(update={"thrust_coefficient": 1.1 * first.thrust_coefficient})
    rotors = tuple(r.model_copy(update={"name": f"m{i + 1}"}) for i, r in enumerate((stronger, *rest)))
    save(airframe.model_copy(update={"rotors": rotors}), tmp_path / "other.toml")
    code, out, _ = run(capsys, "compare", "x500", str(tmp_path / "other.toml"), "--json")
    assert not code
    answer = json.loads(out)
    apart = [row for row in answer["rows"] if row["differs"]]
    assert [row["name"] for row in apart] == [f"rotors.{first.name}.thrust_coefficient"]
    assert apart[0]["relative"] == pytest.approx(0.1 / 1.1)
    assert answer["different"] == 1


def test_a_file_that_is_none_is_told_in_one_line(capsys):
    code, _, err = run(capsys, "compare", "x500", "nothing.json")
    assert code == 1
    assert err.count("\n") == 1
