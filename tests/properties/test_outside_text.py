"""Any text in names and texts of logs, results and vehicles is refused or escaped: no line, tag or escape of its own.

An example holds two texts, so that the profile's 100 examples are 200 texts for each target. A text stands in all
places at once; what is written is compared with what is written of a harmless text, or with a grammar of its lines.
"""

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.exporters.results import ratios, whole

from haltere.airframe import Airframe, AirframeError, dumps, loads
from haltere.airframe.foreign import ImportOptions
from haltere.airframe.foreign.tree import Piece, Propeller, airframe_of
from haltere.cli.app import sentence
from haltere.cli.output import emit_json, emit_line, show
from haltere.doctor.diagnosis import Diagnosis, Finding, Undecided
from haltere.exporters import Certificate, render
from haltere.flight import Channel, Flight
from haltere.foundation import HaltereError
from haltere.foundation.jsonable import to_jsonable
from haltere.foundation.tables import TextTable
from haltere.foundation.text import figure_label, is_name, one_line
from haltere.gate.checked_export import Exported, _stem
from haltere.identification.comparison import Comparison, ComparisonRow
from haltere.identification.described import DescribedVehicle, OpenDirection
from haltere.identification.parameters import Parameters, ResultError
from haltere.identification.pipeline import _with_rotor_names
from haltere.identification.result import Identification
from haltere.logs import LogError
from haltere.report import fits, page, rotors_from_above, tables
from haltere.report.charts import time_chart

HARMLESS = "harmless"
NASTY = [
    "\n", "\r", "\r\n", "\t", "\x00", "\x07", "\x08", "\x0b", "\x0c", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\x85",
    "\x9b2J", "\u2028", "\u2029", "\u202e", "\u2066", "\u200b", "\ufeff", "\ud800", "\udfff", "\U000e0001", "\u0301",
    "\u20dd", "'", '"', "`", "\\", "\\n", "[", "]", "[/b]", "[bold]", "[[", "]]", "--", "-->", "<!--", "--[[", "]]>",
    "*/", "/*", "//", "#", "%", "%{x}", "${x}", "$(x)", "{{ x }}", "{% x %}", "<", ">", "&", "&lt;", "<b>",
    "</script>", "<script>", "</title>", "<img src=x onerror=y>", ";", "|", "=", "+", "@", ",", ".", "..", "/", "../",
    "~", ":smile:", " ", "  ", "é", "日本",
    "\nparam set CA_ROTOR_COUNT 0\n", "\nset indi_act_num = 0\n", "\nos.exit()\n", "\nFRAME_CLASS,1\n", "x" * 130,
]  # fmt: skip
characters = st.characters(exclude_categories=())  # surrogates, too
arbitrary = st.lists(characters | st.sampled_from(NASTY), min_size=1, max_size=16).map("".join)


def with_another(text: str) -> tuple[str, str]:
    """A text, and 16 dangerous parts in an order that follows from it: hypothesis alone repeats simple ones."""
    chosen = np.random.default_rng([*ascii(text).encode()]).permutation(len(NASTY))[:16]
    return text, "".join(NASTY[i] for i in chosen)


two_texts = arbitrary.map(with_another)
ATTACK = ("\n".join(NASTY[-5:-1]), "</script><!--" + "]]>--\\")


@cache
def identified() -> Identification:
    """A whole vehicle, identified."""
    return whole()


@cache
def few() -> Identification:
    """The same with few parameters."""
    return replace(identified(), parameters=tuple(identified().parameters)[:4])


@cache
def vehicle() -> DescribedVehicle:
    """It as it is exported."""
    return replace(DescribedVehicle.from_result(identified()), open=())


@cache
def ratios_only() -> DescribedVehicle:
    """A vehicle of which ratios are known."""
    return DescribedVehicle.from_result(ratios())


def crafted_result(result: Identification, text: str) -> Identification:
    """The result with a text in every place that takes one, but names of parameters."""
    return replace(
        result,
        source=text,
        method=text,
        parameters=tuple(replace(p, unit=text, fix=text) for p in result.parameters),
        predictions=tuple(replace(p, name=text, unit=text) for p in result.predictions[:1]),
        excitation={text: 1.0},
        findings=({"kind": text, "evidence": text, "remedy": text, "certain": True},),
        undecided=({"kind": text, "reason": text, "remedy": text},),
        notes=(text,),
        next_steps=(text,),
    )


