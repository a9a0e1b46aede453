"""`PayloadFilter`: mass of what an arm holds, and where its weight acts, from the servos' angles and loads.

    payload = PayloadFilter("quad-arm")
    belief = payload.begin()
    belief = payload.correct(belief, reports)
    payload.estimate(belief).mass

A filter keeps no state: a belief goes in, a new belief comes out. It computes with 64 bits, whatever JAX is set to.
`haltere.estimation.payload.core`, which it computes with, also takes many runs at once.
"""

from os import PathLike

from haltere.airframe import Airframe
from haltere.airframe.catalogue.entries import load_airframe
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.model import ArmBelief
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.state import PayloadBelief, PayloadEstimate, PayloadSettings
from haltere.foundation.arrays import double_precision


class PayloadFilter:
    """Estimates what an arm holds, from the loads of its servos; what is held is constant until `clear` is called.

    Reports are an `ArmRecord` of T samples at an even rate: angles (T, J) in rad and loads (T, J) as fractions of the
    stall torque of the J joints, and the body's specific force (T, 3) in m/s2 and angular rate (T, 3) in rad/s.

        import numpy as np
        import haltere as ht
        from haltere.estimation.payload.record import ArmRecord

        payload = ht.PayloadFilter("quad-arm")
        sweep = 0.3 * np.sin(np.arange(200) / 20.0)[:, None] * [1.0, 1.0]
        reports = ArmRecord.on_bench(50.0, angle=0.5 + sweep, load=np.full((200, 2), 0.05))
        belief = payload.correct(payload.begin(), reports)
        print(payload.estimate(belief).mass, payload.estimate(belief).sigma)
    """

    @double_precision()
    def __init__(
        self,
        airframe: Airframe | str | PathLike[str],
        *,
        arm: ArmBelief | None = None,
        settings: PayloadSettings | None = None,
    ) -> None:
        """A filter that takes the servos' constants from the airframe, unless calibrated ones are given.

        Args:
            airframe: the vehicle with its arm, its file, or its name in the catalogue.
            arm: constants with their covariance after a calibration
                (`haltere.identification.payload.calibration.load_calibration`).
            settings: how the payload is estimated.
        """
        belief = arm or ArmBelief.from_airframe(load_airframe(airframe))
        self.core = PayloadCore(belief, settings)

    @double_precision()
    def begin(self) -> PayloadBelief:
        """The belief before the first report."""
        return self.core.begin()

    @double_precision()
    def correct(self, belief: PayloadBelief, reports: ArmRecord) -> PayloadBelief:
        """The belief after a stretch of reports.

        Speeds and accelerations of the joints are found from the stretch as a whole: give a sweep or more, not single
        reports.
        """
        return self.core.update(belief, self.core.signals(reports), 0, reports.samples)

    @double_precision()
    def clear(self, belief: PayloadBelief) -> PayloadBelief:
        """Forget the readings: something was gripped or released."""
        return self.core.clear(belief)

    @double_precision()
    def estimate(self, belief: PayloadBelief) -> PayloadEstimate:
        """What is held: mass, centre of mass and own inertia with their uncertainty, and which of them are known."""
        return self.core.estimate(belief)
