"""Worlds: models in motion."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _definitions as c
from ._library import (BadInput, Handle, Iteration, NotConverged, Unsupported, default, doubles,
                       integers, lib, monitored, pointer_to, view)
from .mesh import Mesh, PathLike
from .model import Model
from .scene import load_definitions, material_definition, selector_definition

Monitor = Callable[[Iteration], Any]

# Fields of hk_world_field: components, and whether they are values at tets.
_FIELDS = {"displacement": (3, False), "velocity": (3, False), "contact_force": (3, False),
           "reaction": (3, False), "von_mises": (1, True), "J": (1, True), "stress": (9, True),
           "principal_stress": (3, True), "strain": (9, True)}
_STRESSES = ("von_mises", "stress", "principal_stress")
_BACKENDS = {"cpu": c.HK_BACKEND_CPU, "cuda": c.HK_BACKEND_CUDA, "auto": c.HK_BACKEND_AUTO}
# A step that takes longer than this is watched for Ctrl-C the next time.
_LONG = 0.02  # s


class Report(c.hk_step_report):
    """How a step or a pose went."""

    @property
    def reason(self) -> str:
        """ "converged", "iteration limit", "stalled", …"""
        return lib.hk_reason_name(c.hk_step_report.reason.__get__(self)).decode()

    @property
    def converged(self) -> bool:
        return c.hk_step_report.reason.__get__(self) == c.HK_CONVERGED

    @property
    def failed(self) -> bool:
        """Whether the state was kept or is not the one that was asked for."""
        code = c.hk_step_report.reason.__get__(self)
        return lib.hk_reason_outcome(code) == c.HK_OUTCOME_FAILED

    @property
    def detail(self) -> str:
        """Where and why, for people."""
        return c.hk_step_report.detail.__get__(self).decode("utf-8", "replace")

    @property
    def phases(self) -> dict[str, float]:
        """Wall time by phase, ms."""
        return {lib.hk_phase_name(k).decode(): self.phase_ms[k] for k in range(c.HK_PHASE_COUNT)}

    def require(self) -> "Report":
        """Itself, if it converged; raises NotConverged if not."""
        if not self.converged:
            raise NotConverged(f"{self.reason}: {self.detail}" if self.detail else self.reason, self)
        return self

    def __repr__(self) -> str:
        more = f": {self.detail}" if self.detail else ""
        return (f"<{self.reason} after {self.iterations} iterations, time {self.time:.6g} s, "
                f"residual {self.relative_residual:.2g}, energy {self.energy.total:.6g} J, "
                f"{self.ms:.3g} ms{more}>")


class Grab:
    """A spring from a point of a body to a target that is moved."""

    def __init__(self, world: "World", number: int):
        self._world, self._number = world, number

    def move(self, target: Sequence[float]) -> None:
        lib.hk_world_move_grab(self._world.pointer, self._number, (ctypes.c_double * 3)(*target))

    @property
    def force(self) -> np.ndarray:
        """On the body, N."""
        force = (ctypes.c_double * 3)()
        lib.hk_world_grab_force(self._world.pointer, self._number, force)
        return np.array(force)

    def release(self) -> None:
        lib.hk_world_release_grab(self._world.pointer, self._number)
        self._world._changes += 1


class World:
    """A model in motion: positions, velocities, a solver.

    Settings in place of those of the scene: `step` (s), `integrator`, `method`, `iterations`,
    `tolerance`, `options` ({name: number or word}, of the method), `threads` (0: all cores),
    `backend` ("cpu", "cuda", "auto"), `conserve`, `damping` ({"air": …, "viscous": …, …}),
    `report_energy` (False: reports of steps have no energies, and fast methods are faster).
    """

    def __init__(self, model: Model, *, step: Optional[float] = None,
                 integrator: Optional[str] = None, method: Optional[str] = None,
                 iterations: Optional[int] = None, tolerance: Optional[float] = None,
                 options: Optional[Mapping[str, Union[float, str]]] = None,
                 threads: Optional[int] = None, backend: Optional[str] = None,
                 conserve: Optional[bool] = None, damping: Optional[Mapping[str, float]] = None,
                 report_energy: bool = True):
        self._model = model
        definition = model.scene.world_definition()
        definition.model = model.pointer
        kept: list[Any] = []
        for name, value in (("step", step), ("threads", threads), ("conserve", conserve)):
            if value is not None:
                setattr(definition, name, value)
        if integrator is not None:
            definition.integrator = integrator.encode()
        if backend is not None:
            if backend not in _BACKENDS:
                raise BadInput(f"there is no backend {backend!r} (known: {', '.join(_BACKENDS)})")
            definition.backend = _BACKENDS[backend]
        if damping is not None:
            definition.damping = _damping(damping)
        if any(v is not None for v in (method, iterations, tolerance, options)):
            if method is not None:
                definition.solver = default(c.hk_solver_def, lib.hk_fill_solver_def)
            _set_solver(definition.solver, method, iterations, tolerance, options, kept)
        self._definition, self._kept = definition, kept
        self._damping = definition.damping
        self._gravity: Optional[tuple[float, ...]] = None  # that was set
        made = ctypes.c_void_p()
        lib.hk_world_create(ctypes.byref(definition), ctypes.byref(made))
        model.guard.raise_again()
        self.handle = Handle(made, lib.hk_world_free, model.handle)
        self.pointer: int = self.handle.pointer
        self.monitor: Optional[Monitor] = None  #: called after every iteration; False stops
        self._step_function = lib.hk_world_step
        self._long = False
        self._step = definition.step
        self._vertex_count = model.vertex_count
        self._cpu = self.backend == "cpu"
        self._positions: Optional[np.ndarray] = None
        self._velocities: Optional[np.ndarray] = None
        self._forces: Optional[np.ndarray] = None
        self._tapes: list[Any] = []  # weak references to those that record what is done
        self._edited = False  # it is not what its scene says any more
        self._changes = 0  # of what the matrix of a step is made of
        self._targets = np.zeros(self._vertex_count, dtype=bool)  # that were set
        if not report_energy:
            lib.hk_world_report_energy(self.pointer, False)

    # ---------------------------------------------------------------- motion

    def step(self, count: int = 1) -> Report:
        """Takes time steps, and reports on the last one. Stops where one fails."""
        report = Report()
        for _ in range(count):
            if self._tapes or self._long or self.monitor is not None or self._model.terms \
                    or self._model._materials:
                self._careful_step(report)
            else:
                self._step_function(self.pointer, report)
            self._long = report.ms > 1e3 * _LONG and self._cpu
            if count > 1 and report.failed:
                break
        return report

    def _careful_step(self, report: Report) -> None:
        tapes = [t for t in (reference() for reference in self._tapes) if t is not None]
        for tape in tapes:
            tape._before_step(self)
        self._watched(lambda: self._step_function(self.pointer, report))
        for tape in tapes:
            tape._after_step(self, report)

    def _watched(self, call: Callable[[], Any]) -> Any:
        return monitored(lib.hk_world_set_monitor, self.pointer, self.monitor, call,
                         (self._model.guard,))

    def pose(self, monitor: Optional[Monitor] = None) -> Report:
        """Finds the equilibrium, from the current positions; Ctrl-C stops it."""
        report, before = Report(), self.monitor
        self.monitor = monitor or before
        try:
            self._watched(lambda: lib.hk_world_pose(self.pointer, ctypes.byref(report)))
        finally:
            self.monitor = before
        return report

    def run(self, seconds: float, each: Optional[Callable[["World"], Any]] = None) -> Report:
        """Steps until so much time has gone by; `each` is called after every step."""
        end, report = self.time + seconds - 1e-9 * self._step, Report()
        while self.time < end:
            report = self.step()
            if each is not None:
                each(self)
            if report.failed:
                break
        return report

    def watch_energy(self, always: bool = True) -> None:
        """Monitors are told the energy after every iteration, whatever the method."""
        lib.hk_world_watch_energy(self.pointer, always)

    # ---------------------------------------------------------------- state

    @property
    def model(self) -> Model:
        return self._model

    @property
    def vertex_count(self) -> int:
        return self._vertex_count

    @property
    def positions(self) -> np.ndarray:
        """[vertices, 3] m: a read-only view without a copy, always up to date. Assign to set."""
        if self._positions is None or not self._cpu:
            self._positions = view(self.handle, lib.hk_world_positions(self.pointer),
                                   (self._vertex_count, 3))
        return self._positions

    @positions.setter
    def positions(self, values: Any) -> None:
        x = doubles(values, (self._vertex_count, 3), "positions")
        lib.hk_world_set_positions(self.pointer, pointer_to(x))

    @property
    def velocities(self) -> np.ndarray:
        """[vertices, 3] m/s, as positions."""
        if self._velocities is None or not self._cpu:
            self._velocities = view(self.handle, lib.hk_world_velocities(self.pointer),
                                    (self._vertex_count, 3))
        return self._velocities

    @velocities.setter
    def velocities(self, values: Any) -> None:
        v = doubles(values, (self._vertex_count, 3), "velocities")
        lib.hk_world_set_velocities(self.pointer, pointer_to(v))

    @property
    def time(self) -> float:
        return lib.hk_world_time(self.pointer)

    @time.setter
    def time(self, seconds: float) -> None:
        lib.hk_world_set_time(self.pointer, seconds)

    @property
    def rest_positions(self) -> np.ndarray:
        """[vertices, 3] m, a copy. Assign to set: masses follow, the state stays."""
        pointer = lib.hk_model_rest_positions(lib.hk_world_model(self.pointer))
        return view(self.handle, pointer, (self._vertex_count, 3)).copy()

    @rest_positions.setter
    def rest_positions(self, values: Any) -> None:
        X = doubles(values, (self._vertex_count, 3), "rest positions")
        self._refuse_with_materials("rest positions")
        lib.hk_world_set_rest_positions(self.pointer, pointer_to(X))
        self._edited = True
        self._changes += 1

    @property
    def masses(self) -> np.ndarray:
        """[vertices] kg, a copy."""
        pointer = lib.hk_model_masses(lib.hk_world_model(self.pointer))
        return view(self.handle, pointer, (self._vertex_count,)).copy()

    def save_state(self, path: PathLike) -> None:
        """A checkpoint: all that the steps to come depend on."""
        lib.hk_world_save_state(self.pointer, os.fsencode(path))

    def load_state(self, path: PathLike) -> None:
        lib.hk_world_load_state(self.pointer, os.fsencode(path))

    def copy_state(self, other: "World") -> None:
        """Takes the state of another world of the same model."""
        lib.hk_world_copy_state(self.pointer, other.pointer)

    # ---------------------------------------------------------------- live edits

    def set_gravity(self, gravity: Sequence[float]) -> None:
        lib.hk_world_set_gravity(self.pointer, (ctypes.c_double * 3)(*gravity))
        self._gravity = tuple(float(g) for g in gravity)

    def set_forces(self, forces: Any) -> None:
        """[vertices, 3] N beside gravity and loads; None: none."""
        f = None if forces is None else doubles(forces, (self._vertex_count, 3), "forces")
        lib.hk_world_set_forces(self.pointer, pointer_to(f))
        self._forces = None if f is None else f.copy()

    def set_loads(self, body: Any, loads: Sequence[Mapping[str, Any]]) -> None:
        """[{"select": …, "force": …}, …] in place of all loads of a body."""
        records, count, kept = load_definitions(loads)
        lib.hk_world_set_loads(self.pointer, self._model.body(body).number, records, count)
        self._edited = True
        self._changes += 1
        del kept

    def set_targets(self, vertices: Any, positions: Any) -> None:
        """Where held vertices are at the end of the next step, and from then on."""
        which = integers(vertices, (-1,), "vertices")
        x = doubles(positions, (len(which), 3), "positions")
        lib.hk_world_set_targets(self.pointer, len(which), pointer_to(which), pointer_to(x))
        self._targets[which] = True

    def fix(self, vertices: Any, positions: Any = None) -> None:
        """Holds vertices where they are, or at positions."""
        which = integers(vertices, (-1,), "vertices")
        x = None if positions is None else doubles(positions, (len(which), 3), "positions")
        lib.hk_world_fix(self.pointer, len(which), pointer_to(which), pointer_to(x))
        self._edited = True
        self._changes += 1

    def unfix(self, vertices: Any) -> None:
        which = integers(vertices, (-1,), "vertices")
        lib.hk_world_unfix(self.pointer, len(which), pointer_to(which))
        self._edited = True
        self._changes += 1

    def set_material(self, body: Any, material: Mapping[str, Any], select: Any = None) -> None:
        """Another material for a body, or for the tets that are selected (as in a scene)."""
        self._refuse_with_materials("materials", self._model.body(body).number)
        definition, kept = material_definition(material)
        region, more = (None, []) if select is None else selector_definition(select)
        lib.hk_world_set_material(self.pointer, self._model.body(body).number,
                                  None if region is None else ctypes.byref(region),
                                  ctypes.byref(definition))
        self._edited = True
        self._changes += 1
        del kept, more

    def _refuse_with_materials(self, what: str, body: Optional[int] = None) -> None:
        if self._model._materials and body in (None, *self._model._materials):
            raise Unsupported(f"{what} of bodies with a material of one's own stay as they were "
                              "made: make another model")

    def set_step(self, step: float) -> None:
        lib.hk_world_set_step(self.pointer, step)
        self._step = step

    def set_damping(self, **damping: float) -> None:
        """air, viscous, ether, pbd, air_per_vertex; what is not given is 0."""
        found = _damping(damping)
        lib.hk_world_set_damping(self.pointer, ctypes.byref(found))
        self._damping = found
        self._changes += 1

    def set_solver(self, method: str, iterations: Optional[int] = None,
                   tolerance: Optional[float] = None,
                   options: Optional[Mapping[str, Union[float, str]]] = None) -> None:
        """Another method, or other options of it, from the next step on."""
        definition, kept = default(c.hk_solver_def, lib.hk_fill_solver_def), []
        _set_solver(definition, method, iterations, tolerance, options, kept)
        lib.hk_world_set_solver(self.pointer, ctypes.byref(definition))

    def grab(self, vertices: Any, target: Sequence[float], stiffness: float,
             weights: Any = None) -> Grab:
        """Pulls a vertex, or Σ weight × vertex of up to four, towards a target."""
        which = integers(np.atleast_1d(vertices), (-1,), "vertices")
        definition = default(c.hk_grab_def, lib.hk_fill_grab_def)
        if not 1 <= len(which) <= len(definition.vertices):
            raise BadInput(f"a grab has 1 to {len(definition.vertices)} vertices (has {len(which)})")
        share = np.full(len(which), 1 / len(which)) if weights is None else weights
        definition.count = len(which)
        definition.vertices[:len(which)] = which.tolist()
        definition.weights[:len(which)] = doubles(share, (len(which),), "weights").tolist()
        definition.stiffness = stiffness
        definition.target[:] = [float(t) for t in target]
        number = ctypes.c_int()
        lib.hk_world_grab(self.pointer, ctypes.byref(definition), ctypes.byref(number))
        self._changes += 1
        return Grab(self, number.value)

    # ---------------------------------------------------------------- results

    def field(self, name: str) -> np.ndarray:
        """Values by name: displacement, velocity, contact_force, reaction ([vertices, 3]);
        von_mises, J ([tets]); principal_stress ([tets, 3]); stress, strain ([tets, 3, 3])."""
        if name not in _FIELDS:
            raise BadInput(f"there is no field {name!r} (known: {', '.join(_FIELDS)})")
        if name in _STRESSES and self._model._materials:
            raise Unsupported("the library does not know the stress of materials of one's own: "
                              "take material.stress(F)")
        components, of_tets = _FIELDS[name]
        count = self._model.tet_count if of_tets else self._vertex_count
        values = np.zeros((count, components))
        lib.hk_world_field(self.pointer, name.encode(), pointer_to(values))
        if components == 9:
            return values.reshape(count, 3, 3)
        return values[:, 0] if components == 1 else values

    @property
    def energy(self) -> dict[str, float]:
        """J: elastic, gravity, load, kinetic, contact, total."""
        found = c.hk_energy()
        lib.hk_world_energy(self.pointer, ctypes.byref(found), None)
        self._model.guard.raise_again()
        return {name: getattr(found, name)
                for name in ("elastic", "gravity", "load", "kinetic", "contact", "total")}

    def contact(self) -> dict[str, Any]:
        """Pairs that push, the least gap, what was done and how long it took."""
        report = c.hk_contact_report()
        lib.hk_world_contact(self.pointer, ctypes.byref(report))
        return {name: getattr(report, name) for name, _ in report._fields_
                if not name.startswith("reserved")}

    def obstacle_load(self, obstacle: Union[int, str]) -> dict[str, np.ndarray]:
        """Force and torque (about center) of bodies on an obstacle."""
        names = self._model.obstacles
        if isinstance(obstacle, str):
            if obstacle not in names:
                raise BadInput(f"there is no obstacle {obstacle!r} (there are: {', '.join(names)})")
            obstacle = names.index(obstacle)
        load = c.hk_obstacle_load()
        lib.hk_world_obstacle_load(self.pointer, obstacle, ctypes.byref(load))
        return {name: np.array(getattr(load, name)) for name in ("force", "torque", "center")}

    def reactions(self) -> list[dict[str, Any]]:
        """What every fix and move exerts on its vertices."""
        count = lib.hk_model_constraint_count(lib.hk_world_model(self.pointer))
        found = (c.hk_reaction * max(count, 1))()
        lib.hk_world_reactions(self.pointer, found, None)
        return [{"body": self._model.body(r.body).name, "kind": "move" if r.moves else "fix",
                 "number": r.number, "name": r.name.decode() if r.name else None,
                 "vertices": r.vertices, "force": np.array(r.force), "moment": np.array(r.moment),
                 "center": np.array(r.center)} for r in found[:count]]

    def greatest(self) -> dict[str, Any]:
        """The largest displacement and von Mises stress, and where."""
        g = c.hk_greatest()
        lib.hk_world_greatest(self.pointer, ctypes.byref(g))
        return {"displacement": g.displacement, "displacement_place": np.array(g.displacement_place),
                "vertex": g.vertex, "von_mises": g.von_mises,
                "von_mises_place": np.array(g.von_mises_place), "tet": g.tet}

    def probe(self, body: Any, at: Sequence[float]) -> Callable[[], np.ndarray]:
        """A function that says where a point of a body (given where it is at rest) is now."""
        found = c.hk_probe()
        lib.hk_model_probe(lib.hk_world_model(self.pointer), self._model.body(body).number,
                           (ctypes.c_double * 3)(*at), ctypes.byref(found))

        def place() -> np.ndarray:
            x = (ctypes.c_double * 3)()
            lib.hk_world_probe(self.pointer, ctypes.byref(found), x)
            return np.array(x)
        return place

    def mesh(self) -> Mesh:
        """All bodies at their current positions."""
        made = ctypes.c_void_p()
        lib.hk_world_mesh(self.pointer, ctypes.byref(made))
        return Mesh._take(made)

    def surface(self) -> Mesh:
        """Their surface, or their skins."""
        return self._model.surface(self.positions)

    def save(self, path: PathLike, fields: Sequence[str] = ()) -> None:
        """A mesh with displacement, velocity, von Mises stress and J; `fields` adds more."""
        from ._library import texts
        if fields:
            lib.hk_world_save_fields(self.pointer, os.fsencode(path), texts(fields), len(fields))
        else:
            lib.hk_world_save(self.pointer, os.fsencode(path))

    def save_points(self, path: PathLike) -> None:
        """vertex,x,y,z with 17 digits."""
        lib.hk_world_save_points(self.pointer, os.fsencode(path))

    def to_meshio(self) -> Any:
        """A meshio.Mesh with displacement and velocity, if meshio is installed."""
        mesh = self.mesh().to_meshio()
        mesh.point_data = {n: self.field(n) for n in ("displacement", "velocity")}
        return mesh

    def to_trimesh(self) -> Any:
        """The surface as a trimesh.Trimesh, if trimesh is installed."""
        return self.surface().to_trimesh()

    def analysis(self) -> "Any":
        """Energy, gradient, Hessian and linear systems at any state: a hooke.Analysis."""
        from .analysis import Analysis
        return Analysis(self)

    # ---------------------------------------------------------------- pictures

    def picture(self, width: int = 640, height: int = 480, **look: Any) -> np.ndarray:
        """[height, width, 3] uint8: see hooke.picture."""
        from .picture import picture
        return picture(self, width, height, **look)

    def save_png(self, path: PathLike, width: int = 640, height: int = 480, **look: Any) -> None:
        from .picture import picture, write_png
        write_png(path, picture(self, width, height, **look))

    def video(self, path: PathLike, seconds: float = 2.0, rate: int = 25, width: int = 640,
              height: int = 480, **look: Any) -> Report:
        """Runs for so many seconds and films it, by the ffmpeg command."""
        from .picture import video
        return video(self, path, seconds, rate, width, height, **look)

    def _repr_html_(self) -> str:
        from .viewer import Viewer
        return Viewer([self])._repr_html_()

    # ---------------------------------------------------------------- about it

    @property
    def method(self) -> str:
        return lib.hk_world_method(self.pointer).decode()

    @property
    def backend(self) -> str:
        return lib.hk_world_backend(self.pointer).decode()

    @property
    def threads(self) -> int:
        return lib.hk_world_threads(self.pointer)

    @property
    def setup_ms(self) -> float:
        return lib.hk_world_setup_ms(self.pointer)

    def describe(self) -> str:
        """Method, options, sizes, lanes and threads, or the GPU."""
        return lib.hk_world_describe(self.pointer).decode()

    def __repr__(self) -> str:
        return f"<hooke.World at {self.time:.6g} s: {self.describe()}>"


def _damping(values: Mapping[str, float]) -> Any:
    damping = c.hk_damping()
    for name, value in values.items():
        if name not in (field for field, _ in damping._fields_):
            raise BadInput(f"there is no damping {name!r} (known: "
                           f"{', '.join(n for n, _ in damping._fields_)})")
        setattr(damping, name, value)
    return damping


def _set_solver(definition: Any, method: Optional[str], iterations: Optional[int],
                tolerance: Optional[float],
                options: Optional[Mapping[str, Union[float, str]]], kept: list[Any]) -> None:
    if method is not None:
        definition.method = method.encode()
    if iterations is not None:
        definition.iterations = iterations
    if tolerance is not None:
        definition.tolerance = tolerance
    if options is None:
        return
    records = (c.hk_option * max(len(options), 1))()
    for record, (name, value) in zip(records, options.items()):
        record.name = name.encode()
        if isinstance(value, str):
            record.text = value.encode()
        else:
            record.number = float(value)
    kept.append(records)
    definition.options = ctypes.cast(records, type(definition.options))
    definition.option_count = len(options)
