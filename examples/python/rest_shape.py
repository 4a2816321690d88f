"""What to make so that it hangs as it is drawn: the rest shape of a shelf, and a check."""

import sys
from pathlib import Path

import numpy as np

import hooke

scene = {
    "bodies": [{
        "name": "shelf",
        "mesh": {"box": {"size": [0.6, 0.02, 0.2], "cells": [30, 2, 8]}},
        "material": {"model": "stable_neo_hookean", "young": 1.2e7, "poisson": 0.4, "density": 1100},
        "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}],
    }],
}


def main(out: Path) -> float:
    model = hooke.load(scene)
    drawn = model.rest_positions
    rest = hooke.Rest(model)
    report = rest.solve()
    print(f"{report.reason} by {report.attempts.decode()}; it sags by {report.sag:.3f} m")

    # Made like that, it comes to rest where it was drawn.
    world = model.world()
    world.rest_positions = rest.positions
    world.positions = rest.positions
    world.save_png(out / "rest_shape_made.png")
    world.pose().require()
    error = np.abs(world.positions - drawn).max()
    print(f"its pose is the drawn shape to {error:.1e} m; pairs of faces that overlap: "
          f"{rest.overlaps()}")
    hooke.Mesh(rest.positions, world.mesh().tets).save(out / "rest_shape.stl")
    world.save_png(out / "rest_shape.png")
    return error


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/python")
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
