"""The API pages of the rooms, made while the documentation is built: one page for each, all its modules in order."""

from typing import Any

from docs.tree import PACKAGE, duty, folders, layers
from mkdocs.structure.files import File, Files

#: Rooms that no program imports: the command line, the papers and the benchmark.
LEFT_OUT = {"cli", "papers", "bench"}


def rooms() -> list[str]:
    """Return the rooms with a page, from the top."""
    return [room for layer in layers() for room in layer if room not in LEFT_OUT]


def page(room: str) -> str:
    """Return the Markdown of a room's page."""
    lines = [f"# {room}", "", duty(PACKAGE / room / "__init__.py"), ""]
    for folder in folders(room):
        for path in sorted(folder.glob("*.py")):
            if path.stem != "__init__":
                name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
                lines += [f"## {name.removeprefix('haltere.')}", "", f"::: {name}"]
                lines += ["    options:", "      show_root_heading: false", "      heading_level: 3", ""]
    return "\n".join(lines)


def on_config(config: Any) -> Any:
    """Put the rooms behind the public names in the navigation."""
    pages = next(entry["API"] for entry in config.nav if "API" in entry)
    pages += [{room: f"api/{room}.md"} for room in rooms()]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages to what is built."""
    for room in rooms():
        files.append(File.generated(config, f"api/{room}.md", content=page(room)))
    return files
