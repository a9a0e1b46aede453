"""The links of an airframe form a tree, whatever the order of the file."""

import pytest

from haltere.airframe import Airframe, AirframeError, Body, Joint, Link, Rotor

BODY = Body(mass=1, inertia=(1, 1, 1, 0, 0, 0))


def vehicle(**parents: str) -> Airframe:
    links = tuple(
        Link(name=name, parent=parent, joint=Joint(axis=(0, 0, 1)), mass=0.1)
        for name, parent in parents.items()
    )
    return Airframe(name="tree", body=BODY, links=links)


def order(airframe: Airframe) -> list[str]:
    return [airframe.links[i].name for i in airframe.link_order()]


def test_parents_come_first_and_branches_stay_together():
    assert order(vehicle(c="b", b="a", a="body", e="d", d="body")) == ["a", "b", "c", "d", "e"]
    assert order(vehicle(a="body", b="body", a1="a", b1="b", a2="a")) == ["a", "a1", "a2", "b", "b1"]
    assert order(vehicle()) == []


def test_long_chains_and_long_circles():
    names = [f"l{i}" for i in range(300)]
    chain = dict(zip(names, ["body", *names[:-1]], strict=True))
    assert order(vehicle(**dict(reversed(chain.items())))) == names
    with pytest.raises(AirframeError, match=r"links\[0\] 'l0': parent: the parents l0 -> l299 -> "):
        vehicle(**{**chain, "l0": "l299"})


def test_links_and_rotors_by_name():
    rotor = Rotor(
        name="r", position=(0, 0, 0), axis=(0, 0, 1), spin="cw", thrust_coefficient=1e-5, torque_ratio=0
    )
    airframe = Airframe(name="x", body=BODY, rotors=(rotor,), links=vehicle(front="body").links)
    assert airframe.rotor("r") is airframe.rotors[0]
    assert airframe.link("front") is airframe.links[0]
    assert airframe.total_mass == pytest.approx(1.1)
    with pytest.raises(
        AirframeError, match=r"^airframe 'x': no link is called 'frnt'; did you mean 'front'\?"
    ):
        airframe.link("frnt")
    with pytest.raises(AirframeError, match=r"no rotor is called 'q'; known are r"):
        airframe.rotor("q")


def test_flat_and_point_like_parts_are_possible():
    assert Body(mass=1, inertia=(1e-3, 1e-3, 2e-3, 0, 0, 0)).inertia[2] == 2e-3
    assert Body(mass=1, inertia=(0.1, 0.2, 0.3, 0, 0, 0)).mass == 1
    rod = Link(name="rod", joint=Joint(fixed=True), mass=0.1, inertia=(0, 1e-3, 1e-3, 0, 0, 0))
    assert rod.inertia[0] == 0
    assert Link(name="point", joint=Joint(fixed=True), mass=0.1).inertia == (0,) * 6
    with pytest.raises(AirframeError, match="three moments above zero"):
        Body(mass=1, inertia=(0, 1e-3, 1e-3, 0, 0, 0))
