"""Tables as text, HTML and data frames."""

import sys
import types

import pytest

from haltere.foundation import HaltereError
from haltere.foundation.tables import TextTable, html_lines, make_dataframe

TABLE = TextTable(
    "A & B", ("name", "value", "note"), [("mass", 0.71612345, "x < y"), ("long name", None, "")]
)


def test_text_has_columns_of_equal_width_and_numbers_to_the_right():
    assert TABLE.text().splitlines() == [
        "A & B",
        "name        value  note",
        "mass       0.7161  x < y",
        "long name       -",
    ]


def test_html_is_escaped():
    text = TABLE.html()
    assert "<caption>A &amp; B</caption>" in text
    assert "<td>x &lt; y</td>" in text
    assert text.count("<tr>") == 3
    assert html_lines(["<b>"]) == "<p>&lt;b&gt;</p>"


def test_a_table_without_columns_is_its_title():
    assert TextTable("nothing", (), []).text() == "nothing"
    assert TextTable("<nothing>", (), []).html() == "<p>&lt;nothing&gt;</p>"


def test_a_data_frame_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(HaltereError, match="pip install pandas"):
        make_dataframe(("a",), [(1,)], "a")


def test_a_data_frame_is_made_by_pandas(monkeypatch):
    class Frame:
        def __init__(self, rows, columns):
            self.rows, self.columns = rows, columns

        def set_index(self, name):
            self.index = name
            return self

    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=Frame))
    frame = make_dataframe(("a", "b"), [[1, 2], [3, 4]], "a")
    assert (frame.rows, frame.columns, frame.index) == ([(1, 2), (3, 4)], ["a", "b"], "a")
