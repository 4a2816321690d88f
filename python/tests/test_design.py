"""Rest shapes, fits, interactive design."""

import numpy as np
import pytest
from conftest import bar_scene

import hooke


def test_rest_shape_goes_around(bar):
    rest = hooke.Rest(bar)
    report = rest.solve()
    assert report.converged and report.sag > 0.01 and report.load_reached == 1
    assert rest.overlaps() == 0 and not rest.positions.flags.writeable
    world = bar.world()
    world.rest_positions = rest.positions
    world.pose().require()
    assert np.abs(world.positions - bar.rest_positions).max() < 1e-7


def test_rest_can_be_stopped(bar):
    def stop(iteration):
        raise ValueError("enough")
    with pytest.raises(ValueError, match="enough"):
        hooke.Rest(bar).solve(monitor=stop)


def test_fit_finds_the_material():
    truth = hooke.load(bar_scene(young=3.3e5)).world(tolerance=1e-11)
    truth.pose()
    fit = hooke.Fit(hooke.load(bar_scene(young=1e5)), "young")
    fit.observe(truth.positions)
    report = fit.solve()
    assert report.converged, report
    value, deviation = fit.parameters["young"]
    assert value == pytest.approx(3.3e5, rel=1e-5) and deviation < 1e2
    assert np.abs(fit.positions - truth.positions).max() < 1e-6
    misfit, gradient = fit.misfit([2e5])
    h = 10.0
    found = (fit.misfit([2e5 + h])[0] - fit.misfit([2e5 - h])[0]) / (2 * h)
    assert misfit > 0 and gradient[0] == pytest.approx(found, rel=1e-5)
    assert fit.sensitivity().shape == (1, truth.vertex_count, 3)


def test_design(bar):
    design = hooke.Design(bar)
    assert design.wait(60) == "converged"
    before = design.view().rest
    end = np.flatnonzero(bar.rest_positions[:, 0] > 0.999)
    handle = design.grab(end)
    design.drag(handle, bar.rest_positions[end].mean(axis=0) + [0, 0.1, 0])
    assert design.wait(60) == "converged"
    assert np.abs(design.view().rest - before).max() > 0.05
    design.release(handle)
    design.undo()
    assert design.wait(60) == "converged"
    assert np.abs(design.view().rest - before).max() < 1e-6
