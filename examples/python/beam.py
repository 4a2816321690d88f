"""A beam sags under its weight: equilibrium, stress, and how it converged."""

import sys
from pathlib import Path

import hooke

scene = {
    "bodies": [{
        "name": "beam",
        "mesh": {"box": {"size": [1, 0.1, 0.2], "cells": [40, 4, 8]}},
        "material": {"model": "neo_hookean", "young": 3e6, "poisson": 0.45, "density": 1000},
        "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}],
    }],
}


def main(out: Path) -> float:
    world = hooke.load(scene).world()
    residuals = []
    report = world.pose(monitor=lambda it: residuals.append(it.relative_residual))
    report.require()
    tip = world.probe("beam", [1, 0.05, 0.1])
    sag = 0.05 - tip()[1]
    print(f"{report.iterations} iterations: {', '.join(f'{r:.1e}' for r in residuals)}")
    print(f"the tip sags by {sag:.4f} m; von Mises stress up to {world.greatest()['von_mises']:.3g} Pa")
    print(f"the wall bears {world.reactions()[0]['force'][1]:.2f} N of "
          f"{9.81 * world.masses.sum():.2f} N")
    world.save(out / "beam.vtu")
    world.save_png(out / "beam.png", field="von_mises")
    return sag


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/python")
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
