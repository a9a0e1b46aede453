"""Blackbox logs written one number after the other, as the firmware does, by the format's documentation."""

from dataclasses import dataclass, field

import numpy as np

SIZES = {7: 3, 10: 3, 8: 4}


@dataclass(frozen=True)
class Field:
    """A field of a main frame: predictor and encoding in I frames and in P frames."""

    name: str
    signed: bool
    intra: tuple[int, int]
    inter: tuple[int, int]


@dataclass
class Written:
    """Bytes of a log and what stands in them."""

    data: bytearray
    main: list[list[int]] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    others: dict[str, list[tuple[int, list[int]]]] = field(default_factory=lambda: {k: [] for k in "SGH"})
    events: list[int] = field(default_factory=list)


def unsigned_byte(value):
    out = bytearray()
    value &= 0xFFFFFFFF
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def signed_byte(value):
    return unsigned_byte(value << 1 if value >= 0 else (-value << 1) - 1)


def elias_bits(value):
    def plain(number):
        size = number.bit_length()
        return "0" * (size.bit_length() - 1) + f"{size:b}" + f"{number:b}"[1:]

    value &= 0xFFFFFFFF
    if value >= 0xFFFFFFFE:
        return plain(0xFFFFFFFF) + str(value - 0xFFFFFFFE)
    return plain(value + 1)


def as_bytes(bits):
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))


def two_complement(value, bits):
    return f"{value & ((1 << bits) - 1):0{bits}b}" if bits else ""


def fits(value, bits):
    return -(1 << bits >> 1) <= value < (1 << bits >> 1) or (bits == 0 and value == 0)


def three(values, middle, large):
    """Encodings 7 and 10."""
    gaps = middle[0] == 4
    for tag, sizes in enumerate(((2, 2, 2), middle, large)):
        if all(map(fits, values, sizes)):
            parts = [two_complement(v, b) for v, b in zip(values, sizes, strict=True)]
            if gaps and tag == 1:
                return as_bytes("0100" + "".join(parts))
            if gaps and tag == 2:
                return as_bytes("10" + "00".join(parts))
            return as_bytes(f"{tag:02b}" + "".join(parts))
    lengths = [next(n for n in (1, 2, 3, 4) if fits(v, 8 * n)) for v in values]
    head = 0xC0 | sum(n - 1 << 2 * i for i, n in enumerate(lengths))
    return bytes([head]) + b"".join(
        (v & ((1 << 8 * n) - 1)).to_bytes(n, "little") for v, n in zip(values, lengths, strict=True)
    )


def four(values):
    """Encoding 8."""
    tags = [next(t for t, b in enumerate((0, 4, 8, 16)) if fits(v, b)) for v in values]
    bits = "".join(two_complement(v, (0, 4, 8, 16)[t]) for v, t in zip(values, tags, strict=True))
    return bytes([sum(t << 2 * i for i, t in enumerate(tags))]) + as_bytes(bits)


def encode(encodings, values):
    """The bytes of a frame behind its letter."""
    out, at = bytearray(), 0
    while at < len(encodings):
        kind, count = encodings[at], 1
        if kind in SIZES:
            count = SIZES[kind]
        elif kind == 6:
            while count < 8 and at + count < len(encodings) and encodings[at + count] == 6:
                count += 1
        elif kind in (4, 5):
            while at + count < len(encodings) and encodings[at + count] in (4, 5):
                count += 1
        chosen = values[at : at + count]
        if kind == 0 or (kind == 6 and count == 1):
            out += signed_byte(chosen[0])
        elif kind == 1:
            out += unsigned_byte(chosen[0])
        elif kind == 3:
            out += unsigned_byte(-chosen[0] & 0x3FFF)
        elif kind in (4, 5):
            bits = ""
            for value, each in zip(chosen, encodings[at:], strict=False):
                bits += elias_bits(value if each == 4 else (value << 1 if value >= 0 else (-value << 1) - 1))
            out += as_bytes(bits)
        elif kind == 6:
            out.append(sum(1 << i for i, v in enumerate(chosen) if v))
            out += b"".join(signed_byte(v) for v in chosen if v)
        elif kind == 7:
            out += three(chosen, (4, 4, 4), (6, 6, 6))
        elif kind == 10:
            out += three(chosen, (5, 5, 4), (8, 7, 7))
        elif kind == 8:
            out += four(chosen)
        at += count
    return bytes(out)


