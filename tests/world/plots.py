"""Draw every effect alone, without it and with it.

    python -m tests.world.plots FOLDER

writes a page for each effect and `all.html` with all of them.
"""

import sys
from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots
from tests.world.effects import SHOWN, compare

COLUMNS = 4


def traces(found):
    """The two lines of a comparison."""
    for signal, name, color in ((found.without, "without", "#888888"), (found.within, "with", "#d62728")):
        yield go.Scatter(x=signal.time, y=signal.values, name=name, line={"color": color, "width": 1})


def main(arguments: list[str]) -> int:
    """Write the pages."""
    if len(arguments) != 1:
        print("give the folder to write to", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    found = {name: compare(name, 3.0, "steps") for name in SHOWN}
    rows = -(-len(found) // COLUMNS)
    titles = [f"{name}: {one.title}" for name, one in found.items()]
    every = make_subplots(rows, COLUMNS, subplot_titles=titles)
    for i, (name, one) in enumerate(found.items()):
        page = go.Figure(list(traces(one)))
        page.update_layout(title=titles[i], xaxis_title="s")
        page.write_html(folder / f"{name}.html", include_plotlyjs="directory")
        for trace in traces(one):
            every.add_trace(trace, i // COLUMNS + 1, i % COLUMNS + 1)
    every.update_layout(height=300 * rows, width=1700, showlegend=False)
    every.write_html(folder / "all.html", include_plotlyjs="directory")
    print(f"{len(found)} effects drawn in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
