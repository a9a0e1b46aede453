"""Hong et al. 2021: what the paper prints, corrected, and our dynamics, all against Pinocchio.

For every row the test says whether the equation as printed is wrong, and in which reading (in words: the row's note).
"""

import ast
import sys
from pathlib import Path

import pytest

pytest.importorskip("pinocchio")

from haltere.foundation import HaltereError
from haltere.papers.hong import pinocchio, tables

RUNS, SEED = 10, 0
BOUND = 1e-9

WRONG = {
    "eq. (28)",  # ad of the child's twist in place of the parent's
    "eqs. (29), (30)",  # ad_V^T G S with the squared rate, as the text has it
    "eq. (42), negative speed",  # rate squared in place of rate times its magnitude
    "eq. (42), n along the thrust",  # epsilon is the sense about n, n the thrust direction
    "eq. (48)",  # wind not turned into the vehicle's axes
    "eq. (50), flow from behind",  # arctangent of the quotient
    "eq. (52)",  # +C_A with a coefficient that is positive aft
    "eq. (53)",  # both rotations the other way round
    "eq. (65), two blades",  # clockwise rotors turned counterclockwise
    "eq. (66), two blades",  # coupling of an axisymmetric rotor
    "eqs. (69)-(74), two blades",  # slips mended, rotors not axisymmetric
    "eqs. (73), (74), I_bx not I_by",  # slips mended, body not symmetric
    "eq. (73), row 4",  # v_z' in place of v_x'
    "eq. (74), row 6",  # w_z in place of w_x
    "eq. (77), two blades",  # coupling of an axisymmetric rotor
    "eq. (78), two blades",  # that, and no terms of the tilt rate
    "Section 4.3, V_b = V_alpha",  # wings with the body's twist
    "Algorithm 1, loop not solved",  # body acceleration zero in lines 3, 10 and 15
    "4.1 standard quadrotor, (69)-(74)",  # row 6 of (74)
    "4.2 tilting rotors, (78)",  # no terms of the tilt rate
    "4.3 two fixed wings, (79), (80)",  # wings with the body's twist
    "4.4 four tilting wings, (78)",  # no terms of the tilt rate
}
RIGHT = {
    "eq. (26)",
    "eqs. (27), (39)",
    "eq. (33)",
    "eqs. (58)-(60)",  # with (29) corrected
    "eq. (61)",  # K-bar = K
    "eq. (62)",  # massless rotors
    "eq. (70)",
    "eq. (71)",
    "eq. (72)",
    "eq. (77), axisymmetric rotors",
}


@pytest.fixture(scope="module")
def result():
    return tables.reproduce(runs=RUNS, seed=SEED).to_dict()


@pytest.fixture(scope="module")
def rows(result):
    return {row["quantity"]: row for table in result["tables"] for row in table["rows"]}


def test_every_row_is_judged_here(rows):
    assert set(rows) == WRONG | RIGHT


@pytest.mark.parametrize("quantity", sorted(WRONG | RIGHT))
def test_ours_and_the_corrected_form_agree_with_pinocchio(rows, quantity):
    assert rows[quantity]["bound"] == BOUND
    assert rows[quantity]["ours"] < BOUND
    assert rows[quantity]["corrected"] < BOUND


@pytest.mark.parametrize("quantity", sorted(WRONG))
def test_what_is_wrong_as_printed_is_seen_to_be_wrong(rows, quantity):
    assert rows[quantity]["paper"] > 1e-3


@pytest.mark.parametrize("quantity", sorted(RIGHT))
def test_what_only_looks_wrong_is_right(rows, quantity):
    assert rows[quantity]["paper"] < BOUND


def test_each_row_says_its_reading_in_one_line(rows):
    for row in rows.values():
        assert row["note"]
        assert "\n" not in row["note"]


def test_same_seed_same_tables_and_another_seed_another(result):
    said = []
    assert tables.reproduce(runs=RUNS, seed=SEED, progress=said.append).to_dict() == result
    assert said
    other = tables.reproduce(runs=RUNS, seed=SEED + 1).to_dict()
    assert other["tables"][0]["rows"][0]["paper"] != result["tables"][0]["rows"][0]["paper"]


def test_no_runs_is_refused():
    with pytest.raises(HaltereError, match="expected one or more"):
        tables.reproduce(runs=0, seed=0)


def test_without_pinocchio_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(HaltereError, match=r"pip install haltere\[oracles\]"):
        pinocchio.import_pinocchio()


@pytest.mark.parametrize(
    "module",
    ["screws", "vehicle", "equations", "compact", "pinocchio"],
)
def test_paper_and_peer_share_nothing_with_what_they_are_compared_with(module):
    source = Path(tables.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    imported = [
        name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    ]
    forbidden = ("haltere.dynamics", "haltere.lie", "jax")
    assert not [name for name in imported if name.startswith(forbidden)]
