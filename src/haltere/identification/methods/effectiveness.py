"""The result of a log with rotor speeds: effectiveness, motors, what is absolute, and what the log did not tell."""

from collections.abc import Mapping

import numpy as np
from scipy import linalg

from haltere.airframe import Airframe
from haltere.airframe.rigid import nominal_of
from haltere.flight.filters import fill_gaps, low_pass
from haltere.flight.window import Excerpt
from haltere.foundation.numbers import Floats
from haltere.identification.known import Known
from haltere.identification.methods.absolute import absolute, inertia_ratios, thrust_to_weight
from haltere.identification.methods.effectiveness_fit import ROWS, TELLING, RotorRows, rotor_rows
from haltere.identification.regression import force_law as laws
from haltere.identification.regression.motors import MotorFit
from haltere.identification.result import Covariance, Parameter, Prediction

UNITS = ("m/s2/(rad/s)2",) * 3 + ("rad/s2/(rad/s)2",) * 3
LIVELY = "fly livelier about {}: sharp sticks or a chirp of 1 to 8 Hz for 20 s"
SLOW = 1.0
"""Hz, below which angular accelerations are not compared."""
AXES = ("roll", "pitch", "yaw")


class Told:
    """Parameters, predictions and figures of one method."""

    def __init__(self) -> None:
        self.parameters: list[Parameter] = []
        self.predictions: list[Prediction] = []
        self.fit: dict[str, object] = {}
        self.notes: list[str] = []
        self.airframe: Airframe | None = None
        self.curves: dict[str, str] = {}
        """Kind of the curve of commands by rotor, where it is not "kappa" for all."""
        self.covariance: Covariance | None = None


def identify_rotors(
    part: Excerpt, airframe: Airframe | None, known: Mapping[str, Known], exact_force: bool
) -> Told:
    """What a log with rotor speeds tells.

    Args:
        part: The flying part of the log.
        airframe: What the vehicle is meant to be, if that is known.
        known: Numbers that were measured otherwise.
        exact_force: Whether the specific force was made of gravity and a pose, so that its scale is right.
    """
    told = Told()
    drawn = nominal_of(airframe) if airframe is not None else None
    rows = rotor_rows(
        part,
        place_drawn=drawn.lever if drawn is not None and airframe is not None and airframe.imu else None,
        leaning=drawn is not None and _lean(drawn.forces),
    )
    told.parameters += effectiveness(part, rows)
    told.parameters += motor_parameters(part.names, rows.motors, part.rate)
    told.parameters += places(rows)
    told.parameters += [*inertia_ratios(rows), thrust_to_weight(rows)]
    absolute(told.parameters, told.notes, part, rows, airframe, known, exact_force)
    told.covariance = effectiveness_covariance(part, rows, told.parameters)
    told.predictions += _predictions(part, rows)
    told.fit.update(
        cutoff=rows.cutoff,
        rotor_speed_delay=rows.delay[0],
        rotor_speed_delay_sigma=rows.delay[1],
        accelerometer_lag=rows.lag,
        explained={name: float(np.clip(x, 0.0, 1.0)) for name, x in zip(ROWS, rows.told, strict=True)},
        both_ways_sigma={name: float(x) for name, x in zip(ROWS, rows.both_ways, strict=True)},
        motors=[
            {"name": n, "rms": f.residual, "explained": f.explained}
            for n, f in zip(part.names, rows.motors, strict=False)
        ],
    )
    return told


def _lean(forces: Floats) -> bool:
    """Whether some of the forces (3, m) are off the z axis by more than rotors of a flat vehicle are."""
    return bool(np.any(np.hypot(forces[0], forces[1]) > laws.UPRIGHT * np.abs(forces[2])))


def effectiveness(part: Excerpt, rows: RotorRows) -> list[Parameter]:
    """The rows of every rotor as parameters."""
    found = []
    table = np.concatenate([rows.force, rows.torque])
    lift = tuple(f"rotors.{r}.effectiveness.fz" for r in part.names)
    sure = _total(rows)
    for i, rotor in enumerate(part.names):
        for k, row in enumerate(ROWS):
            name = f"rotors.{rotor}.effectiveness.{row}"
            value, sigma = float(table[k, i]), float(rows.sigma[k, i])
            if row == "fz" and sigma > 0.5 * sure:
                found.append(
                    Parameter(
                        name, sure, max(sigma, 0.5 * sure), (None, None), UNITS[k], "combination",
                        tuple(x for x in lift if x != name),
                        "the rotors were always driven alike: only their sum is known; excite them one against another",
                    )
                )  # fmt: skip
            elif k >= 3 and rows.told[k] < TELLING:
                found.append(Parameter.unobservable(name, UNITS[k], LIVELY.format(AXES[k - 3])))
            else:
                axis = AXES[k - 3] if k >= 3 else "all axes"
                found.append(Parameter.measured(name, value, sigma, UNITS[k], LIVELY.format(axis)))
        for k, row in enumerate(("p", "q", "r")):
            name = f"rotors.{rotor}.effectiveness.{row}_dot"
            value, sigma = float(rows.spin[k, i]), float(rows.sigma[6 + k, i])
            if rows.told[3 + k] < TELLING or not np.isfinite(value):
                found.append(
                    Parameter.unobservable(name, "1", "log at 200 Hz or more and " + LIVELY.format(AXES[k]))
                )
            else:
                found.append(Parameter.measured(name, value, sigma, "1", LIVELY.format(AXES[k])))
    return found


