"""The numbers of this code are those that were recorded.

Estimates agree within 1e-3 of their sigma and sigmas within 0.1 %; single numbers within 1e-9 of the largest of their
case. `python -m tests.golden.record` renews them.
"""

import json

import pytest
from tests.golden.cases import DATA, SECTIONS
from tests.golden.record import FOLDER


def differences(got, expected):
    """Names whose numbers differ, or that only one of the two has, with both."""
    scale = max((abs(x) for x in expected.values() if isinstance(x, float)), default=0.0)
    found = {name: (got.get(name), expected.get(name)) for name in got.keys() ^ expected.keys()}
    for name in got.keys() & expected.keys():
        a, b = got[name], expected[name]
        if isinstance(b, float):
            if abs(a - b) > 1e-9 * scale:
                found[name] = (a, b)
        elif a[1] is None or b[1] is None:
            if a[1] != b[1] or abs(a[0] - b[0]) > 1e-9 * abs(b[0]):
                found[name] = (a, b)
        elif abs(a[0] - b[0]) > 1e-3 * b[1] + 1e-12 * abs(b[0]) or abs(a[1] - b[1]) > 1e-3 * b[1]:
            found[name] = (a, b)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_numbers_are_those_recorded(section):
    if section == "recorded" and not DATA.is_dir():
        pytest.skip(f"{DATA} is not here; it would check that recorded logs give the same numbers")
    expected = json.loads((FOLDER / f"{section}.json").read_text(encoding="utf-8"))
    found = {}
    for case, got in SECTIONS[section]():
        wrong = differences(json.loads(json.dumps(got)), expected.pop(case, {}))
        if wrong:
            found[case] = dict(list(wrong.items())[:5])
    assert found == {}
    assert expected == {}


@pytest.mark.parametrize(
    ("got", "expected", "count"),
    [
        ({"a": [1.0, 0.1]}, {"a": [1.00009, 0.1]}, 0),
        ({"a": [1.0, 0.1]}, {"a": [1.00011, 0.1]}, 1),
        ({"a": [1.0, 0.1]}, {"a": [1.0, 0.1002]}, 1),
        ({"a": 1.0, "b": 1e-12}, {"a": 1.0, "b": 0.0}, 0),
        ({"a": 1.0}, {"a": 1.0 + 1e-8}, 1),
        ({"a": 1.0}, {}, 1),
    ],
)
def test_differences_are_seen(got, expected, count):
    assert len(differences(got, expected)) == count
