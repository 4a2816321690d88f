"""Scenes: JSON files, texts or dicts, in which meshes, arrays and materials of one's own may stand."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _definitions as c
from ._library import (BadInput, Handle, array_of, doubles, integers, lib, pointer_to, texts)
from .custom import Material, empty_law
from .mesh import Mesh

SceneLike = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_PLACEHOLDER = {"box": {"size": [1, 1, 1], "cells": [1, 1, 1]}}


def _plain(value: Any) -> Any:
    """What json can write."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise BadInput(f"a scene cannot hold a {type(value).__name__}")


def _mesh_of(value: Any) -> Optional[Mesh]:
    """A Mesh, arrays, or a mesh of meshio or trimesh; None: it is for the scene file."""
    if isinstance(value, Mesh):
        return value
    if isinstance(value, Mapping):
        if "vertices" in value and not isinstance(value["vertices"], str):
            return Mesh(value["vertices"], value.get("tets"), value.get("triangles"))
        return None
    if hasattr(value, "points") and hasattr(value, "cells"):
        return Mesh.from_meshio(value)
    if hasattr(value, "vertices") and hasattr(value, "faces"):
        return Mesh.from_trimesh(value)
    raise BadInput("a mesh is a hooke.Mesh, {\"vertices\": …, \"tets\": …}, a mesh of meshio or "
                   f"trimesh, or what a scene file has (is a {type(value).__name__})")


def _names_parts(value: Any) -> bool:
    """Whether some selector is of vertices or groups, which scenes look up in the mesh."""
    if isinstance(value, Mapping):
        return "vertices" in value or "group" in value or any(map(_names_parts, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_names_parts, value))


