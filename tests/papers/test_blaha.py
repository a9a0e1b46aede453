"""The tables of `haltere reproduce blaha` from made-up throws: names, units, bounds; the real ones are slow."""

import jax
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.papers.blaha import page, tables
from haltere.papers.blaha.page import ThrowTrace, trace_throw
from haltere.papers.tables import PaperRow, PaperTable, Reproduction
from haltere.scenarios.throw.throws import ThrowResults


def made(axis_deg):
    n = 20
    small = np.full(n, 0.01)
    return ThrowResults(
        np.ones(n, bool), ("",) * n, np.radians(np.full(n, axis_deg)), small, small, small, small,
        {name: np.full(n, 1e-4) for name in ("torque", "force", "spin", "max_speed", "time_constant")},
        np.stack([small, small], axis=1), small,
    )  # fmt: skip


def test_tables_hold_what_the_paper_prints_beside_ours(monkeypatch):
    monkeypatch.setattr(tables, "throw_vehicles", lambda *_: made(0.1))
    monkeypatch.setattr(tables, "tumble_rows", lambda *_: [])
    monkeypatch.setattr(tables, "time_rows", list)
    result = tables.reproduce(20)
    rows = {row["quantity"]: row for table in result.to_dict()["tables"] for row in table["rows"]}
    quad = rows["axis error, paper's quadrotor, MEMS, p95"]
    assert quad["paper"] == 2.75
    assert quad["ours"] == pytest.approx(0.1)
    assert rows["missing: random quadrotors, strong"]["ours"] == 0.0
    assert rows["missing: random octorotors from 4 m, strong"]["bound"] == 0.01
    assert rows["altitude lost, random octorotors from 4 m, strong, median"]["bound"] == 0.35
    assert rows["altitude lost, random hexarotors from 4 m, strong, median"]["bound"] == 0.35
    assert rows["axis error, tilted hexarotor, no noise, max"]["bound"] == 0.3
    assert rows["error, octorotors, force rows, rms, median"]["bound"] == 0.08
    assert result.outside == []


def test_the_papers_axis_errors_follow_from_its_quaternions():
    """Table 1: 0.850 -0.471i 0.237j against 0.837 -0.491i 0.242j; Table 2: 0.930 0.367i -0.026j against 45 degrees."""

    def axis(w, x, y):
        v = np.array([2 * w * y, -2 * w * x, w * w - x * x - y * y])
        return v / np.linalg.norm(v)

    def angle(a, b):
        return np.degrees(np.arccos(axis(*a) @ axis(*b)))

    assert angle((0.850, -0.471, 0.237), (0.837, -0.491, 0.242)) == pytest.approx(2.75, abs=0.15)
    assert angle((0.930, 0.367, -0.026), (np.cos(np.pi / 8), np.sin(np.pi / 8), 0.0)) == pytest.approx(
        3.4, abs=0.15
    )


def test_figures_5_to_7_stand_on_one_page():
    traces = {}
    for kind, m in (("quadrotor", 4), ("hexarotor", 6)):
        n = 50
        time, truth = np.linspace(0.01, 0.5, n), np.ones((3, m)) * 1e-6
        many = np.ones((n, m))
        traces[kind] = ThrowTrace(
            time, 0.05 * np.arange(m), 0.3 * many, 2000.0 * many, np.ones((n, 3)), np.tile(truth, (n, 1, 1)),
            truth, np.linspace(0.5, 0.01, n),
        )  # fmt: skip
    made_up = PaperTable("Made up", [PaperRow("axis error", "deg", 0.1, 0.5, 2.75)])
    result = Reproduction([made_up], 1, 0)
    text = page.page_of(traces, {4: 1.0, 6: 1.4, 8: 1.9, 12: 3.0}, result).html()
    for words in ("Figure 5", "Figure 6", "Figure 7", "motor 6", "2.75", "us per step"):
        assert words in text


@pytest.mark.slow
def test_a_trace_shows_how_a_vehicle_learns():
    trace = trace_throw(from_catalogue("indiflight-3inch"), 3)
    assert trace.command.max() == pytest.approx(0.7, abs=0.01)
    assert trace.force.shape[1:] == trace.truth.shape == (3, 4)
    assert np.degrees(trace.axis_error[-1]) < 0.5
    assert np.degrees(np.median(trace.axis_error[:10])) > 2.0, "before the last motor ran nothing is known"


@pytest.mark.slow
def test_figure_4():
    rows = tables.tumble_rows(jax.random.key(0), 30)
    assert not any(row.outside for row in rows)
