#!/usr/bin/env python3
"""Writes what scenes are sewn and knotted from: dress-panel.obj, half of a dress for the generated
figure, flat, and hammock-net.obj, a net of ropes.

    cd scenes/surfaces && ./patterns.py

Prints the vertices along the edges of the panel, as dress-patterns.json names them.
"""
import math

# Half the width of the panel at a height, m: hem, armpit, along the armhole, shoulder.
WIDTH = [(0.30, 0.37), (0.44, 0.31), (0.47, 0.235), (0.52, 0.19), (0.60, 0.165), (0.71, 0.165)]
NECK, NECK_HALF = 0.62, 0.09  # the height of the neckline, and half its width
ROWS, COLUMNS = 41, 36


def half_width(y):
    for (y0, w0), (y1, w1) in zip(WIDTH, WIDTH[1:]):
        if y <= y1 + 1e-9:
            return w0 + (w1 - w0) * (y - y0) / (y1 - y0)
    return WIDTH[-1][1]


def panel():
    low, high = WIDTH[0][0], WIDTH[-1][0]
    place = {}
    for k in range(ROWS + 1):
        y = low + (high - low) * k / ROWS
        w = half_width(y)
        for i in range(COLUMNS + 1):
            place[i, k] = (w * (2 * i / COLUMNS - 1), y)
    cells = []
    for k in range(ROWS):
        for i in range(COLUMNS):
            x = 0.5 * (place[i, k][0] + place[i + 1, k + 1][0])
            y = 0.5 * (place[i, k][1] + place[i, k + 1][1])
            if not (y > NECK and abs(x) < NECK_HALF):
                cells.append((i, k))
    used = sorted({(k + dk, i + di) for i, k in cells for di in (0, 1) for dk in (0, 1)})
    number = {(i, k): n for n, (k, i) in enumerate(used)}
    with open("dress-panel.obj", "w") as out:
        out.write("# Half of a dress, flat, by scenes/surfaces/patterns.py; m, y is up.\n")
        for k, i in used:
            out.write("v %.5f %.5f 0\n" % place[i, k])
        for i, k in cells:
            a, b, c, d = (number[p] + 1 for p in ((i, k), (i + 1, k), (i + 1, k + 1), (i, k + 1)))
            if (i + k) % 2:
                out.write("f %d %d %d\nf %d %d %d\n" % (a, b, c, a, c, d))
            else:
                out.write("f %d %d %d\nf %d %d %d\n" % (a, b, d, b, c, d))
    side = [k for k in range(ROWS + 1) if place[0, k][1] <= WIDTH[1][0] + 1e-6]
    print("left side", [number[0, k] for k in side])
    print("right side", [number[COLUMNS, k] for k in side])
    top = [i for i in range(COLUMNS + 1) if (i, ROWS) in number]
    print("left shoulder", [number[i, ROWS] for i in top if place[i, ROWS][0] < 0])
    print("right shoulder", [number[i, ROWS] for i in top if place[i, ROWS][0] > 0])


def net():
    along, across, parts = 14, 7, 2
    length, width = 2.0, 0.9
    vertices, number, lines = [], {}, []

    def node(i, k):
        s = i / along
        z = width * (k / across - 0.5) * (0.35 + 0.65 * math.sqrt(math.sin(math.pi * s) + 1e-12))
        return (length * (s - 0.5), -0.35 * (1 - (2 * s - 1) ** 2), z)

    def add(p):
        key = tuple(round(c, 6) for c in p)
        if key not in number:
            vertices.append(p)
            number[key] = len(vertices)
        return number[key]

    def run(nodes):
        line = []
        for a, b in zip(nodes, nodes[1:]):
            line += [add(tuple(a[c] + (b[c] - a[c]) * j / parts for c in range(3)))
                     for j in range(parts)]
        lines.append(line + [add(nodes[-1])])

    rings = [(-length / 2 - 0.5, 0.25, 0.0), (length / 2 + 0.5, 0.25, 0.0)]
    for k in range(across + 1):
        run([rings[0]] + [node(i, k) for i in range(along + 1)] + [rings[1]])
    for i in range(along + 1):
        run([node(i, k) for k in range(across + 1)])
    with open("hammock-net.obj", "w") as out:
        out.write("# A hammock: a net of ropes, by scenes/surfaces/patterns.py; m, y is up.\n")
        for p in vertices:
            out.write("v %.5f %.5f %.5f\n" % p)
        for line in lines:
            out.write("l " + " ".join(map(str, line)) + "\n")


panel()
net()
