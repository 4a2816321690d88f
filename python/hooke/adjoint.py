"""Derivatives of what a world does: of its equilibrium, or of a whole trajectory.

For a scalar L of the states, given ∂L/∂x (and ∂L/∂v) of the states that it looks at,

    tape = hooke.Tape(world)                    # records every step from now on
    world.step(50)
    g = tape.gradient(x=weights)                # or {step: weights, …} of several states
    g.parameter("bodies.0.material.young")      # dL/d(any number of the scene)
    g.forces, g.gravity, g.rest, g.initial_positions, g.initial_velocities

and for an equilibrium `hooke.pose_gradient(world, weights)` after world.pose().

A step solves r(z) = w M (z − y) + ∇E(z) − f + damping = 0, y a combination of states before it. One
linear system with the matrix A = ∂r/∂z of the converged step, A λ = ∂L/∂z, gives everything: the
derivative by y, by forces (λ itself), and by whatever r depends on, −λ · ∂r/∂p. Backwards through
the steps that is the exact gradient of the computed trajectory, up to what the steps left
unconverged: take a tolerance of 1e-10 or less.

Forces must be those of an energy: friction, contact that damps (its restitution must be 1), viscous
damping and pressures on surfaces with a free rim are refused.
"""

from __future__ import annotations

import json
import os
import weakref
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _definitions as c
from ._library import BadInput, NotConverged, Unsupported, array_of, doubles
from .analysis import Analysis
from .model import Model
from .world import Report, World

# ∂/∂p by central differences of sixth order; most forces are linear in their parameters.
_WEIGHTS = (45 / 60, -9 / 60, 1 / 60)
_STEP = 2e-3  # relative

# known: (x, v, x one step before, v one step before)
_Coefficients = tuple[float, float, float, float]


class _Scheme:
    """One step of an integrator: r's weight w, and y, `from` as combinations of what is known."""

    def __init__(self, weight: float, y: _Coefficients, origin: _Coefficients, h: float,
                 until: float = 1.0, far: float = 1.0):
        self.weight, self.y, self.origin = weight, y, origin
        self.h, self.until, self.far = h, until, far


def _scheme(integrator: str, h: float, first: bool) -> _Scheme:
    if integrator == "implicit_midpoint":
        half = h / 2
        return _Scheme(1 / half ** 2, (1, half, 0, 0), (1, 0, 0, 0), half, 0.5, 2.0)
    if integrator == "bdf2" and not first:
        own = 2 * h / 3
        return _Scheme(1 / own ** 2, (4 / 3, own * 4 / 3, -1 / 3, -own / 3), (4 / 3, 0, -1 / 3, 0),
                       own)
    return _Scheme(1 / h ** 2, (1, h, 0, 0), (1, 0, 0, 0), h)


class _Record:
    """A step that was taken."""

    __slots__ = ("scheme", "known", "z", "time", "h", "gravity", "x", "v")

    def y(self) -> np.ndarray:
        return sum(a * k for a, k in zip(self.scheme.y, self.known) if a)

    def origin(self) -> np.ndarray:
        return sum(a * k for a, k in zip(self.scheme.origin, self.known) if a)


def _scene_definitions(world: World) -> tuple[Any, Any, Any]:
    definition, kept = world.model.scene.model_definition()
    return definition, world.model.scene.world_definition(), kept


def _refuse_what_is_no_energy(world: World, moving: bool) -> None:
    definition, _, kept = _scene_definitions(world)
    bodies = kept[0]
    contact = definition.contact
    friction = [b.friction for b in bodies[:definition.body_count]]
    if moving and (contact or definition.obstacle_count):
        obstacles = array_of(definition.obstacles, definition.obstacle_count, c.hk_obstacle_def)
        friction += [o.friction for o in obstacles[:definition.obstacle_count]]
        if not contact or contact.contents.restitution < 1:
            raise Unsupported("gradients of steps with contact that damps are not known: take "
                              "\"contact\": {\"restitution\": 1}")
        if contact:
            friction.append(contact.contents.friction)
            if contact.contents.when != c.HK_CONTACT_DURING:
                raise Unsupported("gradients are not known where contact is put right after steps")
        if any(f > 0 for f in friction):
            raise Unsupported("gradients of steps with friction are not known: friction is no "
                              "energy's")
    for b in bodies[:definition.body_count]:
        attachments = array_of(b.attachments, b.attachment_count, c.hk_attach_def)
        if moving and any(a.damping > 0 for a in attachments[:b.attachment_count]):
            raise Unsupported("gradients of steps with attachments that damp are not known")


