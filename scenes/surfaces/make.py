#!/usr/bin/env python3
"""Writes pup.obj, a surface of the project's own: a puppy, 1.5 m long in the manner of models.

It is the surface of a smooth union of round cones, found by surface nets: a vertex in each cell of a
grid that the surface passes, moved onto it, and a quad, in two triangles, around each edge that it
cuts.

    scenes/surfaces/make.py [CELLS] > scenes/surfaces/pup.obj
"""
import math
import sys

# From one ball to another: center and radius of each. y is up, it looks along z.
PARTS = [
    ((0, 0.02, -0.42), 0.27, (0, 0.06, 0.30), 0.25),  # trunk
    ((0, 0.16, 0.38), 0.17, (0, 0.46, 0.52), 0.16),  # neck
    ((0, 0.56, 0.54), 0.24, (0, 0.52, 0.64), 0.21),  # head
    ((0, 0.47, 0.76), 0.13, (0, 0.45, 0.90), 0.10),  # snout
    ((0, 0.18, -0.60), 0.11, (0, 0.48, -0.78), 0.065),  # tail
]
PAIRS = [
    ((0.16, -0.10, 0.30), 0.14, (0.18, -0.68, 0.32), 0.095),  # forelegs
    ((0.18, -0.68, 0.32), 0.09, (0.18, -0.71, 0.42), 0.075),
    ((0.17, -0.08, -0.44), 0.18, (0.19, -0.40, -0.50), 0.105),  # hind legs
    ((0.19, -0.40, -0.50), 0.10, (0.19, -0.68, -0.46), 0.09),
    ((0.19, -0.68, -0.46), 0.09, (0.19, -0.71, -0.36), 0.075),
    ((0.17, 0.72, 0.48), 0.07, (0.29, 0.52, 0.52), 0.085),  # ears
]
BLEND = 0.07  # m, over which parts go into each other
LOW, HIGH = (-0.55, -0.9, -1.0), (0.55, 1.0, 1.15)


def mirrored(part):
    (a, r, b, s) = part
    return ((-a[0], a[1], a[2]), r, (-b[0], b[1], b[2]), s)


ALL = PARTS + PAIRS + [mirrored(p) for p in PAIRS]


def distance(p):
    """Smaller than 0 inside. A smooth minimum over the parts: -k log sum exp(-d/k)."""
    k = BLEND / 3
    ds = []
    for a, r, b, s in ALL:
        along = [b[i] - a[i] for i in range(3)]
        to = [p[i] - a[i] for i in range(3)]
        t = sum(to[i] * along[i] for i in range(3)) / sum(c * c for c in along)
        t = min(1.0, max(0.0, t))
        off = math.sqrt(sum((to[i] - t * along[i]) ** 2 for i in range(3)))
        ds.append(off - (r + t * (s - r)))
    least = min(ds)
    return least - k * math.log(sum(math.exp((least - d) / k) for d in ds))


def onto_surface(p):
    for _ in range(4):
        e = 1e-4
        d = distance(p)
        g = []
        for i in range(3):
            q = list(p)
            q[i] += e
            g.append((distance(q) - d) / e)
        n = sum(c * c for c in g)
        if n < 1e-6:
            break
        p = [p[i] - d * g[i] / n for i in range(3)]
    return p


def main():
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    size = max(HIGH[i] - LOW[i] for i in range(3)) / cells
    count = [int((HIGH[i] - LOW[i]) / size) + 1 for i in range(3)]

    def at(c):
        return [LOW[i] + c[i] * size for i in range(3)]

    value = {}
    for x in range(count[0] + 1):
        for y in range(count[1] + 1):
            for z in range(count[2] + 1):
                value[x, y, z] = distance(at((x, y, z)))
    vertices, number = [], {}

    def vertex(cell):
        if cell in number:
            return number[cell]
        corners = [tuple(cell[i] + (k >> i & 1) for i in range(3)) for k in range(8)]
        points = []
        for j in range(8):
            for i in range(3):
                k = j | 1 << i
                a, b = value[corners[j]], value[corners[k]]
                if k != j and (a < 0) != (b < 0):
                    t = a / (a - b)
                    p, q = at(corners[j]), at(corners[k])
                    points.append([p[m] + t * (q[m] - p[m]) for m in range(3)])
        middle = [sum(p[i] for p in points) / len(points) for i in range(3)]
        vertices.append(onto_surface(middle))
        number[cell] = len(vertices)
        return number[cell]

    faces = []
    for c in sorted(value):
        for i in range(3):
            d = tuple(c[m] + (m == i) for m in range(3))
            if d not in value or (value[c] < 0) == (value[d] < 0):
                continue
            j, k = (i + 1) % 3, (i + 2) % 3
            around = []
            for dj, dk in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
                cell = list(c)
                cell[j] += dj
                cell[k] += dk
                around.append(vertex(tuple(cell)))
            if value[d] < 0:
                around.reverse()
            faces.append((around[0], around[1], around[2]))
            faces.append((around[0], around[2], around[3]))
    print("# A puppy, by scenes/surfaces/make.py. %d vertices, %d triangles; m, y is up." %
          (len(vertices), len(faces)))
    for p in vertices:
        print("v %.4f %.4f %.4f" % tuple(c + 0.0 for c in p))
    for f in faces:
        print("f %d %d %d" % f)


main()