def crafted_vehicle(known: DescribedVehicle, text: str) -> DescribedVehicle:
    """The vehicle called by a text, and so is its first rotor; what is open has texts as well."""
    first, *others = known.rotors
    numbers = {
        name.replace(f"rotors.{first}.", f"rotors.{text}."): value for name, value in known.numbers.items()
    }
    airframe = known.airframe
    if airframe is not None:
        rotors = (airframe.rotors[0].model_copy(update={"name": text}), *airframe.rotors[1:])
        airframe = airframe.model_copy(update={"name": text, "description": text, "rotors": rotors})
    return replace(
        known,
        name=text,
        rotors=(text, *others),
        numbers=numbers,
        curves={},
        sigma={"imu.position.x": 0.001},
        open=(OpenDirection(("com.x", text), text), OpenDirection(("imu.position.z",), text)),
        airframe=airframe,
        result=crafted_result(replace(known.result, parameters=()), text),
    )


@cache
def harmless_documents(target):
    return documents(vehicle() if target in {"urdf", "mjcf"} else ratios_only(), target, HARMLESS)


def documents(known, target, text):
    rendering = render(crafted_vehicle(known, text), target, Certificate(20, 20, 0, text))
    return [document.text for document in rendering.documents]


NUMBER = r"-?\d+(\.\d+)?(e[-+]\d+)?"
COMMENT = r" [ -\[\]-~]*"  # ASCII without backslash
SCRIPT = [
    rf"--{COMMENT}",
    rf"MotorsMatrix:add_motor_raw\(\d+(, {NUMBER}){{4}}\)",
    rf"MotorsMatrix:set_throttle_factor\(\d+, {NUMBER}\)",
    r'assert\(MotorsMatrix:init\(4\), "motor matrix: expected 4 motors"\)',
    r'motors:set_frame_string\("haltere, 4 motors"\)',
]
LINES = {
    "px4": [rf"#{COMMENT}|param set [A-Z0-9_]+ {NUMBER}"],
    "indiflight": [rf"#{COMMENT}|set indi_act_[a-z0-9_]+ = -?\d+(,-?\d+)*"],
    "ardupilot": [rf"#{COMMENT}|[A-Z0-9_]+,{NUMBER}", "|".join(SCRIPT)],
}


def commands(document):
    return [line for line in document.split("\n") if not line.startswith(("#", "--"))]


@pytest.mark.parametrize("target", LINES)
@given(pair=two_texts)
@example(pair=ATTACK)
def test_files_of_flight_stacks(target, pair):
    expected = harmless_documents(target)
    for text in pair:
        found = documents(ratios_only(), target, text)
        for document, harmless, line in zip(found, expected, LINES[target], strict=True):
            assert document.split("\n") == [*document.splitlines(), ""]
            assert all(re.fullmatch(line, each) and len(each) <= 128 for each in document.splitlines())
            assert commands(document) == commands(harmless)


def skeleton(document):
    """Tags with their attributes in order, and comments, without what stands in them."""
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.fromstring(document.split("?>\n")[-1].join(["<all>", "</all>"]), parser)
    return [(str(element.tag), tuple(element.attrib)) for element in root.iter()]


@pytest.mark.parametrize("target", ["urdf", "mjcf"])
@given(pair=two_texts)
@example(pair=ATTACK)
def test_files_of_simulators(target, pair):
    (expected,) = harmless_documents(target)
    for text in pair:
        (found,) = documents(vehicle(), target, text)
        assert skeleton(found) == skeleton(expected)
        assert found.count("\n") == expected.count("\n") == len(found.splitlines())


def is_plain(text):
    """Whether a terminal shows a text as it is."""
    return all(line.isprintable() for line in text.split("\n"))


def shown(content, items):
    out = io.StringIO()
    with redirect_stdout(out):
        show(content, items, json=False)
    return out.getvalue()


def objects(text):
    """Objects that print as tables, with a text wherever one can stand."""
    row = ComparisonRow(text, 1.0, 2.0, 1.0, 0.5, None)
    finding = Finding(text, text, text, True)
    yield TextTable(text, (text, text), [(text, 1.0), (text, text)])
    yield TextTable(text, (), [])
    yield crafted_result(few(), text)
    yield Parameters(replace(p, name=f"rotors.{text}.x", unit=text, fix=text) for p in few().parameters)
    yield Diagnosis((finding,), (Undecided(text, text, text),))
    yield Comparison(text, text, (row,))
    yield Exported(text, (text,), (text,), Certificate(1, 1, 0, text))


@given(pair=two_texts)
@example(pair=ATTACK)
def test_tables_and_lines_of_python_objects(pair):
    for text in pair:
        for found, harmless in zip(objects(text), objects(HARMLESS), strict=True):
            assert is_plain(repr(found))
            assert repr(found).count("\n") == repr(harmless).count("\n")
        assert is_plain(repr(replace(identified().parameters["mass"], unit=text, fix=text)))


