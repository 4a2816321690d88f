"""Pictures by numpy alone, and videos by the ffmpeg command."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import zlib
from typing import Any, Iterator, Optional, Sequence

import numpy as np

from ._library import BadInput, Unsupported, lib
from .mesh import PathLike
from .world import _FIELDS, Report, World

BODY = np.array([0.36, 0.56, 0.80])
OBSTACLE = np.array([0.72, 0.72, 0.70])
BACKGROUND = (np.array([1.0, 1.0, 1.0]), np.array([0.87, 0.90, 0.94]))
#: viridis, at even distances
COLOURS = np.array([[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141],
                    [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]]) / 255


class Surface:
    """What is to be seen of a world: vertices, triangles, and a value at every vertex."""

    def __init__(self, world: World, field: Optional[str] = None, obstacles: bool = True):
        model = world.model
        skinned = any(lib.hk_model_skin(model.pointer, k) for k in range(model._body_count))
        mesh = world.surface() if skinned else world.mesh()
        self.vertices = mesh.vertices.copy() if skinned else np.array(world.positions)
        self.triangles = mesh.surface() if len(mesh.tets) else mesh.triangles.copy()
        if skinned and len(mesh.tets) == 0:
            self.triangles = mesh.triangles.copy()
        self.values = None if field is None else _at_vertices(world, field)
        if skinned and field is not None:
            raise BadInput("bodies with skins are drawn without fields")
        self.others = list(_obstacles(world, self.vertices)) if obstacles else []


def _at_vertices(world: World, field: str) -> np.ndarray:
    """One number a vertex: lengths of vectors, means of tets around it."""
    values = np.asarray(world.field(field))
    if values.ndim == 2:
        values = values[:, 0] if field == "principal_stress" else np.linalg.norm(values, axis=1)
    elif values.ndim == 3:
        values = np.sqrt((values ** 2).sum(axis=(1, 2)))
    if not _FIELDS[field][1]:
        return values
    tets = world.mesh().tets
    count = np.bincount(tets.ravel(), minlength=world.vertex_count)
    total = np.bincount(tets.ravel(), np.repeat(values, 4), minlength=world.vertex_count)
    return total / np.maximum(count, 1)


def _obstacles(world: World, vertices: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    size = 2.5 * float((high - low).max())
    for k in range(len(world.model.obstacles)):
        mesh = world.model.obstacle_mesh(k, world.time, size, (low + high) / 2)
        yield mesh.vertices.copy(), mesh.surface()


# ---------------------------------------------------------------- the camera


class Camera:
    """Looks from a direction at the middle of what is to be seen."""

    def __init__(self, vertices: np.ndarray, direction: Sequence[float], zoom: float = 1.0):
        back = np.asarray(direction, dtype=float)
        length = np.linalg.norm(back)
        if not length > 0:
            raise BadInput("the direction of the view has no length")
        back = back / length
        up = np.array([0.0, 1.0, 0.0]) if abs(back[1]) < 0.99 else np.array([0.0, 0.0, -1.0])
        right = np.cross(up, back)
        right /= np.linalg.norm(right)
        self.axes = np.stack([right, np.cross(back, right), back])
        self.center = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
        self.reach = max(float(np.linalg.norm(vertices - self.center, axis=1).max()), 1e-12) / zoom
        self.away = 4.0  # in units of reach

    def project(self, x: np.ndarray, width: int, height: int) -> np.ndarray:
        """[n, 3]: pixels to the right and down, and the distance along the view."""
        p = (x - self.center) @ self.axes.T / self.reach
        depth = self.away - p[:, 2]
        scale = 0.46 * min(width, height) * self.away / np.maximum(depth, 0.05)
        return np.stack([width / 2 + scale * p[:, 0], height / 2 - scale * p[:, 1], depth], axis=1)


# ---------------------------------------------------------------- drawing


def colours_of(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """[n, 3] in 0 to 1."""
    t = np.clip((values - low) / (high - low if high > low else 1), 0, 1) * (len(COLOURS) - 1)
    k = np.minimum(t.astype(int), len(COLOURS) - 2)
    return COLOURS[k] + (t - k)[:, None] * (COLOURS[k + 1] - COLOURS[k])


class _Canvas:
    def __init__(self, width: int, height: int):
        self.width, self.height = width, height
        shade = np.linspace(0, 1, height)[:, None, None]
        self.image = np.broadcast_to(BACKGROUND[0] + shade * (BACKGROUND[1] - BACKGROUND[0]),
                                     (height, width, 3)).reshape(-1, 3).copy()
        self.depth = np.full(width * height, np.inf)

    def draw(self, p: np.ndarray, colour: np.ndarray) -> None:
        """Triangles [n, 3, 3] as projected, with colours at corners [n, 3, 3]."""
        low = np.floor(p[:, :, :2].min(axis=1)).astype(np.int64)
        high = np.ceil(p[:, :, :2].max(axis=1)).astype(np.int64)
        low = np.maximum(low, 0)
        high = np.minimum(high, [self.width - 1, self.height - 1])
        size = (high - low + 1)
        seen = (size > 0).all(axis=1) & (p[:, :, 2] > 0.1).all(axis=1)
        side = np.maximum(size.max(axis=1), 1)
        power = np.ceil(np.log2(side)).astype(int)
        for k in np.unique(power[seen]):
            which = np.flatnonzero(seen & (power == k))
            chunk = max(1, 400000 >> (2 * k))
            for start in range(0, len(which), chunk):
                part = which[start:start + chunk]
                self._draw_some(p[part], colour[part], low[part], high[part], 1 << k)

    def _draw_some(self, p: np.ndarray, colour: np.ndarray, low: np.ndarray, high: np.ndarray,
                   side: int) -> None:
        dx, dy = np.meshgrid(np.arange(side), np.arange(side))
        x = low[:, 0, None] + dx.ravel()
        y = low[:, 1, None] + dy.ravel()
        a, b, c = (p[:, k, None, :] for k in range(3))
        area = (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - \
            (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
        area = np.where(area == 0, np.inf, area)
        px, py = x + 0.5, y + 0.5
        wb = ((px - a[..., 0]) * (c[..., 1] - a[..., 1]) -
              (py - a[..., 1]) * (c[..., 0] - a[..., 0])) / area
        wc = ((b[..., 0] - a[..., 0]) * (py - a[..., 1]) -
              (b[..., 1] - a[..., 1]) * (px - a[..., 0])) / area
        wa = 1 - wb - wc
        inside = (wa >= 0) & (wb >= 0) & (wc >= 0) & (x <= high[:, 0, None]) & \
            (y <= high[:, 1, None]) & np.isfinite(area)
        n, m = np.nonzero(inside)
        if not len(n):
            return
        weights = np.stack([wa[n, m], wb[n, m], wc[n, m]], axis=1)
        z = (weights * p[n, :, 2]).sum(axis=1)
        at = y[n, m] * self.width + x[n, m]
        near = z < self.depth[at]
        order = np.flatnonzero(near)[np.argsort(-z[near], kind="stable")]  # the nearest is last
        at, z = at[order], z[order]
        self.depth[at] = z
        self.image[at] = np.einsum("nk,nkc->nc", weights[order], colour[n[order]])


def _shaded(camera: Camera, x: np.ndarray, triangles: np.ndarray,
            colour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners and their colours, lit from the camera and from above; edges sharper than 40° stay."""
    corners = x[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    unit = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    smooth = np.zeros_like(x)
    for k in range(3):
        np.add.at(smooth, triangles[:, k], normal)
    smooth /= np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-300)
    at = smooth[triangles]
    flat = np.broadcast_to(unit[:, None], at.shape)
    at = np.where(((at * flat).sum(axis=2) > 0.77)[..., None], at, flat)
    facing = np.abs(at @ camera.axes[2])
    light = 0.35 + 0.45 * facing + 0.20 * np.clip(at @ np.array([0.3, 0.9, 0.3]), 0, 1)
    return corners, np.clip(colour * light[..., None], 0, 1)


