"""Finds the package's old private words: in names, and in what people read.

    python -m tests.architecture.words [ROOM ...] [--text] [--list]

prints how many are left in each room (a folder of `src/haltere`), `--list` where, `--text` in docstrings, messages and
documents instead of names.

A name is a module, class, function, argument or field: what crosses the border of a function. Local variables are not
looked at. The words of `ANYWHERE` count as any part of a name (`imu_place`), those of `ALONE` only as the whole name,
because in a longer one they are ordinary English (`left_wing`, `least_squares`).
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "haltere"
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

#: Old word and what it is called now.
ANYWHERE = {
    "place": "position, index",
    "places": "positions, slices",
    "turn": "angular_acceleration, rotation",
    "turns": "rotates, rotations",
    "turned": "rotated",
    "chart": "coordinates",
    "told": "identified, r_squared, result",
    "printed": "physical",
    "meant": "nominal",
    "swirl": "rate_products",
    "felt": "specific_force_and_rate",
    "excerpt": "window",
    "judged": "verdicts",
    "judgement": "verdict",
    "hats": "cross_matrices",
    "louder": "noise_scale",
    "wider": "sigma_inflation",
    "grown": "sigma_inflation",
    "crew": "workers",
    "rises": "rotor_accelerations",
    "rising": "rotor_acceleration",
    "learnt": "effectiveness",
    "flown": "flight_seconds",
    "drawn": "nominal, sampled",
    "gone": "propagate",
    "strange": "diverged",
    "amended": "with_identified_numbers",
    "assembled": "airframe_from_estimate",
    "equipped": "equip",
    "scalars": "scalarize",
    "posed": "at_joint_angles",
    "renewed": "update_trim",
    "watched": "detect_changes",
    "hands": "hand_measurements",
    "lift": "thrust_per_command, vertical_force",
    "share": "fraction",
    "subject": "described vehicle, rational vehicle",
    "seldom": "fast_compile",
    "courses": "histories",
    "apart": "difference",
}
ALONE = {
    "squares": "squared_speeds",
    "part": "window",
    "left": "residual",
    "found": "signals, fit, estimate",
    "good": "valid",
    "moved": "transform_inertia, low-passed commands",
    "given": "by type",
    "rest": "remainder",
    "held": "joint_angles, attached, hold",
    "whole": "full_fit",
    "Nominal": "one name for each of the three classes",
    "seen": "predict_reading, visible",
    "kept": "retained",
    "rise": "rotor_acceleration",
    "still": "at_rest",
    "spread": "covariance_root, student_factor, cutoff_ratios",
    "made": "speed_from_command",
    "said": "estimate",
    "say": "progress",
    "plain": "to_jsonable, unconstrained",
    "late": "shift_later",
    "least": "parabola_minimum, lower",
    "hand": "hand_measurement",
    "answer": "response",
    "unknown": "unobservable, undecided",
    "pull": "thrust_gain",
    "pulled": "predicted_force",
    "carried": "with_payload",
    "loaded": "with_payload",
    "gripped": "with_payload",
    "together": "combination",
    "course": "history",
    "learning": "effectiveness",
    "levers": "lever_matrices",
    "dots": "with_rotor_acceleration",
    "driven": "motor_response, delayed_speeds",
    "beyond": "unexplained_fraction",
    "trail": "filter_history",
    "stored": "cached_program",
    "like": "result_tree",
    "sound": "finite",
    "led": "lead_motors",
    "structured": "has_structured_derivatives",
    "judge": "verdict rule: foundation.verdict.judge only",
    "menu": "hand_measurement_choices",
    "story": "payload_page",
    "line": "linear_response",
    "sight": "innovation",
    "against_fall": "proper_acceleration",
    "place_matrix": "lever_matrix",
}

#: Names that stay, as `room/module:name` with `*` for any letters, and the reason.
KEPT: dict[str, str] = {
    "foundation/verdict:judge": "the one verdict rule",
    "foundation/verdict:LEARNT": "how much a flight narrowed a number",
    "foundation/verdict:_DOTS": "names of derivatives, written with a dot",
    "campaign/store:stored": "what is in the folder already",
    "cli/simulate:NotFlownError": "no flight succeeded",
    "dynamics/state:rest": "a vehicle at rest",
    "identification/*:given": "the verdict of a number that the user gave",
    "flight/window:late": "the later part of a window, beside `early`",
    "observability/answer:answer": "the module of the question and its answer",
    "report/*:*_chart": "a chart is a figure",
    "papers/*:*_chart": "a chart is a figure",
    "papers/hong/*:*printed*": "equations as the paper prints them",
    "papers/boehm/*:*printed": "the filter as the paper prints it",
    "lie/s2:_HALF_TURN": "an angle",
    "lie/so3:like": "an array of the same shape, as in numpy.zeros_like",
    "algebra/program:left": "a side",
    "airframe/wing:line": "a line of a table of coefficients",
    "logs/mapping:*art": "a table of a mapping file",
}

#: Words of prose that had a private meaning.
PROSE = re.compile(
    r"\b(told|meant|printed|hands|charts?|places?|turn(?:s|ed|ing)?|excerpts?|swirl|felt|louder|judgements?|rises?|rising)\b",
    re.IGNORECASE,
)
#: Ordinary English with these words, as regular expressions, and the reason.
KEPT_PHRASES: dict[str, str] = {
    r"as (?:the paper )?printed|papers? prints?|printed (?:and|equations?|numbers|form)": "what stands in a paper",
    r"[Cc]harts? (?:of|over|that|is)|_chart|\bcharts\b": "a figure",
    r"in place of|takes? place|first place|decimal places?": "an idiom",
    r"in turn\b|turning point|half turn|by turns": "an idiom",
    r"(?:joint|servo|rotor|vehicle|body|base|link)s? (?:that )?turns?": "something that rotates",
    r"turns (?:right-handed|with|about|the body|it)": "something that rotates",
    r"`--place`|place_observable": "an option and a key that stay",
    r"hands=|\bplace, wxyz\)": "an old signature in the list of changes",
    r"^ *told: \(": "a field of the payload filter's belief",
    r"`slide` or `turn`|turn of the axes|\bturn\. With": "a kind of direction in the JSON of observe",
    r"drift, (?:not )?told|0\.85, not told|not told from nothing": "rows of a paper's table",
    r"printed (?:number|table|coordinates)": "what stands in a paper",
    r"rotations turn the wrong way|are turned by \+theta|as turning leaves": "remarks on a paper's equations",
    r"\bturn at\b|drops\. Turning|lean turn the vehicle": "something that rotates",
}


@dataclass(frozen=True)
class Use:
    """An old word in use: where, in which name or line, and the word."""

    file: str
    line: int
    name: str
    word: str


def words_of(name: str) -> list[str]:
    """The words of an identifier: `imu_place` and `ImuPlace` are imu, place."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).strip("_").lower().split("_")


