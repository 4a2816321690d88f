"""Models: bodies, materials, what holds and loads them. Immutable; one may serve many worlds."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

import numpy as np

from ._library import BadInput, Guarded, Handle, lib, view
from .custom import Term, TetTerm, definitions
from .mesh import Mesh
from .scene import Scene, SceneLike

if TYPE_CHECKING:
    from .world import World


class Body:
    """A body of a model: its name, its number, and which vertices are its own."""

    __slots__ = ("name", "number", "vertices")

    def __init__(self, name: str, number: int, vertices: slice):
        self.name, self.number, self.vertices = name, number, vertices

    def __repr__(self) -> str:
        return f"<hooke.Body {self.number} {self.name!r}: vertices {self.vertices.start} to " \
               f"{self.vertices.stop - 1}>"


class Model:
    """Made from a scene: a file, a JSON text's dict, with meshes from anywhere.

        model = hooke.load("scene.json")
        model = hooke.load({"bodies": [{"mesh": hooke.Mesh(vertices, tets), "material": {…}}]})

    `sets` are overrides as on the command line, {"bodies.0.material.young": 1e5}; `terms` are
    energies of one's own (hooke.Term).
    """

    def __init__(self, scene: SceneLike, sets: Optional[Mapping[str, Any]] = None,
                 terms: Sequence[Term] = ()):
        self.scene = scene if isinstance(scene, Scene) else Scene(scene, sets)
        self.terms = tuple(terms)
        self.guard = Guarded()  # of Python functions that the library calls
        self._materials: dict[int, TetTerm] = {}
        definition, kept = self.scene.model_definition()
        if self.scene.materials:
            self._add_materials(definition)
        records, callbacks = definitions([*self.terms, *self._materials.values()], self.guard)
        definition.term_count = len(self.terms) + len(self._materials)
        definition.terms = ctypes.cast(records, type(definition.terms))
        made = ctypes.c_void_p()
        lib.hk_model_create(ctypes.byref(definition), ctypes.byref(made))
        self.handle = Handle(made, lib.hk_model_free, callbacks, kept)
        self._body_count = lib.hk_model_body_count(self.pointer)
        for term in self.terms:
            if term.size is None:
                term.size = float(np.ptp(self.rest_positions, axis=0).max())
        self._names = [self._name(definition.bodies, k) for k in range(self._body_count)]

    @staticmethod
    def _name(bodies: Any, number: int) -> str:
        return (bodies[number].name or f"body{number}".encode()).decode()

    def _add_materials(self, definition: Any) -> None:
        """Laws in Python are terms over the tets, whose rest positions a model without them has."""
        made = ctypes.c_void_p()
        lib.hk_model_create(ctypes.byref(definition), ctypes.byref(made))
        plain = Handle(made, lib.hk_model_free)
        count = lib.hk_model_vertex_count(plain.pointer)
        rest = view(plain, lib.hk_model_rest_positions(plain.pointer), (count, 3))
        for number, material in self.scene.materials.items():
            if definition.bodies[number].sag_free:
                raise BadInput(f"body {number}: rest shapes (\"initial\": {{\"rest\": \"solve\"}}) are "
                               "found for materials of the library")
            if definition.bodies[number].region_count:
                raise BadInput(f"body {number}: a material of one's own is of the whole body, and "
                               "it has regions")
            tets = _tets_of(definition.bodies[number].mesh)
            start = lib.hk_model_body_start(plain.pointer, number)
            self._materials[number] = TetTerm(material, rest[start:], tets, start)

    @property
    def pointer(self) -> int:
        return self.handle.pointer

    # ---------------------------------------------------------------- what it has

    @property
    def vertex_count(self) -> int:
        return lib.hk_model_vertex_count(self.pointer)

    @property
    def tet_count(self) -> int:
        return lib.hk_model_tet_count(self.pointer)

    @property
    def rest_positions(self) -> np.ndarray:
        """[vertices, 3], m, read-only."""
        return view(self.handle, lib.hk_model_rest_positions(self.pointer), (self.vertex_count, 3))

    @property
    def masses(self) -> np.ndarray:
        """[vertices], kg, read-only."""
        return view(self.handle, lib.hk_model_masses(self.pointer), (self.vertex_count,))

    @property
    def bodies(self) -> list[Body]:
        starts = [lib.hk_model_body_start(self.pointer, k) for k in range(self._body_count)]
        ends = [*starts[1:], self.vertex_count]
        return [Body(name, k, slice(*ends_of))
                for k, (name, ends_of) in enumerate(zip(self._names, zip(starts, ends)))]

    def body(self, which: Any) -> Body:
        """By number or by name."""
        if isinstance(which, Body):
            return which
        bodies = self.bodies
        if isinstance(which, str):
            found = [b for b in bodies if b.name == which]
            if not found:
                raise BadInput(f"there is no body {which!r} (there are: "
                               f"{', '.join(b.name for b in bodies)})")
            return found[0]
        if not 0 <= which < len(bodies):
            raise BadInput(f"there is no body {which} (bodies: 0 to {len(bodies) - 1})")
        return bodies[which]

    @property
    def obstacles(self) -> list[str]:
        return [lib.hk_model_obstacle_name(self.pointer, k).decode()
                for k in range(lib.hk_model_obstacle_count(self.pointer))]

    def obstacle_mesh(self, obstacle: int, time: float = 0.0, size: float = 1.0,
                      center: Optional[Sequence[float]] = None) -> Mesh:
        """Its surface where it is at a time, for pictures."""
        made = ctypes.c_void_p()
        at = None if center is None else (ctypes.c_double * 3)(*center)
        lib.hk_model_obstacle_mesh(self.pointer, obstacle, time, size, at, ctypes.byref(made))
        return Mesh._take(made)

    def surface(self, positions: Any = None, sheets: bool = True) -> Mesh:
        """A mesh of triangles: skins, or the outside of the tets, at positions (at rest)."""
        from ._library import doubles, pointer_to
        x = doubles(self.rest_positions if positions is None else positions,
                    (self.vertex_count, 3), "positions")
        made = ctypes.c_void_p()
        lib.hk_model_surface(self.pointer, pointer_to(x), sheets, ctypes.byref(made))
        return Mesh._take(made)

    # ---------------------------------------------------------------- worlds, and others

    def world(self, **settings: Any) -> "World":
        """A World of this model; settings as World takes them."""
        from .world import World
        return World(self, **settings)

    def with_sets(self, sets: Mapping[str, Any]) -> "Model":
        """The same scene with more overrides, {"bodies.0.material.young": 1e5}."""
        scene = Scene(self.scene.source, {**self.scene.sets, **sets})
        return Model(scene, terms=self.terms)

    def __repr__(self) -> str:
        return f"<hooke.Model of {self._body_count} bodies, {self.vertex_count} vertices, " \
               f"{self.tet_count} tets>"


def _tets_of(mesh: Any) -> np.ndarray:
    count = lib.hk_mesh_tet_count(mesh)
    if not count or lib.hk_mesh_order(mesh) != 1:
        raise BadInput("a material of one's own is for bodies of linear tets")
    return view(None, lib.hk_mesh_tets(mesh), (count, 4), "<i4").copy()


def load(scene: SceneLike, sets: Optional[Mapping[str, Any]] = None,
         terms: Sequence[Term] = ()) -> Model:
    """A Model from a scene file or a dict."""
    return Model(scene, sets, terms)
