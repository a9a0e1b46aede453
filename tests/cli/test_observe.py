"""`haltere observe` from the outside."""

import json

import numpy as np
import pytest
from tests.consistency.test_recorded_information import KNOWN, measured, recorded

from haltere.cli.app import main
from haltere.flight.mcap import write_mcap


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """No progress on stderr, however busy the machine is."""
    monkeypatch.setattr("haltere.cli.output.QUIET_SECONDS", 600.0)


def call(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(["observe", *words])
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


def test_json_is_one_object(capsys):
    code, out, err = call(capsys, "hummingbird", "--sensors", "pose,imu", "--known", "mass", "--json")
    result = json.loads(out)
    assert (code, err) == (0, "")
    assert (result["states"], result["error_states"], result["rank"]) == (68, 65, 62)
    assert len(result["directions"]) == 6
    verdicts = {p["name"]: p["verdict"] for p in result["parameters"]}
    assert verdicts["mass"] == "observable"
    assert verdicts["rotors.front.position.z"] == "unobservable"
    assert verdicts["inertia.zz"] == "combination"
    assert set(verdicts.values()) == {"observable", "combination", "unobservable"}


def test_the_papers_angles_and_its_chain(capsys):
    words = ["hummingbird", "--sensors", "pose,imu", "--axes", "spherical", "--json"]
    ranks, known = [], []
    chain = ["mass", "rotors.*.axis.azimuth", "rotors.*.position.z", "distance.front.left", "pose.rotation.z"]
    for one in (None, *chain):
        known += [one] if one else []
        options = ["--known", ",".join(known)] if known else []
        ranks.append(json.loads(call(capsys, *words, *options)[1])["rank"])
    assert ranks == [57, 58, 62, 66, 67, 68]


def test_the_papers_reading_of_the_imu(capsys):
    words = ["hummingbird", "--sensors", "imu", "--norms", "determined", "--json"]
    free, frozen = (json.loads(call(capsys, *words, *extra)[1])["rank"] for extra in ([], ["--frozen-imu"]))
    assert (free, frozen) == (41, 29)


def test_text_names_directions_and_remedies(capsys):
    code, out, err = call(capsys, "hummingbird")
    assert (code, err) == (0, "")
    assert "rank 61 of 68" in out
    assert "yaw of the principal axes" in out
    assert "then everything is observable" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hummingbird", "--sensors", ""], "no sensors"),
        (["hummingbird", "--sensors", "gps"], "pose, position, imu"),
        (["hummingbird", "--known", "mas"], "did you mean 'mass'?"),
        (["hummingbird", "--known", "rotors.fron.axis", "--json"], "rotors.front.axis"),
        (["humingbird"], "hummingbird"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_nonsense_is_one_line(words, said, capsys):
    code, out, err = call(capsys, *words)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert said in err


def test_wrong_usage(capsys):
    assert call(capsys, "hummingbird", "--axes", "euler")[0] == 2
    assert call(capsys)[0] == 2


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    file = tmp_path_factory.mktemp("flight") / "flight.mcap"
    write_mcap(recorded(*measured(np.random.default_rng(1))), file)
    return str(file)


def test_information_of_a_recorded_flight(capsys, log):
    known = ["--known", ",".join(KNOWN)]
    code, out, err = call(capsys, "hummingbird", "--flight", log, *known, "--for", "inertia", "--json")
    result = json.loads(out)
    assert (code, err) == (0, "")
    assert [p["name"] for p in result["information"]] == ["inertia.xx", "inertia.yy", "inertia.zz"]
    for p in result["information"]:
        assert set(p) >= {"name", "sigma", "verdict", "missing"}
        assert p["verdict"] == "weak" if p["missing"] else p["verdict"] == "observable"
    assert {"states", "rank", "directions", "parameters", "excitation", "duration"} <= set(result)
    code, out, _ = call(capsys, "hummingbird", "--flight", log, *known, "--for", "imu.position.z")
    assert code == 0
    assert "turning" in out
    assert "What this flight tells" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hummingbird", "--flight", "nowhere.mcap"], "nowhere.mcap"),
        (["hummingbird", "--flight", "LOG", "--for", "inertia.zzz"], "did you mean 'inertia.zz'?"),
        (["hummingbird", "--flight", "LOG", "--known", "mas"], "did you mean 'mass'?"),
        (["hummingbird", "--flight", "LOG", "--sensors", ""], "no sensors"),
        (["hexa-tilted", "--flight", "LOG"], "4 rotors but"),
        (["hong-fixed-wing", "--flight", "LOG"], "wings"),
        (["hummingbird", "--flight", "LOG", "--for", "distance.front.left"], "no parameter to identify"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_nonsense_about_a_flight_is_one_line(words, said, capsys, log):
    test_nonsense_is_one_line([log if word == "LOG" else word for word in words], said, capsys)


def test_options_that_do_not_go_together(capsys, log):
    assert call(capsys, "hummingbird", "--for", "mass")[0] == 2
    assert call(capsys, "hummingbird", "--flight", log, "--axes", "spherical")[0] == 2
