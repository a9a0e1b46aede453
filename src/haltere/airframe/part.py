"""What all parts of an airframe have in common: they never change, and know no fields but their own."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from haltere.airframe.errors import AirframeError, describe


class Part(BaseModel):
    """An immutable piece of an airframe; wrong values raise an `AirframeError` of one line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise AirframeError(describe(error, type(self).__name__, type(self), data)) from None

    # Without this mark pydantic would call the constructor above for parts inside parts too, and a fault
    # would lose its place in the whole.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]
