"""Derivatives: at any state, of laws of one's own, of trajectories and of equilibria."""

import numpy as np
import pytest
from conftest import LEFT, bar_scene

import hooke

scipy_sparse = pytest.importorskip("scipy.sparse", reason="python3-scipy is not installed")
MOST = 1e-5  # by which a gradient may be off from differences


# ---------------------------------------------------------------- at any state


def test_analysis(bar):
    world = bar.world()
    a, rng = world.analysis(), np.random.default_rng(3)
    x = world.positions + 0.01 * rng.standard_normal((world.vertex_count, 3))
    d = rng.standard_normal(x.shape)
    kept = world.positions.copy()
    g, H = a.at(x).gradient(), a.hessian()
    h = 1e-6
    slope = (a.at(x + h * d).energy - a.at(x - h * d).energy) / (2 * h)
    assert slope == pytest.approx((g * d).sum(), rel=1e-7)
    difference = (a.at(x + h * d).gradient() - a.at(x - h * d).gradient()) / (2 * h)
    assert np.allclose(difference.ravel(), H @ d.ravel(), atol=1e-6 * np.abs(difference).max())
    assert np.allclose(a.at(x).product(d).ravel(), H @ d.ravel())
    assert np.allclose(a.operator() @ d.ravel(), H @ d.ravel())
    assert abs(H - H.T).max() < 1e-9 * abs(H).max() and scipy_sparse.issparse(H)
    lowest = np.linalg.eigvalsh(a.hessian(projected=True).toarray())[0]
    assert lowest > -1e-9 * abs(H).max()
    assert np.array_equal(world.positions, kept)
    a.at(None)
    assert a.factor(weight=1e4)
    s = a.solve(d).ravel()
    free, mass = a.free, np.repeat(world.masses, 3)
    left = (a.hessian() @ s + 1e4 * mass * s - d.ravel())[free]
    assert np.abs(left).max() < 1e-9 and np.all(np.delete(s, free) == 0)
    assert a.hessian(free=True).shape == (len(free), len(free))
    world.fix([3])
    with pytest.raises(hooke.BadInput, match="another model"):
        a.gradient()


# ---------------------------------------------------------------- laws of one's own


class Kirchhoff(hooke.Material):
    young, poisson = 2e5, 0.4

    def energy(self, F):
        mu = self.young / (2 * (1 + self.poisson))
        lam = self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson))
        E = (np.einsum("nki,nkj->nij", F, F) - np.eye(3)) / 2
        return mu * (E * E).sum(axis=(1, 2)) + lam / 2 * np.trace(E, axis1=1, axis2=2) ** 2

    def stress(self, F):
        mu = self.young / (2 * (1 + self.poisson))
        lam = self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson))
        E = (np.einsum("nki,nkj->nij", F, F) - np.eye(3)) / 2
        return F @ (2 * mu * E + lam * np.trace(E, axis1=1, axis2=2)[:, None, None] * np.eye(3))


class Wrong(Kirchhoff):
    def stress(self, F):
        return 1.001 * super().stress(F)


def test_a_material_of_ones_own_is_that_of_the_library():
    assert Kirchhoff().check()["stress"] < 1e-8
    with pytest.raises(hooke.BadInput, match="Wrong: stress is off"):
        Wrong().check()
    own = hooke.load(bar_scene(body={"material": Kirchhoff()})).world(tolerance=1e-9)
    stvk = {"model": "stvk", "young": 2e5, "poisson": 0.4, "density": 1000}
    native = hooke.load(bar_scene(body={"material": stvk})).world(tolerance=1e-9)
    for world in (own, native):
        world.pose().require()
    assert np.abs(own.positions - native.positions).max() < 1e-8
    for world in (own, native):
        world.step(3)
    assert np.abs(own.positions - native.positions).max() < 1e-8
    assert own.energy["elastic"] == pytest.approx(native.energy["elastic"], rel=1e-6)
    for refused in (lambda: own.field("von_mises"), lambda: hooke.Rest(own.model),
                    lambda: hooke.Design(own.model), lambda: own.set_material(0, stvk)):
        with pytest.raises(hooke.Unsupported):
            refused()
    with pytest.raises(hooke.BadInput):
        hooke.Fit(own.model)


