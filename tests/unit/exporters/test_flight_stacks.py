"""PX4, INDIflight and ArduPilot: the settings reproduce the vehicle when their own formulas are applied to them."""

import re
from dataclasses import replace

import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Compact, Model
from haltere.exporters import Certificate, ExportError, render, save
from haltere.identification.described import DescribedVehicle

from .results import judged, ratios, scaled, whole

FLIP = np.diag([1.0, -1.0, -1.0])


def text_of(subject, target, certificate=None, ending=""):
    documents = render(subject, target, certificate).documents
    return next(d.text for d in documents if d.ending.endswith(ending))


def px4_parameters(text):
    return {n: float(v) for n, v in re.findall(r"^param set (\S+) (\S+)$", text, re.MULTILINE)}


def settings(text):
    return {
        n: np.array([float(x) for x in v.split(",")])
        for n, v in re.findall(r"^set (\S+) = (\S+)$", text, re.MULTILINE)
    }


def matrices(airframe):
    """Mass, inertia about the centre of mass, force and torque (3, R) per squared speed."""
    compact = Compact.from_model(Model.from_airframe(airframe))
    mass, com, inertia = (np.asarray(x) for x in compact.mass_properties)
    K = np.asarray(compact.allocation)
    force, torque = K[:3], K[3:] - np.cross(com, K[:3].T).T
    return float(mass), inertia, force, torque


@pytest.mark.parametrize("name", ["x500", "hexa-tilted", "indiflight-3inch", "coaxial"])
def test_px4_computes_our_allocation_from_its_parameters(name):
    airframe = from_catalogue(name)
    moved = airframe.model_copy(
        update={"body": airframe.body.model_copy(update={"com": (0.012, -0.007, 0.004)})}
    )
    found = px4_parameters(text_of(DescribedVehicle.from_airframe(moved), "px4"))
    _, _, force, torque = matrices(moved)
    assert found["CA_ROTOR_COUNT"] == len(moved.rotors)
    for i, rotor in enumerate(moved.rotors):
        P, A = (np.array([found[f"CA_ROTOR{i}_{kind}{x}"] for x in "XYZ"]) for kind in "PA")
        CT, KM = found[f"CA_ROTOR{i}_CT"], found[f"CA_ROTOR{i}_KM"]
        A = A / np.linalg.norm(A)
        scale = CT / np.linalg.norm(force[:, i])  # squared speed at full command, or common to all
        np.testing.assert_allclose(CT * A, scale * FLIP @ force[:, i], rtol=1e-5, atol=1e-6 * CT)
        moment = CT * np.cross(P, A) - CT * KM * A
        np.testing.assert_allclose(moment, scale * FLIP @ torque[:, i], rtol=1e-4, atol=1e-6 * CT)
        assert (KM > 0) == (rotor.spin == "ccw")


def test_px4_hover_thrust_and_imu():
    airframe = from_catalogue("indiflight-3inch")
    found = px4_parameters(text_of(DescribedVehicle.from_airframe(airframe), "px4"))
    mass, _, force, _ = matrices(airframe)
    full = sum(force[2, i] * r.speed_limits[1] ** 2 for i, r in enumerate(airframe.rotors))
    assert found["MPC_THR_HOVER"] == pytest.approx(mass * 9.81 / full, rel=1e-4)
    place = [found[f"EKF2_IMU_POS_{x}"] for x in "XYZ"]
    _, com, _ = Compact.from_model(Model.from_airframe(airframe)).mass_properties
    np.testing.assert_allclose(
        place, FLIP @ (np.asarray(airframe.imu[0].position) - np.asarray(com)), atol=1e-6
    )


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_a_quadratic_curve_is_the_thrust_curve_of_px4_and_ardupilot(share):
    airframe = from_catalogue("x500")
    rotors = tuple(
        r.model_copy(
            update={
                "curve": from_catalogue("indiflight-3inch")
                .rotors[0]
                .curve.model_copy(update={"kind": "quadratic", "value": share}),
                "idle_speed": None,
            }
        )
        for r in airframe.rotors
    )
    subject = DescribedVehicle.from_airframe(airframe.model_copy(update={"rotors": rotors}))
    assert px4_parameters(text_of(subject, "px4"))["THR_MDL_FAC"] == pytest.approx(share, abs=1e-6)
    assert f"MOT_THST_EXPO,{share:.6g}" in text_of(subject, "ardupilot", ending=".param")


