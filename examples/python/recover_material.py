"""What is it made of? Moduli of two regions and the density, from a motion that was seen.

Where three vertices of a swinging bar were is all that is known. The gradient of the misfit by the
three unknowns comes from one pass backwards through the steps, whatever their number.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import hooke

STEPS = 20
TRUTH = {"bodies.0.material.young": 8e4, "bodies.0.regions.0.material.young": 3e5,
         "bodies.0.material.density": 1200.0}
GUESS = {"bodies.0.material.young": 2e5, "bodies.0.regions.0.material.young": 1.5e5,
         "bodies.0.material.density": 900.0}
scene = {
    "time": {"step": 0.02},
    "solver": {"method": "newton", "tolerance": 1e-11},
    "bodies": [{
        "name": "bar",
        "mesh": {"box": {"size": [1, 0.2, 0.2], "cells": [10, 2, 2]}},
        "material": {"young": 1e5, "poisson": 0.4, "density": 1000},
        "regions": [{"select": {"box": [[0.49, -1, -1], [2, 1, 1]]},
                     "material": {"young": 1e5, "poisson": 0.4, "density": 1000}}],
        "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}],
        # A push of a known force, without which mass and stiffness could not be told apart.
        "load": [{"select": {"box": [[0.99, -1, -1], [2, 1, 1]]}, "force": [0, 0, 6]}],
    }],
}


def march(values, record=False):
    world = hooke.load(scene, values).world()
    tape = hooke.Tape(world) if record else None
    seen = []
    for _ in range(STEPS):
        world.step()
        seen.append(world.positions.copy())
    return np.array(seen), tape


def main(out: Path) -> dict:
    markers = [int(v) for v in (0.3, 0.6, 1.0) for v in [round(v * 10) * 9 + 4]]
    observed = march(TRUTH)[0][:, markers]
    names, evaluations = list(GUESS), []

    def misfit(theta):  # the unknowns are logarithms
        values = dict(zip(names, np.exp(theta)))
        seen, tape = march(values, record=True)
        away = seen[:, markers] - observed
        weights = np.zeros_like(seen)
        weights[:, markers] = away
        gradient = tape.gradient(x={k + 1: w for k, w in enumerate(weights)})
        slopes = gradient.parameters(names)
        evaluations.append(0.5 * (away ** 2).sum())
        scale = 1e4
        return scale * evaluations[-1], scale * np.array([slopes[n] * values[n] for n in names])

    found = minimize(misfit, np.log([GUESS[n] for n in names]), jac=True, method="BFGS",
                     options={"gtol": 1e-5, "maxiter": 60})
    result = dict(zip(names, np.exp(found.x)))
    for name in names:
        print(f"{name:36} {result[name]:12.6g}   (was {TRUTH[name]:g}, from {GUESS[name]:g})")
    print(f"{len(evaluations)} trajectories, misfit {evaluations[0]:.3g} to {evaluations[-1]:.3g} m²")
    world = hooke.load(scene, result).world()
    world.step(STEPS)
    world.save_png(out / "recover_material.png", field="von_mises")
    return result


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/python")
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
