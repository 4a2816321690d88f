#!/usr/bin/env python3
"""Holds a .glb to the rules of glTF 2.0 (Khronos Group, "glTF 2.0 Specification", 2021) as far as
models of Hooke use it: the container, references, alignment, accessors and their bounds, unit
normals, morph targets, animations. Prints what is wrong; exit status 1 then.

    glb_check.py MODEL.glb [--animated]
"""
import json
import math
import struct
import sys

SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
ARRAY, ELEMENTS = 34962, 34963
faults = []


def need(good, text):
    if not good:
        faults.append(text)
    return good


def chunks(data):
    need(data[:4] == b"glTF", "magic")
    version, length = struct.unpack("<II", data[4:12])
    need(version == 2, "version %d" % version)
    need(length == len(data), "length %d of %d" % (length, len(data)))
    at, found = 12, []
    while at + 8 <= len(data):
        size, kind = struct.unpack("<II", data[at : at + 8])
        need(size % 4 == 0, "a chunk of %d bytes" % size)
        need(at + 8 + size <= len(data), "a chunk ends beyond the file")
        found.append((kind, data[at + 8 : at + 8 + size]))
        at += 8 + size
    need([k for k, _ in found] == [0x4E4F534A, 0x004E4942], "chunks are not JSON and BIN")
    return json.loads(found[0][1].decode("utf-8")), found[1][1]


