"""Airframes become texts and files that read back the same."""

import stat

import pytest

from haltere.airframe import (
    Airframe,
    AirframeError,
    Body,
    Coefficients,
    Joint,
    Link,
    PoseSensor,
    Wing,
    dumps,
    load,
    loads,
    save,
)

BODY = Body(mass=1, inertia=(1e-2, 1e-2, 1.5e-2, 0, 0, 0))
WING = Wing(
    area=0.1,
    span=0.5,
    chord=0.2,
    coefficients=Coefficients(
        kind="body", alpha=(-0.1, 0.1), beta=(0, 1e-3), CN=((-1, 1e-9), (1, 2)), CA=(0.1, 0)
    ),
)
AIRFRAME = Airframe(
    name="the-best_1",
    description='the "best" \\ one: ä, tab\t and\nline \x9b \u2028 \u202e',
    body=BODY,
    links=(Link(name="wing", joint=Joint(fixed=True), mass=0.1, wing=WING),),
    pose=(PoseSensor(name="camera", position=(0, 0, 0.1)),),
)


def test_what_is_written_reads_back_the_same():
    assert loads(dumps(AIRFRAME)) == AIRFRAME


def test_as_plain_data_it_reads_back_the_same_without_a_warning():
    assert Airframe.model_validate(AIRFRAME.model_dump(mode="json")) == AIRFRAME


def test_the_text_is_short_and_has_lists_on_one_line():
    text = dumps(AIRFRAME)
    assert "inertia = [0.01, 0.01, 0.015, 0.0, 0.0, 0.0]\n" in text
    assert "CN = [[-1.0, 1e-09], [1.0, 2.0]]\n" in text
    assert "[pose]\n" in text
    assert "reduced_rate_limit" not in text
    assert "CY" not in text


def test_a_file_is_kept_unless_asked(tmp_path):
    file = tmp_path / "my.toml"
    save(AIRFRAME, file)
    assert load(file) == AIRFRAME
    other = AIRFRAME.model_copy(update={"name": "other"})
    with pytest.raises(
        AirframeError, match=r"my.toml: exists already; give another name, or allow overwriting"
    ):
        save(other, file)
    assert load(file) == AIRFRAME
    save(other, str(file), overwrite=True)
    assert load(file).name == "other"
    assert [entry.name for entry in tmp_path.iterdir()] == ["my.toml"]
    assert stat.S_IMODE(file.stat().st_mode) & 0o600 == 0o600


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(AirframeError, match="is a directory"):
        save(AIRFRAME, tmp_path)
    with pytest.raises(AirframeError, match="cannot be written"):
        save(AIRFRAME, tmp_path / "missing" / "my.toml")
