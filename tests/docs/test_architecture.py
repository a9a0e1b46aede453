"""The architecture page is true: its tree, rooms, stations and words are those of the code, its recipes work."""

import ast
import functools
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs import tree

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def section(title):
    """The text below a heading, up to the next one of its level or above."""
    level, _, rest = next(
        (line, *PAGE.partition(line + "\n")[1:]) for line in PAGE.splitlines() if line.strip("# ") == title
    )
    marks = len(level) - len(level.lstrip("#"))
    return re.split(rf"^#{{1,{marks}}} ", rest, flags=re.MULTILINE)[0]


def rows(title):
    """The cells of the first table in a section, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def resolve(name):
    """The module, class, function or field that a dotted name is."""
    words = name.split(".")
    for count in range(len(words), 0, -1):
        try:
            found = importlib.import_module(".".join(words[:count]))
        except ModuleNotFoundError:
            continue
        for word in words[count:]:
            fields = getattr(found, "__dataclass_fields__", {}) | getattr(found, "model_fields", {})
            found = fields[word] if word in fields else getattr(found, word)
        return found
    raise ModuleNotFoundError(name)


def test_the_tree_in_the_page_is_the_one_on_disk():
    assert tree.renewed(PAGE) == PAGE, "renew it with: python -m docs.tree"
    assert tree.PICTURE.read_text(encoding="utf-8") == tree.picture(), "renew it with: python -m docs.tree"


def test_every_room_stands_in_one_layer_and_in_the_table():
    rooms = {path.parent.name for path in tree.PACKAGE.glob("*/__init__.py")}
    assert {room for layer in tree.layers() for room in layer} == rooms
    named = [row[0].strip("`") for row in rows("What each room may know")]
    assert sorted(named) == sorted(rooms)


@functools.cache
def imports():
    """What every module imports when it is imported, its packages included."""
    found = {}
    for path in tree.PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(tree.PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        named = {name.rpartition(".")[0]} - {""}
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        found[name] = named
    return found


def loads_jax(module):
    """Whether JAX is imported with a module, directly or by what it imports."""
    waiting, seen = [module], set()
    while waiting:
        name = waiting.pop()
        if name.split(".")[0] in {"jax", "jaxlib"}:
            return True
        if name in imports() and name not in seen:
            seen.add(name)
            waiting += imports()[name]
    return False


def test_rooms_drawn_without_jax_import_none():
    free = {name: not loads_jax(name) for name in imports()}
    by_room = {
        room: {free[name] for name in free if f"{name}.".startswith(f"haltere.{room}.")}
        for layer in tree.layers()
        for room in layer
    }
    assert {room for room, answers in by_room.items() if answers == {True}} == tree.WITHOUT_JAX
    assert all(by_room[room] == {True, False} for room in tree.PARTLY_WITHOUT_JAX)


def test_the_identifiers_of_the_glossary_exist():
    words = rows("Glossary")
    assert len({row[0] for row in words}) == len(words) > 30
    for _, _, identifier in words:
        resolve(identifier.strip("`"))


def test_every_name_in_the_page_exists():
    prose = PAGE.split(tree.BEGIN)[0]
    for name in re.findall(r"`(haltere(?:\.\w+)+)`", prose):
        resolve(name)
    for path in re.findall(r"`((?:src|docs|tests)/[\w./]+)`", prose):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_modules_and_functions_named_in_a_page_exist(path):
    for name in re.findall(r"`(haltere(?:\.\w+)+)", path.read_text(encoding="utf-8").split(tree.BEGIN)[0]):
        resolve(name)


def made_log(path):
    """A short log with rotor speeds and commands, no pose."""
    import numpy as np

    from haltere.flight import Channel, Flight, nanoseconds

    rng = np.random.default_rng(0)
    t = np.arange(0.0, 12.0, 0.004)
    effect = 1e-4 * np.array([[-1, -1, 1, 1], [-1, 1, 1, -1], [-0.08, 0.08, -0.08, 0.08]])
    waves = [
        rng.uniform(8, 16, 4) * np.sin(2 * np.pi * rng.uniform(0.8, 6, 4) * t[:, None] + rng.uniform(0, 6, 4))
        for _ in range(6)
    ]
    speed = 800.0 + sum(waves)
    command = (speed + 0.03 * np.gradient(speed, t, axis=0)) / 1500.0
    rates = np.cumsum((speed**2 - 800.0**2) @ effect.T, axis=0) * 0.004
    rates = rates - np.linspace(0, 1, len(t))[:, None] * rates[-1]
    force = np.column_stack([0 * t, 0 * t, 9.81 / 4 / 800.0**2 * np.sum(speed**2, axis=1)])
    names = ("m1", "m2", "m3", "m4")
    flight = Flight.of(
        Channel("imu.gyro", nanoseconds(t), rates + 0.005 * rng.normal(size=rates.shape), "rad/s", "imu"),
        Channel("imu.accel", nanoseconds(t), force + 0.1 * rng.normal(size=force.shape), "m/s2", "imu"),
        Channel("rotors.speed", nanoseconds(t), speed + rng.normal(size=speed.shape), "rad/s", "", names),
        Channel("rotors.command", nanoseconds(t), command, "1", "", names),
    )
    flight.save(path)


def test_a_log_passes_the_stations_in_their_order(tmp_path):
    import haltere as ht

    made_log(tmp_path / "flight.mcap")
    stations = [row[1].strip("`") for row in rows("The way of a log")]
    assert 0 < len(stations) <= 12
    first = {}

    def note(frame, event, _):
        name = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"
        if event == "call" and name not in first:
            first[name] = len(first)

    ht.read, ht.identify  # noqa: B018 - imported before the calls are counted
    sys.setprofile(note)
    try:
        known = {"mass": 0.5, "inertia.xx": 4e-3, "inertia.yy": 4e-3, "inertia.zz": 8e-3}
        ht.identify(ht.read(tmp_path / "flight.mcap"), known=known).save(tmp_path / "out")
    finally:
        sys.setprofile(None)
    missed = [station for station in stations if station not in first]
    assert missed == []
    assert stations == sorted(stations, key=first.__getitem__)


# ---------------------------------------------------------------- how to add
READER = '''
"""Made-up logs: a line of magic, then time and three rates."""
import numpy as np
from haltere.flight import Channel, Flight
def read_madeup(file):
    rows = np.loadtxt(file, skiprows=1)
    return Flight.of(Channel("imu.gyro", (rows[:, 0] * 1e9).astype(np.int64), rows[:, 1:], "rad/s", "imu"))
'''
USE_READER = """
import haltere as ht, numpy as np, pathlib
rows = np.column_stack([np.arange(100) * 0.01, np.ones((100, 3))])
with open("log.xyz", "w") as file:
    file.write("MADEUP 1\\n")
    np.savetxt(file, rows)
