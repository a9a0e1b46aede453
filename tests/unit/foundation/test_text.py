"""Names are checked or changed; every other text goes through the function of its target."""

import json
import tomllib
from xml.etree import ElementTree

import pytest
import tomli_w

from haltere.foundation.text import (
    COMMENT_WIDTH,
    comment_lines,
    figure_label,
    html_text,
    is_name,
    is_path,
    one_line,
    renamed_note,
    safe_name,
    safe_names,
    script_json,
    toml_document,
    xml_attribute,
    xml_comment,
)


@pytest.mark.parametrize("text", ["a", "rotor_1", "front-left", "x" * 64])
def test_names(text):
    assert is_name(text)
    assert is_path(f"rotors.{text}.axis.x")
    assert safe_name(text) == text


@pytest.mark.parametrize("text", ["", "a b", "ä", "x" * 65, "a\n", "a.b", "a/b", "[b]", 3, None])
def test_what_is_no_name(text):
    assert not is_name(text)


def test_paths():
    assert is_path("inertia.yy/inertia.xx")
    for text in ("", ".", "a.", "a..b", "a b", "a\nparam set X 1", "rotors.ä.x"):
        assert not is_path(text)


def test_names_are_changed_to_the_nearest_that_is_free():
    found = safe_names(["front left", "front_left", "Größe", "", "\u202e", "body", "x" * 70, "ok"], ("body",))
    assert found["front_left"] == "front_left"
    assert found["front left"] == "front_left_2"
    assert found["Größe"] == "Groe"
    assert (found[""], found["\u202e"]) == ("unnamed", "unnamed_2")
    assert found["body"] == "body_2"
    assert found["x" * 70] == "x" * 64
    assert renamed_note({"ok": "ok"}, "rotors") == []
    assert "'a b' is a_b" in renamed_note({"a b": "a_b"}, "rotors")[0]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain, ä, 日本, C:\\new", "plain, ä, 日本, C:\\new"),
        ("two\r\n lines\tand\u2028more\x85", "two lines and more"),
        ("\x1b[31mred\x07", "\\u001b[31mred\\u0007"),
        ("\x9b2J", "\\u009b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800 \U000e0001", "\\ud800 \\U000e0001"),
        ("\u0301a\u0301", "\\u0301a\u0301"),
    ],
)
def test_one_line(text, line):
    assert one_line(text) == line


def test_comments_are_ascii_and_never_join_with_the_next_line():
    assert comment_lines("a\nparam set B 1") == ["# a param set B 1"]
    assert comment_lines("é\x1b\\", "--") == ["-- <U+00E9><U+001B>/"]
    assert comment_lines("[[ ]]", "--") == ["-- [[ ]]"]
    lines = comment_lines("word " * 50 + "x" * 500)
    assert max(map(len, lines)) <= COMMENT_WIDTH
    assert all(line.startswith("# ") for line in lines)


def test_xml():
    text = "a--->b--c- <x a='\"'>&\x00\n"
    root = ElementTree.fromstring(f"<a>{xml_comment(text)}<b c={xml_attribute(text)}/></a>")
    assert [child.tag for child in root] == ["b"]
    assert root[0].attrib == {"c": one_line(text)}


def test_html_and_figures():
    assert html_text("<b>'\"&\n") == "&lt;b&gt;&#x27;&quot;&amp;"
    assert figure_label('<a href="x">%{y}&') == '&lt;a href="x"&gt;&#37;{y}&amp;'
    document = json.dumps(["<!--<script></script>&"])
    assert not set("<>&") & set(script_json(document))
    assert json.loads(script_json(document)) == json.loads(document)


def test_toml():
    data = {"a": "\x9b\u2028\u202e\x00\"\\'ä\n"}
    document = toml_document(tomli_w.dumps(data))
    assert tomllib.loads(document) == data
    assert document.count("\n") == 1
    assert document.removesuffix("\n").isprintable()
