"""Scenes, worlds, edits, results, errors, views, threads, memory."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import LEFT, ROOT, bar_scene

import hooke


# ---------------------------------------------------------------- scenes and meshes


def test_dict_and_file_are_the_same(tmp_path):
    (tmp_path / "bar.json").write_text(json.dumps(bar_scene()))
    a, b = (hooke.load(s).world() for s in (tmp_path / "bar.json", bar_scene()))
    a.step(3), b.step(3)
    assert np.array_equal(a.positions, b.positions)
    assert a.model.body("bar").vertices == slice(0, a.vertex_count)


def test_mesh_from_arrays_is_that_of_the_generator():
    mesh = hooke.Mesh.make("box", size=[1, 0.3, 0.3], cells=[6, 2, 2])
    scene = bar_scene(body={"mesh": hooke.Mesh(mesh.vertices, mesh.tets)})
    arrays = bar_scene(body={"mesh": {"vertices": mesh.vertices, "tets": mesh.tets}})
    a, b, d = (hooke.load(s).world() for s in (bar_scene(), scene, arrays))
    for world in (a, b, d):
        assert world.pose().converged
    assert np.array_equal(a.positions, b.positions) and np.array_equal(a.positions, d.positions)


def test_selectors_of_vertices_of_ones_own_mesh():
    solid = hooke.Mesh.make("box", size=[1, 0.3, 0.3], cells=[6, 2, 2])
    left = np.flatnonzero(solid.vertices[:, 0] < 1e-9)
    end = np.flatnonzero(solid.vertices[:, 0] > 0.999)
    body = {"mesh": {"vertices": solid.vertices, "tets": solid.tets},
            "fix": [{"vertices": left}],
            "load": [{"select": {"any": [{"vertices": end}]}, "force": [0, 0, 3]}]}
    boxes = {"fix": [LEFT], "load": [{"select": {"box": [[0.999, -1, -1], [2, 1, 1]]},
                                      "force": [0, 0, 3]}]}
    a, b = hooke.load(bar_scene(body=body)).world(), hooke.load(bar_scene(body=boxes)).world()
    assert a.pose().converged and b.pose().converged
    assert np.array_equal(a.positions, b.positions)
    with pytest.raises(hooke.BadInput, match="is no vertex of the mesh"):
        hooke.load(bar_scene(body={**body, "fix": [{"vertices": [len(solid.vertices)]}]}))
    sheet = hooke.Mesh.make("sheet", size=[1, 1], cells=[4, 4])
    cloth = hooke.load({"bodies": [{
        "mesh": hooke.Mesh(sheet.vertices, triangles=sheet.triangles), "fix": [{"vertices": [0, 4]}],
        "material": {"model": "mass_spring", "stretch": 100, "bending": 1e-3, "density": 0.2}}]})
    world = cloth.world()
    world.step(5)
    assert world.positions[:, 1].min() < -0.005 and world.positions[0, 1] == 0


def test_mesh(tmp_path):
    mesh = hooke.Mesh.make("box", size=[1, 1, 1], cells=[2, 2, 2])
    check = mesh.check()
    assert check["simulable"] and check["volume"] == pytest.approx(1)
    assert len(mesh.surface()) == 48
    mesh.save(tmp_path / "a.vtu", {"x": mesh.vertices[:, 0]})
    assert np.allclose(hooke.Mesh.load(tmp_path / "a.vtu").vertices, mesh.vertices)
    with pytest.raises(ValueError):
        mesh.vertices[0, 0] = 1
    with pytest.raises(hooke.BadInput, match="cube"):
        hooke.Mesh.make("cube")
    with pytest.raises(hooke.FileError):
        hooke.Mesh.load(tmp_path / "none.msh")
    with pytest.raises(hooke.BadInput):
        hooke.Mesh(mesh.vertices, mesh.tets + 100)
    with pytest.raises(ValueError):
        hooke.Mesh(mesh.vertices, mesh.tets + 0.5)
    vertices = mesh.vertices
    del mesh
    gc.collect()
    assert vertices.max() == 1


class _Meshio:
    """As meshio has meshes."""

    class _Block:
        type = "tetra"

        def __init__(self, data):
            self.data = data

    def __init__(self, points, tets):
        self.points, self.cells = points, [self._Block(tets)]


def test_meshes_of_others():
    mesh = hooke.Mesh.make("box", size=[1, 0.3, 0.3], cells=[6, 2, 2])
    world = hooke.load(bar_scene(body={"mesh": _Meshio(mesh.vertices, mesh.tets)})).world()
    assert world.vertex_count == len(mesh.vertices)
    for module, call in (("meshio", world.to_meshio), ("trimesh", world.to_trimesh)):
        try:
            __import__(module)
        except ImportError:
            with pytest.raises(ImportError):
                call()
        else:
            assert call() is not None


# ---------------------------------------------------------------- errors


def test_errors_say_what_is_wrong(bar, tmp_path):
    with pytest.raises(hooke.BadInput, match="material.*missing"):
        hooke.load({"bodies": [{"mesh": {"box": {"size": [1, 1, 1], "cells": [1, 1, 1]}}}]})
    with pytest.raises(hooke.FileError, match="none.json"):
        hooke.load(tmp_path / "none.json")
    with pytest.raises(hooke.BadInput, match="yuong"):
        hooke.load(bar_scene(), {"bodies.0.material.yuong": 1})
    with pytest.raises(hooke.BadInput, match="newtonian"):
        bar.world(method="newtonian")
    with pytest.raises(hooke.BadInput, match="no body 'rod'"):
        bar.body("rod")
    world = bar.world()
    with pytest.raises(ValueError, match="shape"):
        world.positions = np.zeros((3, 3))
    with pytest.raises(hooke.BadInput):
        world.positions = np.full((world.vertex_count, 3), np.nan)
    with pytest.raises(hooke.BadInput, match="field"):
        world.field("stres")
    with pytest.raises(hooke.BadInput):
        world.set_gravity([0, np.inf, 0])
    assert issubclass(hooke.BadInput, ValueError) and issubclass(hooke.FileError, OSError)


def test_not_converged_is_no_exception_unless_asked(bar):
    report = bar.world(iterations=1).pose()
    assert not report.converged and report.reason != "converged"
    with pytest.raises(hooke.NotConverged) as caught:
        report.require()
    assert caught.value.report is report


# ---------------------------------------------------------------- views


def test_positions_are_views_that_live(bar):
    world = bar.world()
    x = world.positions
    assert x is world.positions and not x.flags.writeable and not x.flags.owndata
    before = x.copy()
    world.step()
    assert not np.array_equal(before, x)  # the same memory
    with pytest.raises(ValueError):
        x[0, 0] = 1
    expected = x.copy()
    part = x[5:]
    del world, x, bar
    gc.collect()
    hooke.load(bar_scene(cells=(9, 3, 3))).world().step(5)  # would use the memory
    assert np.array_equal(part, expected[5:])


def test_a_thousand_worlds_leave_no_memory(bar):
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def make(count):
        for _ in range(count):
            world = bar.world(threads=1)
            world.step()
            world.positions, world.velocities
    make(100)
    gc.collect()
    before = resident()
    make(1000)
    gc.collect()
    grown = resident() - before
    assert grown < 3e6, f"{grown / 1e6:.1f} MB more"


# ---------------------------------------------------------------- edits, state, results


def test_edits(bar):
    world = bar.world()
    world.set_gravity([0, 0, 0])
    assert world.pose().converged
    assert np.allclose(world.positions, bar.rest_positions, atol=1e-12)
    right = np.flatnonzero(bar.rest_positions[:, 0] > 0.999)
    forces = np.zeros((world.vertex_count, 3))
    forces[right, 2] = 0.4
    world.set_forces(forces)
    world.pose().require()
    by_forces = world.positions.copy()
    world.set_forces(None)
    world.set_loads("bar", [{"select": {"vertices": right}, "force": [0, 0, 0.4 * len(right)]}])
    world.pose().require()
    assert np.allclose(by_forces, world.positions, atol=1e-9)
    assert by_forces[right, 2].mean() > 0.15
    world.set_material("bar", {"young": 4e5, "poisson": 0.4})
    world.pose().require()
    soft = world.positions[right, 2].mean()
    assert soft < by_forces[right, 2].mean()
    world.set_material(0, {"young": 4e4, "poisson": 0.4}, select={"box": [[0.4, -1, -1], [2, 1, 1]]})
    world.pose().require()
    assert world.positions[right, 2].mean() > soft
    world.fix(right)
    held = world.positions[right].copy()
    world.set_loads(0, [])
    world.pose().require()
    assert np.array_equal(world.positions[right], held)
    world.set_targets(right, held + [0, 0.1, 0])
    world.pose().require()
    assert np.allclose(world.positions[right], held + [0, 0.1, 0])
    world.unfix(right)
    grab = world.grab(right[:2], [1.2, 0.1, 0.1], stiffness=200)
    world.pose().require()
    assert grab.force[0] > 0
    grab.move([1.0, 0.1, 0.1])
    grab.release()
    with pytest.raises(hooke.BadInput):
        grab.move([0, 0, 0])
    world.set_solver("quasi_newton", iterations=20, options={"window": 5})
    assert world.method == "quasi_newton"
    world.set_damping(air=1.0)
    with pytest.raises(hooke.BadInput):
        world.set_damping(oil=1.0)


def test_checkpoints(bar, tmp_path):
    a, b = bar.world(), bar.world()
    a.step(4)
    a.save_state(tmp_path / "a.hks")
    b.load_state(tmp_path / "a.hks")
    d = bar.world()
    d.copy_state(a)
    for world in (a, b, d):
        world.step(3)
    assert np.array_equal(a.positions, b.positions) and np.array_equal(a.positions, d.positions)
    assert a.time == b.time == pytest.approx(0.07)


def test_results(bar, tmp_path):
    world = bar.world()
    world.pose().require()
    n, tets = world.vertex_count, world.model.tet_count
    for name, shape in (("displacement", (n, 3)), ("von_mises", (tets,)), ("stress", (tets, 3, 3)),
                        ("principal_stress", (tets, 3)), ("J", (tets,)), ("reaction", (n, 3))):
        assert world.field(name).shape == shape
    assert np.allclose(world.field("displacement"), world.positions - bar.rest_positions)
    s = world.field("stress")
    deviator = s - np.trace(s, axis1=1, axis2=2)[:, None, None] / 3 * np.eye(3)
    assert np.allclose(np.sqrt(1.5 * (deviator ** 2).sum(axis=(1, 2))), world.field("von_mises"))
    weight = 9.81 * world.masses.sum()
    assert world.reactions()[0]["force"] == pytest.approx([0, weight, 0], abs=1e-5 * weight)
    assert world.energy["total"] == pytest.approx(
        world.energy["elastic"] + world.energy["gravity"])
    assert world.greatest()["displacement"] == pytest.approx(
        np.linalg.norm(world.field("displacement"), axis=1).max())
    assert world.probe("bar", [1, 0, 0])() == pytest.approx(
        world.positions[np.flatnonzero((bar.rest_positions == [1, 0, 0]).all(axis=1))[0]])
    world.save(tmp_path / "bar.vtu", ["strain"])
    assert len(hooke.Mesh.load(tmp_path / "bar.vtu").vertices) == n
    world.save_points(tmp_path / "bar.csv")
    assert np.array_equal(np.loadtxt(tmp_path / "bar.csv", delimiter=",", skiprows=1)[:, 1:],
                          world.positions)


def test_contact():
    scene = bar_scene(obstacles=[{"name": "floor", "plane": {"point": [0, -0.2, 0],
                                                             "normal": [0, 1, 0]}}],
                      contact={"distance": 0.01})
    del scene["bodies"][0]["fix"]
    world = hooke.load(scene).world()
    world.run(0.6)
    report = world.contact()
    assert report["pairs"] > 0 and 0 < report["least_gap"] < 0.01
    load = world.obstacle_load("floor")["force"]
    assert load[1] < 0 and world.model.obstacles == ["floor"]
    assert len(world.model.obstacle_mesh(0).vertices) >= 4


def test_about(bar):
    assert "newton" in hooke.methods() and "corotated" in hooke.materials()
    assert "bdf2" in hooke.integrators() and hooke.machine()["threads"] >= 1
    energy, P, H = hooke.material_energy({"young": 1e5, "poisson": 0.3}, np.eye(3))
    assert energy == pytest.approx(0, abs=1e-9) and np.allclose(P, 0, atol=1e-6)
    assert H[0, 0, 0, 0] == pytest.approx(1e5 * 0.7 / (1.3 * 0.4))
    told = []
    hooke.log(lambda level, message: told.append((level, message)))
    bar.world(integrator="newmark")
    hooke.log(None)
    assert all(level in ("debug", "info", "warning") for level, _ in told)


# ---------------------------------------------------------------- monitors, Ctrl-C, threads


def test_monitor(bar):
    world, seen = bar.world(), []
    report = world.pose(monitor=lambda it: seen.append((it.iteration, it.relative_residual)))
    assert len(seen) == report.iterations and seen[-1][1] < 1e-6
    stopped = bar.world().pose(monitor=lambda it: it.iteration < 2)
    assert stopped.reason == "stopped" and stopped.iterations == 2

    def fail(iteration):
        raise RuntimeError("from within")
    with pytest.raises(RuntimeError, match="from within"):
        bar.world().pose(monitor=fail)
    world.monitor = lambda it: seen.clear()
    world.set_gravity([0, -3, 0])
    world.step()
    assert not seen


def test_ctrl_c_stops_a_long_pose():
    world = hooke.load(bar_scene(cells=(24, 8, 8), young=2e4)).world(
        method="gradient_descent", iterations=10 ** 8, tolerance=1e-14)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    started = time.monotonic()
    # Where tests run in the background signals are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            world.pose()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 20
    assert np.isfinite(world.positions).all()
    world.set_solver("newton")
    assert world.pose().converged  # it is good for more


def test_threads_step_worlds_without_a_lock(bar):
    """8 threads, 8 worlds: the same bits as one after the other, and the lock is released."""
    def march(world, count=40):
        for _ in range(count):
            world.step()
    alone = bar.world(threads=1)
    march(alone)
    worlds = [bar.world(threads=1) for _ in range(8)]
    threads = [threading.Thread(target=march, args=(w,)) for w in worlds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for world in worlds:
        assert np.array_equal(world.positions, alone.positions)


def test_the_interpreter_is_free_while_the_library_computes():
    world = hooke.load(bar_scene(cells=(30, 10, 10))).world(threads=1)
    done, counts = threading.Event(), []

    def count():
        while not done.is_set():
            counts.append(time.monotonic())
            time.sleep(0.001)
    thread = threading.Thread(target=count)
    thread.start()
    started = time.monotonic()
    world.step()  # one call
    ended = time.monotonic()
    done.set()
    thread.join()
    within = [t for t in counts if started < t < ended]
    assert ended - started < 0.1 or len(within) > 2


def test_library_of_another_place(tmp_path):
    code = "import hooke"
    environment = {**os.environ, "HOOKE_LIBRARY": str(tmp_path / "libhooke.so"),
                   "PYTHONPATH": str(ROOT / "python")}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                         text=True)
    assert run.returncode != 0 and "libhooke.so was not found" in run.stderr


def test_handles_end_in_any_order():
    """What needs another is released first, whatever the garbage collector does."""
    from hooke._library import Handle
    order = []
    world = Handle(1, order.append)
    analysis = Handle(2, order.append, world)
    world.__del__()  # as in a cycle
    assert order == []
    del world
    del analysis
    gc.collect()
    assert order == [2, 1]
