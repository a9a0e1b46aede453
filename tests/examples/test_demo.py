"""`haltere demo`: an unknown vehicle is identified, the truth lies where it says, and the report looks right."""

import re

import numpy as np
import pytest
from tests import browser

from docs import pictures
from haltere.foundation import HaltereError
from haltere.foundation.verdict import KNOWN, limits
from haltere.report.demo import write_demo
from haltere.scenarios.demo import truth_of, unknown_vehicle

needs_browser = pytest.mark.skipif(
    browser.find() is None,
    reason="no Chromium on PATH, so the page is not looked at; Debian: apt install chromium",
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "report.html"
    said = []
    return path, write_demo(path, said.append), said


def test_the_truth_lies_inside_the_intervals(demo):
    path, result, said = demo
    assert result["report"] == str(path)
    assert {"parameters", "fit", "findings", "truth", "report"} <= result.keys()
    told = [p for p in result["parameters"] if p["name"] in result["truth"] and p["sigma"]]
    told = [p for p in told if p["verdict"] in ("identified", "weak")]
    errors = np.array([(p["value"] - result["truth"][p["name"]]) / p["sigma"] for p in told])
    assert len(told) >= 40
    assert np.mean(np.abs(errors) <= 1.96) >= 0.85
    assert result["findings"] == []
    names = {p["name"] for p in told if p["verdict"] == "identified"}
    assert {"rotors.front.effectiveness.q", "rotors.left.effectiveness.p", "inertia.xx"} <= names
    assert next(p for p in result["parameters"] if p["name"] == "mass")["verdict"] == "given"
    wide = [p for p in told if p["verdict"] == "weak" and p["source"] == "data"]
    limit = limits({p["name"]: p["value"] for p in result["parameters"] if p["verdict"] in KNOWN})
    assert all(1.96 * p["sigma"] > limit[p["name"]].fraction * p["scale"] for p in wide)
    assert len(said) >= 3


def test_the_vehicle_is_not_the_catalogues():
    truth = truth_of(unknown_vehicle(0))
    other = truth_of(unknown_vehicle(1))
    assert truth["mass"] != pytest.approx(0.716, rel=1e-3)
    assert sum(abs(truth[n] - other[n]) > 1e-9 * abs(truth[n]) for n in truth) > 40


def test_every_figure_says_what_one_sees(demo):
    html = demo[0].read_text(encoding="utf-8")
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    captions = [re.search(r"<figcaption>(.+?)</figcaption>", figure, re.DOTALL) for figure in figures]
    assert len(figures) >= 12
    assert all(caption and caption.group(1).strip().endswith(".") for caption in captions)
    assert "nan" not in " ".join(caption.group(1) for caption in captions).lower()


def test_a_report_of_somebody_else_stops_the_demo_before_it_computes(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("<html>mine</html>", encoding="utf-8")
    said = []
    with pytest.raises(HaltereError, match="not written by haltere"):
        write_demo(path, said.append)
    assert said == []


# What a reader would notice: a page that scrolls sideways, a figure that is cut off, an empty figure.
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"
CUT_OFF = """[...document.querySelectorAll('.plot')].filter((plot) => {
  const svg = plot.querySelector('.main-svg');
  return !svg || svg.getBoundingClientRect().width > plot.clientWidth + 1;
}).map((plot) => plot.id)"""
SCENES = "document.querySelectorAll('.plot canvas').length"


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_looks_right_in_a_browser(demo, width):
    with browser.tab(width, 900, timeout=120.0) as tab:
        tab.open(demo[0])
        scroll, inner = tab.evaluate(WIDTHS)
        assert inner == width
        assert scroll <= inner
        assert tab.evaluate(CUT_OFF) == []
        assert tab.evaluate(SCENES) >= 2
        image = tab.screenshot()
        complaints = tab.complaints()
    assert int.from_bytes(image[16:20], "big") == width
    assert len(image) > 100_000  # an empty page of this size has a few thousand bytes
    assert complaints == []


@needs_browser
def test_it_can_be_printed(demo):
    with browser.tab(timeout=120.0) as tab:
        tab.open(demo[0])
        pdf = tab.pdf()
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 16


@needs_browser
def test_the_pictures_of_the_documentation_can_be_renewed(demo, tmp_path):
    written = pictures.save_pictures(demo[0], tmp_path)
    assert sorted(path.name for path in written) == ["flight.png", "vehicle.png"]
    for path in written:
        image = path.read_bytes()
        assert abs(int.from_bytes(image[16:20], "big") - pictures.WIDTH) <= 1
        assert 20_000 < len(image) < 300_000
