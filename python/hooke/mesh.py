"""Meshes of tetrahedra, or of triangles."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Mapping, Optional, Union

import numpy as np

from . import _definitions as c
from ._library import BadInput, Handle, doubles, integers, lib, pointer_to, view

_SHAPES = {name[len("HK_SHAPE_"):].lower(): value for name, value in c.ENUMS["hk_shape"].items()}
PathLike = Union[str, "os.PathLike[str]"]


class Mesh:
    """Vertices with tetrahedra, or with triangles alone (a sheet or a surface).

        Mesh.load("cow.msh")                        from a file
        Mesh.make("box", size=[1, 0.2, 0.2], cells=[20, 4, 4])    from a generator
        Mesh(vertices, tets)                        from arrays
    """

    def __init__(self, vertices: Any, tets: Any = None, triangles: Any = None):
        x = doubles(vertices, (-1, 3), "vertices")
        t = None if tets is None else integers(tets, (-1, 4), "tets")
        f = None if triangles is None else integers(triangles, (-1, 3), "triangles")
        made = ctypes.c_void_p()
        lib.hk_mesh_from_arrays(len(x), pointer_to(x), 0 if t is None else len(t), pointer_to(t),
                                0 if f is None else len(f), pointer_to(f), ctypes.byref(made))
        self._handle = Handle(made, lib.hk_mesh_free)

    @classmethod
    def _take(cls, pointer: ctypes.c_void_p) -> "Mesh":
        mesh = cls.__new__(cls)
        mesh._handle = Handle(pointer, lib.hk_mesh_free)
        return mesh

    @classmethod
    def load(cls, path: PathLike) -> "Mesh":
        """From a file, by its ending (.msh, .vtu, .vtk, .mesh, .node, .veg, .obj, .stl, .ply)."""
        made = ctypes.c_void_p()
        lib.hk_mesh_load(os.fsencode(path), ctypes.byref(made))
        return cls._take(made)

    @classmethod
    def make(cls, shape: str, **values: Any) -> "Mesh":
        """From a generator: "box", "cylinder", "sphere", "helix", "sheet", "figure", "torus", …"""
        if shape not in _SHAPES:
            raise BadInput(f"there is no generator {shape!r} (known: {', '.join(_SHAPES)})")
        definition = c.hk_mesh_def()
        lib.hk_fill_mesh_def(ctypes.byref(definition), ctypes.sizeof(definition), _SHAPES[shape])
        for name, value in values.items():
            if name in ("size", "cells"):
                field = getattr(definition, name)
                given = np.atleast_1d(value).tolist()
                if len(given) > len(field):
                    raise BadInput(f"{name} takes at most {len(field)} numbers")
                field[:len(given)] = given
            elif name in ("def_size", "shape") or not hasattr(definition, name):
                raise BadInput(f"a generator has no {name!r}")
            else:
                setattr(definition, name, value)
        made = ctypes.c_void_p()
        lib.hk_mesh_make(ctypes.byref(definition), ctypes.byref(made))
        return cls._take(made)

    @classmethod
    def from_meshio(cls, mesh: Any) -> "Mesh":
        """From a meshio.Mesh: its tetrahedra, or its triangles where it has none."""
        tets = [b.data for b in mesh.cells if b.type == "tetra"]
        triangles = [b.data for b in mesh.cells if b.type == "triangle"]
        if not tets and not triangles:
            raise BadInput("the mesh has neither tetrahedra nor triangles")
        return cls(mesh.points, np.concatenate(tets) if tets else None,
                   np.concatenate(triangles) if triangles else None)

    @classmethod
    def from_trimesh(cls, mesh: Any) -> "Mesh":
        """From a trimesh.Trimesh, a surface."""
        return cls(mesh.vertices, triangles=mesh.faces)

    # ---------------------------------------------------------------- what it has

    @property
    def pointer(self) -> int:
        return self._handle.pointer

    @property
    def vertices(self) -> np.ndarray:
        """[n, 3], m, read-only."""
        return view(self._handle, lib.hk_mesh_positions(self.pointer),
                    (lib.hk_mesh_vertex_count(self.pointer), 3))

    @property
    def tets(self) -> np.ndarray:
        """[n, 4], read-only."""
        return view(self._handle, lib.hk_mesh_tets(self.pointer),
                    (lib.hk_mesh_tet_count(self.pointer), 4), "<i4")

    @property
    def triangles(self) -> np.ndarray:
        """[n, 3], as stored in the file, read-only."""
        return view(self._handle, lib.hk_mesh_triangles(self.pointer),
                    (lib.hk_mesh_triangle_count(self.pointer), 3), "<i4")

    def surface(self) -> np.ndarray:
        """[n, 3], the outer triangles of the tets, outward, or those of a surface."""
        count, found = ctypes.c_int(), ctypes.POINTER(ctypes.c_int32)()
        lib.hk_mesh_surface(self.pointer, ctypes.byref(count), ctypes.byref(found), None)
        return view(self._handle, found, (count.value, 3), "<i4").copy()

    @property
    def groups(self) -> list[str]:
        return [lib.hk_mesh_group_name(self.pointer, k).decode()
                for k in range(lib.hk_mesh_group_count(self.pointer))]

    @property
    def notes(self) -> list[str]:
        """What was repaired or left out while reading."""
        return [lib.hk_mesh_note(self.pointer, k).decode()
                for k in range(lib.hk_mesh_note_count(self.pointer))]

    def check(self) -> dict[str, Any]:
        """Counts, size, quality and defects."""
        report = c.hk_mesh_report()
        lib.hk_mesh_check(self.pointer, ctypes.byref(report))
        names = ("vertices", "tets", "triangles", "groups", "components", "volume", "area",
                 "worst_quality", "mean_quality", "simulable")
        found: dict[str, Any] = {name: getattr(report, name) for name in names}
        found["bounds"] = np.array([list(corner) for corner in report.bounds])
        found["verdict"] = report.verdict.decode()
        for name in ("turned", "flat", "duplicate_tets", "duplicate_vertices", "unreferenced",
                     "non_manifold", "open_edges", "not_finite"):
            found[name] = getattr(report, name).count
        return found

    # ---------------------------------------------------------------- to others

    def save(self, path: PathLike, fields: Optional[Mapping[str, Any]] = None) -> None:
        """In the format of the path's ending, with values at vertices or tets by name."""
        counts = {len(self.vertices): c.HK_ON_VERTICES, len(self.tets): c.HK_ON_TETS}
        records, kept = (c.hk_field * max(len(fields or {}), 1))(), []
        for record, (name, values) in zip(records, (fields or {}).items()):
            array = np.ascontiguousarray(values, dtype=np.float64)
            if array.ndim == 0 or len(array) not in counts:
                raise BadInput(f"field {name!r} must have a row for each vertex or each tet")
            kept.append(array)
            record.name, record.site = name.encode(), counts[len(array)]
            record.components = int(np.prod(array.shape[1:], dtype=int))
            record.values = pointer_to(array)
        lib.hk_mesh_save(self.pointer, os.fsencode(path), records, len(fields or {}))

    def to_meshio(self) -> Any:
        """A meshio.Mesh, if meshio is installed."""
        import meshio
        cells = [("tetra", self.tets.copy())] if len(self.tets) else \
            [("triangle", self.triangles.copy())]
        return meshio.Mesh(self.vertices.copy(), cells)

    def to_trimesh(self) -> Any:
        """Its surface as a trimesh.Trimesh, if trimesh is installed."""
        import trimesh
        return trimesh.Trimesh(self.vertices.copy(), self.surface(), process=False)

    def __repr__(self) -> str:
        return (f"<hooke.Mesh of {len(self.vertices)} vertices, {len(self.tets)} tets, "
                f"{len(self.triangles)} triangles>")