flight = ht.read("log.xyz")
assert flight["imu.gyro"].values.shape == (100, 3)
"""
TARGET = '''
"""A made-up target: a text with the name of the vehicle."""
from haltere.exporters.document import Document, Rendering
def render(vehicle, certificate):
    return Rendering((Document(".madeup", f"name {vehicle.name}"),), ())
'''
USE_TARGET = """
import haltere as ht, pathlib
exported = ht.export("hummingbird", to="madeup", out=pathlib.Path("vehicle"))
assert pathlib.Path("vehicle.madeup").read_text() == "name hummingbird"
"""


METHOD = '''
"""A made-up method: the mass is what the user says."""
from haltere.identification.methods.base import Method, MethodResult
from haltere.identification.parameters import Parameter
def needs(data):
    return "" if "mass" in data.known else "give --known mass=..."
def run(data):
    return MethodResult([Parameter.given("mass", data.known["mass"].value, 0.01, "kg")])
MADEUP = Method("madeup", "the made-up method", needs, run)
'''
USE_METHOD = """
import haltere as ht
result = ht.identify(ht.read("flight.mcap"), known={"mass": 0.5}, method="madeup")
assert (result.method, result.parameters["mass"].value) == ("madeup", 0.5)
"""


def files_to_touch(title, name):
    """The files that a recipe of the page names, with `name` for what it leaves open."""
    return [
        re.sub(r"<\w+>", name, path)
        for path in re.findall(r"^\d+\. `([^`]+)`", section(title), flags=re.MULTILINE)
    ]


def add(folder, title, new, table, line):
    """Follow a recipe in a copy of the package: write the new file, add a line to a table of the other."""
    shutil.copytree(tree.PACKAGE, folder / "src" / "haltere", ignore=shutil.ignore_patterns("__pycache__"))
    first, second = (folder / path for path in files_to_touch(title, "madeup"))
    assert not first.exists()
    first.write_text(new, encoding="utf-8")
    text = second.read_text(encoding="utf-8")
    assert text.count(table) == 1
    second.write_text(text.replace(table, table + line), encoding="utf-8")


def run(folder, code):
    """Run code that imports the copy."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_log_format_is_added_by_the_files_that_the_page_names(tmp_path):
    line = '\n    LogFormat("made-up log", (b"MADEUP 1",), "haltere.logs.readers.madeup:read_madeup"),'
    add(tmp_path, "A log format", READER, "FORMATS: tuple[LogFormat, ...] = (", line)
    run(tmp_path, USE_READER)


def test_a_method_is_added_by_the_files_that_the_page_names(tmp_path):
    made_log(tmp_path / "flight.mcap")
    line = '\n    "madeup": "haltere.identification.methods.madeup:MADEUP",'
    add(tmp_path, "A method", METHOD, "METHODS: dict[str, str] = {", line)
    run(tmp_path, USE_METHOD)


def test_an_export_target_is_added_by_the_files_that_the_page_names(tmp_path):
    line = '\n    "madeup": "haltere.exporters.madeup:render",'
    add(tmp_path, "An export target", TARGET, "TARGETS: dict[str, str] = {", line)
    run(tmp_path, USE_TARGET)


@pytest.mark.parametrize(
    "title", ["A log format", "A method", "An export target", "An airframe feature", "A paper"]
)
def test_the_files_of_a_recipe_exist_but_for_what_is_new(title):
    paths = re.findall(r"^\d+\. `([^`]+)`", section(title), flags=re.MULTILINE)
    assert len(paths) >= 2
    assert [path for path in paths if "<" not in path and not (ROOT / path).exists()] == []
