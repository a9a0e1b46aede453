"""The identification methods by name, and which of them suits a log."""

from functools import cache
from importlib import import_module

from haltere.flight.window import IdentifyError
from haltere.identification.methods.base import Method, MethodInput

#: Module and object of every method, in the order in which `auto` asks them. To add one: write its module and add a
#: line here.
METHODS: dict[str, str] = {
    "throw": "haltere.identification.methods.throw_method:THROW",
    "batch": "haltere.identification.methods.vehicle_method:BATCH",
    "filter": "haltere.identification.methods.vehicle_method:FILTER",
    "effectiveness": "haltere.identification.methods.effectiveness:EFFECTIVENESS",
    "command": "haltere.identification.methods.command:COMMAND",
}
AUTO = "auto"


def method_names() -> tuple[str, ...]:
    """The names that `identify(method=...)` takes."""
    return (AUTO, *METHODS)


@cache
def _load(reference: str) -> Method:
    module, _, name = reference.partition(":")
    method: Method = getattr(import_module(module), name)
    return method


def choose_methods(name: str, data: MethodInput) -> list[Method]:
    """The methods to try: the one that was asked for, or for `auto` those that suit the log, best first.

    Raises:
        IdentifyError: the log lacks what the method that was asked for needs.
    """
    if name != AUTO:
        method = _load(METHODS[name])
        if lacking := method.needs(data):
            raise IdentifyError(lacking)
        return [method]
    chosen: list[Method] = []
    for reference in METHODS.values():
        method = _load(reference)
        if not method.needs(data) and method.suits(data):
            chosen.append(method)
            if not method.gives_way:
                break
    return chosen
