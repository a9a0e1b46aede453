"""Pictures for the documentation, taken from the demonstration's report by a browser without a window.

    haltere demo --out report.html
    python -m docs.pictures report.html docs/images

writes `vehicle.png` and `flight.png`, about 1200 pixels wide. It needs Chromium.
"""

import argparse
from pathlib import Path

from tests import browser

NAMES = ("vehicle", "flight")
WIDTH = 1200
"""Of a picture, pixels."""


def save_pictures(report: Path, folder: Path) -> list[Path]:
    """Take the named figures from `report` and write them as PNG files into `folder`; older ones are replaced."""
    written = []
    with browser.tab(width=1280, height=900) as tab:
        tab.open(report)
        for name in NAMES:
            width = float(tab.evaluate(f"document.getElementById('{name}').clientWidth"))
            path = folder / f"{name}.png"
            path.write_bytes(tab.screenshot(f"#{name}", scale=WIDTH / width))
            written.append(path)
    return written


def main() -> None:
    """Take the two arguments of the command line."""
    parser = argparse.ArgumentParser(
        description="Renew the pictures of the documentation from a demo report."
    )
    parser.add_argument("report", type=Path, help="the HTML file that `haltere demo` wrote")
    parser.add_argument("folder", type=Path, help="where the PNG files go, such as docs/images")
    arguments = parser.parse_args()
    save_pictures(arguments.report, arguments.folder)


if __name__ == "__main__":
    main()
