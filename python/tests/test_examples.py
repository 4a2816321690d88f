"""The examples, the lines of README.md and docs/python.md, and the installed package."""

import importlib.util
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

import hooke

EXAMPLES = ROOT / "examples" / "python"


def run(name, folder):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = module.main(folder)
    assert (folder / f"{name}.png").stat().st_size > 2000
    return result, module


def test_beam(tmp_path):
    sag, _ = run("beam", tmp_path)
    assert 0.2 < sag < 0.6 and (tmp_path / "beam.vtu").exists()


def test_drag(tmp_path):
    pulled, _ = run("drag", tmp_path)
    assert 0.3 < pulled < 0.6 and (tmp_path / "drag.html").exists()


def test_rest_shape(tmp_path):
    assert run("rest_shape", tmp_path)[0] < 1e-8


def test_own_material(tmp_path):
    pytest.importorskip("scipy")
    frequencies, _ = run("own_material", tmp_path)
    assert (np.diff(frequencies) > 0).all() and 0.5 < frequencies[0] < 5


def test_recover_material(tmp_path):
    pytest.importorskip("scipy")
    result, module = run("recover_material", tmp_path)
    for name, value in module.TRUTH.items():
        assert result[name] == pytest.approx(value, rel=1e-3)


def test_gripper(tmp_path):
    pytest.importorskip("scipy")
    (before, after), _ = run("gripper", tmp_path)
    assert after < 0.2 * before


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)


def test_lines_of_the_readme(tmp_path, monkeypatch):
    found = blocks(ROOT / "README.md")
    assert found and max(len(b.strip().splitlines()) for b in found) <= 6
    (tmp_path / "scenes").symlink_to(ROOT / "scenes")
    monkeypatch.chdir(tmp_path)
    for block in found:
        exec(compile(block, "README.md", "exec"), {})


def test_lines_of_the_documentation(tmp_path, monkeypatch):
    """One after the other, as a reader would type them."""
    pytest.importorskip("scipy")
    (tmp_path / "scenes").symlink_to(ROOT / "scenes")
    monkeypatch.chdir(tmp_path)
    names = {}
    found = blocks(ROOT / "docs" / "python.md")
    assert len(found) >= 8
    for number, block in enumerate(found):
        exec(compile(block, f"docs/python.md, block {number}", "exec"), names)


def test_every_example_has_a_picture_in_the_documentation():
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f"{path.stem}.py" in text, path
        assert f"images/python-{path.stem}.png" in text and \
            (ROOT / "docs" / "images" / f"python-{path.stem}.png").exists(), path


def test_everything_has_a_docstring_and_types():
    import inspect
    for name in dir(hooke):
        thing = getattr(hooke, name)
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            assert "return" in thing.__annotations__, name
    assert (ROOT / "python" / "hooke" / "py.typed").exists()


def test_installed_package_has_its_own_library(tmp_path):
    for module in ("pip", "venv", "setuptools", "wheel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"python3-{module} is not installed")
    library = hooke._library.lib._shared._name
    environment = {**os.environ, "HOOKE_LIBRARY": os.path.realpath(library)}
    environment.pop("PYTHONPATH", None)
    venv = tmp_path / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(venv)],
                          capture_output=True, text=True)
    if made.returncode:
        pytest.skip("python3-venv is not installed")
    source = tmp_path / "python"
    subprocess.run(["cp", "-r", str(ROOT / "python"), str(source)], check=True)
    subprocess.run(["rm", "-rf", str(source / "build"), str(source / "dist")], check=True)
    done = subprocess.run([str(venv / "bin" / "python"), "-m", "pip", "install", "--no-index",
                           "--no-build-isolation", str(source)], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    environment.pop("HOOKE_LIBRARY")
    code = ("import hooke, pathlib; print(hooke._library.lib._shared._name); "
            "print(hooke.load({'bodies': [{'mesh': {'box': {'size': [1, 1, 1], 'cells': [2, 2, 2]}},"
            " 'material': {'young': 1e5, 'poisson': 0.3}, 'fix': [{'all': True}]}]}).world().step().converged)")
    ran = subprocess.run([str(venv / "bin" / "python"), "-c", code], env=environment, cwd=tmp_path,
                         capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    path, converged = ran.stdout.split()
    assert path.startswith(str(venv)) and converged == "True"
