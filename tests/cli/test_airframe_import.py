"""`haltere airframe import` from the outside."""

import json

import pytest

from haltere.airframe import load
from haltere.cli.app import main


def run(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out = capsys.readouterr()
    return end.value.code, out.out, out.err


def test_an_export_is_read_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert not run(capsys, "export", "indiflight-3inch", "--to", "mjcf")[0]
    code, out, _ = run(
        capsys, "airframe", "import", "indiflight-3inch.mjcf.xml", "--out", "back.toml", "--json"
    )
    assert not code
    answer = json.loads(out)
    assert answer["mass"] == pytest.approx(0.428)
    assert len(load("back.toml").rotors) == 4
    code, _, err = run(capsys, "airframe", "import", "indiflight-3inch.mjcf.xml", "--out", "back.toml")
    assert code == 1
    assert "exists already" in err
    code, out, _ = run(capsys, "airframe", "import", "indiflight-3inch.mjcf.xml")
    assert not code
    assert out.startswith("name = ")


def test_what_is_missing_is_told_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert not run(capsys, "export", "x500", "--to", "px4", "--out", "p.params")[0]
    code, _, err = run(capsys, "airframe", "import", "p.params")
    assert code == 1
    assert "--mass" in err
    assert err.count("\n") == 1
    words = ("--mass", "2.06", "--inertia", "0.024,0.024,0.044", "--max-speed", "1000")
    assert not run(capsys, "airframe", "import", "p.params", *words)[0]
    assert run(capsys, "airframe", "import", "p.params", "--inertia", "much")[0] == 1
