#!/usr/bin/env python3
"""Writes hooke/_definitions.py, the structs, enumerations and functions of include/hooke/*.h.

    python3 generate.py           writes it
    python3 generate.py --check   fails where it is not what the headers say

It reads the C that the headers are written in: typedefs of structs, enumerations and functions,
anonymous enumerations, and declarations that begin with HK_API. What it does not know is an error.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADERS = HERE.parent / "include" / "hooke"
OUTPUT = HERE / "hooke" / "_definitions.py"

SIMPLE = {
    "char": "c_char", "bool": "c_bool", "int": "c_int", "double": "c_double", "float": "c_float",
    "size_t": "c_size_t", "int8_t": "c_int8", "uint8_t": "c_uint8", "int32_t": "c_int32",
    "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64",
}

PREAMBLE = '''"""The C interface of libhooke for ctypes. Written by generate.py: do not edit."""

from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int,
                    c_int8, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)

'''


class HeaderError(Exception):
    pass


def plain_text(path: Path) -> str:
    """The declarations of a header, without comments, directives and inline functions."""
    text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    text = text.replace('extern "C" {', "")
    return text


def in_order(folder: Path, name: str, seen: list[Path]) -> list[Path]:
    """A header and those that it includes, each behind what it needs."""
    path = folder / name
    for needed in re.findall(r"^#include <hooke/(\w+\.h)>$", path.read_text(encoding="utf-8"), re.M):
        if folder / needed not in seen:
            in_order(folder, needed, seen)
    if path not in seen:
        seen.append(path)
    return seen


def statements(text: str):
    """Top-level declarations: up to a semicolon, or the body of a function, outside of braces."""
    depth, start = 0, 0
    for at, c in enumerate(text):
        if c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
            if depth < 0:  # of extern "C"
                depth, start = 0, at + 1
            elif depth == 0 and text[start:at].lstrip().startswith("static inline"):
                start = at + 1
        elif c == ";" and depth == 0:
            statement = " ".join(text[start:at].split())
            start = at + 1
            if statement:
                yield statement


def split_list(text: str) -> list[str]:
    """At commas outside of brackets."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in parts + [part.strip()] if p]


