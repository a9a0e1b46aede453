"""What every source file keeps to: known references, seeded randomness, a size that fits one noun."""

import ast
import importlib
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
KEY = re.compile(r"\[([A-Z][a-z]+\d{4}[a-z]?|Schmitz)\]")
SEEDED = {
    "default_rng",
    "Generator",
    "SeedSequence",
    "PCG64",
    "Philox",
}  # numpy.random names that take a seed


@pytest.fixture(scope="module")
def trees():
    """The syntax tree of every file, by its name."""
    return {name: ast.parse(text) for name, text in texts([*SOURCES, *TESTS]).items()}


def texts(paths):
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def of_source(trees):
    return {name: tree for name, tree in trees.items() if name.startswith("src")}


def faults(check, trees):
    """What `check` finds in each tree, where it finds anything."""
    return {name: found for name, tree in trees.items() if (found := check(tree))}


def references():
    text = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    return set(re.findall(r"^@\w+\{(\w+),", text, re.MULTILINE))


def docstrings(tree):
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [text for node in ast.walk(tree) if isinstance(node, kinds) and (text := ast.get_docstring(node))]


def unseeded(tree):
    """Names of random functions that draw from a global state or from an unseeded generator."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [m for m in modules if m in {"random", "secrets"}]
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        last = called.rsplit(".", 1)[-1]
        if last in {"default_rng", "SeedSequence"} and not node.args and not node.keywords:
            found.append(f"{called}()")
        if re.fullmatch(r"(np|numpy)\.random\.\w+", called) and last not in SEEDED:
            found.append(called)
        if called in {"os.urandom", "uuid.uuid4"}:
            found.append(called)
    return found


def test_the_references_that_the_project_rests_on_are_there():
    assert {"Hong2021", "Boehm2022", "Fresk2017", "Blaha2024", "Schmitz", "Featherstone2008"} <= references()


def test_cited_keys_exist(trees):
    known = references()

    def unknown(tree):
        return {key for text in docstrings(tree) for key in KEY.findall(text)} - known

    assert faults(unknown, of_source(trees)) == {}


def test_randomness_is_passed_in(trees):
    assert faults(unseeded, trees) == {}


PRINTING = {"print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write"}
ESCAPING = {"escape", "html.escape", "quoteattr", "rich.markup.escape", "saxutils.escape"}


def calls_of(names):
    """A check for calls of functions by these names."""

    def found(tree):
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        return [call.lineno for call in calls if ast.unparse(call.func) in names]

    return found


def test_commands_print_in_one_place_and_text_is_escaped_in_one(trees):
    """The bench's own processes write one line of JSON to the process that started them."""
    printing = set(faults(calls_of(PRINTING), of_source(trees)))
    assert {name for name in printing if "/bench/" not in name} == {"src/haltere/cli/output.py"}
    assert set(faults(calls_of(ESCAPING), of_source(trees))) == {"src/haltere/foundation/text.py"}


def own_examples(tree):
    """Lines where a test sets its own number or choice of examples, over the profile that the run has chosen."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "hypothesis"
        for alias in node.names
        if alias.name in {"settings", "seed"}
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        call.lineno
        for call in calls
        if ast.unparse(call.func) in imported | {"hypothesis.settings", "hypothesis.seed"}
    ]


def test_property_tests_leave_their_examples_to_the_profile(trees):
    assert set(faults(own_examples, trees)) == {"tests/conftest.py"}


def test_the_examples_of_make_test_are_the_same_in_every_run(request):
    chosen = request.config.getoption("--hypothesis-profile")
    assert settings.get_profile("fixed").derandomize
    assert settings.get_profile("fixed").database is None
    assert chosen or settings.default == settings.get_profile("fixed")
    assert not settings.get_profile("fresh").derandomize
    assert settings.get_profile("fuzz").max_examples == 20_000


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("from hypothesis import settings\n@settings(max_examples=3)\ndef f(): pass", 1),
        ("from hypothesis import settings\nsettings.default", 0),
        ("settings(3)", 0),
    ],
)
def test_the_scan_for_examples_sees_what_it_should(code, count):
    assert len(own_examples(ast.parse(code))) == count


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("import random", 1),
        ("np.random.normal()", 1),
        ("np.random.default_rng()", 1),
        ("np.random.default_rng(seed)", 0),
        ("np.random.default_rng(0).bytes(3)", 0),
        ("rng.normal()", 0),
        ("jax.random.normal(key)", 0),
    ],
)
def test_the_scan_for_randomness_sees_what_it_should(code, count):
    assert len(unseeded(ast.parse(code))) == count


def test_files_hold_one_noun():
    lines = {name: len(text.splitlines()) for name, text in texts(SOURCES).items()}
    assert {name: count for name, count in lines.items() if count > 450} == {}


def test_modules_say_their_duty(trees):
    assert [name for name, tree in of_source(trees).items() if not ast.get_docstring(tree)] == []


def test_no_class_name_exists_twice(trees):
    names = Counter(
        node.name
        for tree in of_source(trees).values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


NAMED = re.compile(r"haltere(?:\.\w+)+(?::\w+)?")


def strings(tree):
    """Every string but docstrings."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr)
    }
    constants = [
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [node.value for node in constants if id(node) not in documented]


def resolves(name):
    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError:
        return False
    return not attribute or hasattr(found, attribute)


def test_modules_named_in_strings_exist(trees):
    named = {text for tree in of_source(trees).values() for text in strings(tree) if NAMED.fullmatch(text)}
    assert named
    assert [name for name in sorted(named) if not resolves(name)] == []


def test_modules_named_in_docstrings_exist(trees):
    """A name in a docstring may go on with a class or function of the module."""
    modules = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in SOURCES}
    modules |= {name.removesuffix(".__init__") for name in modules}
    faulty = {}
    for file, tree in of_source(trees).items():
        named = {m for text in docstrings(tree) for m in re.findall(r"`(haltere(?:\.\w+)+)`", text)}
        missing = {name for name in named if name not in modules and name.rpartition(".")[0] not in modules}
        if missing:
            faulty[file] = missing
    assert faulty == {}