def picture(world: World, width: int = 640, height: int = 480, field: Optional[str] = None,
            limits: Optional[tuple[float, float]] = None,
            direction: Sequence[float] = (0.6, 0.45, 1.0), zoom: float = 1.0,
            obstacles: bool = True, camera: Optional[Camera] = None) -> np.ndarray:
    """[height, width, 3] uint8: the world as it is, coloured by a field (between limits), seen from
    a direction, the y axis up. A camera of another picture may be taken again."""
    surface = Surface(world, field, obstacles)
    camera = camera or Camera(surface.vertices, direction, zoom)
    canvas = _Canvas(2 * width, 2 * height)
    for x, triangles in surface.others:
        corners, colour = _shaded(camera, x, triangles, np.broadcast_to(
            OBSTACLE, (len(triangles), 3, 3)))
        canvas.draw(_corners(camera, canvas, corners), colour)
    if surface.values is None:
        plain = np.broadcast_to(BODY, (len(surface.triangles), 3, 3))
    else:
        low, high = limits or (float(surface.values.min()), float(surface.values.max()))
        plain = colours_of(surface.values, low, high)[surface.triangles]
    corners, colour = _shaded(camera, surface.vertices, surface.triangles, plain)
    canvas.draw(_corners(camera, canvas, corners), colour)
    image = canvas.image.reshape(height, 2, width, 2, 3).mean(axis=(1, 3))
    return (255 * image + 0.5).astype(np.uint8)


def _corners(camera: Camera, canvas: _Canvas, corners: np.ndarray) -> np.ndarray:
    return camera.project(corners.reshape(-1, 3), canvas.width,
                          canvas.height).reshape(corners.shape)


# ---------------------------------------------------------------- files


def png_bytes(image: np.ndarray) -> bytes:
    """An image [height, width, 3] of uint8 as a PNG file."""
    height, width = image.shape[:2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    return b"\x89PNG\r\n\x1a\n" + \
        chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b"")


def write_png(path: PathLike, image: np.ndarray) -> None:
    """Writes an image [height, width, 3] of uint8."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "wb") as file:
        file.write(png_bytes(image))


def video(world: World, path: PathLike, seconds: float = 2.0, rate: int = 25, width: int = 640,
          height: int = 480, **look: Any) -> Report:
    """Runs for so many seconds and films it, `rate` pictures a second."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise Unsupported("videos are made by ffmpeg, which is not installed (Debian: apt-get "
                          "install ffmpeg); pictures of single states: save_png")
    if width % 2 or height % 2:
        raise BadInput("width and height of a video must be even")
    look.setdefault("camera", Camera(Surface(world, None, False).vertices,
                                     look.pop("direction", (0.6, 0.45, 1.0)),
                                     look.pop("zoom", 0.8)))
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s",
               f"{width}x{height}", "-r", str(rate), "-i", "-", "-pix_fmt", "yuv420p",
               os.fspath(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    report = Report()
    start = world.time
    try:
        for frame in range(int(round(seconds * rate)) + 1):
            if frame:
                report = world.run(start + frame / rate - world.time)
            process.stdin.write(picture(world, width, height, **look).tobytes())
    except BrokenPipeError:
        pass
    finally:
        errors = process.communicate()[1]
    if process.returncode:
        raise Unsupported(f"ffmpeg: {errors.decode('utf-8', 'replace').strip()}")
    return report