def old_word(name: str) -> str | None:
    """The old word that a name is or holds, or nothing."""
    whole = name.strip("_")
    if whole in ALONE or whole.lower() in ALONE:
        return whole
    return next((word for word in words_of(name) if word in ANYWHERE), None)


def defined_names(tree: ast.AST, inside_function: bool = False) -> Iterator[tuple[str, int]]:
    """Classes, functions, arguments and fields; of a nested function nothing, it is local."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if inside_function:
                continue
            yield node.name, node.lineno
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            yield from ((a.arg, a.lineno) for a in [*every, arguments.vararg, arguments.kwarg] if a)
            yield from defined_names(node, inside_function=True)
        elif isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
            for part in node.body:
                targets = [part.target] if isinstance(part, ast.AnnAssign) else getattr(part, "targets", [])
                yield from ((t.id, t.lineno) for t in targets if isinstance(t, ast.Name))
            yield from defined_names(node)
        elif isinstance(node, ast.Module | ast.If | ast.Try | ast.With):
            yield from defined_names(node, inside_function)
        elif (
            not inside_function
            and isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(tree, ast.Module)
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((t.id, t.lineno) for t in targets if isinstance(t, ast.Name))


def modules(*rooms: str) -> Iterator[tuple[str, Path]]:
    """Every module below the package, with its path there without ending; only of `rooms` if any are named."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").as_posix()
        if not rooms or any(f"{name}/".startswith(f"{room.strip('/')}/") for room in rooms):
            yield name, path


def in_names(*rooms: str) -> list[Use]:
    """Old words in the names that a module defines, and in its own."""
    uses = []
    for module, path in modules(*rooms):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [(path.stem, 1), *defined_names(tree)]
        for name, line in names:
            word = old_word(name)
            if word and not any(fnmatchcase(f"{module}:{name}", kept) for kept in KEPT):
                uses.append(Use(f"src/haltere/{module}.py", line, name, word))
    return uses


def in_lines(file: str, text: str, first: int = 1) -> Iterator[Use]:
    """Old words of prose in a text."""
    for number, line in enumerate(text.splitlines(), first):
        checked = line
        for phrase in KEPT_PHRASES:
            checked = re.sub(phrase, "", checked)
        yield from (Use(file, number, line.strip(), match[0].lower()) for match in PROSE.finditer(checked))


def in_text(*rooms: str) -> list[Use]:
    """Old words in docstrings, messages and help of the package, and, if no room is named, in the documents."""
    uses = []
    for module, path in modules(*rooms):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                uses += in_lines(f"src/haltere/{module}.py", node.value, node.lineno)
    if not rooms:
        for path in DOCUMENTS:
            if path.name == "architecture.md":
                continue  # its tree repeats docstrings, which are checked above
            prose = re.sub(
                r"```.*?```", lambda block: "\n" * block[0].count("\n"), path.read_text("utf-8"), flags=re.S
            )
            uses += in_lines(path.relative_to(ROOT).as_posix(), prose)
    return uses


def main(arguments: list[str]) -> int:
    """Print the counts per room, or every use."""
    rooms = [word for word in arguments if not word.startswith("-")]
    uses = in_text(*rooms) if "--text" in arguments else in_names(*rooms)
    if "--list" in arguments or rooms:
        for use in uses:
            print(f"{use.file}:{use.line}: {use.word}: {use.name}")
    counts: dict[str, int] = {}
    for use in uses:
        room = use.file.removeprefix("src/haltere/").split("/")[0]
        counts[room] = counts.get(room, 0) + 1
    for room, count in sorted(counts.items()):
        print(f"{count:6d}  {room}")
    print(f"{len(uses):6d}  together")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