@given(pair=two_texts)
@example(pair=ATTACK)
def test_tables_and_lines_of_commands(pair):
    for text in pair:
        table = TextTable(text, (text, "value"), [(text, 1.0), ("b", text)])
        found = shown({}, [table])
        assert is_plain(found)
        body = found[found.index("┏") :].splitlines()
        assert all(line[0] in "┏┃┡│└" and line[-1] in "┓┃┩│┘" for line in body)
        line = shown({}, [text])
        assert is_plain(line)
        assert line.count("\n") == 1


@given(pair=two_texts)
@example(pair=ATTACK)
def test_errors(pair):
    for text in pair:
        for error in (HaltereError(text), LogError(text), ValueError(text), AirframeError(text)):
            err = io.StringIO()
            with redirect_stderr(err):
                emit_line(f"haltere: {sentence(error)}", err=True)
            assert is_plain(err.getvalue())
            assert err.getvalue().count("\n") == 1
        assert is_plain(str(LogError(text)))


def units(text):
    """UTF-16, in which two halves of a character are the same as the character, as in JSON."""
    return text.encode("utf-16", "surrogatepass")


@given(pair=two_texts)
@example(pair=ATTACK)
def test_json_of_commands(pair):
    for text in pair:
        out = io.StringIO()
        with redirect_stdout(out):
            emit_json({text: [text]})
        assert out.getvalue().isascii()
        assert is_plain(out.getvalue())
        ((key, (value,)),) = json.loads(out.getvalue()).items()
        assert units(key) == units(value) == units(text)


class Tags(HTMLParser):
    """Tags, comments and declarations of a page, with the names of attributes."""

    def __init__(self, document):
        super().__init__()
        self.found = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        self.found.append(f"/{tag}")

    def handle_comment(self, data):
        self.found.append("comment")

    def handle_decl(self, decl):
        self.found.append(decl)

    def handle_pi(self, data):
        self.found.append("instruction")


def tags(document):
    return Tags(document).found


def notebook(shown):
    return shown.html() if isinstance(shown, TextTable) else shown._repr_html_()


@given(pair=two_texts)
@example(pair=ATTACK)
def test_tables_in_notebooks(pair):
    for text in pair:
        for found, harmless in zip(objects(text), objects(HARMLESS), strict=True):
            assert is_plain(notebook(found))
            assert tags(notebook(found)) == tags(notebook(harmless))


def figures(text):
    """Figures of the report, with a text wherever one can stand."""
    prediction = replace(identified().predictions[0], name=text, unit=text)
    short = replace(
        prediction, **{name: getattr(prediction, name)[:5] for name in ("time", "measured", "predicted")}
    )
    yield fits.bars({text: 1.0, "b": 2.0}, text, {text: 0.1})
    yield fits.prediction_chart(short)
    yield fits.whiteness_chart([short])
    yield fits.interval_chart([text], [0.0], [1.0], ["#000000"], text)
    yield time_chart([0.0, 1.0], {text: [0.0, 1.0]}, text)


def strings(value):
    """All texts in a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


@given(pair=two_texts)
@example(pair=ATTACK)
def test_labels_of_figures(pair):
    for text in pair:
        label = figure_label(text)
        assert label.isprintable()
        assert not {"<", ">", "%{"} & {*label, *(a + b for a, b in pairwise(label))}
        assert unescape(label) == one_line(text)


@pytest.mark.parametrize("text", [*ATTACK, "".join(NASTY), "%{x}", "a" + "".join(reversed(NASTY))])
def test_figures(text):
    for figure in figures(text):
        found = list(strings(figure.to_plotly_json()))
        assert all(map(str.isprintable, found))
        assert not [s for s in found if set("<>") & set(s.removesuffix("<extra></extra>"))]
        templates = [s for s in found if s.endswith("<extra></extra>")]
        assert all(set(re.findall(r"%{[^}]*}?", s)) <= {"%{y}", "%{x:.3~g}"} for s in templates)


@dataclass(frozen=True)
class Drawn:
    """A figure whose text a forgetful caller has not escaped; a figure of plotly takes long to make."""

    text: str
    layout = go.Layout(height=100)

    def to_json(self):
        return json.dumps({"data": [{"name": self.text}]}, ensure_ascii=False)


def report(text):
    """A page with all of its elements."""
    result = crafted_result(few(), text)
    items = [
        page.Picture(text, Drawn(one_line(text)), text, name="one"),
        page.Table(text, (text,), [(text, page.Mark(text, text), text)], text),
        *tables.parameter_tables(result),
    ]
    return page.Page(
        text, text, (page.Fact(text, text, text),), (page.Section(text, text, items, (text,)),)
    ).html()


@cache
def harmless_report():
    document = report(HARMLESS)
    return tags(document), document.count("\n")


@pytest.fixture(scope="module", autouse=True)
def _without_library():
    """The plotting library is no part of what is tested, and long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "get_plotlyjs", str)
        yield


