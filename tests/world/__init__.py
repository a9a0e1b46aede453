"""A flight world that shares no code with the package: plant, vehicles, sensors, flights with their truth.

    from tests.world.drawings import QUADROTOR            # or read_drawing(text of an airframe file)
    from tests.world.levels import IDEAL, NASTY, REALISTIC
    from tests.world.flights import fly, fly_from_ground, fly_throws
    from tests.world.files import write

    flights = fly(QUADROTOR, REALISTIC, "full", seeds=range(100), duration=24.0)
    flight = flights[0]
    flight.streams["imu.gyro"].time, flight.streams["imu.gyro"].values     # each stream by its own clock
    flight.truth["rotors.m1.thrust_coefficient"]                           # a number, or (low, high)
    flight.nominal                                                         # airframe file without any of the draws
    write(flight, "flight.ulg")                                            # or .csv, .mcap

Layers: vectors, draws, levels; drawings (as drawn), vehicles (as they are), truth; rigid, motors, aero, wind, ground,
hand, payload, arm and servo (forces); plant and batch (many flights at once); imu, sensors, streams (what is logged);
sticks and pilot; flights and arm_flights; files. `python -m tests.world.timing` prints the time that a batch takes,
`python -m tests.world.plots FOLDER` draws each effect alone.
"""
