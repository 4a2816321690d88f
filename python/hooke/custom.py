"""Materials and energies of one's own, written with numpy over many elements at a time.

A material is a function of deformation gradients F, [n, 3, 3]; a term one of the positions of the
vertices of its elements, [n, k, 3]. Each gives the energy and its derivatives for all n at once:

    class Mine(hooke.Material):
        def energy(self, F): ...      # [n] J/m³
        def stress(self, F): ...      # [n, 3, 3] Pa, ∂ψ/∂F
        def hessian(self, F): ...     # [n, 3, 3, 3, 3] Pa, ∂P/∂F; or leave it out

What is left out is found by central differences. `check()` compares what is there with differences.
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import _definitions as c
from ._library import BadInput, Guarded, integers, pointer_to

_STEP = 1e-5  # of central differences of a derivative, relative to the size of what is varied


def _differences(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray,
                 step: float) -> np.ndarray:
    """∂function/∂x of every element: [n, …out, …in] for x [n, …in]."""
    n, shape = len(x), x.shape[1:]
    columns = []
    for place in np.ndindex(*shape):
        ahead, behind = x.copy(), x.copy()
        ahead[(slice(None), *place)] += step
        behind[(slice(None), *place)] -= step
        columns.append((function(ahead) - function(behind)) / (2 * step))
    out = np.stack(columns, axis=-1)
    return out.reshape(out.shape[:-1] + shape) if n else out


class _Checked:
    """What materials and terms have in common."""

    def _compare(self, names: Sequence[str], functions: Sequence[Callable], x: np.ndarray,
                 step: float, tolerance: float) -> dict[str, float]:
        errors = {}
        for name, low, high in zip(names, functions, functions[1:]):
            given, found = high(x), _differences(low, x, step)
            scale = max(float(np.abs(given).max(initial=0)), float(np.abs(found).max(initial=0)))
            error = float(np.abs(given - found).max(initial=0)) / (scale or 1)
            errors[name] = error
            if not error <= tolerance:
                raise BadInput(f"{type(self).__name__}: {name} is off by {error:.2g} of its size "
                               f"from central differences (allowed: {tolerance:g})")
        return errors


class Material(_Checked):
    """A hyperelastic law: derive from it and write `energy`, `stress` and, better, `hessian`.

    `young` and `poisson` are what methods take their scales from, `density` is in kg/m³. Any other
    material of the library may stand in for it in real-time methods, this one is for accurate
    ones, on the CPU.
    """

    young: float = 1e6
    poisson: float = 0.45
    density: float = 1000.0

    def energy(self, F: np.ndarray) -> np.ndarray:
        """[n] J/m³ for F [n, 3, 3]; inf where the law is not defined."""
        raise NotImplementedError

    def stress(self, F: np.ndarray) -> np.ndarray:
        """[n, 3, 3] Pa, ∂ψ/∂F."""
        return _differences(self.energy, F, _STEP)

    def hessian(self, F: np.ndarray) -> np.ndarray:
        """[n, 3, 3, 3, 3] Pa, ∂P_ij/∂F_kl."""
        return _differences(self.stress, F, _STEP)

    def check(self, count: int = 20, strain: float = 0.2, tolerance: float = 1e-6,
              seed: int = 0) -> dict[str, float]:
        """Compares stress and hessian with differences at random F; raises where they differ."""
        rng = np.random.default_rng(seed)
        F = np.eye(3) + strain * (2 * rng.random((count, 3, 3)) - 1)
        return self._compare(("stress", "hessian"), (self.energy, self.stress, self.hessian), F,
                             1e-5, tolerance)


class Term(_Checked):
    """An energy of a few vertices each: derive from it and write `energy`, `gradient`, `hessian`.

    `elements` is [n, k], k at most 8, vertices numbered over all bodies. `stiffness`, N/m, is at
    least the largest eigenvalue of the Hessian of an element: what constant matrices assume. `tie`
    says that it ties bodies to something outside, as fixes do.
    """

    name: str = "term"
    stiffness: float = 1.0
    tie: bool = False

    def __init__(self, elements: Any, stiffness: Optional[float] = None, tie: Optional[bool] = None,
                 name: Optional[str] = None):
        self.elements = integers(elements, (-1, -1), "elements")
        self.stiffness = self.stiffness if stiffness is None else stiffness
        self.tie = self.tie if tie is None else tie
        self.name = self.name if name is None else name

    #: m, of the bodies, set by the model: differences of positions are 1e-5 of it
    size: Optional[float] = None

    def _step(self) -> float:
        return _STEP * (self.size or 1.0)

    # The number of an element's first is in `self.first` for those that need to know which they are.
    first: int = 0

    def energy(self, x: np.ndarray) -> np.ndarray:
        """[n] J for positions x [n, k, 3]; inf where it is not defined."""
        raise NotImplementedError

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """[n, k, 3] N."""
        return _differences(self.energy, x, self._step())

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """[n, k, 3, k, 3] N/m, symmetric; it need not be positive."""
        return _differences(self.gradient, x, self._step())

    def check(self, x: Any, step: Optional[float] = None,
              tolerance: float = 1e-6) -> dict[str, float]:
        """Compares gradient and hessian with differences at positions [n, k, 3]."""
        at = np.array(x, dtype=float)
        return self._compare(("gradient", "hessian"), (self.energy, self.gradient, self.hessian),
                             at, step or self._step(), tolerance)


class TetTerm(Term):
    """A material as a term over tets: what `hooke` makes of a Material."""

    def __init__(self, material: Material, rest: np.ndarray, tets: np.ndarray, first_vertex: int):
        super().__init__(tets + first_vertex, name=type(material).__name__)
        self.material = material
        edges = np.swapaxes(rest[tets[:, 1:]] - rest[tets[:, :1]], 1, 2)
        self.volume = np.linalg.det(edges) / 6
        inverse = np.linalg.inv(edges)
        self.slope = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
        mu = material.young / (2 * (1 + material.poisson))
        bulk = material.young / (3 * (1 - 2 * material.poisson))
        self.stiffness = float(np.max((bulk + 4 / 3 * mu) * self.volume *
                                      (self.slope ** 2).sum(axis=(1, 2))))

    def _of(self, count: int) -> slice:
        return slice(self.first, self.first + count)

    def gradients(self, x: np.ndarray) -> np.ndarray:
        """F, [n, 3, 3]."""
        return np.einsum("nai,naj->nij", x, self.slope[self._of(len(x))])

    def energy(self, x: np.ndarray) -> np.ndarray:
        return self.volume[self._of(len(x))] * self.material.energy(self.gradients(x))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        part = self._of(len(x))
        P = self.material.stress(self.gradients(x))
        return np.einsum("n,nij,naj->nai", self.volume[part], P, self.slope[part])

    def hessian(self, x: np.ndarray) -> np.ndarray:
        part = self._of(len(x))
        H = self.material.hessian(self.gradients(x))
        half = np.einsum("n,nijkl,nbl->nijbk", self.volume[part], H, self.slope[part])
        return np.einsum("nijbk,naj->naibk", half, self.slope[part])


# ---------------------------------------------------------------- for the library


class _Callback:
    """A term as the library calls it: many elements at a time."""

    def __init__(self, term: Term, guard: Guarded):
        self.term, self.guard = term, guard
        self.vertices = term.elements.shape[1]
        self.function = dict(c.hk_term_def._fields_)["batch"](self.call)

    def call(self, _: Any, first: int, count: int, x: Any, energy: Any, gradient: Any,
             hessian: Any) -> None:
        k = self.vertices
        at = np.ctypeslib.as_array(x, (count, k, 3)).copy()
        for to, shape, function in ((energy, (count,), self.term.energy),
                                    (gradient, (count, k, 3), self.term.gradient),
                                    (hessian, (count, k, 3, k, 3), self.term.hessian)):
            if not to:
                continue
            array = np.ctypeslib.as_array(to, shape)
            values = self.guard.run(None, self.evaluate, function, at, first, shape)
            array[...] = np.nan if values is None else values

    def evaluate(self, function: Callable, at: np.ndarray, first: int,
                 shape: tuple[int, ...]) -> np.ndarray:
        self.term.first = first
        values = np.asarray(function(at), dtype=float)
        if values.shape != shape:
            raise BadInput(f"{self.term.name}: {function.__name__} must have the shape {shape} "
                           f"(has {values.shape})")
        return values


def definitions(terms: Sequence[Term], guard: Guarded) -> tuple[Any, list[Any]]:
    """[hk_term_def] and what must live as long as the model."""
    records, kept = (c.hk_term_def * max(len(terms), 1))(), []
    for record, term in zip(records, terms):
        from ._library import lib
        lib.hk_fill_term_def(ctypes.byref(record), ctypes.sizeof(record))
        callback = _Callback(term, guard)
        record.name = term.name.encode()
        record.element_count, record.vertex_count = term.elements.shape
        record.vertices = pointer_to(term.elements)
        record.stiffness, record.tie = term.stiffness, term.tie
        record.batch = callback.function
        kept += [callback, term]
    return records, kept


def empty_law() -> Any:
    """The law of a body whose energy is all in a term: none."""
    from ._library import lib
    law = c.hk_custom_law()
    lib.hk_fill_empty_law(ctypes.byref(law))
    return law
