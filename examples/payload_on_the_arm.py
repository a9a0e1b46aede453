"""Payload on the arm: what hangs at the gripper, from angles and loads of the servos?

    python examples/payload_on_the_arm.py

Here a simulated arm, whose servos have friction, stands for yours. From a log: `haltere payload LOG --airframe FILE`.
"""

import jax

import haltere as ht
from haltere.papers.schmitz.bench import draw_arms
from haltere.papers.schmitz.runs import run_of
from haltere.papers.schmitz.series import calibrate_arms, series_record

with jax.enable_x64(True):  # the simulated arm
    arms = draw_arms(runs=1, seed=1)
    poses = [(45.0, 45.0), (60.0, 30.0)]  # degrees; the joints sweep a little about each
    reports = [run_of(series_record(arms, pose, mass=0.273), 0) for pose in poses]
    servos = calibrate_arms(arms).of_run(0)  # two known weights were lifted before

payload = ht.PayloadFilter("quad-arm", arm=servos)
belief = payload.begin()
for pose, record in zip(poses, reports, strict=True):
    belief = payload.correct(belief, record.between(1.0, 3.6))  # angle and load of both joints
    estimate = payload.estimate(belief)
    print(f"after pose {pose}: {float(estimate.mass):.4f} +- {float(estimate.sigma):.4f} kg")
print("true: 0.2730 kg")

belief = payload.clear(belief)  # it was released: earlier readings no longer count
print("observable after release:", bool(payload.estimate(belief).observable))
