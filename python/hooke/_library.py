"""Finds and loads libhooke, and turns its status codes into exceptions."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Sequence

import numpy as np

from . import _definitions as c


class HookeError(Exception):
    """A call that failed. The text is the library's: what is wrong, where, and what to do."""


class BadInput(HookeError, ValueError):
    """A definition, a file's content or an argument is wrong."""


class FileError(HookeError, OSError):
    """A file cannot be opened, read or written."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class OutOfMemory(HookeError, MemoryError):
    """An allocation failed."""


class Unsupported(HookeError, NotImplementedError):
    """A valid request that this build or this method cannot serve."""


class InternalError(HookeError, RuntimeError):
    """A library below failed in a way that should not happen: please report it."""


class NotConverged(HookeError, ArithmeticError):
    """A step, a pose or a search ended before it converged, where that was asked for."""

    def __init__(self, message: str, report: Any = None):
        super().__init__(message)
        self.report = report


_ERRORS = {c.HK_BAD_INPUT: BadInput, c.HK_IO_ERROR: FileError, c.HK_NO_MEMORY: OutOfMemory,
           c.HK_UNSUPPORTED: Unsupported, c.HK_INTERNAL: InternalError}


# ---------------------------------------------------------------- the library


def _candidates() -> Iterator[str]:
    here = Path(__file__).resolve().parent
    if "HOOKE_LIBRARY" in os.environ:
        yield os.environ["HOOKE_LIBRARY"]
        return  # what is asked for, and nothing else
    yield str(here / "libhooke.so")  # of a wheel, or where pip has put it
    yield str(here.parent.parent / "build" / "libhooke.so")  # in the source tree
    version = f"{c.HK_VERSION_MAJOR}.{c.HK_VERSION_MINOR}"
    yield f"libhooke.so.{version}"
    found = ctypes.util.find_library("hooke")
    if found:
        yield found


def _open() -> ctypes.CDLL:
    tried = []
    for name in _candidates():
        if os.sep in name and not os.path.exists(name):
            tried.append(f"{name}: there is no such file")
            continue
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            tried.append(f"{name}: {error}")
    raise ImportError("libhooke.so was not found. Build it with make, or set HOOKE_LIBRARY to where "
                      "it is. Tried:\n  " + "\n  ".join(tried))


def _check(status: int, function: Any, arguments: Any) -> int:
    if status:
        raise _ERRORS.get(status, HookeError)(error_message())
    return status


class _Library:
    """All functions of the C interface, with their types; those that fail raise."""

    def __init__(self, shared: ctypes.CDLL):
        self._shared = shared
        for name, (result, arguments, _) in c.FUNCTIONS.items():
            try:
                function = getattr(shared, name)
            except AttributeError:
                raise ImportError(f"{shared._name} has no {name}: it is older than this package") \
                    from None
            function.restype, function.argtypes = result, arguments
            if name in c.FAILING:
                function.errcheck = _check
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for type checkers: all are set above
        raise AttributeError(name)


lib = _Library(_open())


def error_message() -> str:
    return (lib.hk_error() or b"").decode("utf-8", "replace")


def _check_version() -> None:
    found = lib.hk_version().decode()
    wanted = f"{c.HK_VERSION_MAJOR}.{c.HK_VERSION_MINOR}."
    if not found.startswith(wanted):
        raise ImportError(f"libhooke {found} was found, and this package is for {wanted}x")


_check_version()


# ---------------------------------------------------------------- objects of the library


class Handle:
    """Owns an object of the library. Arrays that look into it keep it alive, and so do handles that
    need it, in whatever order the garbage collector ends them."""

    __slots__ = ("pointer", "_free", "_needs", "_users", "_ended", "__weakref__")

    def __init__(self, pointer: Any, free: Callable[[Any], None], *needs: Any):
        self.pointer = pointer.value if isinstance(pointer, ctypes.c_void_p) else pointer
        self._free = free
        self._needs = needs  # what the object points to
        self._users = 0  # handles that need this one
        self._ended = False
        for need in needs:
            if isinstance(need, Handle):
                need._users += 1

    def __del__(self) -> None:
        if getattr(self, "pointer", None) is None or sys.is_finalizing():
            return
        self._ended = True
        if self._users == 0:
            self._release()

    def _release(self) -> None:
        self._free(self.pointer)
        self.pointer = None
        for need in self._needs:
            if isinstance(need, Handle):
                need._users -= 1
                if need._ended and need._users == 0:
                    need._release()


class _Memory:
    """What numpy looks at: memory of the library, read-only, which `owner` keeps alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: Any, address: int, shape: tuple[int, ...], kind: str):
        self.owner = owner
        self.__array_interface__ = {"data": (address, True), "shape": shape, "typestr": kind,
                                    "version": 3}


def view(owner: Any, pointer: Any, shape: tuple[int, ...], kind: str = "<f8") -> np.ndarray:
    """A read-only array over memory of the library, without a copy."""
    if not isinstance(pointer, int):
        pointer = ctypes.cast(pointer, ctypes.c_void_p).value
    if pointer is None or 0 in shape:
        return np.zeros(shape, dtype=np.dtype(kind))
    return np.asarray(_Memory(owner, pointer, shape, kind))


