"""My log: what is wrong in it, and what was the vehicle?

    python examples/my_log.py [FOLDER]

Here a simulated flight stands for the log. `ht.read` takes PX4, ArduPilot, Betaflight, INDIflight, Crazyflie, ROS and
CSV logs alike.
"""

import sys
import tempfile
from pathlib import Path

import haltere as ht

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
log = ht.simulate(Path(__file__).with_name("figure.toml")).save(folder / "flight.mcap", overwrite=True)

flight = ht.read(log)
print(flight)
print(ht.diagnose(flight))

result = ht.identify(flight, known={"mass": (0.716, 0.001)})  # weighed: 716 g, good to 1 g
print(result)  # the table, how well it predicts, and what to do next

thrust = result.parameters["rotors.front.thrust_coefficient"]
print(f"{thrust.name} = {thrust.value:.3g} +- {thrust.sigma:.1g} {thrust.unit}: {thrust.verdict}")

written = result.save(folder / "identified", overwrite=True)  # result.json, report.html, airframe.toml
print("open", written["report"])