@given(pair=two_texts)
@example(pair=ATTACK)
def test_reports(pair):
    expected, lines = harmless_report()
    for text in pair:
        found = report(text)
        assert is_plain(found)
        assert tags(found) == expected
        assert found.count("\n") == lines
        (script,) = re.findall(r'data-for="one">(.*?)</script>', found, re.DOTALL)
        json.loads(script)


def test_a_whole_report_and_its_rotors():
    for text in ATTACK:
        result = crafted_result(ratios(), text)
        renamed = replace(
            result,
            parameters=tuple(replace(p, name=p.name.replace(".m1.", f".{text}.")) for p in result.parameters),
        )
        found = result._page().html()
        assert tags(found) == tags(crafted_result(ratios(), HARMLESS)._page().html())
        picture = rotors_from_above.from_above(renamed)
        assert {tag for s in strings(picture.figure.to_plotly_json()) for tag, *_ in tags(s)} <= {
            "b",
            "/",
            "extra",
        }


@given(pair=two_texts)
@example(pair=ATTACK)
def test_airframe_files(pair):
    body = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)}
    for text in pair:
        data = {"name": "a", "description": text, "body": body}
        if re.search("[\ud800-\udfff]", text):
            with pytest.raises(AirframeError):
                Airframe(**data)
            continue
        described = Airframe(**data)
        document = dumps(described)
        assert loads(document) == described
        assert is_plain(document)
        assert document.count("\n") == 6


@given(pair=two_texts)
@example(pair=ATTACK)
def test_names_in_airframe_files(pair):
    data = vehicle().airframe.model_dump()
    for text in pair:
        rotors = [data["rotors"][0] | {"name": text}, *data["rotors"][1:]]
        for change in ({"name": text}, {"rotors": rotors}):
            if is_name(text):
                Airframe(**(data | change))
                continue
            with pytest.raises(AirframeError) as refused:
                Airframe(**(data | change))
            assert len(str(refused.value).splitlines()) == 1


@given(pair=two_texts)
@example(pair=ATTACK)
def test_names_of_importers(pair):
    for text in pair:
        link = Piece(f"{text} link", "base", np.eye(3), np.ones(3), 0.1, axis=np.array([0.0, 0.0, 1.0]))
        rotor = Piece(f"{text} rotor", link.name, np.eye(3), np.ones(3), 0.1, axis=np.array([0.0, 0.0, 1.0]))
        other = replace(rotor, name=f"{text}_rotor")
        base = Piece("base", None, np.eye(3), np.zeros(3), 1.0, inertia=np.eye(3))
        propellers = {p.name: Propeller(1e-6, 0.01) for p in (rotor, other)}
        notes: list[str] = []
        airframe = airframe_of(
            text, [base, link, rotor, other], propellers, {text: np.zeros(3)}, ImportOptions(), notes
        )
        assert loads(dumps(airframe)) == airframe
        assert len({r.name for r in airframe.rotors} | {airframe.links[0].name}) == 3
        assert any("names that were changed" in note for note in notes)


@given(pair=two_texts)
@example(pair=ATTACK)
def test_names_of_rotors_in_logs(pair):
    for text in pair:
        name = "".join(c for c in text if c.isprintable()) + "!"
        values = np.ones((3, 2))
        channel = Channel("rotors.speed", np.arange(3), values, "rad/s", "", (name, "m2"))
        flight, notes = _with_rotor_names(Flight.of(channel))
        assert all(map(is_name, flight["rotors.speed"].columns))
        assert len(set(flight["rotors.speed"].columns)) == 2
        assert notes


@given(pair=two_texts)
@example(pair=ATTACK)
def test_names_and_numbers_of_results(pair):
    """What is read from a file is refused, and so is what was made in Python and is to be exported."""
    plain = to_jsonable(ratios_only().result.to_dict())
    entry = plain["parameters"][0]
    parameter = next(iter(ratios_only().result.parameters))
    for text in pair:
        path = f"rotors.{text}.effectiveness.fz"
        for change in ({"name": path}, {"partners": [path]}, {"value": text}, {"sigma": text}):
            if is_name(text) and change.keys() & {"name", "partners"}:
                continue
            with pytest.raises(ResultError) as refused:
                Identification.from_dict(plain | {"parameters": [entry | change]})
            assert is_plain(str(refused.value))
        if not is_name(text):
            named = replace(ratios_only().result, parameters=(replace(parameter, name=path),))
            with pytest.raises(ResultError):
                DescribedVehicle.from_result(named)


@given(pair=two_texts)
@example(pair=ATTACK)
def test_names_of_files(pair):
    for text in pair:
        for known in (vehicle(), ratios_only()):
            named = replace(known, name=text)
            assert is_name(str(_stem(named, named)))
