"""The identification methods by name, and which of them suits a log."""

from functools import cache
from importlib import import_module

from haltere.flight.window import IdentifyError
from haltere.identification.methods.base import IdentifiedModel, Method, MethodInput

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
        IdentifyError: the log lacks what the method or the model that was asked for needs.
    """
    if name != AUTO:
        method = _load(METHODS[name])
        if data.model not in method.models:
            raise IdentifyError(
                f"--method {name} has no --model {data.model}; use --method {' or '.join(_with_model(data.model))}"
            )
        if lacking := method.needs(data):
            raise IdentifyError(lacking)
        return [method]
    chosen: list[Method] = []
    for reference in METHODS.values():
        method = _load(reference)
        if data.model in method.models and not method.needs(data) and method.suits(data):
            chosen.append(method)
            if not method.gives_way:
                break
    if not chosen and (others := _with_model(data.model)):
        lacking = _load(METHODS[others[0]]).needs(data)
        raise IdentifyError(lacking or f"no method with --model {data.model} suits this log; leave it out")
    return chosen


def _with_model(model: IdentifiedModel) -> list[str]:
    """Names of the methods that identify this."""
    return [name for name, reference in METHODS.items() if model in _load(reference).models]
