"""What the demonstration's page says: sections, figures and one sentence for each, from the evidence of one flight."""

import numpy as np
import plotly.graph_objects as go

from haltere.dynamics.inertia import PARAMETER_NAMES
from haltere.report import charts, theme
from haltere.report.evidence import ALONE, COMBINED, Evidence
from haltere.report.manoeuvre import WORKS, sources
from haltere.report.page import Fact, Page, Picture, Section, Table
from haltere.report.power import power_chart, streams
from haltere.report.scene import path_figure, vehicle_figure
from haltere.report.vehicle import draw

SHOWN_AT = (0.0, 0.6, 1.0, 1.3, 1.6)
"""Instants of the picture along the path, s."""
XYZ = ("x", "y", "z")


def page(evidence: Evidence) -> Page:
    """The whole page."""
    e = evidence
    throw = np.linalg.norm(np.asarray(e.flight.moments.state.twist)[0, :3])
    pull = np.linalg.norm(e.acceleration, axis=1).max()
    return Page(
        title="A tilt-wing, thrown and left to itself",
        text=(
            f"The vehicle “{e.airframe.name}” of the catalogue leaves the hand at {throw:.1f} m/s, turns its "
            "four wings forward, and nobody steers. Every curve below comes from one model: the exact dynamics "
            "of all its bodies, spinning rotors included."
        ),
        facts=(
            Fact(f"{e.mass_before.mass:.2f}", "kg", "mass"),
            Fact(str(len(e.bodies)), "", "rigid bodies"),
            Fact(f"{e.times[-1]:.1f}", "s", "flight"),
            Fact(f"{pull:.1f}", "m/s²", "largest acceleration"),
            Fact(
                power_of_ten(np.abs(np.asarray(e.flight.energy_error)).max()), "J", "energy unaccounted for"
            ),
            Fact(f"{e.base.rank} of {len(e.base.names)}", "", "rank of the regressor"),
        ),
        sections=(_vehicle(e), _flight(e), _forces(e), _power(e), _books(e), _knowledge(e)),
    )


def power_of_ten(value: float) -> str:
    """A number as 4×10⁻¹⁰."""
    if value == 0.0:
        return "0"
    exponent = int(np.floor(np.log10(abs(value))))
    digits = f"{value / 10.0**exponent:.0f}"
    if digits == "10":
        digits, exponent = "1", exponent + 1
    return f"{digits}×10{str(exponent).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _tilting(e: Evidence, figure: go.Figure) -> go.Figure:
    return charts.shade(figure, float(e.course.start), float(e.course.end))


def _vehicle(e: Evidence) -> Section:
    both = (e.mass_before, e.mass_after)
    rows = [("mass, kg", *(f"{m.mass:.3f}" for m in both))]
    rows += [
        (f"centre of mass {axis}, mm", *(_signed(1e3 * m.com[i], 2) for m in both))
        for i, axis in enumerate(XYZ)
    ]
    rows += [
        (f"inertia {XYZ[i]}{XYZ[j]}, g m²", *(_signed(1e3 * m.inertia[i, j], 2) for m in both))
        for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    ]
    return Section(
        "The vehicle",
        "A body, four wings that turn about their spans, and a rotor on each wing.",
        (
            Picture(
                "Ready to hover",
                vehicle_figure(e.airframe, np.asarray(e.course.first), height=500),
                "Blue rotors turn counter-clockwise, orange ones clockwise, seen against the thrust arrow; the "
                "black ball is the centre of mass. Wings have their true size, discs are drawn to fit. Drag to "
                "turn the picture.",
                wide=True,
                name="vehicle",
            ),
            Picture(
                "Wings turned",
                vehicle_figure(e.airframe, np.asarray(e.course.last), height=340),
                f"At the end of the manoeuvre the wings point {np.degrees(float(e.course.last.max())):.0f}° (left) and "
                f"{np.degrees(float(e.course.last.min())):.0f}° (right) forward.",
            ),
            Table(
                "Mass properties of the whole",
                ("", "wings up", "wings turned"),
                rows,
                "Turning the wings moves the rotors forward: the centre of mass follows, and the inertia (about "
                "the centre of mass, body axes) is no constant.",
            ),
        ),
    )


def _signed(value: float, digits: int) -> str:
    text = f"{round(value, digits) + 0.0:.{digits}f}"
    return text.replace("-", "−")


