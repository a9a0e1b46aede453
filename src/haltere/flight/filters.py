"""The same Butterworth low-pass on many channels, without delay or with a delay that is told.

For order n, cutoff f_c = `cutoff` and sampling rate f_s = `rate`, with W = tan(pi f / f_s):

    (1)  |H(f)|^2 = 1 / (1 + (W / W_c)^(2 n))                                    [Butterworth1930]
    (2)  forward and backward: |H|^2 and no phase; W_d = W_c (sqrt(2) - 1)^(-1 / (2 n)) in place of W_c
         keeps f_c where the amplitude has fallen to 1 / sqrt(2)

Signals that pass the same causal filter are delayed alike, so relations between them stay; `delay` tells by
how much. Stretches between gaps and NaN are filtered each on its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import atan, pi, sqrt, tan

import numpy as np
from scipy import signal

from haltere.flight.channel import Channel
from haltere.flight.fault import FlightError
from haltere.flight.flight import Flight
from haltere.flight.sampling import refuse_rotations, regular_rate, stretches
from haltere.foundation.numbers import Floats


@dataclass(frozen=True)
class Butterworth:
    """A low-pass filter.

    Attributes:
        cutoff: Where the amplitude has fallen to 1 / sqrt(2), Hz; in both modes.
        order: Poles of one pass, 1 to 8.
        zero_phase: Forward and backward, without delay; otherwise causal, with `delay`.
    """

    cutoff: float
    order: int = 2
    zero_phase: bool = True

    def __post_init__(self) -> None:
        if not 0.0 < self.cutoff < np.inf:
            raise FlightError(f"cutoff {self.cutoff} Hz; give a frequency above 0")
        if self.order not in range(1, 9):
            raise FlightError(f"order {self.order}; give a whole number from 1 to 8")

    def sections(self, rate: float) -> Floats:
        """Return the second-order sections (n, 6) of one pass at a sampling rate, Hz."""
        if not self.cutoff < 0.499 * rate:
            raise FlightError(
                f"cutoff {self.cutoff:g} Hz; give less than half the sampling rate of {rate:g} Hz"
            )
        design = self.cutoff
        if self.zero_phase:
            wider = (sqrt(2.0) - 1.0) ** (-0.5 / self.order)
            design = rate / pi * atan(tan(pi * self.cutoff / rate) * wider)
        return np.asarray(signal.butter(self.order, design, output="sos", fs=rate))

    def gain(self, frequency: Floats | float, rate: float) -> Floats:
        """Return the amplitude response at frequencies, Hz, for a sampling rate, Hz."""
        _, response = signal.freqz_sos(self.sections(rate), np.atleast_1d(frequency), fs=rate)
        return np.asarray(np.abs(response) ** (2 if self.zero_phase else 1))

    def group_delay(self, frequency: Floats | float, rate: float) -> Floats:
        """Return by how much, s, a narrow band at each frequency, Hz, is delayed at a sampling rate, Hz."""
        frequencies = np.atleast_1d(np.asarray(frequency, np.float64))
        sections = self.sections(rate)
        if self.zero_phase:
            return np.zeros(len(frequencies))
        delays = [signal.group_delay((s[:3], s[3:]), frequencies, fs=rate)[1] for s in sections]
        return np.asarray(np.sum(delays, axis=0) / rate)

    def delay(self, rate: float) -> float:
        """Return by how much, s, slow signals are delayed at a sampling rate, Hz."""
        return float(self.group_delay(0.0, rate)[0])

    def apply(self, channel: Channel) -> Channel:
        """Return the filtered channel; time stamps stay, so a causal result lags by `delay`."""
        refuse_rotations(channel, "filter its angular velocity instead")
        rate = regular_rate(channel)
        sections = self.sections(rate)
        values = np.full(channel.values.shape, np.nan)
        for run in stretches(channel):
            values[run] = self._filter(sections, channel.values[run], rate)
        return replace(channel, values=values)

    def apply_to(self, flight: Flight, names: Iterable[str]) -> Flight:
        """Return the flight with these channels filtered."""
        for name in names:
            flight = flight.with_channel(self.apply(flight[name]))
        return flight

    def _filter(self, sections: Floats, values: Floats, rate: float) -> Floats:
        if self.zero_phase:
            pad = min(len(values) - 1, int(2.0 * self.order * rate / self.cutoff))
            return np.asarray(signal.sosfiltfilt(sections, values, axis=0, padlen=pad))
        state = signal.sosfilt_zi(sections).reshape(len(sections), 2, *(1,) * (values.ndim - 1)) * values[0]
        return np.asarray(signal.sosfilt(sections, values, axis=0, zi=state)[0])
