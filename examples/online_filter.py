"""Online filter: readings arrive one by one, and the vehicle learns what it is while it flies.

    python examples/online_filter.py

A belief goes in, a belief comes out. Nothing is hidden in the filter, so beliefs can be kept and compared.
"""

from pathlib import Path

import haltere as ht

flight = ht.simulate(Path(__file__).with_name("figure.toml"))  # its readings stand for those of the vehicle
gyro, accel, speed = (flight[name] for name in ("imu.gyro", "imu.accel", "rotors.speed"))
position, wxyz = flight["pose.position"], flight["pose.wxyz"]

heavy = ht.load_airframe("hummingbird")  # where the filter begins: 5 % too heavy
heavy = heavy.model_copy(update={"body": heavy.body.model_copy(update={"mass": 0.75})})
stand = {"rotors.*.thrust_coefficient": (8.549e-6, 4e-8)}  # measured; a flight shows only ratios
vehicle = ht.VehicleFilter(heavy, known=stand)

belief = vehicle.begin(
    pose=(position.values[0], wxyz.values[0]),
    rotor_speeds=speed.values[0],
    imu=(accel.values[0], gyro.values[0]),
)
poses = 1
for k in range(1200):  # 6 s at 200 Hz
    dt = 1e-9 * (gyro.time[k + 1] - gyro.time[k])
    belief = vehicle.predict(belief, (accel.values[k], gyro.values[k]), speed.values[k], dt)
    if position.time[poses] <= gyro.time[k + 1]:
        belief = vehicle.correct(belief, (position.values[poses], wxyz.values[poses]))
        poses += 1
    if k % 400 == 399:
        mass = vehicle.estimate(belief)["mass"]
        print(f"after {(k + 1) / 200:.0f} s: {mass.value:.4f} +- {mass.sigma:.4f} kg")

print("true: 0.7160 kg")