def _flight(e: Evidence) -> Section:
    state = e.flight.moments.state
    at = [e.sample(time) for time in SHOWN_AT]
    drawings = [
        draw(e.airframe, np.asarray(state.joint_angles)[i], np.asarray(state.rotor_rates)[i]) for i in at
    ]
    positions = np.asarray(state.position)
    end, turn = positions[-1], e.euler_deg[-1]
    return Section(
        "The flight",
        "The joints follow a smooth course, position and attitude of the body are free. Here and below, grey "
        "marks the time while the wings turn.",
        (
            Picture(
                "Along the path",
                path_figure(drawings, e.rotations[at], positions[at], positions, SHOWN_AT, height=420),
                f"In {e.times[-1]:.1f} s the vehicle goes {end[0]:.1f} m forward and {end[2]:.1f} m up; it rears "
                "up and banks.",
                wide=True,
                name="flight",
            ),
            Picture(
                "Position",
                _tilting(
                    e, charts.time_chart(e.times, dict(zip(XYZ, positions.T, strict=True)), "m", theme.AXES)
                ),
                "Once the thrust points forward the vehicle gathers speed along x; at the end it has drifted "
                f"{abs(end[1]):.1f} m aside.",
            ),
            Picture(
                "Attitude",
                _tilting(
                    e,
                    charts.time_chart(
                        e.times,
                        dict(zip(("roll", "pitch", "yaw"), e.euler_deg.T, strict=True)),
                        "deg",
                        theme.AXES,
                    ),
                ),
                f"Nothing holds the attitude: at the end it has rolled {_signed(turn[0], 0)}°, pitched "
                f"{_signed(turn[1], 0)}° (nose up is negative) and yawed {_signed(turn[2], 0)}°.",
            ),
        ),
    )


def _forces(e: Evidence) -> Section:
    motion, state = e.flight.moments.motion, e.flight.moments.state
    names = e.model.topology.joint_names
    turning = np.asarray(motion.acceleration)[:, 3:]
    torques = np.asarray(motion.joint_torques)
    i, j = np.unravel_index(np.argmax(np.abs(torques)), torques.shape)
    return Section(
        "Accelerations and torques",
        "The joint accelerations are prescribed, so the torques are the answer: what each hinge must hold.",
        (
            Picture(
                "Joint angles",
                _tilting(e, charts.time_chart(e.times, _named(names, np.degrees(state.joint_angles)), "deg")),
                "The prescribed course: at rest at both ends, with continuous acceleration.",
            ),
            Picture(
                "Joint torques",
                _tilting(e, charts.time_chart(e.times, _named(names, torques), "N m")),
                f"The hinges carry inertia, air load and gyroscopic moments; {names[j]} the most, "
                f"{abs(torques[i, j]):.2f} N m at {e.times[i]:.2f} s.",
            ),
            Picture(
                "Acceleration of the body origin",
                _tilting(e, charts.time_chart(e.times, _named(XYZ, e.acceleration), "m/s²", theme.AXES)),
                "Against the world, in world axes: the thrust that held the weight turns forward, and the wings "
                "begin to lift.",
            ),
            Picture(
                "Angular acceleration",
                _tilting(e, charts.time_chart(e.times, _named(XYZ, turning), "rad/s²", theme.AXES)),
                "In body axes: the uneven wings roll and yaw the body while they turn; its pitch answers their "
                "start and stop.",
            ),
        ),
    )


def _named(names: tuple[str, ...], columns: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(names, np.asarray(columns).T, strict=True))


def _power(e: Evidence) -> Section:
    moments, topology = e.flight.moments, e.model.topology
    joint = np.asarray(moments.power.joint)
    busiest = int(np.argmax(np.abs(joint[:, : topology.links]).sum(axis=1)))
    instant = type(moments.power)(*(np.asarray(getattr(moments.power, n))[busiest] for n in _POWER_FIELDS))
    total = np.asarray(sources(e.model, moments.power))
    series = _named(WORKS, total) | {"kinetic energy": np.asarray(moments.power.kinetic_rate).sum(axis=1)}
    motors = joint[:, topology.links :].sum(axis=1).mean()
    servos = joint[:, list(topology.moving_links)]
    return Section(
        "Where power comes from and goes to",
        "Each joint passes power from one body to the next and its drive adds some; nothing is lost on the way.",
        (
            Picture(
                f"Streams of power at {e.times[busiest]:.2f} s",
                power_chart(streams(topology, instant), height=260),
                f"When the wings turn fastest, the rotor drives give {joint[busiest, topology.links :].sum():.0f} W; "
                "most of it goes into the air, the rest runs through the hinges into the body and lifts and speeds "
                "up the whole.",
                wide=True,
            ),
            Picture(
                "Power of the whole",
                _tilting(e, charts.time_chart(e.times, series, "W")),
                f"The rotor drives give {motors:.0f} W all the time; what the air and gravity do not take speeds "
                "the vehicle up.",
            ),
            Picture(
                "Power of the joint drives",
                _tilting(e, charts.time_chart(e.times, _named(topology.joint_names, servos), "W")),
                f"Turning the wings is cheap: no hinge takes more than {np.abs(servos).max():.2f} W, and none "
                "once they stand still.",
            ),
        ),
    )


