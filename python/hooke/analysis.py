"""Energy, gradient, Hessian and linear systems at any state."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

from . import _definitions as c
from ._library import Handle, Unsupported, doubles, lib, pointer_to
from .world import World


class Analysis:
    """The function that a pose of a world minimises, E(x) − f·x, and its derivatives.

        a = world.analysis()
        a.at(x)                          # a state; the world's own is not touched
        a.energy, a.gradient(), a.hessian(), a.product(d)
        a.factor(weight); a.solve(r)     # (H + weight M) s = r at free vertices

    Shapes are [vertices, 3]; the Hessian is a scipy CSR matrix over 3 × vertices coordinates, held
    ones among them. A term with friction or damping has no place here.
    """

    def __init__(self, world: World):
        made = ctypes.c_void_p()
        lib.hk_analysis_create(world.pointer, ctypes.byref(made))
        self.world = world
        # The world is freed after what looks at it.
        self._handle = Handle(made, lib.hk_analysis_free, world.handle)
        self.pointer: int = self._handle.pointer
        self.vertex_count = world.vertex_count
        self._guard = world.model.guard

    def at(self, positions: Any = None, time: Optional[float] = None) -> "Analysis":
        """The state that the rest is about: positions (None: the world's), and where moving things
        are (None: in full, as in a pose)."""
        x = None if positions is None else self._vector(positions, "positions")
        lib.hk_analysis_set_state(self.pointer, pointer_to(x),
                                  float("nan") if time is None else time)
        self._guard.raise_again()
        return self

    def _vector(self, values: Any, what: str) -> np.ndarray:
        return doubles(np.reshape(values, (-1, 3)), (self.vertex_count, 3), what)

    @property
    def energies(self) -> dict[str, float]:
        """J: elastic, gravity, load, contact, total."""
        found = c.hk_energy()
        lib.hk_analysis_energy(self.pointer, ctypes.byref(found), None)
        self._guard.raise_again()
        return {n: getattr(found, n) for n in ("elastic", "gravity", "load", "contact", "total")}

    @property
    def energy(self) -> float:
        """J, all of it."""
        return self.energies["total"]

    def gradient(self) -> np.ndarray:
        """[vertices, 3] N; at held vertices it is the reaction."""
        g = np.zeros((self.vertex_count, 3))
        lib.hk_analysis_energy(self.pointer, None, pointer_to(g))
        self._guard.raise_again()
        return g

    def hessian_blocks(self, projected: bool = False
                       ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Block rows: (values [blocks, 3, 3], columns [blocks], row starts [vertices + 1])."""
        count = ctypes.c_int64()
        lib.hk_analysis_hessian_size(self.pointer, ctypes.byref(count))
        start = np.zeros(self.vertex_count + 1, dtype=np.int64)
        column = np.zeros(count.value, dtype=np.int32)
        values = np.zeros((count.value, 3, 3))
        lib.hk_analysis_hessian(self.pointer, projected, pointer_to(start), pointer_to(column),
                                pointer_to(values))
        self._guard.raise_again()
        return values, column, start

    def hessian(self, projected: bool = False, free: bool = False) -> Any:
        """A scipy CSR matrix, N/m. projected: elements made positive semidefinite; free: only the
        coordinates that nothing holds (self.free)."""
        try:
            from scipy.sparse import bsr_matrix
        except ImportError:
            raise Unsupported("matrices are scipy's, which is not installed: take hessian_blocks()"
                              ) from None
        size = 3 * self.vertex_count
        H = bsr_matrix(self.hessian_blocks(projected), shape=(size, size)).tocsr()
        return H[self.free][:, self.free] if free else H

    def product(self, direction: Any, projected: bool = False) -> np.ndarray:
        """H direction, [vertices, 3], without a matrix."""
        d = self._vector(direction, "direction")
        product = np.zeros((self.vertex_count, 3))
        lib.hk_analysis_product(self.pointer, projected, pointer_to(d), pointer_to(product))
        self._guard.raise_again()
        return product

    def operator(self, projected: bool = False) -> Any:
        """The Hessian as a scipy LinearOperator."""
        from scipy.sparse.linalg import LinearOperator
        size = 3 * self.vertex_count
        return LinearOperator((size, size), dtype=float,
                              matvec=lambda d: self.product(d, projected).ravel())

    def factor(self, weight: float = 0.0, extra: Any = None) -> bool:
        """Factors H + weight M + diag(extra) at free coordinates; False: it is not positive."""
        more = None if extra is None else doubles(extra, (self.vertex_count,), "extra")
        positive = ctypes.c_bool()
        lib.hk_analysis_factor(self.pointer, weight, pointer_to(more), ctypes.byref(positive))
        self._guard.raise_again()
        return positive.value

    def solve(self, right: Any) -> np.ndarray:
        """(H + …)⁻¹ right at free coordinates, 0 at held ones."""
        r = self._vector(right, "right")
        solution = np.zeros((self.vertex_count, 3))
        lib.hk_analysis_solve(self.pointer, pointer_to(r), pointer_to(solution))
        return solution

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """([vertices, 3] of bool: what is held, [vertices, 3]: where)."""
        axes = np.zeros(self.vertex_count, dtype=np.uint8)
        positions = np.zeros((self.vertex_count, 3))
        lib.hk_analysis_held(self.pointer, pointer_to(axes), pointer_to(positions))
        return (axes[:, None] >> np.arange(3) & 1).astype(bool), positions

    @property
    def free(self) -> np.ndarray:
        """[n] the numbers of free coordinates, 3 × vertex + axis."""
        return np.flatnonzero(~self.held()[0].ravel())

    def rest_slope(self, direction: Any, factors: Any = None) -> np.ndarray:
        """∂/∂X (direction · ∂E/∂x + factors · masses), [vertices, 3], X the rest positions."""
        d = self._vector(direction, "direction")
        f = None if factors is None else doubles(factors, (self.vertex_count,), "factors")
        slope = np.zeros((self.vertex_count, 3))
        lib.hk_analysis_rest_slope(self.pointer, pointer_to(d), pointer_to(f), pointer_to(slope))
        return slope
