"""Tables of a reproduced paper: rows as JSON and as cells, bounds, what every paper's package has."""

from importlib import import_module

import numpy as np
import pytest

from haltere.foundation import HaltereError
from haltere.papers.page import numbers_section
from haltere.papers.tables import RUNS, PaperRow, PaperTable, Reproduction, named_tables, reproduce_paper

REACH = PaperRow("reach", "m", np.float64(0.1789), 0.2)
SHARE = PaperRow("share", "1", np.nan, None, 0.5)


def test_cells_are_scaled_with_their_unit():
    table = numbers_section([PaperTable("Arm", [REACH, SHARE])], {"m": (1e3, "mm")}).items[0]
    assert table.title == "Arm"
    assert table.rows == [["reach", "mm", "", "179", "200"], ["share", "1", "0.5", "", ""]]


def test_further_columns_are_shown_where_a_row_has_them():
    rows = [PaperRow("k_f", "1", 2, 3.0, "ok", {"cramer_rao": 0.5, "note": "why"}), REACH]
    table = PaperTable("Both", rows)
    assert table.columns == ("quantity", "unit", "paper", "ours", "bound", "cramer_rao")
    assert table.cells == [["k_f", "1", "ok", 2, 3.0, 0.5], ["reach", "m", None, 0.1789, 0.2, None]]
    assert numbers_section([table]).items[0].rows[0] == ["k_f", "1", "ok", "2", "3", "0.5"]


def test_a_row_as_json_has_its_columns_in_order_and_null_where_nothing_is_finite():
    assert list(SHARE.to_dict()) == ["quantity", "unit", "paper", "ours", "bound"]
    assert SHARE.to_dict()["ours"] is None


@pytest.mark.parametrize(
    ("ours", "bound", "outside"),
    [(1.0, 1.0, False), (1.1, 1.0, True), (np.nan, 1.0, True), (np.nan, None, False), (9.0, None, False)],
)
def test_a_number_that_is_missing_or_too_large_is_outside(ours, bound, outside):
    row = PaperRow("error", "1", ours, bound)
    assert row.outside is outside
    result = Reproduction(named_tables({"full": [row], "empty": []}), 1, 0)
    assert [table.name for table in result.tables] == ["full"]
    assert result.outside == ([row] if outside else [])


@pytest.mark.parametrize("name", RUNS)
def test_every_paper_has_tables_and_a_page(name):
    assert callable(import_module(f"haltere.papers.{name}.tables").reproduce)
    assert callable(import_module(f"haltere.papers.{name}.page").write_page)


def test_an_unknown_paper_is_refused():
    with pytest.raises(HaltereError, match="expected one of hong, boehm"):
        reproduce_paper("nobody")


def test_a_page_that_is_not_ours_is_left_alone_before_anything_is_computed(tmp_path):
    page = tmp_path / "mine.html"
    page.write_text("mine")
    with pytest.raises(HaltereError, match="not written by haltere"):
        reproduce_paper("fresk", page=page)
