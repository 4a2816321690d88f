"""Real time: a creature on a floor is grabbed by the ear, pulled aside, and let go."""

import sys
from pathlib import Path

import numpy as np

import hooke

scene = {
    "time": {"step": 1 / 60},
    "solver": {"method": "split"},
    "bodies": [{
        "name": "creature",
        "mesh": {"figure": {"height": 1, "cells": 12}},
        "material": {"model": "corotated", "young": 3e5, "poisson": 0.4, "density": 1000},
        "fix": [{"box": [[-1, -0.01, -1], [1, 0.05, 1]]}],
    }],
}


def main(out: Path) -> float:
    world = hooke.load(scene).world(report_energy=False)
    top = np.argsort(world.positions[:, 1])[-4:]  # the tip of an ear
    start = world.positions[top].mean(axis=0)
    film = hooke.Film(world, field="displacement")
    grab = world.grab(top, start, stiffness=5000)
    for frame in range(60):
        grab.move(start + [0.3 * frame / 60, 0, 0.4 * frame / 60])
        world.step()
        if frame % 3 == 2:
            film.add()
    pulled, force = np.linalg.norm(world.positions[top].mean(axis=0) - start), \
        np.linalg.norm(grab.force)
    world.save_png(out / "drag.png", field="displacement")
    grab.release()
    for frame in range(60):
        world.step()
        if frame % 3 == 2:
            film.add()
    print(f"pulled by {pulled:.2f} m with {force:.1f} N; {len(film)} frames in {out / 'drag.html'}")
    hooke.show(film).save(out / "drag.html")
    return pulled


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/python")
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
