"""The tables of `haltere reproduce schmitz`: a few arms quickly; the figures of a hundred are slow."""

import html

import numpy as np
import pytest

from haltere.papers.schmitz import tables
from haltere.papers.schmitz.bench import torque_fractions, workspace
from haltere.papers.schmitz.page import write_page
from haltere.papers.schmitz.runs import measure_all


@pytest.fixture(scope="module")
def runs():
    return measure_all(6, 11, thorough=False)


@pytest.fixture(scope="module")
def result(runs):
    return tables.make_tables(runs, 11)


@pytest.fixture(scope="module")
def few(result):
    return result.to_dict()["tables"]


def test_the_paper_s_estimator_has_the_paper_s_faults(few):
    rows = {row["quantity"]: row for row in few[2]["rows"]}
    for way in ("horizontal", "vertical"):
        before = rows[f"{way}, the paper's estimator, before"]["ours"]
        slow = rows[f"{way}, the paper's estimator, during 0.5 Hz"]["ours"]
        after = rows[f"{way}, the paper's estimator, after 2 Hz"]["ours"]
        assert abs(slow / before - 1.0) < 0.1
        assert after > 1.1 * before
    table = {row["quantity"]: row for row in few[0]["rows"]}
    assert 0.5 < table["RunAvg20, 273 g"]["ours"] / 0.273 < 1.5
    assert 0.5 < table["RunAvg20, 360 g"]["ours"] / 0.36 < 1.5


@pytest.mark.parametrize("way", ["horizontal", "vertical"])
def test_shaken_twice_a_second_it_is_held_and_flagged_or_measured(few, way):
    rows = {row["quantity"]: row["ours"] for row in few[2]["rows"]}
    assert rows[f"{way}, ours, during 0.5 Hz: mean error"] < 0.03
    assert rows[f"{way}, ours, during 2 Hz: mean error"] < 0.03
    assert rows[f"{way}, ours, during 2 Hz: not flagged held"] == 0.0
    assert rows[f"{way}, ours, measured during 2 Hz: mean error"] < 0.1
    assert rows[f"{way}, ours, after 2 Hz: mean error"] < 0.03


def test_ours_is_near_its_bounds_with_few_arms(few):
    """Six arms only: means within twice their bounds, shares of runs exactly."""
    for table in few:
        for row in table["rows"]:
            if row["bound"] is not None and table["name"] not in ("Confidence",):
                assert row["ours"] is not None, row
                assert row["ours"] <= 2.0 * row["bound"] + 1e-12, row


def test_its_page_has_every_series_and_every_table(result, few, tmp_path):
    text = write_page(result, tmp_path / "schmitz.html").read_text(encoding="utf-8")
    for words in ("One grip", "Series A", "Series B", "Shaken vertically", *(table["name"] for table in few)):
        assert html.escape(words, quote=True).replace("&#x27;", "&#39;") in text
    assert text.count('class="plot"') == 8
    assert "src=" not in text.split("<body>")[1].split("<script")[0]


def test_450_g_is_within_the_servos_torque():
    poses, place = workspace(15.0)
    assert np.all(place[:, 1] <= 0.0)
    assert torque_fractions(poses, 0.45).max() < 1.0
    assert torque_fractions(np.deg2rad([[90.0, 0.0]]), 2.0).max() > 1.0


@pytest.mark.slow
def test_a_hundred_arms_keep_every_bound():
    assert tables.reproduce(100, 2).outside == []
