"""The manoeuvre to fly: its table, scenario and files, and clear errors."""

import jax
import numpy as np
import pytest

from haltere.airframe import from_catalogue, load
from haltere.observability import ObservabilityError
from haltere.observability.manoeuvres.manoeuvre import design
from haltere.simulation.scenario import Scenario, load_scenario
from haltere.trajectory import TrajectoryError


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), "no parameter to design for"),
        (("inertia.zzz",), "inertia.zz"),
        (("rotors.front.position.z",), "cannot be seen"),
        (("distance.front.left",), "no parameter to identify"),
    ],
)
def test_nonsense_is_one_line(names, said):
    with pytest.raises(ObservabilityError, match=said) as error:
        design("hummingbird", names)
    assert "\n" not in str(error.value)


def test_wings_are_refused():
    with pytest.raises(ObservabilityError, match="wings"):
        design("hong-fixed-wing", ("mass",))


def test_a_vehicle_that_cannot_hover_is_told_so():
    weak = from_catalogue("hummingbird")
    rotors = tuple(r.model_copy(update={"thrust_coefficient": 1e-7}) for r in weak.rotors)
    with pytest.raises(TrajectoryError, match="hummingbird") as error:
        design(weak.model_copy(update={"rotors": rotors}), ("inertia.zz",))
    assert "\n" not in str(error.value)


def test_a_plan_is_a_table_a_scenario_and_files(tmp_path):
    airframe = from_catalogue("hummingbird")
    with jax.enable_x64(False):
        found = design(airframe, ("inertia.zz",), duration=10.0, iterations=0)
        table = found.table()
    assert table.shape == (501, 13)
    assert table.dtype == np.float64
    np.testing.assert_allclose(table[65, 1:5], np.asarray(found.trajectory.derivatives(1.3))[0])
    assert found.to_dict()["predicted_sigma"]["inertia.zz"]["sigma"] == found.sigma["inertia.zz"]
    assert found.to_dict()["sensors"] == ["position", "pose", "imu"]
    assert "inertia.zz" in repr(found)
    assert "<table>" in found._repr_html_()
    assert Scenario.model_validate(found.scenario() | {"airframe": "hummingbird"}).duration == 10.0
    files = found.save(tmp_path / "yaw")
    assert [file.name for file in files] == ["yaw.csv", "yaw-airframe.toml", "yaw.toml"]
    assert load(files[1]) == airframe
    assert load_scenario(files[2])[0].airframe == str(files[1])
    with pytest.raises(ObservabilityError, match="exists already"):
        found.save(tmp_path / "yaw")
