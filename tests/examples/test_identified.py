"""The report of a result: complete, readable in a browser at two widths, printable, without network."""

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests import browser

from haltere.identification.parameters import Parameter
from haltere.identification.result import Identification, Prediction
from haltere.identification.summary import shorten_names
from haltere.report import fits
from haltere.report.fleet import fleet_page, outliers
from haltere.report.identified import identification_page
from haltere.report.tables import interval, number, pair

needs_browser = pytest.mark.skipif(
    browser.find() is None,
    reason="no Chromium on PATH, so the page is not looked at; Debian: apt install chromium",
)
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"
EMPTY = """[...document.querySelectorAll('.plot')].filter((plot) => {
  const svg = plot.querySelector('.main-svg');
  return !svg || svg.getBoundingClientRect().width > plot.clientWidth + 1;
}).map((plot) => plot.id)"""


def built():
    """The module of hand-built results that the tests of `export` use too."""
    path = Path(__file__).resolve().parents[1] / "unit" / "exporters" / "results.py"
    spec = importlib.util.spec_from_file_location("hand_built_results", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["hand_built_results"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def results():
    return built()


def whole(results):
    found = results.scaled(results.whole("x500"))
    airframe = found.airframe
    wider = tuple(
        r.model_copy(update={"position": (1.08 * r.position[0], r.position[1], r.position[2])})
        for r in airframe.rotors
    )
    return replace(found, nominal=airframe.model_copy(update={"rotors": wider}))


@pytest.fixture(scope="module")
def pages(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    first = whole(results)
    return {
        "whole": identification_page(first, truth={p.name: p.value for p in first.parameters}).write(
            folder / "whole.html"
        ),
        "ratios": identification_page(results.ratios()).write(folder / "ratios.html"),
        "fleet": fleet_page([first, results.whole(), results.ratios()]).write(folder / "fleet.html"),
    }


def test_everything_asked_for_is_on_the_page(pages):
    html = pages["whole"].read_text(encoding="utf-8")
    body = html[html.index("<body>") : html.index("<footer>")]
    for words in (
        "As identified",
        "95 % certainty",
        "nominal",
        'class="mark combination"',
        "weigh the vehicle",
        "On time that the fit has not seen",
        "are they white?",
        "Excitation",
        "rotor speeds lag the rates by 8 ms",
        "no vibration line",
        "Fly 10 s of yaw steps",
        "Against the truth",
    ):
        assert words in body, words
    assert "nan" not in re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL).lower().split()
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", body, re.DOTALL)
    assert all(c.strip().endswith(".") for c in captions)


def test_a_log_without_pose_shows_how_rotors_act(pages):
    html = pages["ratios"].read_text(encoding="utf-8")
    for words in (
        "Rotors from above, as they act",
        "Rolling",
        "Yawing",
        "effectiveness.fz",
    ):
        assert words in html, words
    assert "As identified" not in html


def test_a_result_read_back_from_its_file_gives_a_page_too(results):
    kept = Identification.from_dict(whole(results).to_dict())
    html = identification_page(kept).html()
    assert "Measured and predicted" not in html
    assert "The numbers" in html


def test_the_poorest_result_gives_a_page():
    poor = Identification(
        "x.csv", 1.0, "command", (Parameter("mass", None, None, (None, None), "kg", "unobservable"),)
    )
    html = identification_page(poor).html()
    assert "found nothing wrong" in html
    assert "0 of 1" in html


def test_correlation_of_residuals_agrees_with_numpy():
    draw = np.random.default_rng(5)
    left = np.convolve(draw.standard_normal(2000), [1.0, 0.8], mode="same")
    time = 0.01 * np.arange(2000)
    lags, rho = fits.correlation(Prediction("x", "m", time, left, np.zeros(2000)))
    centred = left - left.mean()
    full = np.correlate(centred, centred, mode="full")[1999:]
    np.testing.assert_allclose(rho, (full / full[0])[np.round(lags / 0.01).astype(int)], atol=1e-12)
    assert rho[0] == pytest.approx(0.8 / 1.64, abs=0.05)


def test_numbers_are_written_to_their_deviation():
    assert pair(4113.06, 41.0) == "4113 ± 41"
    assert pair(0.174, 0.002) == "0.1740 ± 0.0020"
    assert pair(8.54858e-6, 8.5e-8) == "8.549e−06 ± 8.5e−08"
    assert pair(-0.0, 0.001) == "0.0000 ± 0.0010"
    assert number(None) == "–"
    assert interval((None, 2.0)).startswith("below 2.0")
    assert interval((0.9, 1.1)) == "0.900 … 1.100"
    assert shorten_names(["rotors.m1.curve", "rotors.m2.curve", "mass"]) == ["rotors.*.curve", "mass"]


def test_the_vehicle_that_differs_is_named(results):
    same = [replace(results.whole(), source=f"{i}.ulg") for i in range(4)]
    heavy = results.whole()
    changed = tuple(
        replace(p, value=p.value + 5.0 * p.sigma) if p.name == "mass" else p for p in heavy.parameters
    )
    found = outliers([*same, replace(heavy, source="odd.ulg", parameters=changed)])
    assert [(source, name) for source, name, _ in found] == [("odd.ulg", "mass")]


@needs_browser
@pytest.mark.parametrize("name", ["whole", "ratios", "fleet"])
def test_it_looks_right_in_a_browser(pages, name):
    with browser.tab(1280, 900, timeout=180.0) as tab:
        tab.open(pages[name])
        for width in (1280, 390):
            tab.resize(width, 900)
            tab.evaluate("new Promise((done) => setTimeout(done, 700))")
            scroll, inner = tab.evaluate(WIDTHS)
            assert (inner, scroll <= inner) == (width, True)
            assert tab.evaluate(EMPTY) == []
        if name == "whole":
            assert tab.evaluate("document.querySelectorAll('#vehicle canvas').length") >= 1
            assert 3 <= len(re.findall(rb"/Type\s*/Page\b", tab.pdf())) <= 14
        assert tab.complaints() == []
