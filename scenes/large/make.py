#!/usr/bin/env python3
"""Writes a scene of many soft bodies that stand in a grid, held at their lowest vertices and pushed
to one side: figures, spheres and bars in turn. Bodies of one kind are copies of one mesh, moved and
turned, so that method split needs one factor for all of them.

    scenes/large/make.py --bodies 105 -o large.json && hooke run large.json
"""
import argparse
import json
import math
import random

MATERIAL = {"model": "corotated", "young": 1e6, "poisson": 0.33, "density": 1000}

# About 3.1, 3.1 and 3.4 thousand tets at size 1: the mesh, how far it is lifted to stand on y = 0,
# and how much of it is held.
KINDS = {
    "figure": lambda size: ({"figure": {"height": 1, "cells": max(10, round(14 * size))}}, 0, 0.05),
    "sphere": lambda size: ({"sphere": {"radius": 0.4, "cells": max(2, round(8 * size))}}, 0.4, 0.1),
    "bar": lambda size: (
        {"box": {"size": [0.3, 0.9, 0.3], "cells": [max(1, round(n * size)) for n in (6, 19, 6)]}},
        0,
        0.001,
    ),
}


def body_of(number, kind, place, size, chance):
    """A body of that kind at place (x, z), turned about the vertical."""
    mesh, lift, held = KINDS[kind](size)
    x, z = place
    push = 2 * math.pi * chance.random()
    return {
        "name": f"{kind}{number}",
        "mesh": mesh,
        "transform": {
            "rotate": {"axis": [0, 1, 0], "degrees": round(360 * chance.random(), 3)},
            "translate": [x, lift, z],
        },
        "material": MATERIAL,
        "initial": {"velocity": [round(math.cos(push), 3), 0, round(math.sin(push), 3)]},
        "fix": [{"box": [[x - 1, -0.01, z - 1], [x + 1, held, z + 1]]}],
    }


def scene_of(options):
    chance = random.Random(options.seed)
    across = math.ceil(math.sqrt(options.bodies))
    bodies = []
    for k in range(options.bodies):
        kind = options.shapes[k % len(options.shapes)]
        place = (1.5 * (k % across), 1.5 * (k // across))
        bodies.append(body_of(k, kind, place, options.size, chance))
    return {
        "time": {"step": options.step, "end": options.end},
        "gravity": [0, -9.81, 0],
        "solver": {"method": options.method},
        "bodies": bodies,
    }


def main():
    parser = argparse.ArgumentParser(description="writes a scene of many bodies")
    parser.add_argument("--bodies", type=int, default=105)
    parser.add_argument("--shapes", default="figure,sphere,bar", help="of " + ", ".join(KINDS))
    parser.add_argument("--size", type=float, default=1, help="factor of the cells along each edge")
    parser.add_argument("--step", type=float, default=0.02, help="s")
    parser.add_argument("--end", type=float, default=2, help="s")
    parser.add_argument("--method", default="split")
    parser.add_argument("--seed", type=int, default=1, help="of turns and pushes")
    parser.add_argument("-o", "--output", default="large.json")
    options = parser.parse_args()
    options.shapes = options.shapes.split(",")
    unknown = [kind for kind in options.shapes if kind not in KINDS]
    if unknown or options.bodies < 1:
        parser.error(f"unknown shape {unknown[0]}" if unknown else "--bodies must be 1 or more")
    scene = scene_of(options)
    bodies = ",\n    ".join(json.dumps(body) for body in scene.pop("bodies"))
    head = ",\n  ".join(f'"{key}": {json.dumps(value)}' for key, value in scene.items())
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(f'{{\n  {head},\n  "bodies": [\n    {bodies}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