class Tape:
    """Records the steps of a world from now on, for gradients of what comes of them.

    Integrators backward_euler, bdf2 and implicit_midpoint; damping by air, air_per_vertex and
    ether. Forces, gravity, targets and the step may be others for each step; other edits, and states
    that are set, are refused.
    """

    def __init__(self, world: World):
        self._world = world
        self._records: list[_Record] = []
        definition = world._definition
        self._integrator = definition.integrator.decode()
        if self._integrator not in ("backward_euler", "bdf2", "implicit_midpoint"):
            raise Unsupported(f"gradients of {self._integrator} are not known: take backward_euler, "
                              "bdf2 or implicit_midpoint")
        if definition.conserve:
            raise Unsupported("gradients are not known where energy and momenta are put right")
        if world.backend != "cpu":
            raise Unsupported("gradients are of worlds on the CPU")
        _refuse_what_is_no_energy(world, True)
        self._before: Optional[tuple[np.ndarray, np.ndarray]] = None
        self._analysis = Analysis(world)
        self._now: Any = None
        self.start_x, self.start_v = world.positions.copy(), world.velocities.copy()
        self._start_time = world.time
        self._changes = world._changes
        tapes = world._tapes
        self._own = weakref.ref(self, lambda own: own in tapes and tapes.remove(own))
        tapes.append(self._own)

    def __len__(self) -> int:
        return len(self._records)

    def stop(self) -> None:
        """Records no more, as when it is dropped."""
        if self._own in self._world._tapes:
            self._world._tapes.remove(self._own)

    @property
    def positions(self) -> list[np.ndarray]:
        """Of the start and after every step."""
        return [self.start_x, *(r.x for r in self._records)]

    @property
    def velocities(self) -> list[np.ndarray]:
        return [self.start_v, *(r.v for r in self._records)]

    # ---------------------------------------------------------------- recording

    def _before_step(self, world: World) -> None:
        self._check_unchanged()
        last = self._records[-1] if self._records else None
        x, v = (last.x, last.v) if last else (self.start_x, self.start_v)
        if not (np.array_equal(x, world.positions) and np.array_equal(v, world.velocities)):
            raise Unsupported("the state was set while a tape records: begin another tape after that")
        damping = world._damping
        if damping.viscous > 0 or damping.pbd > 0:
            raise Unsupported("gradients of steps with viscous or pbd damping are not known")
        self._now = (x, v, world.time, world._step)
        if self._integrator == "bdf2" and not self._records and self._now[2] != 0:
            raise Unsupported("a tape of bdf2 begins with the world, at time 0")

    def _after_step(self, world: World, report: Report) -> None:
        if not report.converged and report.reason != "precision limit":
            raise NotConverged(f"a step that is to be differentiated did not converge: "
                               f"{report.reason} {report.detail}", report)
        x, v, time, h = self._now
        if self._integrator == "bdf2" and self._records and self._records[-1].h != h:
            raise Unsupported("a tape of bdf2 has steps of one length")
        r = _Record()
        r.h, r.time = h, time
        r.scheme = _scheme(self._integrator, h, not self._records)
        before = self._before or (x, v)
        r.known = (x, v, *before)
        self._before = (x, v)
        r.x, r.v, r.gravity = world.positions.copy(), world.velocities.copy(), world._gravity
        far = r.scheme.far
        r.z = r.x if far == 1 else (r.x - (1 - far) * x) / far
        if far != 1:
            held, places = self._analysis.at(r.z, time + r.scheme.until * h).held()
            r.z = np.where(held, places, r.z)
        self._records.append(r)

    def _check_unchanged(self) -> None:
        if self._world._changes != self._changes:
            raise Unsupported("the world was edited while a tape records (materials, fixes, loads, "
                              "damping, grabs): begin another tape after that")

    # ---------------------------------------------------------------- backwards

    def gradient(self, x: Any = None, v: Any = None) -> "Gradient":
        """Of L with the given ∂L/∂x and ∂L/∂v: arrays [vertices, 3] of the last state, or
        {step: array}, 0 the start and len(tape) the last."""
        count, n = len(self._records), self._world.vertex_count
        if not count:
            raise BadInput("the tape has no steps")
        self._check_unchanged()
        pulls = [_pulls(given, count, n, name) for given, name in ((x, "x"), (v, "v"))]
        g = Gradient(self._world, self._analysis, count)
        adjoint = [np.zeros((n, 3)) for _ in range(4)]  # of x, v, and of both one step before
        for k in range(count, 0, -1):
            adjoint[0] += pulls[0].get(k, 0)
            adjoint[1] += pulls[1].get(k, 0)
            adjoint = self._step_back(self._records[k - 1], k - 1, adjoint, g)
        g.initial_positions = adjoint[0] + adjoint[2] + pulls[0].get(0, 0)
        g.initial_velocities = adjoint[1] + adjoint[3] + pulls[1].get(0, 0)
        g._start = (self.start_x, self.start_v, self._start_time)
        return g

    def _step_back(self, r: _Record, number: int, adjoint: list[np.ndarray],
                   g: "Gradient") -> list[np.ndarray]:
        world, s, a = self._world, r.scheme, self._analysis
        damping, mass = world._damping, world.masses[:, None]
        x_bar, v_bar, x_older, v_older = adjoint
        a.at(r.z, r.time + s.until * r.h)
        held, _ = a.held()
        if damping.ether > 0:
            v_bar = np.where(held.all(axis=1, keepdims=True), v_bar,
                             np.exp(-damping.ether * r.h) * v_bar)
        if s.far == 1:
            z_bar, origin_bar, old = x_bar + v_bar / s.h, -v_bar / s.h, (x_older, v_older)
            end_bar = np.zeros_like(z_bar)
        else:  # free ones go on beyond z, held ones are where they are at the end
            z_bar = np.where(held, 0, s.far * (x_bar + v_bar / s.h))
            origin_bar = np.where(held, 0, -s.far * v_bar / s.h)
            end_bar = np.where(held, x_bar + v_bar / r.h, 0)
            old = (x_older + np.where(held, -v_bar / r.h, (1 - s.far) * x_bar),
                   v_older + np.where(held, 0, (1 - s.far) * v_bar))
        air = damping.air / s.h
        extra = np.full(world.vertex_count, damping.air_per_vertex / s.h)
        if not a.factor(s.weight + air, extra):
            raise Unsupported(f"step {number}: the matrix of the step is not positive")
        lam = a.solve(z_bar)
        y_bar = s.weight * mass * lam
        origin_bar = origin_bar + (air * mass + extra[:, None]) * lam
        inertia = s.weight * (r.z - r.y()) + air * (r.z - r.origin())
        target = np.where(held, z_bar - a.product(lam), 0)
        g._add(number, r.z, r.time + s.until * r.h, lam, inertia, target, r.gravity)
        if s.far != 1:
            g._add_held(r.time + r.h, end_bar)
        parts = [ky * y_bar + ko * origin_bar for ky, ko in zip(s.y, s.origin)]
        return [old[0] + parts[0], old[1] + parts[1], parts[2], parts[3]]