class Model:
    def __init__(self, root, binary):
        self.root, self.binary = root, binary
        self.users = {}  # of buffer views: what they hold

    def one(self, kind, index, what):
        all_ = self.root.get(kind, [])
        good = isinstance(index, int) and 0 <= index < len(all_)
        return all_[index] if need(good, "%s: no %s %r" % (what, kind, index)) else None

    def values(self, index, what, width=None, component=None, use="data"):
        """The rows of an accessor, checked."""
        a = self.one("accessors", index, what)
        if a is None:
            return []
        n, size = WIDTHS[a["type"]], SIZES[a["componentType"]]
        need(width is None or n == width, "%s is %s" % (what, a["type"]))
        need(component is None or a["componentType"] == component, "%s: components" % what)
        view = self.one("bufferViews", a["bufferView"], what)
        offset = view.get("byteOffset", 0) + a.get("byteOffset", 0)
        need(a["count"] >= 1, "%s is empty" % what)
        need(offset % size == 0, "%s is not aligned" % what)
        need(a.get("byteOffset", 0) + a["count"] * n * size <= view["byteLength"], what + ": view")
        target = view.get("target")
        if use == "vertices":
            need(target in (None, ARRAY) and offset % 4 == 0, what + ": target")
        elif use == "indices":
            need(target in (None, ELEMENTS), what + ": target")
        else:
            need(target is None, what + ": a target of what is no part of a mesh")
        need(self.users.setdefault(a["bufferView"], use) == use, what + ": a view of two kinds")
        letter = {5121: "B", 5123: "H", 5125: "I", 5126: "f"}[a["componentType"]]
        flat = struct.unpack_from("<%d%s" % (a["count"] * n, letter), self.binary, offset)
        need(all(math.isfinite(v) for v in flat), what + " is not finite")
        rows = [flat[i : i + n] for i in range(0, len(flat), n)]
        for name, best in (("min", min), ("max", max)):
            if name not in a:
                continue
            found = [best(r[k] for r in rows) for k in range(n)]
            told = [struct.unpack("<f", struct.pack("<f", v))[0] for v in a[name]]
            need(told == found, "%s: %s %r is %r" % (what, name, a[name], found))
        return rows

    def bounded(self, index, what):
        a = self.one("accessors", index, what)
        need(a is not None and "min" in a and "max" in a, what + " has no bounds")

    def primitive(self, p, what):
        attributes = p["attributes"]
        places = self.values(attributes["POSITION"], what + " POSITION", 3, 5126, "vertices")
        self.bounded(attributes["POSITION"], what + " POSITION")
        for name, index in attributes.items():
            rows = self.values(index, what + " " + name, None, None, "vertices")
            need(len(rows) == len(places), "%s: %s has another count" % (what, name))
            if name == "NORMAL":
                off = max(abs(math.sqrt(sum(c * c for c in r)) - 1) for r in rows)
                need(off < 5e-4, "%s: normals are off by %g" % (what, off))
            if name == "COLOR_0":
                need(all(0 <= c <= 1 for r in rows for c in r), what + ": colours")
        corners = self.values(p["indices"], what + " indices", 1, None, "indices")
        need(p.get("mode", 4) == 4 and len(corners) % 3 == 0, what + " is no list of triangles")
        need(max(c[0] for c in corners) < len(places), what + ": an index too large")
        self.one("materials", p["material"], what)
        for t in p.get("targets", []):
            for name, index in t.items():
                need(name in attributes, "%s: a target of %s" % (what, name))
                rows = self.values(index, "%s target %s" % (what, name), 3, 5126, "vertices")
                need(len(rows) == len(places), "%s: a target of another count" % what)
                if name == "POSITION":
                    self.bounded(index, what + " target")
        return len(p.get("targets", []))

    def animation(self, a, what):
        seen = set()
        need(a["channels"] and a["samplers"], what + " is empty")
        for c in a["channels"]:
            target = c["target"]
            need((target["node"], target["path"]) not in seen, what + ": a target twice")
            seen.add((target["node"], target["path"]))
            node = self.one("nodes", target["node"], what)
            s = a["samplers"][c["sampler"]]
            times = [r[0] for r in self.values(s["input"], what + " times", 1, 5126)]
            self.bounded(s["input"], what + " times")
            need(times[0] >= 0, what + " begins before 0")
            need(all(x < y for x, y in zip(times, times[1:])), what + ": times do not rise")
            width = {"weights": 1, "scale": 3, "translation": 3, "rotation": 4}[target["path"]]
            rows = self.values(s["output"], what + " values", width, 5126)
            each = 1
            if target["path"] == "weights":
                each = len(self.root["meshes"][node["mesh"]]["primitives"][0]["targets"])
            need(len(rows) == len(times) * each, what + ": values and times do not fit")
            need(s.get("interpolation", "LINEAR") in ("LINEAR", "STEP"), what + ": interpolation")

    def check(self):
        root = self.root
        need(root["asset"]["version"] == "2.0", "asset.version")
        for name in ("accessors", "bufferViews", "buffers", "meshes", "nodes", "scenes"):
            need(root.get(name), name + " is missing or empty")
        need(len(root["buffers"]) == 1, "buffers")
        length = root["buffers"][0]["byteLength"]
        need(length <= len(self.binary) <= length + 3, "the buffer's length")
        for i, v in enumerate(root["bufferViews"]):
            need(v["byteLength"] >= 1, "view %d is empty" % i)
            need(v.get("byteOffset", 0) + v["byteLength"] <= length, "view %d" % i)
        parents = {}
        for i, n in enumerate(root["nodes"]):
            for child in n.get("children", []):
                self.one("nodes", child, "node %d" % i)
                need(child not in parents, "node %d has two parents" % child)
                parents[child] = i
            if "mesh" in n:
                self.one("meshes", n["mesh"], "node %d" % i)
        for n in self.one("scenes", root.get("scene", 0), "scene")["nodes"]:
            need(self.one("nodes", n, "scene") is not None and n not in parents, "a root")
        for i, m in enumerate(root["meshes"]):
            targets = [self.primitive(p, "mesh %d" % i) for p in m["primitives"]]
            need(len(set(targets)) == 1, "mesh %d: targets" % i)
            need(len(m.get("weights", [])) in (0, targets[0]), "mesh %d: weights" % i)
        for i, a in enumerate(root.get("animations", [])):
            self.animation(a, "animation %d" % i)


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        root, binary = chunks(file.read())
    Model(root, binary).check()
    if "--animated" in sys.argv:
        need(root.get("animations"), "nothing moves")
    for text in faults[:20]:
        print("%s: %s" % (path, text), file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
