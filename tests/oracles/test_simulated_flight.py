"""An open-loop flight of the simulator against MuJoCo, which gets the same rotor forces through its own actuators."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from haltere.airframe import from_catalogue
from haltere.dynamics import State
from haltere.simulation import Command, Timing, Vehicle, fly

SPEEDS = np.array([430.0, 470.0, 455.0, 460.0])
TWIST = np.array([0.5, -0.3, 0.2, 1.5, -2.0, 1.0])


def mujoco_flight(seconds: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Position and attitude after `seconds`; every rotor is an actuator that pushes along its own site."""
    airframe = from_catalogue("hummingbird")
    body = airframe.body
    xx, yy, zz, xy, xz, yz = body.inertia
    sites, actuators = "", ""
    for rotor in airframe.rotors:
        place = " ".join(str(x) for x in rotor.position)
        sites += f'<site name="{rotor.name}" pos="{place}"/>'
        drag = -rotor.thrust_coefficient * rotor.torque_ratio * (1.0 if rotor.spin == "ccw" else -1.0)
        gear = f"0 0 {rotor.thrust_coefficient} 0 0 {drag}"
        actuators += f'<general site="{rotor.name}" gear="{gear}"/>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" integrator="RK4" gravity="0 0 -9.81" density="0" viscosity="0"/>'
        f'<worldbody><body pos="0 0 5"><freejoint/><inertial pos="{" ".join(map(str, body.com))}" mass="{body.mass}" '
        f'fullinertia="{xx} {yy} {zz} {xy} {xz} {yz}"/>{sites}</body></worldbody>'
        f"<actuator>{actuators}</actuator></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[:] = TWIST
    data.ctrl[:] = SPEEDS**2
    for _ in range(round(seconds / step)):
        mujoco.mj_step(model, data)
    return data.qpos[:3].copy(), data.qpos[3:7].copy()


def test_one_second_of_tumbling() -> None:
    vehicle = Vehicle.from_airframe(from_catalogue("hummingbird"))
    start = replace(
        State.rest(vehicle.model),
        position=jnp.asarray([0.0, 0.0, 5.0]),
        twist=jnp.asarray(TWIST),
        rotor_rates=jnp.asarray(SPEEDS),
    )
    command = Command(vehicle.motors.command(jnp.asarray(SPEEDS)), jnp.zeros(0))
    timing = Timing(1.001, 1000.0, 1000.0)
    trace = jax.jit(lambda s: fly(vehicle, s, lambda c, _t, _s: (c, command), None, timing))(start)
    assert float(trace.time[-1]) == 1.0
    position, wxyz = mujoco_flight(1.0, 1e-3)
    np.testing.assert_allclose(trace.state.position[-1], position, atol=1e-6)
    np.testing.assert_allclose(np.abs(np.asarray(trace.state.wxyz[-1]) @ wxyz), 1.0, atol=1e-12)
    assert np.linalg.norm(position - [0.0, 0.0, 5.0]) > 0.5, "nothing moved"
