"""A description by others, of whatever kind it is."""

from pathlib import Path

from haltere.airframe.airframe import Airframe
from haltere.airframe.errors import AirframeError
from haltere.airframe.foreign import xml
from haltere.airframe.foreign.mjcf import read_mjcf
from haltere.airframe.foreign.options import ImportOptions
from haltere.airframe.foreign.px4 import read_px4
from haltere.airframe.foreign.sdf import read_sdf
from haltere.airframe.foreign.urdf import read_urdf


def read_foreign(path: Path, options: ImportOptions | None = None) -> tuple[Airframe, list[str]]:
    """The airframe of a URDF, SDF, MJCF or PX4 parameter file, and sentences on what was assumed.

    Raises:
        AirframeError: the file is none of these, is broken, or leaves out what has to be given.
    """
    numbers, notes = options or ImportOptions(), []  # type: ignore[var-annotated]
    try:
        head = path.read_bytes()[: xml.LARGEST]
    except OSError as error:
        raise AirframeError(
            f"{path}: cannot be read ({error.strerror}); give a URDF, SDF, MJCF or PX4 file"
        ) from None
    if b"<" not in head[:2000]:
        return read_px4(path, head.decode("utf-8", errors="replace"), numbers, notes), notes
    root = xml.root_of(path)
    readers = {"robot": read_urdf, "sdf": read_sdf, "model": read_sdf, "mujoco": read_mjcf}
    if root.tag not in readers:
        raise AirframeError(
            f"{path}: its outermost element is <{root.tag}>; <robot> (URDF), <sdf> or <mujoco> is expected"
        )
    return readers[root.tag](path, root, numbers, notes), notes
