"""Shapes are closed, turned outwards and where they should be."""

import numpy as np
import pytest

from haltere.report.drawing import shapes
from haltere.report.drawing.shapes import Mesh


def volume(mesh):
    """Signed volume by the divergence theorem: positive where all triangles face outwards."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def edges(mesh):
    """How often each directed edge occurs."""
    found = {}
    for face in mesh.faces:
        for i in range(3):
            edge = (int(face[i]), int(face[(i + 1) % 3]))
            found[edge] = found.get(edge, 0) + 1
    return found


@pytest.mark.parametrize(
    ("mesh", "expected", "tolerance"),
    [
        (shapes.block((1.0, 2.0, 3.0), (0.2, 0.3, 0.4)), 0.024, 1e-12),
        (shapes.ball((5.0, -1.0, 2.0), 0.5, rings=60, corners=120), np.pi / 6.0, 2e-3),
        (shapes.rod((0.0, 0.0, 0.0), (1.0, 2.0, 2.0), 0.1, corners=200), 3.0 * np.pi * 0.01, 1e-4),
        (shapes.cone((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), 0.3, 0.6, corners=200), np.pi * 0.09 * 0.2, 1e-4),
    ],
)
def test_solids_have_their_volume(mesh, expected, tolerance):
    assert volume(mesh) == pytest.approx(expected, rel=max(tolerance, 1e-3))


def test_the_wing_is_closed_and_has_its_size():
    wing = shapes.aerofoil(0.8, 0.2)
    assert volume(wing) > 0.0
    size = wing.vertices.max(axis=0) - wing.vertices.min(axis=0)
    assert size[:2] == pytest.approx([0.2, 0.8])
    assert size[2] < 0.12 * 0.2
    counted = edges(wing)
    assert all(counted.get((b, a)) == count for (a, b), count in counted.items())


def test_a_disc_lies_across_its_axis_and_begins_with_its_centre():
    axis = np.array([1.0, 2.0, -0.5])
    disc = shapes.disc((1.0, 0.0, 0.0), axis, 0.3)
    assert disc.vertices[0] == pytest.approx([1.0, 0.0, 0.0])
    spokes = disc.vertices[1:] - disc.vertices[0]
    assert np.abs(spokes @ axis).max() < 1e-12
    assert np.linalg.norm(spokes, axis=1) == pytest.approx(np.full(len(spokes), 0.3))


def test_a_ring_turns_right_handed_about_its_axis():
    axis = np.array([0.3, -1.0, 0.2])
    first, second = shapes.ring((0.0, 0.0, 0.0), axis, 1.0, [0.0, 0.1])
    assert np.cross(first, second) @ axis > 0.0


def test_an_arrow_without_length_is_empty():
    assert len(shapes.arrow((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.1).faces) == 0


def test_joined_meshes_keep_their_triangles():
    one, two = shapes.block((0, 0, 0), (1, 1, 1)), shapes.block((3, 0, 0), (1, 1, 2))
    assert volume(Mesh.joined([one, two])) == pytest.approx(3.0)


def test_moved_and_flattened():
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    mesh = Mesh(np.array([[1.0, 0.0, 0.0]]), np.zeros((0, 3), int)).transformed(quarter, (0.0, 0.0, 5.0))
    assert mesh.vertices[0] == pytest.approx([0.0, 1.0, 5.0])
    assert mesh.flattened(-1.0).vertices[0] == pytest.approx([0.0, 1.0, -1.0])
