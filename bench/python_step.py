#!/usr/bin/env python3
"""What a step from Python costs over C: medians, microseconds.

    python3 bench/python_step.py [STEPS]

A world of about 4000 tets takes steps of `split` on one thread. The time within the library is that
of its own report; what is beside it is Python's. The same for the cheapest call that there is, and
for reading positions.
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import hooke  # noqa: E402
from hooke._library import lib  # noqa: E402
from hooke.world import Report  # noqa: E402


def bar() -> hooke.World:
    return hooke.load({
        "solver": {"method": "split"},
        "bodies": [{"mesh": {"box": {"size": [1, 0.25, 0.25], "cells": [32, 5, 5]}},
                    "material": {"model": "corotated", "young": 1e6, "poisson": 0.4},
                    "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}],
    }).world(threads=1, report_energy=False)


def main(steps: int) -> None:
    world = bar()
    print(f"{world.model.tet_count} tets, {steps} steps: {world.describe()}")
    for _ in range(20):
        world.step()
    beside, inside, call, read, fields = [], [], [], [], []
    clock = time.perf_counter
    step, pointer = lib.hk_world_step, world.pointer
    for _ in range(steps):
        start = clock()
        report = world.step()
        taken = clock() - start
        inside.append(1e6 * taken)
        beside.append(1e6 * taken - 1e3 * report.ms)
        report = Report()
        start = clock()
        step(pointer, report)
        call.append(1e6 * (clock() - start) - 1e3 * report.ms)
        start = clock()
        world.positions
        read.append(1e6 * (clock() - start))
        start = clock()
        report.converged
        fields.append(1e6 * (clock() - start))
    for name, values in (("world.step()", inside), ("  of it beside the library", beside),
                         ("  of that the bare call by ctypes", call),
                         ("world.positions", read), ("report.converged", fields)):
        print(f"{name:36} {statistics.median(values):10.2f} µs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
