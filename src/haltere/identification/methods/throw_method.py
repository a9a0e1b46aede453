"""The method for a recorded throw; what it takes to run is imported only when it runs."""

from haltere.identification.methods.base import IMU_ROTATED, Method, MethodInput, MethodResult
from haltere.identification.methods.throw.signals import find_throw


def _needs(data: MethodInput) -> str:
    if data.window.rotor_speeds is None or find_throw(data.flight) is None:
        return "the log holds no throw: no free fall before the motors start; use --method auto"
    return ""


def _run(data: MethodInput) -> MethodResult:
    from haltere.identification.methods.airframe import with_airframe  # noqa: PLC0415 - few logs are throws
    from haltere.identification.methods.throw.method import identify_throw  # noqa: PLC0415

    throw_span = find_throw(data.flight)
    assert throw_span is not None
    rotated = IMU_ROTATED in data.diagnosis.kinds()
    result = identify_throw(data.flight, data.window, throw_span, data.airframe, data.known, rotated)
    return with_airframe(result, data)


THROW = Method("throw", "the throw", _needs, _run)
