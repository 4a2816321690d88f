"""An interactive view as one HTML page: no server, no network; a picture where there is no WebGL."""

from __future__ import annotations

import base64
import html
import json
import math
import webbrowser
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Optional, Sequence, Union

import numpy as np

from ._library import BadInput
from .mesh import PathLike
from .picture import BODY, COLOURS, OBSTACLE, Camera, Surface, picture, png_bytes
from .world import World


def _text(array: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


class Film:
    """States of a world, one after the other, to look at.

        film = hooke.Film(world, field="von_mises")
        world.run(2, each=film.add)           # or film.add() now and then
        hooke.show(film)
    """

    def __init__(self, world: World, field: Optional[str] = None, obstacles: bool = True,
                 every: float = 0.0):
        self.world, self.field, self.obstacles, self.every = world, field, obstacles, every
        self.times: list[float] = []
        self.surfaces: list[Surface] = []
        self.still = b""
        self.add()

    def add(self, _: Any = None) -> None:
        """The state that the world is in, unless less than `every` s have gone by."""
        now = self.world.time
        if self.times and now - self.times[-1] < self.every * (1 - 1e-9):
            return
        self.times.append(now)
        self.surfaces.append(Surface(self.world, self.field, self.obstacles))
        if not self.still:
            self.still = png_bytes(picture(self.world, field=self.field, obstacles=self.obstacles))

    def __len__(self) -> int:
        return len(self.times)


class Viewer:
    """What `show` gives: a notebook displays it; save() and open() are for elsewhere."""

    def __init__(self, shown: Union[World, Film, Sequence[World]], field: Optional[str] = None,
                 height: int = 480, direction: Sequence[float] = (0.6, 0.45, 1.0)):
        if isinstance(shown, (list, tuple)):
            if len(shown) != 1:
                raise BadInput("one world or one film can be shown at a time")
            shown = shown[0]
        self.film = shown if isinstance(shown, Film) else Film(shown, field)
        self.height, self.direction = height, direction

    def page(self) -> str:
        """The HTML page."""
        film, first = self.film, self.film.surfaces[0]
        every = np.concatenate([s.vertices for s in film.surfaces])
        camera = Camera(every, self.direction)
        back = camera.axes[2]
        data = {"frames": [], "triangles": _text(first.triangles, "<u4"), "plain": BODY.tolist(),
                "obstacle": OBSTACLE.tolist(), "colours": COLOURS.tolist(), "field": film.field,
                "limits": [0.0, 1.0], "center": camera.center.tolist(), "reach": camera.reach,
                "yaw": math.atan2(back[0], back[2]), "pitch": -math.asin(back[1])}
        if film.field is not None:
            low = min(float(s.values.min()) for s in film.surfaces)
            high = max(float(s.values.max()) for s in film.surfaces)
            data["limits"] = [low, high]
        for time, s in zip(film.times, film.surfaces):
            frame: dict[str, Any] = {"time": time, "positions": _text(s.vertices, "<f4"),
                                     "values": None, "others": [
                                         {"positions": _text(x, "<f4"), "triangles": _text(t, "<u4")}
                                         for x, t in s.others]}
            if film.field is not None:
                part = (s.values - low) / (high - low if high > low else 1)
                frame["values"] = _text(np.round(255 * part), "u1")
            data["frames"].append(frame)
        template = (Path(__file__).parent / "viewer.html").read_text(encoding="utf-8")
        still = "data:image/png;base64," + base64.b64encode(film.still).decode()
        return template.replace("@PNG@", still).replace("@DATA@", json.dumps(data))

    def save(self, path: PathLike) -> None:
        """Writes the page; missing folders are made."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(self.page(), encoding="utf-8")

    def open(self) -> str:
        """In the browser, from a temporary file, whose path it returns."""
        with NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self.page())
        webbrowser.open(Path(file.name).as_uri())
        return file.name

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.page())}" style="width:100%;height:'
                f'{self.height}px;border:1px solid #ccd" sandbox="allow-scripts"></iframe>')

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": self._repr_html_(), "image/png": self.film.still,
                "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<hooke.Viewer of {len(self.film)} states: save(path) or open()>"


def show(shown: Union[World, Film], field: Optional[str] = None, height: int = 480,
         direction: Sequence[float] = (0.6, 0.45, 1.0)) -> Viewer:
    """An interactive view of a world or a film, for a notebook: drag to turn, wheel to zoom, shift
    and drag to move. Elsewhere: show(world).save("view.html") or .open()."""
    return Viewer(shown, field, height, direction)