def test_indiflight_scales_are_those_of_its_firmware():
    airframe = from_catalogue("indiflight-3inch")
    found = settings(text_of(DescribedVehicle.from_airframe(airframe), "indiflight"))
    mass, inertia, force, torque = matrices(airframe)
    top = np.array([r.speed_limits[1] ** 2 for r in airframe.rotors])
    turn = FLIP @ np.linalg.solve(inertia, torque) * top
    push = FLIP @ force / mass * top
    for i, name in enumerate(("fx", "fy", "fz")):
        np.testing.assert_allclose(found[f"indi_act_g1_{name}"] * 0.01, push[i], atol=0.006)
    for i, name in enumerate(("roll", "pitch", "yaw")):
        np.testing.assert_allclose(found[f"indi_act_g1_{name}"] * 0.1, turn[i], atol=0.06)
    assert np.all(found["indi_act_g1_fz"] < 0.0)
    np.testing.assert_allclose(
        np.abs(found["indi_act_g2_yaw"]) * 1e-5, 1.01124e-3, atol=6e-6
    )  # the bench test
    np.testing.assert_array_equal(np.sign(found["indi_act_g2_yaw"]), np.sign(found["indi_act_g1_yaw"]))
    np.testing.assert_array_equal(found["indi_act_nonlinearity"], 46.0)
    np.testing.assert_array_equal(found["indi_act_max_rpm"], 39277.0)
    np.testing.assert_array_equal(found["indi_act_time_constant_ms"], 20.0)


def test_ratios_give_indiflight_the_same_as_the_airframe_they_come_from():
    here = settings(text_of(DescribedVehicle.from_result(ratios()), "indiflight"))
    there = settings(
        text_of(DescribedVehicle.from_airframe(from_catalogue("indiflight-3inch")), "indiflight")
    )
    assert here.keys() == there.keys()
    for name, values in there.items():
        np.testing.assert_allclose(here[name], values, atol=1.0, err_msg=name)


def lua_factors(text):
    raw = re.findall(r"add_motor_raw\((\d+), (\S+), (\S+), (\S+), \d+\)", text)
    throttle = re.findall(r"set_throttle_factor\((\d+), (\S+)\)", text)
    return np.array(
        [[float(x) for x in row[1:]] + [float(t[1])] for row, t in zip(raw, throttle, strict=True)]
    )


def test_ardupilot_factors_of_a_plain_quad_are_its_own():
    airframe = from_catalogue("x500")
    factors = lua_factors(text_of(DescribedVehicle.from_airframe(airframe), "ardupilot", ending=".lua"))
    for row, rotor in zip(factors, airframe.rotors, strict=True):
        x, y, _ = rotor.position
        expected = [np.sign(y), np.sign(x), 1.0 if rotor.spin == "ccw" else -1.0, 1.0]
        np.testing.assert_allclose(row, expected, atol=0.05)


def test_ardupilot_demands_do_not_disturb_each_other_when_the_centre_of_mass_is_off():
    airframe = from_catalogue("x500")
    moved = airframe.model_copy(update={"body": airframe.body.model_copy(update={"com": (0.03, 0.01, 0.0)})})
    factors = lua_factors(text_of(DescribedVehicle.from_airframe(moved), "ardupilot", ending=".lua"))
    mass, inertia, force, torque = matrices(moved)
    B = np.vstack([FLIP @ np.linalg.solve(inertia, torque), force[2:] / mass])
    done = B @ factors
    done = done / np.max(np.abs(done), axis=1, keepdims=True)
    np.testing.assert_allclose(done, np.eye(4), atol=1e-3)


def test_a_weighed_result_exports_with_sigmas():
    text = text_of(DescribedVehicle.from_result(whole()), "px4")
    assert re.search(r"# CA_ROTOR0_PX: sigma 0\.0028 m", text)  # position and centre of mass, 2 mm each
    assert "left out" not in text
    assert "identified from flight.ulg" in text


