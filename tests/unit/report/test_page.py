"""A page is one file that loads nothing, and never replaces what is not ours."""

import json
import re

import plotly.graph_objects as go
import pytest

from haltere.foundation import HaltereError
from haltere.report.page import Fact, Page, Picture, Section, Table


@pytest.fixture
def page():
    picture = Picture(
        "A </script> figure", go.Figure(go.Scatter(x=[1], y=[2], name="</script>")), "One < two.", name="one"
    )
    table = Table("A table", ("", "value"), [("mass, kg", "2.1")], "It says the mass.")
    return Page(
        "Title & more",
        "A sentence.",
        (Fact("2", "kg", "mass"),),
        (Section("First", "Text.", (picture, table)),),
    )


def own_part(html):
    """The page without the plotting library that is embedded in it."""
    return re.sub(r"<script>/\*\*\s*\* plotly\.js.*?</script>", "", html, flags=re.DOTALL)


def test_the_plotting_library_is_inside(page):
    html = page.html()
    assert len(html) - len(own_part(html)) > 1_000_000


def test_nothing_is_loaded_from_elsewhere(page):
    html = own_part(page.html())
    assert re.findall(r"""(?:src|href)\s*=\s*["']?(?!data:)[^"'\s>]+""", html) == []
    assert "http:" not in html
    assert "https:" not in html
    assert "@import" not in html
    assert "url(" not in html


def test_texts_are_escaped(page):
    html = own_part(page.html())
    assert "Title &amp; more" in html
    assert "A &lt;/script&gt; figure" in html
    assert "One &lt; two." in html


def test_figures_are_json_that_no_text_can_end(page):
    html = own_part(page.html())
    (text,) = re.findall(r'<script type="application/json" data-for="one">(.*?)</script>', html, re.DOTALL)
    assert json.loads(text)["data"][0]["name"] == "</script>"


def test_it_fits_small_screens_and_paper(page):
    html = page.html()
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert "@media print" in html


def test_its_own_file_is_replaced(page, tmp_path):
    path = tmp_path / "report.html"
    page.write(path)
    first = path.read_text(encoding="utf-8")
    page.write(path)
    assert path.read_text(encoding="utf-8") == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_file_of_somebody_else_is_left_alone(page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("my notes", encoding="utf-8")
    with pytest.raises(HaltereError, match=r"not written by haltere.*another file"):
        page.write(path)
    assert path.read_text(encoding="utf-8") == "my notes"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_is_not_replaced(page, tmp_path):
    with pytest.raises(HaltereError, match="left alone"):
        page.write(tmp_path)


def test_a_missing_folder_is_named(page, tmp_path):
    with pytest.raises(HaltereError, match="nowhere does not exist"):
        page.write(tmp_path / "nowhere" / "report.html")


def test_a_failed_write_leaves_nothing_behind(page, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(HaltereError, match="No space"):
        page.write(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
