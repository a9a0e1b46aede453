"""The dynamics at one state, from Python."""

import jax
import pytest

from haltere.dynamics.evaluation import evaluate_state
from haltere.foundation import HaltereError


def test_a_mapping_and_a_file_give_the_same_and_print(tmp_path):
    file = tmp_path / "state.json"
    file.write_text('{"rotors": {"front": {"rate": 500.0}}}', encoding="utf-8")
    with jax.enable_x64(False):
        found = evaluate_state("hummingbird", {"rotors": {"front": {"rate": 500.0}}})
    assert found.to_dict() == evaluate_state("hummingbird", file).to_dict()
    with file.open(encoding="utf-8") as stream:
        assert evaluate_state("hummingbird", stream).linear_acceleration == found.linear_acceleration
    assert found.linear_acceleration[2] == pytest.approx(8.54858e-6 * 500.0**2 / 0.716 - 9.81)
    assert repr(found).startswith("Body, in body axes")
    assert "front" in found._repr_html_()


def test_a_state_that_does_not_fit_is_one_line():
    with pytest.raises(HaltereError, match="frnt") as error:
        evaluate_state("hummingbird", {"rotors": {"frnt": {"rate": 500.0}}})
    assert "\n" not in str(error.value)
