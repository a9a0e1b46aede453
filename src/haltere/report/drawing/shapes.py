"""Solid shapes as triangles, from which vehicles are drawn.

All lengths are metres and all points stand in one frame, which the caller chooses. Shapes are closed where they have an
inside, and their triangles run counter-clockwise seen from outside, so that light falls on them from the right side.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from haltere.foundation.numbers import Floats, Ints


@dataclass(frozen=True)
class Mesh:
    """Triangles between vertices."""

    vertices: Floats
    """(n, 3) points, m."""
    faces: Ints
    """(k, 3) vertex numbers."""

    @classmethod
    def joined(cls, meshes: Iterable["Mesh"]) -> Self:
        """All meshes as one; the order of faces is kept."""
        vertices, faces, count = [np.zeros((0, 3))], [np.zeros((0, 3), int)], 0
        for mesh in meshes:
            vertices.append(mesh.vertices)
            faces.append(mesh.faces + count)
            count += len(mesh.vertices)
        return cls(np.concatenate(vertices), np.concatenate(faces))

    def transformed(self, rotation: ArrayLike, position: ArrayLike) -> "Mesh":
        """The mesh seen from a frame in which its own frame stands at `rotation` (3, 3) and `position` (3,)."""
        return Mesh(self.vertices @ np.asarray(rotation, float).T + np.asarray(position, float), self.faces)

    def flattened(self, height: float) -> "Mesh":
        """The shadow of the mesh on the plane z = `height`."""
        shadow = self.vertices.copy()
        shadow[:, 2] = height
        return Mesh(shadow, self.faces)


def perpendiculars(direction: ArrayLike) -> tuple[Floats, Floats]:
    """Two unit vectors (3,) that make a right-handed triad with `direction` (3,) as the third."""
    third = unit(direction)
    helper = np.eye(3)[int(np.argmin(np.abs(third)))]
    first = unit(np.cross(helper, third))
    return first, np.cross(third, first)


def unit(vector: ArrayLike) -> Floats:
    """`vector` (3,) with length one."""
    array = np.asarray(vector, float)
    length = float(np.linalg.norm(array))
    return array / length


def ring(centre: ArrayLike, axis: ArrayLike, radius: float, angles: ArrayLike) -> Floats:
    """(n, 3) points on a circle about `axis`, at `angles` (n,) in rad."""
    first, second = perpendiculars(axis)
    angle = np.asarray(angles, float)[:, None]
    around: Floats = np.cos(angle) * first + np.sin(angle) * second
    return np.asarray(centre, float) + radius * around


def disc(centre: ArrayLike, axis: ArrayLike, radius: float, corners: int = 40) -> Mesh:
    """A flat disc; its first vertex is its centre."""
    turns = np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    edge = np.arange(corners) + 1
    faces = np.stack([np.zeros(corners, int), edge, np.roll(edge, -1)], axis=1)
    return Mesh(np.vstack([np.asarray(centre, float), ring(centre, axis, radius, turns)]), faces)


def cone(base: ArrayLike, axis: ArrayLike, radius: float, height: float, corners: int = 16) -> Mesh:
    """An arrow head that stands on `base` and points along `axis`."""
    bottom = disc(base, axis, radius, corners)
    tip = np.asarray(base, float) + height * unit(axis)
    edge = np.arange(corners) + 1
    side = np.stack([edge, np.roll(edge, -1), np.full(corners, corners + 1)], axis=1)
    return Mesh(np.vstack([bottom.vertices, tip]), np.vstack([bottom.faces[:, ::-1], side]))


def rod(start: ArrayLike, end: ArrayLike, radius: float, corners: int = 10) -> Mesh:
    """A straight rod; empty where both ends are the same point."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    if np.linalg.norm(b - a) < 1e-9:
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    turns = np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    low, high = (ring(point, b - a, radius, turns) for point in (a, b))
    near = np.arange(corners)
    far = np.roll(near, -1)
    sides = [
        np.stack([near, far, far + corners], axis=1),
        np.stack([near, far + corners, near + corners], axis=1),
    ]
    fan = np.arange(1, corners - 1)
    top = np.stack([np.full(fan.size, corners), corners + fan, corners + fan + 1], axis=1)
    bottom = np.stack([np.zeros(fan.size, int), fan + 1, fan], axis=1)
    return Mesh(np.vstack([low, high]), np.vstack([*sides, top, bottom]))


def arrow(start: ArrayLike, along: ArrayLike, radius: float) -> Mesh:
    """A solid arrow from `start` by the vector `along`; its head takes at most half of it."""
    vector = np.asarray(along, float)
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        return rod(start, start, radius)
    head = min(6.0 * radius, 0.5 * length)
    neck = np.asarray(start, float) + vector * (1.0 - head / length)
    return Mesh.joined([rod(start, neck, radius), cone(neck, vector, 2.4 * radius, head)])


def ball(centre: ArrayLike, radius: float, rings: int = 10, corners: int = 20) -> Mesh:
    """A sphere."""
    latitude = np.linspace(0.0, np.pi, rings + 1)
    longitude = np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    polar, around = np.meshgrid(latitude, longitude, indexing="ij")
    points = np.stack(
        [np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1
    )
    return Mesh(np.asarray(centre, float) + radius * points.reshape(-1, 3), _grid_faces(rings, corners))


def aerofoil(span: float, chord: float, thickness: float = 0.09, corners: int = 24) -> Mesh:
    """A symmetric wing of constant chord about the origin: x forward, y along the span, z up.

    The section is a rounded nose that thins out to the trailing edge; `thickness` is a share of the chord.
    """
    turns = np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    forward = 0.5 * chord * np.cos(turns)
    up = 0.5 * thickness * chord * np.sin(turns) * (0.5 + 0.5 * (1.0 + np.cos(turns)) / 2.0) * 1.3
    stations = [np.stack([forward, np.full(corners, y), up], axis=1) for y in (-0.5 * span, 0.5 * span)]
    caps = [np.array([[0.0, y, 0.0]]) for y in (-0.5 * span, 0.5 * span)]
    near = np.arange(corners)
    far = np.roll(near, -1)
    skin = _grid_faces(1, corners)[:, ::-1]
    right = np.stack([np.full(corners, 2 * corners), near, far], axis=1)[:, ::-1]
    left = np.stack([np.full(corners, 2 * corners + 1), near + corners, far + corners], axis=1)
    return Mesh(np.vstack([*stations, *caps]), np.vstack([skin, right, left])[:, ::-1])


def block(centre: ArrayLike, size: ArrayLike) -> Mesh:
    """A cuboid with edges along the axes of its frame; `size` (3,) m."""
    signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    return Mesh(np.asarray(centre, float) + signs * np.asarray(size, float), np.asarray(faces, int))


def _grid_faces(rows: int, corners: int) -> Ints:
    """Triangles between rows of `corners` points that close upon themselves."""
    near = np.arange(corners)
    far = np.roll(near, -1)
    faces = []
    for row in range(rows):
        above, below = row * corners, (row + 1) * corners
        faces.append(np.stack([near + above, near + below, far + below], axis=1))
        faces.append(np.stack([near + above, far + below, far + above], axis=1))
    return np.concatenate(faces)