def effectiveness_covariance(part: Excerpt, rows: RotorRows, told: list[Parameter]) -> Covariance | None:
    """Of the rows fz, p, q and r that the log tells; errors of different rows are taken for independent."""
    sure = {p.name for p in told if p.verdict in ("identified", "weak")}
    names: list[str] = []
    blocks = []
    for row, cov in zip(("fz", "p", "q", "r"), (rows.cov_lift, *rows.cov_turn), strict=True):
        each = [f"rotors.{rotor}.effectiveness.{row}" for rotor in part.names]
        if sure.issuperset(each):
            names += each
            blocks.append(cov)
    return Covariance(tuple(names), linalg.block_diag(*blocks)) if names else None


def _total(rows: RotorRows) -> float:
    """Mean force along z per squared speed, m/s2/(rad/s)^2: known even where single rotors are not."""
    m = rows.force.shape[1]
    return laws.pull(rows.signals, np.full(m, 1.0))[0]


def motor_parameters(names: tuple[str, ...], motors: tuple[MotorFit, ...], rate: float) -> list[Parameter]:
    """Curve, lag and dead time of every motor."""
    found = []
    if not motors:
        fix = "log the motor commands beside the rotor speeds"
        for rotor in names:
            for last, unit in (
                ("max_speed", "rad/s"), ("idle_speed", "rad/s"), ("curve", "1"), ("time_constant", "s"), ("delay", "s")
            ):  # fmt: skip
                found.append(Parameter.unobservable(f"rotors.{rotor}.{last}", unit, fix))
        return found
    for rotor, fit in zip(names, motors, strict=True):
        path = f"rotors.{rotor}"
        reach = f"commands went from {fit.reach[0]:.2f} to {fit.reach[1]:.2f} only; "
        if fit.explained < 0.5:
            for last, unit in (("max_speed", "rad/s"), ("idle_speed", "rad/s"), ("curve", "1"), ("time_constant", "s"),
                               ("delay", "s")):  # fmt: skip
                found.append(
                    Parameter.unobservable(
                        f"{path}.{last}", unit, "the speeds do not follow the commands; check the order"
                    )
                )
            continue
        beyond = max(1.0 - fit.reach[1], 0.0)
        top = float(np.hypot(fit.sigma[0], (0.02 + 0.15 * beyond) * fit.top))
        idle = float(np.hypot(fit.sigma[1], (0.02 + 0.3 * fit.reach[0]) * fit.top))
        shape = float(np.hypot(fit.sigma[2], 0.05 + 0.3 * (beyond + fit.reach[0])))
        grain = 1.0 / rate
        tau = float(np.sqrt(fit.sigma[3] ** 2 + (0.05 * fit.time_constant) ** 2 + (0.3 * grain) ** 2))
        dead = float(np.sqrt(fit.sigma[4] ** 2 + (0.3 * grain) ** 2 + 5e-4**2))
        found += [
            Parameter.measured(
                f"{path}.max_speed", fit.top, top, "rad/s", reach + "fly with more throttle", True
            ),
            Parameter.measured(
                f"{path}.idle_speed", fit.idle, idle, "rad/s", reach + "fly with less throttle", True
            ),
            Parameter.measured(
                f"{path}.curve", fit.share, shape, "1", reach + "use the whole range of the throttle"
            ),
            Parameter.measured(
                f"{path}.time_constant", fit.time_constant, tau, "s", "log faster, excite with steps", True
            ),
            Parameter.measured(f"{path}.delay", fit.delay, dead, "s", "log commands and speeds faster", True),
        ]
    return found


def places(rows: RotorRows) -> list[Parameter]:
    """Where the IMU is, as parameters."""
    found = []
    fix = "turn faster: rolls and flips, or tumble the vehicle by hand (haltere throw)"
    for k, axis in enumerate("xyz"):
        value, sigma = float(rows.place[k]), float(rows.place_sigma[k])
        name = f"imu.position.{axis}"
        found.append(
            Parameter.unobservable(name, "m", fix)
            if sigma > 0.02
            else Parameter.measured(name, value, sigma, "m", fix)
        )
    return found


def _predictions(part: Excerpt, whole: RotorRows) -> list[Prediction]:
    """What the rows of the early part say of the late one."""
    early = part.early()
    late = part.late()
    if early.flown < 1.0 or late.flown < 0.3 or part.speeds is None:
        return []
    rows = rotor_rows(early, whole)
    found = laws.low_passed(late, fill_gaps(part.speeds), None, rows.cutoff, rows.delay[0], rows.lag)
    if found.good.sum() < 20:
        return []
    good, time = found.good, found.time[found.good]
    predicted: list[Prediction] = []
    force = found.squares @ rows.force.T + found.levers @ rows.place + np.append(rows.bias, 0.0)
    for k, axis in enumerate("xyz"):
        if k < 2 and whole.told[k] < TELLING:
            continue
        predicted.append(Prediction(f"imu.accel.{axis}", "m/s2", time, found.force[good, k], force[good, k]))
    turn = found.turned.squares @ rows.torque.T + found.turned.rises @ np.nan_to_num(rows.spin).T
    turn = turn + _swirl(found.rates) * rows.swirl[0]
    turn[:, :2] += found.rates[:, 1::-1] * rows.across
    for k, axis in enumerate("xyz"):
        if whole.told[3 + k] < TELLING:
            continue
        # Slow torques are the air's, and the rotors answer them: what is faster is compared.
        measured, made = (_fast(x[:, k], found.rate)[good] for x in (found.turn, turn))
        predicted.append(Prediction(f"angular_acceleration.{axis}", "rad/s2", time, measured, made))
    return predicted


def _fast(values: Floats, rate: float) -> Floats:
    return np.asarray(values - low_pass(values, rate, SLOW))


def _swirl(rates: Floats) -> Floats:
    return np.stack([rates[:, 1] * rates[:, 2], rates[:, 0] * rates[:, 2], rates[:, 0] * rates[:, 1]], axis=1)
