"""`haltere export` from the outside."""

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from haltere.cli.app import main
from haltere.foundation.jsonable import to_jsonable
from haltere.gate.checked_export import export


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def results():
    path = Path(__file__).resolve().parents[1] / "unit" / "exporters" / "results.py"
    spec = importlib.util.spec_from_file_location("hand_built_results", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["hand_built_results"] = module
    spec.loader.exec_module(module)
    return module


def run(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out = capsys.readouterr()
    return end.value.code, out.out, out.err


def write(result, name):
    Path(name).write_text(json.dumps(to_jsonable(result.to_dict())), encoding="utf-8")


@pytest.mark.parametrize("target", ["px4", "indiflight", "ardupilot", "urdf", "mjcf"])
def test_an_airframe_goes_everywhere(folder, capsys, target):
    code, out, _ = run(capsys, "export", "indiflight-3inch", "--to", target, "--json")
    assert not code
    answer = json.loads(out)
    assert answer["files"]
    assert answer["gate"] is None
    for file in answer["files"]:
        assert Path(file).read_text(encoding="utf-8").count("\n") > 5
    code, out, err = run(capsys, "export", "indiflight-3inch", "--to", target)
    assert code == 1
    assert "exists already" in err
    assert err.count("\n") == 1
    assert not run(capsys, "export", "indiflight-3inch", "--to", target, "--overwrite")[0]


def test_a_result_is_flown_first_and_a_wild_one_refused_unless_insisted(folder, capsys):
    module = results()
    write(module.whole(), "good.json")
    code, out, _ = run(capsys, "export", "good.json", "--to", "px4", "--json")
    assert not code
    answer = json.loads(out)
    assert answer["gate"] == {"draws": 20, "held": 20, "seed": 0}
    assert answer["files"] == ["good.px4.params"]
    import dataclasses

    wild = dataclasses.replace(
        module.whole(),
        parameters=tuple(dataclasses.replace(p, sigma=40.0 * p.sigma) for p in module.whole().parameters),
    )
    write(wild, "wild.json")
    code, _, err = run(capsys, "export", "wild.json", "--to", "px4")
    assert code == 1
    assert "might not hover" in err
    assert "of 20 draws" in err
    assert not Path("wild.px4.params").exists()
    code, _, _ = run(capsys, "export", "wild.json", "--to", "px4", "--unchecked")
    assert not code
    assert "not flown in simulation" in Path("wild.px4.params").read_text(encoding="utf-8")


def test_what_was_not_identified_is_named(folder, capsys):
    module = results()
    write(module.scaled(module.whole()), "open.json")
    code, _, err = run(capsys, "export", "open.json", "--to", "urdf")
    assert code == 1
    assert "mass" in err
    assert "inertia.xx" in err
    assert err.count("\n") == 1
    write(module.ratios(), "ratios.json")
    code, out, _ = run(capsys, "export", "ratios.json", "--to", "px4", "--unchecked", "--json")
    assert not code
    assert any("rotor positions" in note for note in json.loads(out)["notes"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("x500", "--to", "betaflight"), "no export is called"),
        (("nothing.json", "--to", "px4"), "cannot be read"),
        (("x501", "--to", "px4"), "x501"),
    ],
)
def test_faults_are_one_line(folder, capsys, words, said):
    code, _, err = run(capsys, "export", *words)
    assert code == 1
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("px4", "param set CA_ROTOR_COUNT 0"),
        ("indiflight", "set indi_act_num = 0"),
        ("ardupilot", "FRAME_CLASS,99"),
        ("ardupilot", "os.execute('x')"),
    ],
)
def test_a_crafted_result_writes_no_line_of_its_own(folder, capsys, target, line):
    content = to_jsonable(results().ratios().to_dict())
    content["file"] = content["method"] = f"log\n{line}\n"
    for entry in content["parameters"]:
        entry["fix"] = f"weigh it\u2028{line}\r{line}"
    Path("crafted.json").write_text(json.dumps(content), encoding="utf-8")
    code, out, _ = run(capsys, "export", "crafted.json", "--to", target, "--unchecked", "--json")
    assert not code
    for file in json.loads(out)["files"]:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
        assert not [found for found in lines if found.startswith(line)]
        assert any(line in found for found in lines if found.startswith(("# ", "-- ")))
    names = {p["name"] for p in content["parameters"]}
    for change, said in (
        ({"name": f"rotors.m1\n{line}\n.curve"}, "a parameter is called"),
        ({"value": f"1\n{line}"}, "expected a finite number"),
        ({"value": float("nan")}, "expected a finite number"),
        ({"value": True}, "expected a finite number"),
        ({"unit": ["m"]}, "expected a text"),
        ({"partners": [f"{min(names)}\n{line}"]}, "a parameter is called"),
    ):
        wrong = {**content, "parameters": [content["parameters"][0] | change, *content["parameters"][1:]]}
        Path("wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
        code, _, err = run(capsys, "export", "wrong.json", "--to", target, "--unchecked", "--overwrite")
        assert code == 1
        assert said in err
        assert err.count("\n") == 1
    assert not list(folder.glob("wrong.*.p*"))


def test_a_file_is_never_named_out_of_its_folder(folder):
    module = results()
    written = export(replace(module.ratios(), source="../../etc/\x1bx.ulg"), "px4", check=False)
    assert [str(file) for file in written.files] == ["x.px4.params"]
