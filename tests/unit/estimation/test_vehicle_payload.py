"""A payload in the vehicle filter's prior: against the airframe file with the payload in it, and draws."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.airframe.inertia import tensor
from haltere.estimation import VehicleFilter
from haltere.estimation.consistency import mean_band
from haltere.estimation.payload_fusion import payload_in_body
from haltere.estimation.payload_model import ArmBelief
from haltere.estimation.vehicle_description import describe_vehicle
from haltere.estimation.vehicle_payload import with_payload
from haltere.lie import so3

HUMMINGBIRD = from_catalogue("hummingbird")
PAYLOAD = np.asarray([0.12, 0.08, 0.02, -0.06, 1e-5])
COV = np.diag(np.square([0.004, 0.002, 0.002, 0.002, 1e-6]))


def carrying(airframe, payload):
    """The airframe whose body has the payload in it, by the parallel-axis rule about the body's origin."""
    body, mass, place = airframe.body, payload[0], payload[1:4]

    def about(m, r):
        return m * (r @ r * np.eye(3) - np.outer(r, r))

    com = np.asarray(body.com)
    total = body.mass + mass
    centre = (body.mass * com + mass * place) / total
    J = tensor(body.inertia) + about(body.mass, com) + payload[4] * np.eye(3) + about(mass, place)
    J = J - about(total, centre)
    six = tuple(float(J[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    new = body.model_copy(update={"mass": total, "com": tuple(map(float, centre)), "inertia": six})
    return airframe.model_copy(update={"body": new})


def in_chart(chart, found):
    """Printed numbers of a description in another chart of the same rotors."""
    axes = found.chart.thrust_axes(found.printed["rotor_tilt"])
    base = jax.vmap(lambda n, m: __import__("haltere.lie.s2", fromlist=["s2"]).box_minus(m, n))
    return {**found.printed, "rotor_tilt": base(jnp.asarray(chart.axis), axes)}


def test_the_prior_is_that_of_an_airframe_with_the_payload_in_it():
    empty = VehicleFilter.from_airframe(HUMMINGBIRD)
    ours, theirs = with_payload(empty, PAYLOAD, COV), describe_vehicle(carrying(HUMMINGBIRD, PAYLOAD))
    expected = in_chart(ours.chart, theirs)
    away = ours.chart.printed.minus(ours.description.printed, expected)
    assert np.max(np.abs(np.asarray(away))) < 1e-9
    assert np.allclose(ours.description.com, theirs.com, atol=1e-12)
    assert np.allclose(ours.description.R_BM, theirs.R_BM, atol=1e-9)