def _stand_in(mesh: Mesh, body: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """What a scene is parsed with in the place of a mesh of Python's."""
    if not _names_parts({k: v for k, v in body.items() if k != "mesh"}):
        return _PLACEHOLDER
    path = lib.hk_mesh_path(mesh.pointer)
    if path is None or not os.path.exists(path):
        path = os.fsencode(os.path.join(folder, f"{mesh.pointer}.msh"))
        mesh.save(os.fsdecode(path))
    return {"file": os.path.abspath(os.fsdecode(path))}


class Scene:
    """A parsed scene: definitions of a model and of a world, and what stood in for others."""

    def __init__(self, source: SceneLike, sets: Optional[Mapping[str, Any]] = None):
        self.source, self.sets = source, dict(sets or {})
        self.meshes: dict[int, Mesh] = {}
        self.materials: dict[int, Material] = {}
        made = ctypes.c_void_p()
        lines = [f"{path}={json.dumps(value, default=_plain)}" for path, value in self.sets.items()]
        if isinstance(source, Mapping):
            with tempfile.TemporaryDirectory(prefix="hooke-") as folder:
                text = json.dumps(self._take_objects(source, folder), default=_plain).encode()
                lib.hk_scene_parse(text, len(text), b"scene", texts(lines), len(lines),
                                   ctypes.byref(made))
        else:
            lib.hk_scene_load(os.fsencode(source), texts(lines), len(lines), ctypes.byref(made))
        self.handle = Handle(made, lib.hk_scene_free)

    @property
    def pointer(self) -> int:
        return self.handle.pointer

    def _take_objects(self, source: Mapping[str, Any], folder: str) -> dict[str, Any]:
        scene = dict(source)
        bodies = scene.get("bodies")
        if not isinstance(bodies, (list, tuple)):
            return scene
        scene["bodies"] = [dict(b) if isinstance(b, Mapping) else b for b in bodies]
        for number, body in enumerate(scene["bodies"]):
            if not isinstance(body, dict):
                continue
            mesh = _mesh_of(body["mesh"]) if "mesh" in body else None
            own = mesh is not None or isinstance(body.get("material"), Material)
            if own and ("copies" in body or "array" in body):
                raise BadInput(f"body {number}: copies are made of bodies with meshes and materials "
                               "as scene files have them: write the bodies out")
            if mesh is not None:
                self.meshes[number] = mesh
                body["mesh"] = _stand_in(mesh, body, folder)
            material = body.get("material")
            if isinstance(material, Material):
                self.materials[number] = material
                body["material"] = {"young": material.young, "poisson": material.poisson,
                                    "density": material.density}
        return scene

    def model_definition(self) -> tuple[Any, list[Any]]:
        """hk_model_def with what stands in for others put in, and what must live meanwhile."""
        pointer = lib.hk_scene_model(self.pointer)
        definition = array_of(pointer, 1, c.hk_model_def)[0]
        bodies = array_of(definition.bodies, definition.body_count, c.hk_body_def)
        for number, mesh in self.meshes.items():
            bodies[number].mesh = mesh.pointer
        for number in self.materials:
            bodies[number].material.model = b"custom"
            bodies[number].material.custom = empty_law()
        definition.bodies = ctypes.cast(bodies, type(definition.bodies))
        return definition, [bodies, self]

    def world_definition(self) -> Any:
        return array_of(lib.hk_scene_world(self.pointer), 1, c.hk_world_def)[0]

    @property
    def steps(self) -> int:
        return lib.hk_scene_steps(self.pointer)


def _with(key: str, value: Any) -> tuple[Any, Scene]:
    scene = Scene({"bodies": [{"mesh": _PLACEHOLDER, "material": {"young": 1e6, "poisson": 0.4}, key: value}]})
    bodies = array_of(lib.hk_scene_model(scene.pointer).contents.bodies, 1, c.hk_body_def)
    return bodies[0], scene


def material_definition(material: Any) -> tuple[Any, list[Any]]:
    """hk_material_def of {"model": …, "young": …, …}, as in a scene."""
    if isinstance(material, Material):
        raise BadInput("a material of one's own cannot be put on a body that lives: make the model "
                       "with it")
    body, scene = _with("material", material)
    return body.material, [body, scene]


def load_definitions(loads: Sequence[Any]) -> tuple[Any, int, list[Any]]:
    """[hk_load_def] of [{"select": …, "force": …}, …], as in a scene."""
    # Vertices are those of the body, which the scene here has not: selectors are put in by hand.
    plain = [{**load, "select": {"all": True}} if isinstance(load, Mapping) and "select" in load
             else load for load in loads]
    body, scene = _with("load", plain)
    records, kept = array_of(body.loads, body.load_count, c.hk_load_def), [body, scene]
    for record, load in zip(records, loads):
        if isinstance(load, Mapping) and "select" in load:
            record.select = _selector(load["select"], kept)
    return records, body.load_count, kept


def selector_definition(select: Any) -> tuple[Any, list[Any]]:
    """hk_selector of {"box": …}, {"vertices": …}, … as in a scene, or of a list of vertices."""
    kept: list[Any] = []
    return _selector(select, kept), kept


def _selector(value: Any, kept: list[Any]) -> Any:
    if not isinstance(value, Mapping):
        value = {"vertices": value}
    if len(value) != 1:
        raise BadInput("a selector has one of box, sphere, vertices, group, all, any, not (has "
                       f"{', '.join(map(repr, value)) or 'none'})")
    (kind, given), s = next(iter(value.items())), c.hk_selector()
    if kind == "box":
        s.kind = c.HK_SELECT_BOX
        corners = doubles(given, (2, 3), "a box")
        for k in range(2):
            s.box[k][:] = corners[k].tolist()
    elif kind == "sphere":
        s.kind, s.radius = c.HK_SELECT_SPHERE, float(given["radius"])
        s.center[:] = doubles(given["center"], (3,), "a center").tolist()
    elif kind == "vertices":
        which = integers(np.atleast_1d(given), (-1,), "vertices")
        kept.append(which)
        s.kind, s.vertices, s.vertex_count = c.HK_SELECT_VERTICES, pointer_to(which), len(which)
    elif kind == "group":
        s.kind, s.group = c.HK_SELECT_GROUP, str(given).encode()
    elif kind == "all":
        s.kind = c.HK_SELECT_ALL if given else c.HK_SELECT_NONE
    elif kind in ("any", "not"):
        parts = list(given) if kind == "any" else [given]
        children = (c.hk_selector * max(len(parts), 1))(*[_selector(p, kept) for p in parts])
        kept.append(children)
        s.kind = c.HK_SELECT_ANY if kind == "any" else c.HK_SELECT_NOT
        s.children, s.child_count = children, len(parts)
    else:
        raise BadInput(f"there is no selector {kind!r} (known: box, sphere, vertices, group, all, "
                       "any, not)")
    return s
