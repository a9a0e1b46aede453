"""`export` from Python: files named after the vehicle, never overwritten unasked; the gate is tried in `tests/cli`."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.exporters.results import whole

from haltere.airframe import from_catalogue
from haltere.exporters import Certificate, ExportError
from haltere.gate import checked_export
from haltere.gate.checked_export import Exported, export


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_an_airframe_is_written_under_its_name():
    exported = export(from_catalogue("x500"), "px4")
    assert exported.files == (Path("x500.px4.params"),)
    assert exported.certificate is None
    assert exported.to_dict()["gate"] is None
    assert repr(exported).startswith("Exported to px4\n")
    with pytest.raises(ExportError, match="exists already"):
        export("x500", "px4")
    assert export("x500", "px4", "other.params", overwrite=True).files == (Path("other.params"),)


def test_a_result_is_flown_before_unless_that_is_refused(monkeypatch):
    said, flown = [], []

    def certify(vehicle, draws, seed):
        flown.append((vehicle.name, draws, seed))
        return Certificate(draws, draws, seed, "<all> hovered")

    monkeypatch.setattr(checked_export, "certify", certify)
    result = whole()
    exported = export(result, "px4", "a.params", draws=3, seed=7, progress=said.append)
    assert flown[0][1:] == (3, 7)
    assert said == ["flying 3 vehicles sampled from what is known"]
    assert exported.to_dict()["gate"] == {"draws": 3, "held": 3, "seed": 7}
    assert "&lt;all&gt; hovered" in exported._repr_html_()
    assert export(result, "px4", "b.params", check=False).certificate is None
    assert len(flown) == 1


def test_a_result_without_airframe_is_named_after_its_log_not_written_over_it(monkeypatch):
    from tests.unit.exporters.results import ratios

    result = replace(ratios(), source="flight.ulg")
    assert export(result, "px4", check=False).files == (Path("flight.px4.params"),)


def test_an_unknown_target_is_refused_before_anything_is_read():
    with pytest.raises(ExportError, match=r"no export is called 'betaflight'; give px4"):
        export("nothing.json", "betaflight")
    assert Exported("px4", ()).to_dict()["files"] == []