def _pulls(given: Any, count: int, n: int, name: str) -> dict[int, np.ndarray]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        given = {count: given}
    pulls = {}
    for step, weights in given.items():
        at = step + count + 1 if step < 0 else step
        if not 0 <= at <= count:
            raise BadInput(f"{name}: there is no step {step} (0 to {count})")
        pulls[at] = doubles(weights, (n, 3), f"{name} of step {step}")
    return pulls


class _Part:
    """λ of one step: what every derivative is made from."""

    __slots__ = ("z", "time", "lam", "inertia", "target", "gravity")

    def __init__(self, *values: Any):
        for name, value in zip(self.__slots__, values):
            setattr(self, name, value)


class Gradient:
    """Derivatives of L by what the states came from."""

    #: [steps, vertices, 3]: by a force at every vertex in each step (of a pose: one row)
    forces: np.ndarray
    #: [vertices, 3]: by the positions and velocities that a tape began with
    initial_positions: Optional[np.ndarray]
    initial_velocities: Optional[np.ndarray]

    def __init__(self, world: World, analysis: Analysis, steps: int):
        self._world, self._analysis = world, analysis
        self._parts: list[_Part] = []
        self._held: list[tuple[Optional[float], np.ndarray]] = []
        self._start: Any = None
        self.forces = np.zeros((steps, world.vertex_count, 3))
        self.initial_positions = self.initial_velocities = None

    def _add(self, number: int, z: np.ndarray, time: Optional[float], lam: np.ndarray,
             inertia: Any, target: np.ndarray, gravity: Any) -> None:
        self.forces[number] = lam
        if not self._parts:
            _check_symmetry(self._analysis, z, time, lam)
        self._parts.append(_Part(z, time, lam, inertia, target, gravity))
        self._held.append((time, target))

    def _add_held(self, time: Optional[float], target: np.ndarray) -> None:
        self._held.append((time, target))

    # ---------------------------------------------------------------- by what is at hand

    @property
    def total_force(self) -> np.ndarray:
        """[vertices, 3]: by a force at every vertex that is the same in all steps."""
        return self.forces.sum(axis=0)

    @property
    def gravity(self) -> np.ndarray:
        """[3]: by the gravity of all steps."""
        return np.einsum("v,svi->i", self._world.masses, self.forces)

    def _gravity(self, part: _Part) -> np.ndarray:
        if part.gravity is not None:
            return np.asarray(part.gravity)
        return np.array(_scene_definitions(self._world)[0].gravity)

    @property
    def rest(self) -> np.ndarray:
        """[vertices, 3]: by the rest positions, which masses and fixed vertices follow. The state
        that it began in stays, and so do loads."""
        world, total = self._world, np.zeros((self._world.vertex_count, 3))
        rest = world.rest_positions
        if world.model._materials:
            raise Unsupported("derivatives by the rest shape are not known of materials of one's own")
        if _scene_definitions(world)[0].gravity_factor.formula or \
                _scene_definitions(world)[0].gravity_factor.table_count:
            raise Unsupported("derivatives by the rest shape are of constant gravity")
        for p in self._parts:
            held, places = self._analysis.at(p.z, p.time).held()
            if not np.allclose(np.where(held, places - rest, 0), 0, atol=1e-12):
                raise Unsupported("derivatives by the rest shape are of vertices that are fixed "
                                  "where they rest, and some that are held move")
            factors = np.einsum("vi,vi->v", p.lam, p.inertia - self._gravity(p))
            total -= self._analysis.rest_slope(p.lam, factors)
        return total + sum(target for _, target in self._held)

    # ---------------------------------------------------------------- by numbers of the scene

    def parameter(self, path: str, value: Optional[float] = None) -> float:
        """By a number of the scene, "bodies.0.material.young": materials, densities, loads,
        attachments, prescribed motions, initial velocities, gravity. `value` is what it is, where
        the scene does not say it. Not by the mesh: see `rest`."""
        model = self._world.model
        at = _value_of(model, path) if value is None else float(value)
        step = _STEP * (abs(at) if at else 1.0)
        if path.split(".")[-1] == "poisson":
            step = min(_STEP * (abs(at) or 0.1), (0.5 - at) / 10)
        return self.by(lambda number: model.with_sets({path: number}), at, step)

    def parameters(self, paths: Union[Sequence[str], Mapping[str, float]]) -> dict[str, float]:
        """The same by many, {path: derivative}."""
        given = paths if isinstance(paths, Mapping) else dict.fromkeys(paths)
        return {path: self.parameter(path, value) for path, value in given.items()}

    def by(self, make: Callable[[float], Model], value: float,
           step: Optional[float] = None) -> float:
        """By a number that a model is made from, make(number): of the forces it makes, central
        differences of sixth order, which need no other trajectory."""
        if self._world._edited:
            raise Unsupported("the world was edited since it was made from its scene: make a model "
                              "with the materials, fixes and loads that it is to have")
        h = step or _STEP * (abs(value) or 1.0)
        total = 0.0
        for k, weight in enumerate(_WEIGHTS, 1):
            ahead, behind = make(value + k * h), make(value - k * h)
            total += weight * (self._work(ahead) - self._work(behind)) / h
        return total

    def _work(self, model: Model) -> float:
        """−λ · r of a model at the states of this one, and what else depends on it."""
        world = self._world
        X = model.rest_positions
        if len(X) != world.vertex_count or np.abs(X - world.rest_positions).max() > 0:
            raise BadInput("this number changes the rest shape: see Gradient.rest")
        scratch = _scratch(model)
        a, masses = Analysis(scratch), model.masses
        work, gravity = 0.0, None
        for p in self._parts:
            if p.gravity is not None and p.gravity is not gravity:
                scratch.set_gravity(p.gravity)
                gravity = p.gravity
            work -= float((p.lam * a.at(p.z, p.time).gradient()).sum())
            work -= float(np.einsum("v,vi,vi->", masses, p.lam, p.inertia))
        for time, target in self._held:
            held, places = a.at(X, time).held()
            if (held != (self._analysis.held()[0])).any():
                raise BadInput("this number changes what is held")
            led = held & ~world._targets[:, None]  # by the model
            work += float((target * np.where(led, places, 0)).sum())
        if self._begins_as(scratch):
            work += float((self.initial_positions * scratch.positions).sum())
            work += float((self.initial_velocities * scratch.velocities).sum())
        return work

    def _begins_as(self, scratch: World) -> bool:
        """Whether the tape began in the state that worlds begin in."""
        if self._start is None or self._start[2] != 0:
            return False
        if not hasattr(self, "_own_start"):
            fresh = _scratch(self._world.model)
            self._own_start = np.array_equal(fresh.positions, self._start[0]) and \
                np.array_equal(fresh.velocities, self._start[1])
        return self._own_start


