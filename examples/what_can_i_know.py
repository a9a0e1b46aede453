"""What can I know: before any flight, which parameters can sensors show, and what should be flown or measured by hand?

python examples/what_can_i_know.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

import haltere as ht

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
airframe = ht.load_airframe("hummingbird")

nothing_known = ht.observe(airframe, sensors=("pose", "imu"))
for direction in nothing_known.directions:  # what no flight can show
    print(direction.explanation)

weighed = ht.observe(airframe, sensors=("pose", "imu"), known=["mass"])
print(f"weighing the vehicle raises the rank from {nothing_known.rank} to {weighed.rank}")
for parameter in weighed.parameters:
    print(f"{parameter.name:35} {parameter.verdict:13} {parameter.fix}")

plan = ht.design(airframe, ["inertia.zz"], known=["mass"], duration=10.0, iterations=3)  # what to fly
print(plan)
print("fly it: haltere simulate", plan.save(folder / "manoeuvre", overwrite=True)[-1])
