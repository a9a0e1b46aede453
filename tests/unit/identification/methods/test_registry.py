"""A method is one module and one line of the registry; only a log that does not suit it lets the next method try."""

import sys
from types import ModuleType

import pytest
from tests.unit.identification.made_flight import made

from haltere.flight.window import IdentifyError
from haltere.foundation.errors import HaltereError, PrecisionError
from haltere.identification.methods import registry
from haltere.identification.methods.base import Method, MethodResult
from haltere.identification.parameters import Parameter
from haltere.identification.pipeline import identify


def guess(_):
    return MethodResult(parameters=[Parameter.measured("mass", 1.0, 0.01, "kg")])


def refuse(_):
    raise IdentifyError("the moon is not full")


def add(monkeypatch, method):
    """Write a module with a method, and its line in front of the registry."""
    module = ModuleType("made_up_method")
    module.GUESS = method
    monkeypatch.setitem(sys.modules, "made_up_method", module)
    monkeypatch.setattr(registry, "METHODS", {method.name: "made_up_method:GUESS", **registry.METHODS})
    registry._load.cache_clear()


def test_a_method_is_one_module_and_one_line(monkeypatch):
    add(monkeypatch, Method("guess", "the guess", lambda given: "", guess))
    assert "guess" in registry.method_names()
    for name in ("guess", "auto"):
        result = identify(made(0), method=name)
        assert (result.method, result.parameters["mass"].value) == ("guess", 1.0)


def test_what_a_log_lacks_is_said(monkeypatch):
    add(monkeypatch, Method("guess", "the guess", lambda given: "no moon in this log; log the moon", guess))
    with pytest.raises(IdentifyError, match="log the moon"):
        identify(made(0), method="guess")
    assert identify(made(0)).method == "effectiveness"


def test_a_log_that_does_not_suit_goes_to_the_next_method_with_a_note(monkeypatch):
    add(monkeypatch, Method("guess", "the guess", lambda given: "", refuse, gives_way=True))
    result = identify(made(0))
    assert result.method == "effectiveness"
    assert "the guess could not be used: the moon is not full" in result.notes
    with pytest.raises(IdentifyError, match="moon is not full"):
        identify(made(0), method="guess")


@pytest.mark.parametrize("error", [PrecisionError("32 bits"), HaltereError("mend it"), TypeError("a bug")])
def test_no_other_error_is_swallowed(monkeypatch, error):
    def fail(_):
        raise error

    add(monkeypatch, Method("guess", "the guess", lambda given: "", fail, gives_way=True))
    with pytest.raises(type(error), match=str(error)):
        identify(made(0))
