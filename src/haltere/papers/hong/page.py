"""The equations of [Hong2021] beside ours, as one page of tables."""

from pathlib import Path

from haltere.papers.page import paper_page
from haltere.papers.tables import Progress, Reproduction


def write_page(result: Reproduction, path: Path, progress: Progress | None = None) -> Path:
    """All tables as one HTML file; the paper has no figure to compare with."""
    page = paper_page(
        "Geometric multirotor dynamics",
        f"Equations of Hong et al. (2021) and ours against Pinocchio: largest relative error of {result.runs} draws.",
        (),
        result,
    )
    return page.write(path)
