"""Tables of a reproduced paper: cells as text, units that are shown in others, nothing where there is no number."""

from haltere.papers.tables import numbers


def test_cells_are_scaled_with_their_unit():
    rows = [
        {"quantity": "reach", "unit": "m", "paper": None, "ours": 0.1789, "bound": 0.2},
        {"quantity": "share", "unit": "1", "paper": 0.5, "ours": None, "bound": None},
    ]
    table = numbers({"tables": [{"name": "Arm", "rows": rows}]}, {"m": (1e3, "mm")}).items[0]
    assert table.title == "Arm"
    assert table.rows == [["reach", "mm", "", "179", "200"], ["share", "1", "0.5", "", ""]]