def test_a_material_that_raises_says_so():
    class Broken(Kirchhoff):
        def stress(self, F):
            raise ZeroDivisionError("of one's own")
    world = hooke.load(bar_scene(body={"material": Broken()})).world()
    with pytest.raises(ZeroDivisionError, match="own"):
        world.step()


class Spring(hooke.Term):
    """Between two vertices, of a rest length each."""

    def __init__(self, elements, k, lengths):
        super().__init__(elements, stiffness=4 * k, name="springs")
        self.k, self.lengths = k, np.asarray(lengths)

    def energy(self, x):
        d = np.linalg.norm(x[:, 0] - x[:, 1], axis=1)
        return self.k / 2 * (d - self.lengths[self.first:self.first + len(x)]) ** 2

    def gradient(self, x):
        e = x[:, 0] - x[:, 1]
        d = np.linalg.norm(e, axis=1, keepdims=True)
        g = self.k * (d - self.lengths[self.first:self.first + len(x), None]) * e / d
        return np.stack([g, -g], axis=1)


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
def test_energies_alone_do_at_any_size(size):
    """Gradient and Hessian by differences: the pose is where the spring and gravity balance."""
    class Energy(hooke.Term):
        def energy(self, x):
            return 0.5 * self.stiffness * (x[:, 0, 1] / size) ** 4 * size ** 2

    box = {"box": {"size": [size] * 3, "cells": [1, 1, 1]}}
    body = {"mesh": box, "material": {"young": 1e6 * size, "poisson": 0.3, "density": 1000}}
    term = Energy([[v] for v in range(8)], stiffness=9810 * size ** 2, tie=True)
    world = hooke.load({"bodies": [{**body, "transform": {"translate": [0, -size, 0]}}]},
                       terms=[term]).world(damping={"air": 8 / np.sqrt(size)},
                                           step=0.01 * np.sqrt(size))
    world.step(300)
    force = -term.gradient(world.positions[:, None])[:, 0, 1].sum()
    assert force == pytest.approx(9.81 * world.masses.sum(), rel=1e-3)


def test_a_term_of_ones_own(bar):
    X = bar.rest_positions
    ends = np.flatnonzero(X[:, 0] > 0.999)
    pairs = np.array([[0, ends[0]], [1, ends[1]], [2, ends[2]]])
    lengths = 0.8 * np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    term = Spring(pairs, 300.0, lengths)
    assert max(term.check(X[pairs] + 0.01).values()) < 1e-6
    world = hooke.load(bar_scene(gravity=[0, 0, 0]), terms=[term]).world()
    world.pose().require()
    assert world.positions[ends, 0].mean() < 0.999
    pulled = term.gradient(world.positions[pairs])
    assert np.abs(world.reactions()[0]["force"][0]) < np.abs(pulled[:, 0, 0]).sum() + 1e-9
    a = world.analysis()
    assert np.abs(a.gradient().ravel()[a.free]).max() < 1e-5
    # With the per-element calls (methods that move one vertex at a time) the answer is the same.
    other = hooke.load(bar_scene(gravity=[0, 0, 0]), terms=[term]).world(
        method="vbd", iterations=2000, tolerance=1e-7)
    other.pose()
    assert np.abs(other.positions - world.positions).max() < 1e-4


# ---------------------------------------------------------------- gradients


def rich_scene():
    return {
        "time": {"step": 0.01}, "gravity": [0, -9.81, 0],
        "solver": {"method": "newton", "tolerance": 1e-13},
        "bodies": [{
            "mesh": {"box": {"size": [1, 0.3, 0.3], "cells": [4, 2, 2]}},
            "material": {"young": 1e5, "poisson": 0.4, "density": 1000},
            "regions": [{"select": {"box": [[0.45, -1, -1], [2, 1, 1]]},
                         "material": {"model": "stvk", "young": 2e5, "poisson": 0.3,
                                      "density": 1500}}],
            "initial": {"velocity": [0.1, 0.2, 0.3]},
            "load": [{"select": {"box": [[0.99, -1, -1], [2, 1, 1]]}, "force": [1, 2, 5]}],
            "attach": [{"select": {"box": [[0.99, -1, -1], [2, 0.01, 0.01]]}, "stiffness": 30}],
            "fix": [LEFT]}]}


PATHS = ["bodies.0.material.young", "bodies.0.material.poisson", "bodies.0.material.density",
         "bodies.0.regions.0.material.young", "bodies.0.attach.0.stiffness",
         "bodies.0.load.0.force.2", "gravity.1"]


