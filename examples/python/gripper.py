"""A soft finger that bends as it should: stiffnesses along it, found by gradients of equilibria.

A tendon pulls at the tip of a finger of eight segments. Each has a modulus of its own, chosen so
that the middle line comes to lie on a given arc around the thing to be held.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import hooke

SEGMENTS, LENGTH, HEIGHT = 8, 0.08, 0.012
CELLS = 3 * SEGMENTS
NAMES = [f"bodies.0.regions.{k}.material.young" for k in range(SEGMENTS)]
scene = {
    "gravity": [0, 0, 0],
    "solver": {"method": "newton", "tolerance": 1e-11},
    "bodies": [{
        "name": "finger",
        "mesh": {"box": {"size": [LENGTH, HEIGHT, HEIGHT], "cells": [CELLS, 2, 2]}},
        "material": {"young": 5e5, "poisson": 0.4, "density": 1100},
        "regions": [{"select": {"box": [[(k - 1e-3) * LENGTH / SEGMENTS, -1, -1],
                                        [(k + 1 + 1e-3) * LENGTH / SEGMENTS, 1, 1]]},
                     "material": {"young": 5e5, "poisson": 0.4, "density": 1100}}
                    for k in range(SEGMENTS)],
        "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}],
        "load": [{"select": {"box": [[LENGTH - 1e-6, -1, -1], [1, 1, 1]]}, "force": [-0.1, -0.25, 0]}],
    }],
}


def target(s: np.ndarray, angle: float = 1.1) -> np.ndarray:
    """Points along an arc that turns by an angle over the length of the finger."""
    radius = LENGTH / angle
    turned = s / radius
    return np.stack([radius * np.sin(turned), HEIGHT / 2 - radius * (1 - np.cos(turned)),
                     np.full_like(s, HEIGHT / 2)], axis=1)


def main(out: Path) -> tuple:
    rest = hooke.load(scene).rest_positions
    middle = np.flatnonzero((np.abs(rest[:, 1:] - HEIGHT / 2) < 1e-9).all(axis=1))
    wanted, errors = target(rest[middle, 0]), []

    def bend(theta):
        world = hooke.load(scene, dict(zip(NAMES, np.exp(theta)))).world()
        world.pose().require()
        return world

    def misfit(theta):
        world = bend(theta)
        away = world.positions[middle] - wanted
        pull = np.zeros((world.vertex_count, 3))
        pull[middle] = away
        slopes = hooke.pose_gradient(world, pull).parameters(NAMES)
        errors.append(np.sqrt((away ** 2).sum(axis=1).mean()))
        # A little prefers neighbours that are alike.
        rough = np.diff(theta)
        smooth = np.zeros(SEGMENTS)
        smooth[1:] += rough
        smooth[:-1] -= rough
        scale, weight = 1e4, 1e-4
        return (0.5 * scale * (away ** 2).sum() + 0.5 * weight * (rough ** 2).sum(),
                scale * np.array([slopes[n] for n in NAMES]) * np.exp(theta) + weight * smooth)

    found = minimize(misfit, np.log(np.full(SEGMENTS, 5e5)), jac=True, method="L-BFGS-B",
                     bounds=[(np.log(5e4), np.log(2e7))] * SEGMENTS, options={"maxiter": 40})
    print("moduli, kPa:", ", ".join(f"{v / 1e3:.0f}" for v in np.exp(found.x)))
    print(f"off the arc: {1e3 * errors[0]:.2f} mm at first, {1e3 * errors[-1]:.3f} mm now, "
          f"after {len(errors)} equilibria")
    world = bend(found.x)
    world.save_png(out / "gripper.png", field="von_mises", direction=(0.2, 0.2, 1))
    return errors[0], errors[-1]


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/python")
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