def draw_difference(rng, encoding, wide):
    """What is logged of a field: something that its encoding can hold."""
    if encoding == 9 or rng.random() < 0.2:
        return 0
    if encoding == 3:
        return -int(rng.integers(0, 8000))
    bits = int(rng.choice([2, 4, 6, 8, 15, *([24, 32] if wide and encoding != 8 else [])]))
    if encoding in (1, 4):
        return int(rng.integers(0, 1 << bits))
    return int(rng.integers(-(1 << bits >> 1), 1 << bits >> 1))


def wrapped(value, signed):
    value &= 0xFFFFFFFF
    return value - (1 << 32) if signed and value >> 31 else value


def half(value):
    """Towards zero, as C divides."""
    return -(-value // 2) if value < 0 else value // 2


SLOW = (("flightModeFlags", False, 0, 1), ("stateFlags", False, 0, 1), ("failsafePhase", False, 0, 7),
        ("rxSignalReceived", False, 0, 7), ("rxFlightChannelsValid", False, 0, 7))  # fmt: skip
HOME = (("GPS_home[0]", True, 0, 0), ("GPS_home[1]", True, 0, 0))
GPS = (("time", False, 10, 1), ("GPS_numSat", False, 0, 1), ("GPS_coord[0]", True, 7, 0),
       ("GPS_coord[1]", True, 7, 0), ("GPS_altitude", False, 0, 1))  # fmt: skip


def header(fields, settings):
    lines = ["Product:Blackbox flight data recorder by Nicholas Sherlock", "Data version:2"]
    lines += [f"{name}:{value}" for name, value in settings.items()]
    lines.append("Field I name:" + ",".join(f.name for f in fields))
    lines.append("Field I signed:" + ",".join(str(int(f.signed)) for f in fields))
    for kind, which in (("I", "intra"), ("P", "inter")):
        for number, what in enumerate(("predictor", "encoding")):
            lines.append(f"Field {kind} {what}:" + ",".join(str(getattr(f, which)[number]) for f in fields))
    for kind, others in (("H", HOME), ("G", GPS), ("S", SLOW)):
        for number, what in enumerate(("name", "signed", "predictor", "encoding")):
            lines.append(
                f"Field {kind} {what}:"
                + ",".join(str(int(f[1]) if number == 1 else f[number]) for f in others)
            )
    return "".join(f"H {line}\n" for line in lines).encode()


def draw_fields(rng, encodings):
    """Fields with the encodings given and with every predictor that there is."""
    fields = [
        Field("loopIteration", False, (0, 1), (6, 9)),
        Field("time", False, (0, 1), (2, 0)),
    ]
    names = iter([f"gyroADC[{i}]" for i in range(3)] + [f"debug[{i}]" for i in range(200)])
    for _ in range(int(rng.integers(4, 12))):
        encoding = int(rng.choice(encodings))
        for _ in range(SIZES.get(encoding, int(rng.integers(1, 11)) if encoding in (4, 5, 6) else 1)):
            intra = (int(rng.choice([0, 4, 8, 9, 11])), int(rng.choice([0, 1])))
            inter = (int(rng.choice([0, 1, 2, 3, 3, 8])), encoding)
            fields.append(Field(next(names), bool(rng.random() < 0.7), intra, inter))
    fields.append(Field("motor[0]", False, (11, 1), (3, 0)))
    fields += [Field(f"motor[{i}]", False, (5, 0), (3 if i < 3 else 5, 0)) for i in (1, 2, 3)]
    return fields


def write_log(
    seed, frames=400, encodings=(0, 1, 3, 6, 7, 8), wide=False, intervals=(32, 1, 1), others=True, start=0
):
    """A log of random numbers and all that stands in it."""
    rng = np.random.default_rng(seed)
    fields = draw_fields(rng, encodings)
    interval, numerator, denominator = intervals
    settings = {
        "Firmware revision": "Betaflight 4.5.1 (test) TEST", "I interval": interval,
        "P interval": f"{numerator}/{denominator}", "minthrottle": 1070, "vbatref": 1620,
        "motorOutput": "158,2047", "acc_1G": 2048,
    }  # fmt: skip
    constants = {0: 0, 4: 1070, 8: 1500, 9: 1620, 11: 158}
    log = Written(bytearray(header(fields, settings)))
    before, earlier, home, iteration, moment = None, None, None, start - 1, 10_000_000
    motor = [f.name for f in fields].index("motor[0]")
    while len(log.main) < frames:
        iteration += 1
        first = iteration % interval == 0
        if not first and (iteration % interval + numerator - 1) % denominator >= numerator:
            continue
        moment = (moment + 1000 + int(rng.integers(-20, 20))) & 0xFFFFFFFF
        if others and rng.random() < 0.05:
            home = _write_other(log, rng, home, before)
        row, logged = [], []
        for number, each in enumerate(fields):
            predictor, encoding = each.intra if first else each.inter
            if predictor in constants:
                predicted = constants[predictor]
            elif predictor == 5:
                predicted = row[motor]
            elif predictor == 6:
                predicted = iteration
            else:
                one = wrapped(before[number], True) if predictor == 3 else before[number]
                two = wrapped(earlier[number], True) if predictor == 3 else earlier[number]
                predicted = {1: one, 2: 2 * one - two, 3: half(one + two)}[predictor]
            if each.name in ("loopIteration", "time"):
                value = iteration if each.name == "loopIteration" else moment
                difference = wrapped(value - predicted, encoding == 0)
            else:
                difference = draw_difference(rng, encoding, wide)
                value = wrapped(predicted + difference, each.signed)
            row.append(value)
            logged.append(difference)
        log.offsets.append(len(log.data))
        log.data += b"I" if first else b"P"
        log.data += encode([(f.intra if first else f.inter)[1] for f in fields], logged)
        earlier, before = (row if first else before), row
        log.main.append(row)
    log.data += b"E\xffEnd of log\x00"
    return log, fields


def _write_other(log, rng, home, before):
    """A slow, home or GPS frame, or an event."""
    kind = rng.choice(["S", "H", "G", "E"])
    count = len(log.main)
    if kind == "E":
        event, payload = [
            (0, unsigned_byte(123_456)),
            (13, bytes([5]) + signed_byte(-700)),
            (13, bytes([133]) + b"EIPE"),
            (14, unsigned_byte(1000) + unsigned_byte(77_777)),
            (15, b"\x04"),
            (30, unsigned_byte(300) + b"\x00"),
            (77, b"\x01\x02\x03"),  # a kind that nobody knows
        ][int(rng.integers(7))]
        log.events.append(event)
        log.data += b"E" + bytes([event]) + payload
        return home
    if kind == "G" and (home is None or before is None):
        kind = "H"
    if kind == "S":
        values = [int(v) for v in rng.integers(0, [1 << 30, 256, 4, 2, 2])]
        logged, layout = values, SLOW
    elif kind == "H":
        values = [int(v) for v in rng.integers(-900_000_000, 900_000_000, 2)]
        logged, layout, home = values, HOME, values
    else:
        logged = [700, 12, 130, -5000, 87]
        values = [before[1] + 700, 12, home[0] + 130, home[1] - 5000, 87]
        layout = GPS
    log.others[kind].append((count, values))
    log.data += kind.encode() + encode([f[3] for f in layout], logged)
    return home
