import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import hooke  # noqa: E402

LEFT = {"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}


def bar_scene(cells=(6, 2, 2), young=2e5, model="neo_hookean", **more):
    body = {"name": "bar", "mesh": {"box": {"size": [1, 0.3, 0.3], "cells": list(cells)}},
            "material": {"model": model, "young": young, "poisson": 0.4, "density": 1000},
            "fix": [LEFT]}
    body.update(more.pop("body", {}))
    return {"bodies": [body], **more}


@pytest.fixture
def bar():
    return hooke.load(bar_scene())
