"""A result as tables and lines of text, for terminal and notebook: the whole vehicle, its rotors, its predictions."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from haltere.foundation.tables import TextTable

if TYPE_CHECKING:
    from haltere.identification.parameters import Parameter
    from haltere.identification.result import Identification

WORDS = {
    "identified": "",
    "given": " given",
    "weak": " weak",
    "combination": " combination",
    "unobservable": " not identified",
}
COLUMNS = ("parameter", "value", "sigma", "95 %", "unit", "verdict", "what would help")
MOST_STEPS = 4
MOST_NAMES = 3


def result_tables(result: "Identification") -> list[TextTable]:
    """The whole vehicle and its sensors; the rotors side by side; the predictions of held-out time."""
    title = f"{result.source}: {result.duration:.1f} s, method {result.method}"
    rows = [
        (
            p.name,
            p.value,
            p.sigma,
            format_interval(p.interval),
            p.unit,
            p.verdict,
            p.fix or ", ".join(p.partners[:2]),
        )
        for p in result.parameters
        if not p.name.startswith("rotors.")
    ]
    tables = [TextTable(title, COLUMNS, rows), *_rotors(result)]
    signals = [(p.name, p.unit, p.rms, p.fraction) for p in result.predictions]
    if signals:
        columns = ("signal", "unit", "rms", "of its deviation")
        tables.append(TextTable("Prediction of held-out time", columns, signals))
    return tables


def _rotors(result: "Identification") -> list[TextTable]:
    """One row for each quantity, one column for each rotor."""
    names, quantities = rotor_quantities(result.parameters)
    if not names:
        return []
    rows = [
        (quantity, *(_value(row.get(name)) for name in names), next(iter(row.values())).unit)
        for quantity, row in quantities.items()
    ]
    return [TextTable("Rotors: value +- sigma", ("parameter", *names, "unit"), rows)]


def rotor_quantities(
    parameters: "Iterable[Parameter]",
) -> "tuple[list[str], dict[str, dict[str, Parameter]]]":
    """Names of the rotors, and what each quantity is of each rotor: a table with one column for each rotor."""
    quantities: dict[str, dict[str, Parameter]] = {}
    for p in parameters:
        if p.name.startswith("rotors."):
            _, rotor, quantity = p.name.split(".", 2)
            quantities.setdefault(quantity, {})[rotor] = p
    return list(dict.fromkeys(rotor for row in quantities.values() for rotor in row)), quantities


def result_lines(result: "Identification") -> list[str]:
    """What the doctor found, what was odd or assumed, and what to do next."""
    found = [f"doctor: {f['kind']}: {f['evidence']}; {f['remedy']}" for f in result.findings]
    notes = [f"note: {note}" for note in result.notes]
    return [*found, *notes, *(_next_line(result, step) for step in result.next_steps[:MOST_STEPS])]


def _next_line(result: "Identification", step: str) -> str:
    """The action, after the parameters that it would help."""
    names = shorten_names([p.name for p in result.parameters if p.fix == step])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"next: {', '.join(names[:MOST_NAMES])}{more}: {step}" if names else f"next: {step}"


def shorten_names(names: Sequence[str]) -> list[str]:
    """Names in short: one for the same quantity of several rotors, `rotors.*.curve`."""
    quantities: dict[str, list[str]] = {}
    for name in names:
        words = name.split(".", 2)
        key = words[2] if words[0] == "rotors" and len(words) == 3 else name
        quantities.setdefault(key, []).append(words[1] if key != name else "")
    return [
        key if rotors == [""] else f"rotors.{rotors[0] if len(rotors) == 1 else '*'}.{key}"
        for key, rotors in quantities.items()
    ]


def _value(parameter: "Parameter | None") -> str:
    """One rotor's number."""
    if parameter is None:
        return "-"
    word = WORDS[parameter.verdict]
    if parameter.value is None or parameter.sigma is None:
        return f"-{word}"
    return f"{parameter.value:.4g} +- {parameter.sigma:.2g}{word}"


def format_interval(sides: tuple[float | None, float | None]) -> str:
    """An interval as text; an open side is left open."""
    low, high = ("" if side is None else f"{side:.4g}" for side in sides)
    return f"{low} .. {high}" if low or high else "-"