_POINTERS = {"float64": ctypes.POINTER(ctypes.c_double), "int32": ctypes.POINTER(ctypes.c_int32),
             "int64": ctypes.POINTER(ctypes.c_int64), "uint8": ctypes.POINTER(ctypes.c_uint8)}


def pointer_to(array: Optional[np.ndarray]) -> Any:
    """The address of an array's numbers, for a call that returns before the array is gone."""
    if array is None:
        return None
    return array.ctypes.data_as(_POINTERS[array.dtype.name])


def doubles(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Numbers as the library takes them; -1 in the shape stands for any count."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != len(shape) or any(w not in (-1, s) for w, s in zip(shape, array.shape)):
        wanted = " × ".join("n" if w == -1 else str(w) for w in shape)
        raise ValueError(f"{what} must have the shape {wanted} (has {array.shape})")
    return array


def integers(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    given = np.asarray(values)
    if given.dtype == bool or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise ValueError(f"{what} must be whole numbers (are {given.dtype})")
    array = np.ascontiguousarray(given, dtype=np.int32)
    if array.ndim != len(shape) or any(w not in (-1, s) for w, s in zip(shape, array.shape)):
        wanted = " × ".join("n" if w == -1 else str(w) for w in shape)
        raise ValueError(f"{what} must have the shape {wanted} (has {array.shape})")
    if given.size and not np.array_equal(array, given):
        raise ValueError(f"{what}: a number is too large")
    return array


def texts(values: Sequence[str]) -> Any:
    """A list of strings for the library."""
    return (ctypes.c_char_p * max(len(values), 1))(*[v.encode() for v in values])


def default(kind: type, fill: Callable[..., None], *more: Any) -> Any:
    """A definition with the library's defaults."""
    definition = kind()
    fill(ctypes.byref(definition), ctypes.sizeof(definition), *more)
    return definition


def array_of(pointer: Any, count: int, kind: type) -> Any:
    """A copy of an array of definitions that the library made, which may be longer than ours."""
    copy = (kind * max(count, 1))()
    if not count:
        return copy
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    stride = ctypes.c_size_t.from_address(address).value  # def_size comes first
    for k in range(count):
        ctypes.memmove(ctypes.byref(copy[k]), address + k * stride,
                       min(stride, ctypes.sizeof(kind)))
        copy[k].def_size = ctypes.sizeof(kind)
    return copy


# ---------------------------------------------------------------- callbacks


class Guarded:
    """Runs Python functions that the library calls back, and keeps what they raise for later."""

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None

    def run(self, fallback: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.raised is not None:
            return fallback
        try:
            return function(*arguments)
        except BaseException as error:  # Ctrl-C among them
            self.raised = error
            return fallback

    def raise_again(self) -> None:
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised


class _Interrupts:
    """Notes Ctrl-C while the library computes, in the main thread; `raise_again` does what it would
    have done. (An exception out of a handler might come where nothing in Python can catch it.)"""

    def __init__(self) -> None:
        self.noted: Optional[tuple[int, Any]] = None
        self.handler: Any = None

    def __enter__(self) -> "_Interrupts":
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self.handler = handler
                signal.signal(signal.SIGINT, self.note)
        return self

    def note(self, number: int, frame: Any) -> None:
        self.noted = (number, frame)

    def __exit__(self, *_: Any) -> None:
        if self.handler is not None:
            signal.signal(signal.SIGINT, self.handler)

    def raise_again(self) -> None:
        if self.noted is not None:
            self.handler(*self.noted)


def monitored(set_monitor: Callable[..., None], pointer: Any,
              monitor: Optional[Callable[[Any], Any]], call: Callable[[], Any],
              guards: Sequence[Guarded] = ()) -> Any:
    """Makes a call that a monitor may stop, or Ctrl-C in the main thread; then raises what was
    raised. A monitor that returns False stops the call; any other answer goes on."""
    guard, failed, result = Guarded(), None, None

    def look(iteration: Any) -> bool:
        return monitor is None or monitor(Iteration(iteration)) is not False

    with _Interrupts() as interrupts:
        @c.hk_monitor_fn
        def callback(_: Any, iteration: Any) -> bool:  # Python runs its handlers of signals here
            go_on = interrupts.noted is None and guard.run(False, look, iteration)
            return bool(go_on) and all(g.raised is None for g in guards)

        set_monitor(pointer, callback, None)
        try:
            result = call()
        except HookeError as error:
            failed = error
        finally:
            set_monitor(pointer, c.hk_monitor_fn(0), None)
    interrupts.raise_again()
    for g in (guard, *guards):
        g.raise_again()
    if failed is not None:
        raise failed
    return result


class Iteration:
    """What a monitor is told after every iteration."""

    __slots__ = ("iteration", "energy", "residual", "relative_residual", "step_length", "projected",
                 "load", "linear_iterations")
    iteration: int
    energy: float  #: J, the minimised function; NaN where the method did not need it
    residual: float  #: N
    relative_residual: float
    step_length: float
    projected: bool
    load: float  #: of a pose: load fraction, 0 to 1
    linear_iterations: int

    def __init__(self, pointer: Any):
        told = pointer.contents
        for name in self.__slots__:
            setattr(self, name, getattr(told, name))

    def __repr__(self) -> str:
        return (f"Iteration({self.iteration}, residual={self.residual:.3g}, "
                f"energy={self.energy:.6g}, load={self.load:.3g})")
