"""The tables of the world in `docs/results.md`, between two marks."""

from pathlib import Path

from tests.world.scoring import Score, markdown
from tests.world.store import ROOT

PAGE = ROOT / "docs" / "results.md"
BEGIN = "<!-- world: renewed by make world RECORD=1 -->"
END = "<!-- end of world -->"
LONGEST = 40
"""Failed rules that are listed."""


def page(result: Score, command: str) -> str:
    """The tables as Markdown.

    Args:
        result: of the scorer.
        command: that renews them.
    """
    verdict = "it holds" if result.passed else f"it is broken {len(result.failures)} times, as listed below"
    parts = [
        f"`{command}`, judged by the coverage rule of `tests/world/scoring.py`: {verdict}.",
        markdown(result.vehicles, "vehicle"),
        "By group of parameters:",
        markdown([row for row in result.groups if row.claimed], "group"),
    ]
    if result.effects:
        parts += ["One effect at a time, everything else as in the ideal level:"]
        parts += [markdown(result.effects, "effect")]
    for title, lines in (
        ("Rules that do not hold:", result.failures),
        ("Not decided:", result.undecided),
        ("Groups of which nothing is identified:", _by_level(result.empty)),
    ):
        if lines:
            more = len(lines) - LONGEST
            listed = [f"- {line}" for line in lines[:LONGEST]] + ([f"- and {more} more"] if more > 0 else [])
            parts += [title, "\n".join(listed) + "\n"]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _by_level(empty: tuple[str, ...]) -> tuple[str, ...]:
    """One line for each estimator and level, with all its groups."""
    groups: dict[str, list[str]] = {}
    for line in empty:
        estimator, level, group = line.split(", ", 2)
        groups.setdefault(f"{estimator}, {level}", []).append(group)
    return tuple(f"{title}: {', '.join(names)}" for title, names in groups.items())


def write(path: Path, text: str) -> None:
    """Put the tables between the marks of a page; ValueError if it has none."""
    old = path.read_text(encoding="utf-8")
    if BEGIN not in old or END not in old:
        raise ValueError(f"{path}: has no marks for the tables of the world; put in {BEGIN} and {END}")
    head, _, rest = old.partition(BEGIN)
    tail = rest.partition(END)[2]
    path.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{tail}", encoding="utf-8")