class Headers:
    def __init__(self, folder: Path):
        self.constants: dict[str, int] = {}
        self.enums: dict[str, list[str]] = {}
        self.structs: dict[str, list[tuple[str, str]] | None] = {}
        self.callbacks: dict[str, tuple[str, list[str]]] = {}
        self.functions: dict[str, tuple[str, list[tuple[str, str]]]] = {}
        self.failing: list[str] = []  # functions that return hk_status
        headers = in_order(folder, "hooke.h", [])
        self.texts = [plain_text(p) for p in headers]
        for header in headers:
            for name, value in re.findall(r"^#define (HK_[A-Z_]+) (\d+)\b",
                                          header.read_text(encoding="utf-8"), re.M):
                self.constants[name] = int(value)
        all_statements = [s for t in self.texts for s in statements(t)]
        for statement in all_statements:
            self.take_name(statement)
        for statement in all_statements:
            self.take(statement)

    # ------------------------------------------------------------ names first

    def take_name(self, s: str) -> None:
        if m := re.match(r"typedef enum (\w+)? ?\{(.*)\} (\w+)$", s):
            self.enums[m[3]] = self.enumerators(m[2])
        elif m := re.match(r"enum \{(.*)\}$", s):
            self.enumerators(m[1])
        elif m := re.match(r"typedef struct (\w+) (\w+)$", s):
            self.structs.setdefault(m[2], None)
        elif m := re.match(r"typedef struct (\w+)? ?\{.*\} (\w+)$", s):
            self.structs.setdefault(m[2], None)
        elif m := re.match(r"struct (\w+)$", s):
            self.structs.setdefault(m[1], None)
        elif re.match(r"typedef [\w ]+\*? ?\w+\(", s):
            self.callbacks[re.match(r"typedef [\w ]+[* ](\w+)\(", s)[1]] = ("", [])

    def enumerators(self, body: str) -> list[str]:
        value, names = -1, []
        for entry in split_list(body):
            name, _, given = entry.partition("=")
            value = self.number(given.strip()) if given else value + 1
            self.constants[name.strip()] = value
            names.append(name.strip())
        return names

    def number(self, text: str) -> int:
        return int(text, 0) if re.match(r"-?[\dx]+$", text) else self.constants[text]

    # ------------------------------------------------------------ types

    def type_of(self, words: str, stars: int) -> str:
        words = " ".join(w for w in words.split() if w not in ("const", "struct", "HK_API"))
        if words in self.callbacks:
            if stars > 1:
                raise HeaderError(f"pointer to {words}")
            return words
        if stars == 0:
            if words in SIMPLE:
                return SIMPLE[words]
            if words in self.enums:
                return "c_int"
            if words in self.structs:
                return words
            if words == "void":
                return "None"
            raise HeaderError(f"unknown type {words!r}")
        if words == "char":
            kind, stars = "c_char_p", stars - 1
        elif words == "void" or (words in self.structs and self.is_opaque(words)):
            kind, stars = "c_void_p", stars - 1
        else:
            kind = self.type_of(words, 0)
        for _ in range(stars):
            kind = f"POINTER({kind})"
        return kind

    def is_opaque(self, name: str) -> bool:
        return not any(re.search(rf"\}} ?{name} ?;", t) for t in self.texts)

    def declarators(self, text: str):
        """(name, type) of "double a[3], *b": members of a struct, or one parameter."""
        if m := re.match(r"(.*?)\(\*(\w+)\)\((.*)\)$", text):
            yield m[2], self.function_type(m[1], m[3])
            return
        first, *others = split_list(text)
        m = re.match(r"((?:\w+ )*\w+)\b([ *const]*[ *])(\w+)?((?: ?\[[^\]]*\])*)$", first)
        if not m:
            raise HeaderError(f"cannot read {text!r}")
        words, name = m[1], m[3]
        yield name, self.declared(words, m[2].count("*"), m[4])
        for other in others:
            m = re.match(r"([ *]*)(\w+)((?: ?\[[^\]]*\])*)$", other)
            yield m[2], self.declared(words, m[1].count("*"), m[3])

    def declared(self, words: str, stars: int, arrays: str) -> str:
        kind = self.type_of(words, stars)
        for size in reversed(re.findall(r"\[([^\]]*)\]", arrays)):
            kind = f"({kind} * {self.number(size)})"
        return kind

    def parameters(self, text: str) -> list[tuple[str, str]]:
        result = []
        for k, part in enumerate([] if text.strip() == "void" else split_list(text)):
            if "[" in part:  # an array is a pointer to its elements
                m = re.match(r"(.*?)(\w+) ?\[[^\]]*\]((?: ?\[[^\]]*\])*)$", part)
                element = self.declared(m[1].replace("*", " ").strip(), m[1].count("*"), m[3])
                result.append((m[2], f"POINTER({element})"))
                continue
            if not re.search(r"[ *]\w+$", part) or part.count(" ") + part.count("*") == 0:
                part += f" p{k}"
            result.extend(self.declarators(part))
        return result

    def function_type(self, returns: str, parameters: str) -> str:
        kinds = [kind for _, kind in self.parameters(parameters)]
        return f"CFUNCTYPE({', '.join([self.returned(returns), *kinds])})"

    def returned(self, text: str) -> str:
        return self.type_of(text.replace("*", " "), text.count("*"))

    # ------------------------------------------------------------ declarations

    def take(self, s: str) -> None:
        if s.startswith(("typedef enum", "enum {", "struct ")):
            return
        if m := re.match(r"typedef struct (\w+)? ?\{(.*)\} (\w+)$", s):
            members = [part.strip() for part in m[2].split(";") if part.strip()]
            self.structs[m[3]] = [pair for part in members for pair in self.declarators(part)]
        elif re.match(r"typedef struct \w+ \w+$", s):
            return
        elif m := re.match(r"typedef ([\w ]+[ *]+)(\w+)\((.*)\)$", s):
            kinds = [kind for _, kind in self.parameters(m[3])]
            self.callbacks[m[2]] = (self.returned(m[1]), kinds)
        elif m := re.match(r"HK_API (.*[ *])(\w+)\((.*)\)$", s):
            self.functions[m[2]] = (self.returned(m[1]), self.parameters(m[3]))
            if m[1].strip() == "hk_status":
                self.failing.append(m[2])
        else:
            raise HeaderError(f"cannot read {s!r}")

    # ------------------------------------------------------------ output

    def order(self):
        """Structs and callbacks, each after those that it has by value or calls with."""
        left = {k: v for k, v in self.structs.items() if v is not None}
        done: set[str] = set()
        while left:
            ready = [name for name, members in left.items()
                     if not any(re.search(rf"(?<!\w){other}(?!\w)", kind) and other != name
                                for _, kind in members for other in left)]
            if not ready:
                raise HeaderError(f"structs that need each other: {sorted(left)}")
            for name in ready:
                yield name, left.pop(name)
                done.add(name)


def write(headers: Headers) -> str:
    out = [PREAMBLE]
    out.append("# Constants and enumerations\n")
    out.extend(f"{name} = {value}\n" for name, value in sorted(headers.constants.items()))
    out.append("\nENUMS = {\n")
    for name, entries in sorted(headers.enums.items()):
        out.append(f"    {name!r}: {{\n")
        out.extend(f"        {entry!r}: {headers.constants[entry]},\n" for entry in entries)
        out.append("    },\n")
    out.append("}\n\n\n# Structs: declared, and then their members\n")
    defined = {k: v for k, v in headers.structs.items() if v is not None}
    for name in defined:
        out.append(f"class {name}(Structure):\n    pass\n\n\n")
    out.append("# Callbacks\n")
    for name, (returns, kinds) in headers.callbacks.items():
        out.append(f"{name} = CFUNCTYPE({', '.join([returns, *kinds])})\n")
    out.append("\n")
    for name, members in headers.order():
        out.append(f"{name}._fields_ = [\n")
        out.extend(f"    ({member!r}, {kind}),\n" for member, kind in members)
        out.append("]\n")
    out.append("\n# name: (result, [types of the arguments], [their names])\nFUNCTIONS = {\n")
    for name, (returns, parameters) in sorted(headers.functions.items()):
        kinds = ", ".join(kind for _, kind in parameters)
        names = ", ".join(repr(parameter) for parameter, _ in parameters)
        out.append(f"    {name!r}: ({returns}, [{kinds}], [{names}]),\n")
    out.append("}\n\n# Those that return a hk_status\nFAILING = frozenset([\n")
    out.extend(f"    {name!r},\n" for name in sorted(headers.failing))
    out.append("])\n")
    return "".join(out)


def main(arguments: list[str]) -> int:
    text = write(Headers(HEADERS))
    if arguments == ["--check"]:
        if OUTPUT.read_text(encoding="utf-8") == text:
            return 0
        print(f"{OUTPUT} is not what the headers say: run python/generate.py", file=sys.stderr)
        return 1
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
