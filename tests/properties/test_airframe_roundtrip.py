"""A random airframe, written and read back, is equal."""

import math

from hypothesis import given
from hypothesis import strategies as st

from haltere.airframe import (
    Airframe,
    Body,
    Coefficients,
    Curve,
    Drag,
    Imu,
    Inflow,
    Joint,
    Link,
    PoseSensor,
    PositionSensor,
    Rotor,
    Wing,
    WingFrame,
    dumps,
    loads,
)

numbers = st.floats(-1e6, 1e6)
amounts = st.floats(0, 1e6)
positives = st.floats(1e-9, 1e6)
vectors = st.tuples(numbers, numbers, numbers)
loads_ = st.tuples(amounts, amounts, amounts)
axes = vectors.filter(lambda v: max(map(abs, v)) > 1e-6)
intervals = st.lists(amounts, min_size=2, max_size=2, unique=True).map(sorted)
names = st.text("abcdefgXYZ_-019", min_size=1, max_size=8)


def maybe(strategy):
    return st.none() | strategy


@st.composite
def rotations(draw):
    q = draw(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: math.hypot(*q) > 0.1))
    return tuple(x / math.hypot(*q) for x in q)


@st.composite
def inertias(draw):
    """Of a few points of mass, so that it is one a body can have, with some bulk so that it is of full rank."""
    bulk = draw(st.floats(1e-3, 1.0))
    xx = yy = zz = bulk
    xy = xz = yz = 0.0
    for x, y, z in draw(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), max_size=3)):
        xx, yy, zz = xx + y * y + z * z, yy + x * x + z * z, zz + x * x + y * y
        xy, xz, yz = xy - x * y, xz - x * z, yz - y * z
    return xx, yy, zz, xy, xz, yz


@st.composite
def coefficients(draw):
    kind = draw(st.sampled_from(["body", "wind"]))
    alpha = draw(maybe(st.lists(st.floats(-3.1, 3.1), min_size=2, max_size=4, unique=True).map(sorted)))
    beta = alpha and draw(
        maybe(st.lists(st.floats(-1.5, 1.5), min_size=2, max_size=3, unique=True).map(sorted))
    )
    shapes = [numbers]
    if alpha:
        shapes.append(st.tuples(*[numbers] * len(alpha)))
    if beta:
        shapes.append(st.tuples(*[st.tuples(*[numbers] * len(beta))] * len(alpha)))
    forces = ("CA", "CY", "CN") if kind == "body" else ("CD", "CC", "CL")
    values = draw(st.dictionaries(st.sampled_from([*forces, "Cl", "Cm", "Cn"]), st.one_of(shapes)))
    return Coefficients(kind=kind, alpha=alpha, beta=beta, **values)


frames = st.builds(WingFrame, position=vectors, wxyz=rotations())
wings = st.builds(
    Wing,
    area=positives,
    span=positives,
    chord=positives,
    frame=frames,
    coefficients=coefficients(),
    reduced_rate_limit=positives,
)
drags = st.builds(Drag, position=vectors, linear=loads_, quadratic=loads_, angular=loads_)
bodies = st.builds(
    Body, mass=positives, com=vectors, inertia=inertias(), wing=maybe(wings), drag=maybe(drags)
)
joints = st.builds(Joint, origin=vectors, axis=axes, limits=maybe(intervals), fixed=st.booleans())
inflows = st.builds(Inflow, axial=amounts, hub=amounts, moment=numbers)
curves = st.builds(Curve, kind=st.sampled_from(["kappa", "quadratic"]), value=st.floats(0, 1))


def links(name, parents):
    return st.builds(
        Link,
        name=st.just(name),
        parent=st.sampled_from(parents),
        joint=joints,
        mass=positives,
        com=vectors,
        inertia=inertias() | st.just((0,) * 6),
        wing=maybe(wings),
        drag=maybe(drags),
    )


def rotors(name, carriers):
    return st.builds(
        Rotor,
        name=st.just(name),
        link=st.sampled_from(carriers),
        position=vectors,
        axis=axes,
        spin=st.sampled_from(["ccw", "cw"]),
        thrust_coefficient=amounts,
        torque_ratio=amounts,
        time_constant=maybe(positives),
        speed_limits=maybe(intervals),
        mass=positives,
        com=vectors,
        inertia=inertias(),
        curve=maybe(curves),
        delay=maybe(amounts),
        inflow=maybe(inflows),
    )


def sensors(kind, name, carriers):
    common = {
        "name": st.just(name),
        "link": st.sampled_from(carriers),
        "position": vectors,
        "rate": maybe(positives),
    }
    if kind is Imu:
        noise = ("sigma_accel", "sigma_gyro_density", "sigma_accel_walk", "sigma_gyro_walk")
        common |= {"wxyz": rotations(), "gyro_range": maybe(positives)} | dict.fromkeys(noise, maybe(amounts))
    elif kind is PoseSensor:
        common |= {"wxyz": rotations(), "sigma_position": maybe(amounts), "sigma_rotation": maybe(amounts)}
    return st.builds(kind, **common)


@st.composite
def airframes(draw):
    words = draw(st.lists(names.filter(lambda name: name != "body"), max_size=4, unique=True))
    split = draw(st.integers(0, len(words)))
    carriers = ["body", *words[:split]]
    tree = [draw(links(name, carriers[: i + 1])) for i, name in enumerate(carriers[1:])]
    kinds = draw(st.lists(st.sampled_from([Imu, PoseSensor, PositionSensor]), max_size=3))
    found = [draw(sensors(kind, f"s{i}", carriers)) for i, kind in enumerate(kinds)]
    return Airframe(
        name=draw(names),
        description=draw(st.text(st.characters(codec="utf-8"), max_size=20)),
        body=draw(bodies),
        links=draw(st.permutations(tree)),
        rotors=[draw(rotors(name, carriers)) for name in words[split:]],
        imu=[sensor for sensor in found if isinstance(sensor, Imu)],
        pose=[sensor for sensor in found if isinstance(sensor, PoseSensor)],
        position=[sensor for sensor in found if isinstance(sensor, PositionSensor)],
    )


@given(airframes())
def test_written_and_read_back_it_is_equal(airframe):
    assert loads(dumps(airframe)) == airframe