def _check_symmetry(a: Analysis, z: np.ndarray, time: Optional[float], lam: np.ndarray) -> None:
    """Raises where the matrix is not the derivative of the forces."""
    size = float(np.abs(lam).max(initial=0))
    if size == 0:
        return
    d = lam / size
    h = 1e-6 * float(np.ptp(z, axis=0).max())
    product = a.at(z, time).product(d)
    found = (a.at(z + h * d, time).gradient() - a.at(z - h * d, time).gradient()) / (2 * h)
    a.at(z, time)
    error = float(np.abs((found - product) * ~a.held()[0]).max())
    # What rounding does to the differences goes by the stiffness, of any direction.
    noise = 1e-8 * float(np.abs(a.product(np.random.default_rng(0).standard_normal(z.shape))).max())
    if error > 1e-3 * float(np.abs(product).max()) + noise:
        raise Unsupported("the matrix is not the derivative of the forces: some of them are no "
                          "energy's, such as pressures on a surface with a rim that moves")


def _scratch(model: Model) -> World:
    return World(model, method="newton", backend="cpu", integrator="backward_euler", conserve=False)


def _value_of(model: Model, path: str) -> float:
    """The number at a path of the scene, with its overrides."""
    scene = model.scene
    if path in scene.sets:
        return float(scene.sets[path])
    value: Any = scene.source
    if not isinstance(value, Mapping):
        with open(os.fspath(value), encoding="utf-8") as file:
            value = json.load(file)
    try:
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, (list, tuple, np.ndarray)) else value[key]
        return float(value)
    except (KeyError, IndexError, TypeError, ValueError):
        raise BadInput(f"the scene has no number at {path}: say what it is, "
                       "parameter(path, value)") from None


def pose_gradient(world: World, x: Any) -> Gradient:
    """Derivatives of L with ∂L/∂x = x, [vertices, 3], of the equilibrium that a world is in."""
    _refuse_what_is_no_energy(world, False)
    n = world.vertex_count
    pull = doubles(x, (n, 3), "x")
    a = Analysis(world)
    if not a.factor():
        raise Unsupported("the pose is not stable: its stiffness is not positive")
    lam, (held, _) = a.solve(pull), a.held()
    g = Gradient(world, a, 1)
    target = np.where(held, pull - a.product(lam), 0)
    g._add(0, world.positions.copy(), None, lam, np.zeros((n, 3)), target, world._gravity)
    return g
