"""Two-way design: rest shapes of loaded shapes, materials of observed shapes, interactive edits."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _definitions as c
from ._library import (BadInput, Handle, Unsupported, default, doubles, integers, lib, monitored,
                       pointer_to, view)
from .mesh import PathLike
from .model import Model
from .scene import load_definitions, material_definition, selector_definition
from .world import Monitor


class _Outcome:
    """What reports have in common; set by a base of ctypes."""

    def _code(self) -> int:
        return type(self).__mro__[2].reason.__get__(self)  # type: ignore[attr-defined]

    @property
    def reason(self) -> str:
        """ "converged", "load step limit", …"""
        return lib.hk_reason_name(self._code()).decode()

    @property
    def converged(self) -> bool:
        return self._code() == c.HK_CONVERGED

    @property
    def detail(self) -> str:
        """Where and why, and what to change."""
        raw = type(self).__mro__[2].detail.__get__(self)  # type: ignore[attr-defined]
        return raw.decode("utf-8", "replace")

    def __repr__(self) -> str:
        more = f": {self.detail}" if self.detail else ""
        return f"<{self.reason} after {self.iterations} iterations, {self.ms:.3g} ms{more}>"


class RestReport(_Outcome, c.hk_rest_report):
    """How the search for a rest shape went: load_reached, sag, least_j, …"""


class FitReport(_Outcome, c.hk_fit_report):
    """How a fit went: rms, noise, outliers, undetermined, …"""


class Rest:
    """The rest shape that sags into the shape of a model under gravity and loads.

        rest = hooke.Rest(model)
        rest.solve().converged
        rest.positions          # the shape to make
    """

    def __init__(self, model: Model, method: str = "auto", tolerance: float = 0.0,
                 iterations: int = 0, load_steps: int = 0, threads: int = 0,
                 linear: Optional[str] = None):
        _refuse_materials(model)
        definition = default(c.hk_rest_def, lib.hk_fill_rest_def)
        definition.model, definition.method = model.pointer, method.encode()
        definition.tolerance, definition.iterations = tolerance, iterations
        definition.load_steps, definition.threads = load_steps, threads
        if linear is not None:
            definition.linear = linear.encode()
        made = ctypes.c_void_p()
        lib.hk_rest_create(ctypes.byref(definition), ctypes.byref(made))
        self._handle = Handle(made, lib.hk_rest_free, model.handle)
        self.pointer, self.model = self._handle.pointer, model

    def solve(self, start: Any = None, monitor: Optional[Monitor] = None) -> RestReport:
        """From a start, or from what was found before; Ctrl-C stops it."""
        report = RestReport()
        x = None if start is None else doubles(start, (self.model.vertex_count, 3), "start")
        monitored(lib.hk_rest_set_monitor, self.pointer, monitor,
                  lambda: lib.hk_rest_solve(self.pointer, pointer_to(x), ctypes.byref(report)))
        return report

    @property
    def positions(self) -> np.ndarray:
        """[vertices, 3] m, a read-only view of the rest shape."""
        return view(self._handle, lib.hk_rest_positions(self.pointer), (self.model.vertex_count, 3))

    def set_shape(self, positions: Any) -> None:
        """Another loaded shape, for the next solve."""
        x = doubles(positions, (self.model.vertex_count, 3), "positions")
        lib.hk_rest_set_shape(self.pointer, pointer_to(x))

    def overlaps(self) -> int:
        """Pairs of faces of the rest shape that meet: it cannot be made like that."""
        report = RestReport()
        lib.hk_rest_find_overlaps(self.pointer, ctypes.byref(report))
        return report.overlaps


class Fit:
    """Material parameters with which a model sags into an observed shape.

        fit = hooke.Fit("scene.json", "young, poisson")
        fit.observe(positions)                    # or observe(positions, vertices), or load(path)
        fit.solve()
        fit.parameters                            # {name: (value, standard deviation)}
    """

    def __init__(self, model: Model, vary: str = "young", tolerance: float = 0.0,
                 outlier: float = 0.0, iterations: int = 0, threads: int = 0):
        if not isinstance(model, Model):
            model = Model(model)
        if model.terms or model._materials:
            raise BadInput("a fit is of materials of the library")
        source, self._kept = model.scene.model_definition()
        definition = default(c.hk_fit_def, lib.hk_fill_fit_def)
        definition.model = ctypes.pointer(source)
        definition.vary = vary.encode()
        definition.tolerance, definition.outlier = tolerance, outlier
        definition.iterations, definition.threads = iterations, threads
        made = ctypes.c_void_p()
        lib.hk_fit_create(ctypes.byref(definition), ctypes.byref(made))
        self._handle = Handle(made, lib.hk_fit_free, model.handle, source, self._kept)
        self.pointer, self.model = self._handle.pointer, model

    def observe(self, positions: Any, vertices: Any = None) -> None:
        """Where vertices were seen: all of them, or those that are listed."""
        which = integers(np.arange(self.model.vertex_count) if vertices is None else vertices,
                         (-1,), "vertices")
        x = doubles(positions, (len(which), 3), "positions")
        lib.hk_fit_set_target(self.pointer, len(which), pointer_to(which), pointer_to(x))

    def load(self, path: PathLike) -> None:
        """The same from a file: .csv with rows vertex,x,y,z, or a mesh."""
        lib.hk_fit_load_target(self.pointer, os.fsencode(path))

    def solve(self, monitor: Optional[Monitor] = None) -> FitReport:
        report = FitReport()
        monitored(lib.hk_fit_set_monitor, self.pointer, monitor,
                  lambda: lib.hk_fit_solve(self.pointer, ctypes.byref(report)))
        return report

    @property
    def parameters(self) -> dict[str, tuple[float, float]]:
        """{name: (value, standard deviation)}"""
        found = (lib.hk_fit_parameter_at(self.pointer, k).contents
                 for k in range(lib.hk_fit_parameter_count(self.pointer)))
        return {p.name.decode(): (p.value, p.deviation) for p in found}

    @property
    def covariance(self) -> np.ndarray:
        n = lib.hk_fit_parameter_count(self.pointer)
        return view(self._handle, lib.hk_fit_covariance(self.pointer), (n, n)).copy()

    @property
    def positions(self) -> np.ndarray:
        """[vertices, 3] m: the pose with these parameters."""
        return view(self._handle, lib.hk_fit_positions(self.pointer), (self.model.vertex_count, 3))

    def misfit(self, values: Any) -> tuple[float, np.ndarray]:
        """Half the sum of the squared distances at these values, m², and its gradient."""
        n = lib.hk_fit_parameter_count(self.pointer)
        at, gradient, found = doubles(values, (n,), "values"), np.zeros(n), ctypes.c_double()
        lib.hk_fit_misfit(self.pointer, pointer_to(at), ctypes.byref(found), pointer_to(gradient))
        return found.value, gradient

    def sensitivity(self) -> np.ndarray:
        """[parameters, vertices, 3]: derivatives of the pose by every value."""
        n = lib.hk_fit_parameter_count(self.pointer)
        found = np.zeros((n, self.model.vertex_count, 3))
        lib.hk_fit_sensitivity(self.pointer, pointer_to(found))
        return found


_SIDES = {"loaded": c.HK_LOADED_SHAPE, "rest": c.HK_REST_SHAPE}


class DesignView:
    """Both shapes at one moment, and how they stand."""

    def __init__(self, view_: Any, loaded: np.ndarray, rest: np.ndarray):
        self.loaded, self.rest = loaded, rest
        self.state: str = lib.hk_design_state_name(view_.state).decode()
        self.detail: str = view_.detail.decode("utf-8", "replace")
        for name in ("version", "sequence", "relative_residual", "load_reached", "sag", "least_j",
                     "greatest_stretch", "preview_ms", "refine_ms"):
            setattr(self, name, getattr(view_, name))


class Design:
    """Rest shape and loaded shape, edited interactively: each follows the other.

        design = hooke.Design(model)                 # the model's shape is the loaded one
        handle = design.grab([vertex]); design.drag(handle, target); design.wait()
        design.view().rest
    """

    def __init__(self, model: Model, given: str = "loaded", threads: int = 0,
                 tolerance: float = 0.0):
        _refuse_materials(model)
        definition = default(c.hk_design_def, lib.hk_fill_design_def)
        definition.model, definition.given = model.pointer, _side(given)
        definition.threads, definition.tolerance = threads, tolerance
        made = ctypes.c_void_p()
        lib.hk_design_create(ctypes.byref(definition), ctypes.byref(made))
        self._handle = Handle(made, lib.hk_design_free, model.handle)
        self.pointer, self.model = self._handle.pointer, model

    def view(self) -> DesignView:
        n, found = lib.hk_design_vertex_count(self.pointer), c.hk_design_view()
        loaded, rest = np.zeros((n, 3)), np.zeros((n, 3))
        found.loaded, found.rest = pointer_to(loaded), pointer_to(rest)
        lib.hk_design_snapshot(self.pointer, ctypes.byref(found))
        return DesignView(found, loaded, rest)

    def preview(self) -> None:
        """One frame."""
        lib.hk_design_preview(self.pointer)

    def wait(self, seconds: float = -1) -> str:
        """Until both shapes are in equilibrium: "converged", "failed", …"""
        state = ctypes.c_int()
        lib.hk_design_wait(self.pointer, seconds, ctypes.byref(state))
        return lib.hk_design_state_name(state.value).decode()

    def grab(self, vertices: Any, side: str = "loaded", weights: Any = None) -> int:
        """A point or a region to drag, of one of the shapes; a number for drag and release."""
        which = integers(np.atleast_1d(vertices), (-1,), "vertices")
        share = None if weights is None else doubles(weights, (len(which),), "weights")
        definition, handle = default(c.hk_handle_def, lib.hk_fill_handle_def), ctypes.c_int()
        definition.side, definition.count = _side(side), len(which)
        definition.vertices, definition.weights = pointer_to(which), pointer_to(share)
        lib.hk_design_grab(self.pointer, ctypes.byref(definition), ctypes.byref(handle))
        return handle.value

    def drag(self, handle: int, target: Sequence[float]) -> None:
        lib.hk_design_drag(self.pointer, handle, (ctypes.c_double * 3)(*target))

    def release(self, handle: int) -> None:
        lib.hk_design_release(self.pointer, handle)

    def set_shape(self, side: str, positions: Any) -> None:
        x = doubles(positions, (self.model.vertex_count, 3), "positions")
        lib.hk_design_set_shape(self.pointer, _side(side), pointer_to(x))

    def fix(self, vertices: Any) -> None:
        which = integers(vertices, (-1,), "vertices")
        lib.hk_design_fix(self.pointer, len(which), pointer_to(which))

    def unfix(self, vertices: Any) -> None:
        which = integers(vertices, (-1,), "vertices")
        lib.hk_design_unfix(self.pointer, len(which), pointer_to(which))

    def set_material(self, body: Any, material: Mapping[str, Any], select: Any = None) -> None:
        definition, kept = material_definition(material)
        region, more = (None, []) if select is None else selector_definition(select)
        lib.hk_design_set_material(self.pointer, self.model.body(body).number,
                                   None if region is None else ctypes.byref(region),
                                   ctypes.byref(definition))
        del kept, more

    def set_gravity(self, gravity: Sequence[float]) -> None:
        lib.hk_design_set_gravity(self.pointer, (ctypes.c_double * 3)(*gravity))

    def set_loads(self, body: Any, loads: Sequence[Mapping[str, Any]]) -> None:
        records, count, kept = load_definitions(loads)
        lib.hk_design_set_loads(self.pointer, self.model.body(body).number, records, count)
        del kept

    def undo(self) -> None:
        lib.hk_design_undo(self.pointer)

    def redo(self) -> None:
        lib.hk_design_redo(self.pointer)


def _refuse_materials(model: Model) -> None:
    if model._materials:
        raise Unsupported("rest shapes are found for materials of the library: how those of one's own "
                          "depend on the rest shape is not known")


def _side(name: Union[str, int]) -> int:
    if name not in _SIDES:
        raise BadInput(f"there is no shape {name!r}: \"loaded\" or \"rest\"")
    return _SIDES[name]  # type: ignore[index]
