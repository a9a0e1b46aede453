"""The map of the code in `docs/architecture.md`, made from the code itself.

    python -m docs.tree

renews the tree of rooms and modules in the page and the picture of the layers. Duties are the first sentences of the
docstrings, layers are those of `pyproject.toml`.
"""

import ast
import html
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "haltere"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
BEGIN, END = "<!-- tree: renewed by python -m docs.tree -->\n", "<!-- end of tree -->\n"

#: Rooms none of whose modules loads JAX when it is imported.
WITHOUT_JAX = {"airframe", "campaign", "cli", "flight", "logs"}
#: Rooms of which a part does without; the page says which.
PARTLY_WITHOUT_JAX = {"doctor", "foundation", "identification", "report"}


def duty(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.?])\s+(?=[A-Z`])", first)[0]


def layers() -> list[list[str]]:
    """Return the rooms that exist, layer by layer from the top, as the import contract has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    every = [[name.strip(" ()") for name in layer.split("|")] for layer in contract["layers"]]
    there = [[name for name in layer if (PACKAGE / name).is_dir()] for layer in every]
    return [layer for layer in there if layer]


def folders(room: str) -> Iterator[Path]:
    """Return a room's folder and those inside it that hold modules."""
    for folder in [PACKAGE / room, *sorted((PACKAGE / room).rglob("*"))]:
        if folder.is_dir() and any(folder.glob("*.py")):
            yield folder


def tree() -> str:
    """Return the rooms from the top, their folders and modules, as Markdown tables."""
    lines = []
    for room in (room for layer in layers() for room in layer):
        lines += [
            f"### {room}",
            "",
            duty(PACKAGE / room / "__init__.py"),
            "",
            "| module | duty |",
            "|---|---|",
        ]
        for folder in folders(room):
            inside = folder.relative_to(PACKAGE).as_posix()
            if folder != PACKAGE / room:
                lines.append(f"| **{inside}/** | **{_cell(duty(folder / '__init__.py'))}** |")
            names = sorted(path for path in folder.glob("*.py") if path.stem != "__init__")
            lines += [f"| `{inside}/{path.name}` | {_cell(duty(path))} |" for path in names]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def renewed(page: str) -> str:
    """Return the page with the tree between its two marks made anew."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{tree()}{END}{tail}"


def picture() -> str:
    """Return the layers as an SVG picture: one row for each, what stands above may import what stands below."""
    row, gap, width, left = 34, 6, 860, 20
    fills = {"none": "#d7ebdc", "part": "#eef0d4", "jax": "#dbe4f3"}
    height = len(layers()) * (row + gap) + 74
    box = f"0 0 {width + 2 * left} {height}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif" font-size="13">',
        "<title>The rooms of haltere, layer by layer: imports point down only</title>",
        f'<rect width="{width + 2 * left}" height="{height}" fill="#ffffff"/>',
    ]
    y = 14
    for layer in layers():
        each = (width - gap * (len(layer) - 1)) / len(layer)
        for index, room in enumerate(layer):
            x = left + index * (each + gap)
            kind = "none" if room in WITHOUT_JAX else "part" if room in PARTLY_WITHOUT_JAX else "jax"
            said = _short(duty(PACKAGE / room / "__init__.py"), int((each - 24) / 6.6) - len(room) - 4)
            out.append(
                f'<rect x="{x:.0f}" y="{y}" width="{each:.0f}" height="{row}" rx="4" '
                f'fill="{fills[kind]}" stroke="#8a94a6"/>'
                f'<text x="{x + 10:.0f}" y="{y + 22}" fill="#1b2330"><tspan font-weight="bold">{room}</tspan>'
                f'<tspan dx="10" fill="#46505f">{html.escape(said)}</tspan></text>'
            )
        y += row + gap
    legend = {
        "none": "imports no JAX",
        "part": "in part without JAX",
        "jax": "JAX",
    }
    for index, (kind, text) in enumerate(legend.items()):
        x = left + index * 170
        out.append(
            f'<rect x="{x}" y="{y + 12}" width="18" height="14" rx="3" fill="{fills[kind]}" stroke="#8a94a6"/>'
            f'<text x="{x + 26}" y="{y + 24}" fill="#1b2330">{text}</text>'
        )
    out.append(
        f'<text x="{left + 520}" y="{y + 24}" fill="#1b2330">A room imports only rooms below it.</text>'
    )
    return "\n".join([*out, "</svg>", ""])


def _short(text: str, letters: int) -> str:
    """Return a duty up to its last clause that fits."""
    text = text.rstrip(".")
    while len(text) > letters:
        cut = max(text.rfind(mark) for mark in (":", ";", ","))
        if cut < 0:
            return text[: max(letters - 1, 0)].rsplit(" ", 1)[0] + " ..." if letters > 12 else ""
        text = text[:cut]
    return text


def main() -> None:
    """Renew the page and the picture."""
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