class Trajectory:
    """A scalar of five steps, and its derivatives."""

    def __init__(self, integrator, damping):
        self.settings = {"integrator": integrator, "damping": damping}
        self.model = hooke.load(rich_scene())
        n, rng = self.model.vertex_count, np.random.default_rng(1)
        self.x = {k: rng.standard_normal((n, 3)) for k in range(1, 6)}
        self.v = 0.01 * rng.standard_normal((n, 3))
        self.way = rng.standard_normal((n, 3))

    def run(self, model=None, edit=None, forces=None, tape=False):
        world = (model or self.model).world(**self.settings)
        if edit:
            edit(world)
        record = hooke.Tape(world) if tape else None
        total = 0.0
        for k in range(1, 6):
            if forces is not None:
                world.set_forces(forces[k - 1])
            world.step()
            total += (self.x[k] * world.positions).sum()
        total += (self.v * world.velocities).sum()
        return (total, record.gradient(self.x, self.v)) if tape else total

    def slope(self, run, h):
        """By differences of fourth order."""
        return (8 * (run(h) - run(-h)) - (run(2 * h) - run(-2 * h))) / (12 * h)


CASES = [("backward_euler", {}), ("implicit_midpoint", {}), ("bdf2", {}),
         ("backward_euler", {"air": 2.0, "ether": 1.0, "air_per_vertex": 0.3})]


@pytest.mark.parametrize("integrator,damping", CASES)
def test_gradients_of_a_trajectory(integrator, damping):
    t = Trajectory(integrator, damping)
    g = t.run(tape=True)[1]
    scales = {"gravity.1": 9.81}
    for path in PATHS + ["bodies.0.initial.velocity.1"]:
        value = scales.get(path) or hooke.adjoint._value_of(t.model, path)
        found = t.slope(lambda h: t.run(t.model.with_sets({path: hooke.adjoint._value_of(
            t.model, path) + h})), 1e-3 * abs(value))
        size = max(abs(found), 1e-6 / abs(value))
        assert abs(g.parameter(path) - found) <= MOST * size, path
    free = ~g._analysis.held()[0]
    for name, gradient, way in (("positions", g.initial_positions, t.way * free),
                                ("velocities", g.initial_velocities, t.way * free),
                                ("rest_positions", g.rest, t.way)):
        found = t.slope(lambda h: t.run(edit=lambda w: setattr(w, name, getattr(w, name) + h * way)),
                        1e-5)
        assert (gradient * way).sum() == pytest.approx(found, rel=MOST), name
    F = np.random.default_rng(7).standard_normal((5, *t.way.shape))
    found = t.slope(lambda h: t.run(forces=h * F), 1e-3)
    assert (g.forces * F).sum() == pytest.approx(found, rel=MOST)
    found = t.slope(lambda h: t.run(edit=lambda w: w.set_gravity([0, -9.81, h])), 1e-3)
    assert g.gravity[2] == pytest.approx(found, rel=MOST)


def test_gradients_of_an_equilibrium():
    model = hooke.load(rich_scene())
    n, rng = model.vertex_count, np.random.default_rng(2)
    W, way = rng.standard_normal((n, 3)), rng.standard_normal((n, 3))

    def value(model=model, edit=None):
        world = model.world()
        if edit:
            edit(world)
        world.pose()
        return (W * world.positions).sum()
    world = model.world()
    world.pose()
    g = hooke.pose_gradient(world, W)

    def slope(run, h):
        return (8 * (run(h) - run(-h)) - (run(2 * h) - run(-2 * h))) / (12 * h)
    for path in PATHS:
        at = hooke.adjoint._value_of(model, path)
        found = slope(lambda h: value(model.with_sets({path: at + h})), 1e-3 * abs(at))
        assert g.parameter(path) == pytest.approx(found, rel=MOST), path
    found = slope(lambda h: value(edit=lambda w: setattr(w, "rest_positions",
                                                         w.rest_positions + h * way)), 1e-5)
    assert (g.rest * way).sum() == pytest.approx(found, rel=MOST)
    found = slope(lambda h: value(edit=lambda w: w.set_forces(h * way)), 1e-3)
    assert (g.total_force * way).sum() == pytest.approx(found, rel=MOST)
    # By a number that a model is made from, whatever it is.
    both = g.by(lambda s: model.with_sets({PATHS[0]: 1e5 * s, PATHS[3]: 2e5 * s}), 1.0)
    assert both == pytest.approx(1e5 * g.parameter(PATHS[0]) + 2e5 * g.parameter(PATHS[3]), rel=1e-8)


