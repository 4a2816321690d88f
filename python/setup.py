"""The package with libhooke.so inside, as `make` has built it. Nothing is compiled.

There is no pyproject.toml on purpose: pip would fetch setuptools from the network for it.
HOOKE_LIBRARY names another libhooke.so than ../build/libhooke.so.
"""

import os
import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # since 70.1
except ImportError:
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        raise SystemExit("this Python has no module wheel (Debian: python3-wheel, for /usr/bin/python3;"
                         " else: pip install wheel), and its setuptools is older than 70.1") from None

HERE = Path(__file__).resolve().parent
LIBRARY = Path(os.environ.get("HOOKE_LIBRARY", HERE.parent / "build" / "libhooke.so"))


def version() -> str:
    text = (HERE / "hooke" / "_definitions.py").read_text(encoding="utf-8")
    return ".".join(re.search(rf"^HK_VERSION_{part} = (\d+)$", text, re.M)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


class with_library(build_py):
    def run(self):
        if not LIBRARY.exists():
            raise SystemExit(f"there is no {LIBRARY}: run make first, or set HOOKE_LIBRARY")
        super().run()
        shutil.copy(LIBRARY.resolve(), Path(self.build_lib) / "hooke" / "libhooke.so")


class of_any_python(bdist_wheel):
    """It has machine code, but none that knows of a Python."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class binary(Distribution):
    def has_ext_modules(self):
        return True


setup(
    name="hooke",
    version=version(),
    description="Elastic bodies: motion, equilibrium, design",
    license="MIT",
    packages=["hooke"],
    package_data={"hooke": ["py.typed", "viewer.html"]},
    python_requires=">=3.9",
    install_requires=["numpy"],
    extras_require={"all": ["scipy", "meshio", "trimesh"]},
    distclass=binary,
    cmdclass={"build_py": with_library, "bdist_wheel": of_any_python},
    zip_safe=False,
)