def test_what_is_open_is_left_out_and_named_but_ratios_stay():
    result = scaled(whole("indiflight-3inch"))
    rendering = render(DescribedVehicle.from_result(result), "px4")
    found = px4_parameters(rendering.documents[0].text)
    assert "CA_ROTOR0_CT" not in found
    assert {"CA_ROTOR0_PX", "CA_ROTOR0_AZ", "CA_ROTOR0_KM", "MPC_THR_HOVER"} <= found.keys()
    assert any("thrust coefficients" in note and "known only together" in note for note in rendering.notes)
    indi = text_of(DescribedVehicle.from_result(result), "indiflight")
    assert settings(indi)["indi_act_g1_roll"] == pytest.approx(
        settings(text_of(DescribedVehicle.from_result(whole("indiflight-3inch")), "indiflight"))[
            "indi_act_g1_roll"
        ]
    )
    assert "it has no sigma" in indi


def test_positions_that_are_open_leave_out_the_geometry():
    result = judged(whole(), "unobservable", ["com.x"], "fly roll steps")
    rendering = render(DescribedVehicle.from_result(result), "px4")
    assert not [n for n in px4_parameters(rendering.documents[0].text) if "_P" in n and "ROTOR" in n]
    assert any("com.x" in note and "fly roll steps" in note for note in rendering.notes)


def test_a_yaw_that_was_never_excited_is_refused_by_indiflight():
    result = judged(whole("indiflight-3inch"), "unobservable", ["inertia.zz"])
    with pytest.raises(ExportError, match=r"not enough is known for indiflight: inertia\.zz"):
        render(DescribedVehicle.from_result(result), "indiflight")


def test_ratios_give_px4_what_they_can():
    rendering = render(DescribedVehicle.from_result(ratios()), "px4")
    found = px4_parameters(rendering.documents[0].text)
    assert found["CA_ROTOR_COUNT"] == 4
    assert found["CA_ROTOR0_AZ"] == pytest.approx(-1.0)
    assert found["CA_ROTOR2_CT"] == pytest.approx(6.5, rel=1e-3)
    assert found["EKF2_IMU_POS_Y"] == pytest.approx(-0.012)
    assert "CA_ROTOR0_PX" not in found
    assert any("rotor positions" in note for note in rendering.notes)


def test_a_certificate_that_did_not_pass_is_refused():
    bad = Certificate(20, 13, 0, "in 7 of 20 draws it tilted beyond 60 deg within 1.2 s")
    with pytest.raises(ExportError, match="7 of 20"):
        render(DescribedVehicle.from_result(whole()), "px4", bad)
    good = replace(bad, hovered=20, sentence="20 of 20 draws hovered")
    assert "20 of 20 draws hovered" in text_of(DescribedVehicle.from_result(whole()), "px4", good)


def test_nothing_is_overwritten_unasked_and_all_files_come_or_none(tmp_path):
    rendering = render(DescribedVehicle.from_airframe(from_catalogue("x500")), "ardupilot")
    files = save(rendering, tmp_path / "x500")
    assert [f.name for f in files] == ["x500.ardupilot.param", "x500.ardupilot.lua"]
    files[0].unlink()
    with pytest.raises(ExportError, match="exists already"):
        save(rendering, tmp_path / "x500")
    assert not files[0].exists()
    save(rendering, tmp_path / "x500", overwrite=True)
    named = save(rendering, tmp_path / "mine.param")
    assert [f.name for f in named] == ["mine.param", "mine.lua"]
    with pytest.raises(ExportError, match="cannot be written"):
        save(rendering, tmp_path / "nowhere" / "x")


def test_places_come_from_the_airframe_though_the_result_counts_them_from_the_centre_of_mass():
    airframe = from_catalogue("x500")
    moved = airframe.model_copy(update={"body": airframe.body.model_copy(update={"com": (0.02, 0.01, 0.0)})})
    result = whole(airframe=moved)
    _, com, _ = Compact.from_model(Model.from_airframe(moved)).mass_properties
    shifted = tuple(
        replace(p, value=p.value - float(com["xyz".index(p.name[-1])])) if ".position." in p.name else p
        for p in result.parameters
        if not p.name.startswith("com.")
    )
    found = px4_parameters(text_of(DescribedVehicle.from_result(replace(result, parameters=shifted)), "px4"))
    assert found == px4_parameters(text_of(DescribedVehicle.from_airframe(moved), "px4"))