_POWER_FIELDS = ("kinetic_rate", "gravity", "external", "received", "given", "joint")


def _books(e: Evidence) -> Section:
    power = e.flight.moments.power
    power_error, energy_error = np.asarray(e.flight.power_error), np.asarray(e.flight.energy_error)
    per_joint = np.asarray(power.received) - np.asarray(power.given) - np.asarray(power.joint)
    links = e.model.topology.links
    hinge = np.abs(per_joint[:, 1:links]).max(axis=1, initial=0.0)
    rotor = np.abs(per_joint[:, links:]).max(axis=1, initial=0.0)
    return Section(
        "Do the books balance?",
        "Energy and momentum are not what is integrated, so they tell whether integration and equations are right.",
        (
            Picture(
                "Balance of power and energy",
                charts.error_chart(
                    e.times,
                    {
                        "whole, W": power_error,
                        "hinges, W": hinge,
                        "rotor joints, W": rotor,
                        "energy, J": energy_error,
                    },
                    "W or J",
                ),
                f"Power balances to {power_of_ten(np.abs(power_error).max())} W at every instant, in each joint and "
                f"in the whole; the energy is off by {power_of_ten(np.abs(energy_error).max())} J at most.",
            ),
            Picture(
                "The same course in empty space",
                charts.order_chart(
                    e.step_ms,
                    {"momentum": e.momentum_errors, "energy": e.energy_errors},
                    4,
                    "largest error, SI",
                ),
                f"Without air and gravity the momentum must not change; its error falls with the power {e.order:.1f} "
                "of the step, as the fourth-order rule promises.",
            ),
        ),
    )


_VERDICTS = ("by itself", "only in combination", "not at all")


def _knowledge(e: Evidence) -> Section:
    rows = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
    largest = 1e6 * max(float(np.abs(m).max()) for m in (e.allocation_before, e.allocation_after))
    names = e.model.topology.rotor_names
    verdicts = e.inertial_verdicts
    alone, combined = (int((verdicts == kind).sum()) for kind in (ALONE, COMBINED))
    before, after = (
        int(np.linalg.matrix_rank(m, tol=1e-9)) for m in (e.allocation_before, e.allocation_after)
    )
    return Section(
        "What the rotors can do, and what motion can tell",
        "The allocation matrix says which wrench each rotor gives; the regressor says which parameters show.",
        (
            Picture(
                "Allocation, wings up",
                charts.matrix_chart(1e6 * e.allocation_before, rows, names, largest),
                "Force (N) and moment (N m) about the body origin per 10⁶ (rad/s)², body axes: the four rotors "
                f"command {before} of the six.",
            ),
            Picture(
                "Allocation, wings turned",
                charts.matrix_chart(1e6 * e.allocation_after, rows, names, largest),
                f"Turned wings push forward as well, and left against right now also yaws (rank {after}).",
            ),
            Picture(
                "Which inertial parameters show in the motion",
                charts.class_chart(
                    verdicts,
                    _VERDICTS[: int(verdicts.max()) + 1],
                    ("#2f6db5", "#b9d0ea", "#eceff1")[: int(verdicts.max()) + 1],
                    e.bodies,
                    PARAMETER_NAMES,
                    height=110 + 24 * len(e.bodies),
                ),
                f"Of {len(e.base.names)} parameters, wing and rotor coefficients included, motion and joint torques "
                f"tell {e.base.rank} combinations apart; of the {verdicts.size} inertial ones {alone} show by "
                f"themselves and {combined} only together with others (mx, my, mz: mass times centre of mass).",
                wide=True,
            ),
        ),
    )