def test_gradient_with_a_prescribed_motion_and_contact():
    scene = bar_scene(cells=(4, 2, 2), solver={"tolerance": 1e-12}, time={"step": 0.01},
                      obstacles=[{"plane": {"point": [0, -0.02, 0], "normal": [0, 1, 0]}}],
                      contact={"distance": 0.02, "stiffness": 1e5, "restitution": 1},
                      body={"fix": [], "move": [{"select": LEFT, "translate": [0, 0.05, 0.1],
                                                 "over": 0.05}]})
    model = hooke.load(scene)
    W = np.random.default_rng(4).standard_normal((model.vertex_count, 3))

    def run(model, tape=False):
        world = model.world()
        record = hooke.Tape(world) if tape else None
        world.step(8)
        assert not tape or world.contact()["pairs"] > 0
        total = (W * world.positions).sum()
        return (total, record.gradient(W)) if tape else total
    g = run(model, True)[1]
    for path in ("bodies.0.material.young", "bodies.0.move.0.translate.2"):
        at = hooke.adjoint._value_of(model, path)
        h = 1e-5 * at
        found = (run(model.with_sets({path: at + h})) - run(model.with_sets({path: at - h}))) / \
            (2 * h)
        assert g.parameter(path) == pytest.approx(found, rel=MOST), path


def test_edits_while_a_tape_records_are_refused(bar):
    world = bar.world()
    tape = hooke.Tape(world)
    world.step()
    world.positions = world.positions + 0.0
    world.step()  # it is the same state
    world.velocities = world.velocities + 1e-3
    with pytest.raises(hooke.Unsupported, match="state was set"):
        world.step()
    assert len(tape) == 2
    tape.stop()
    tape = hooke.Tape(world)
    world.step()
    W = np.ones((world.vertex_count, 3))
    tape.gradient(W)
    world.grab([5], [1, 1, 1], stiffness=10)
    for call in (world.step, lambda: tape.gradient(W)):
        with pytest.raises(hooke.Unsupported, match="edited"):
            call()
    tape.stop()
    del tape
    assert not world._tapes
    world.set_material(0, {"young": 1e5, "poisson": 0.3})
    tape = hooke.Tape(world)
    world.step()
    g = tape.gradient(W)
    assert np.isfinite(g.rest).all()
    with pytest.raises(hooke.Unsupported, match="edited since"):
        g.parameter("bodies.0.material.young")


def test_what_has_no_gradient_is_refused(bar):
    with pytest.raises(hooke.Unsupported, match="newmark"):
        hooke.Tape(bar.world(integrator="newmark"))
    tape_of = bar.world(damping={"viscous": 0.01})
    tape = hooke.Tape(tape_of)
    with pytest.raises(hooke.Unsupported, match="viscous"):
        tape_of.step()
    tape.stop()
    rough = bar_scene(contact={"friction": 0.3})
    with pytest.raises(hooke.Unsupported, match="restitution"):
        hooke.Tape(hooke.load(rough).world())
    rough["contact"]["restitution"] = 1
    with pytest.raises(hooke.Unsupported, match="friction"):
        hooke.Tape(hooke.load(rough).world())
    world = bar.world(iterations=1)
    tape = hooke.Tape(world)
    with pytest.raises(hooke.NotConverged):
        world.step(3)
    end = {"select": {"box": [[0.99, -1, -1], [2, 1, 1]]}, "pressure": 2e4}
    pressed = hooke.load(bar_scene(body={"load": [end]})).world(tolerance=1e-11)
    pressed.pose()
    with pytest.raises(hooke.Unsupported, match="rim"):
        hooke.pose_gradient(pressed, np.ones((pressed.vertex_count, 3)))
    good = bar.world()
    good.pose()
    g = hooke.pose_gradient(good, np.ones((good.vertex_count, 3)))
    with pytest.raises(hooke.BadInput, match="rest shape"):
        g.parameter("bodies.0.mesh.box.size.1")
    with pytest.raises(hooke.BadInput, match="no number"):
        g.parameter("bodies.0.material.mu")
