"""The definitions of the package against the headers, and against what a C compiler says."""

import ctypes
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

import hooke._definitions as c

sys.path.insert(0, str(ROOT / "python"))
import generate  # noqa: E402


def test_file_is_what_the_headers_say():
    assert generate.OUTPUT.read_text() == generate.write(generate.Headers(generate.HEADERS)), \
        "run python/generate.py"


def test_nothing_is_left_out():
    declared = sum(line.startswith("HK_API ") for header in generate.HEADERS.glob("*.h")
                   for line in header.read_text().splitlines())
    assert declared == len(c.FUNCTIONS) > 200


def test_what_it_does_not_know_is_an_error(tmp_path):
    for text in ("HK_API hk_unknown f(void);", "typedef union u { int a; } u;",
                 "HK_API int f(int a, struct { int b; } c);"):
        (tmp_path / "hooke.h").write_text("typedef enum hk_status { HK_OK = 0 } hk_status;\n" + text)
        with pytest.raises((generate.HeaderError, KeyError, AttributeError)):
            generate.write(generate.Headers(tmp_path))


def test_layout_is_that_of_the_compiler(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    structs = {name: kind for name, kind in vars(c).items()
               if isinstance(kind, type) and issubclass(kind, ctypes.Structure)
               and hasattr(kind, "_fields_")}
    lines = ['#include <stdio.h>', '#include <hooke/hooke.h>', 'int main(void) {']
    expected = []
    for name, kind in structs.items():
        lines.append(f'printf("%zu\\n", sizeof({name}));')
        expected.append(ctypes.sizeof(kind))
        for field, _ in kind._fields_:
            lines.append(f'printf("%zu\\n", offsetof({name}, {field}));')
            expected.append(getattr(kind, field).offset)
    for constant in (v for names in c.ENUMS.values() for v in names):
        lines.append(f'printf("%d\\n", (int){constant});')
        expected.append(getattr(c, constant))
    source = tmp_path / "layout.c"
    source.write_text("\n".join([*lines, "return 0; }"]))
    subprocess.run([compiler, f"-I{ROOT}/include", str(source), "-o", str(tmp_path / "layout")],
                   check=True)
    found = subprocess.run([str(tmp_path / "layout")], check=True, capture_output=True, text=True)
    assert [int(line) for line in found.stdout.split()] == expected
    assert len(structs) > 40
