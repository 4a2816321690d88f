"""What the library has and what it found on this machine."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Mapping, Optional

import numpy as np

from . import _definitions as c
from ._library import lib, pointer_to
from .scene import material_definition


def version() -> str:
    """Of the library."""
    return lib.hk_version().decode()


def _named(count: Callable, name: Callable, summary: Callable) -> dict[str, str]:
    return {name(k).decode(): (summary(k) or b"").decode() for k in range(count())}


def materials() -> dict[str, str]:
    """Names of materials, and what they are."""
    return _named(lib.hk_material_count, lib.hk_material_name, lib.hk_material_summary)


def methods() -> dict[str, str]:
    """Names of methods, and what they are."""
    return _named(lib.hk_method_count, lib.hk_method_name, lib.hk_method_summary)


def integrators() -> dict[str, str]:
    """Names of time integrators, and what they are."""
    return _named(lib.hk_integrator_count, lib.hk_integrator_name, lib.hk_integrator_summary)


def rest_methods() -> dict[str, str]:
    """Names of ways to find rest shapes, and what they are."""
    return _named(lib.hk_rest_method_count, lib.hk_rest_method_name, lib.hk_rest_method_summary)


def machine() -> dict[str, Any]:
    """Lanes, threads, memory, direct solver and BLAS that the library works with."""
    found = lib.hk_machine().contents
    return {name: value.decode() if isinstance(value, bytes) else value
            for name, value in ((n, getattr(found, n)) for n, _ in found._fields_)}


def gpu() -> Optional[str]:
    """The name of the GPU that backend "cuda" can use; None: there is none."""
    text = ctypes.create_string_buffer(256)
    return text.value.decode() if lib.hk_machine_gpu(text, len(text)) else None


def material_energy(material: Mapping[str, Any], F: Any, projected: bool = False
                    ) -> tuple[float, np.ndarray, np.ndarray]:
    """Energy density, stress ∂ψ/∂F [3, 3] and stiffness ∂P/∂F [3, 3, 3, 3] of a material."""
    definition, kept = material_definition(material)
    f = np.ascontiguousarray(F, dtype=float).reshape(9)
    energy, P, H = ctypes.c_double(), np.zeros((3, 3)), np.zeros((3, 3, 3, 3))
    lib.hk_material_evaluate(ctypes.byref(definition), pointer_to(f), projected,
                             ctypes.byref(energy), pointer_to(P), pointer_to(H))
    del kept
    return energy.value, P, H


_log: Any = None


def log(function: Optional[Callable[[str, str], Any]]) -> None:
    """Calls function("info" or "warning" or "debug", message) for messages that are no errors."""
    global _log
    names = {c.HK_LOG_DEBUG: "debug", c.HK_LOG_INFO: "info", c.HK_LOG_WARNING: "warning"}
    made = c.hk_log_fn(0) if function is None else c.hk_log_fn(
        lambda _, level, message: function(names[level], message.decode("utf-8", "replace")))
    lib.hk_set_log(made, None)
    _log = made  # lives as long as the library has it
