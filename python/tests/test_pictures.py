"""Pictures, pages and videos."""

import re
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest

import hooke


def read_png(data):
    """[height, width, 3], of files without filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        parts[kind] = body
        at += 12 + size
    width, height = struct.unpack(">II", parts[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_picture_shows_the_body(bar, tmp_path):
    world = bar.world()
    image = hooke.picture(world, 320, 240, direction=(0, 0, 1))
    assert image.shape == (240, 320, 3) and image.dtype == np.uint8
    body = np.abs(image.astype(int) - image[:, :1]).sum(axis=2) > 60
    rows, columns = np.nonzero(body)
    # A bar of 1 × 0.3 m from the front: as wide as 1/0.3 of its height, but for the perspective.
    assert np.ptp(columns) / np.ptp(rows) == pytest.approx(1 / 0.3, rel=0.15)
    assert body.mean() > 0.08
    world.save_png(tmp_path / "bar.png", 320, 240, direction=(0, 0, 1))
    assert np.array_equal(read_png((tmp_path / "bar.png").read_bytes()), image)
    coloured = hooke.picture(world, 320, 240, field="displacement")
    assert not np.array_equal(coloured, hooke.picture(world, 320, 240))
    with pytest.raises(hooke.BadInput):
        hooke.picture(world, direction=(0, 0, 0))


def test_page_is_self_contained(bar, tmp_path):
    world = bar.world()
    film = hooke.Film(world, field="von_mises", every=0.02)
    world.run(0.1, each=film.add)
    assert len(film) == 6
    view = hooke.show(film)
    view.save(tmp_path / "bar.html")
    page = (tmp_path / "bar.html").read_text()
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:)", page) and "http" not in page
    assert "import(" not in page and "fetch(" not in page and "@DATA@" not in page
    assert "data:image/png;base64," in page
    bundle = view._repr_mimebundle_()
    read_png(bundle["image/png"])
    assert "<iframe" in bundle["text/html"] and "<iframe" in world._repr_html_()


@pytest.mark.parametrize("drawn", [True, False])
def test_page_in_a_browser(bar, tmp_path, drawn):
    """With WebGL it is drawn; without, the picture is shown in its place."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("chromium is not installed")
    hooke.show(bar.world(), field="displacement").save(tmp_path / "bar.html")
    how = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] if drawn \
        else ["--disable-gpu", "--disable-3d-apis"]
    command = [browser, "--headless=new", "--no-sandbox", *how, "--virtual-time-budget=3000",
               f"--user-data-dir={tmp_path}/profile", "--dump-dom", (tmp_path / "bar.html").as_uri()]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("the browser does not answer here")
    page = ran.stdout
    if "id=\"view\"" not in page:
        pytest.skip("the browser does not start here")
    still = re.search(r'<img id="still"[^>]*>', page)[0]
    if drawn and "display: block" in still:
        pytest.skip("the browser has no WebGL here")
    assert ("displacement: " in page) == drawn
    assert ("display: block" in still) != drawn


def test_video(bar, tmp_path, monkeypatch):
    world = bar.world()
    if shutil.which("ffmpeg"):
        world.video(tmp_path / "bar.mp4", seconds=0.2, width=160, height=120)
        assert (tmp_path / "bar.mp4").stat().st_size > 500
        assert world.time == pytest.approx(0.2)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(hooke.Unsupported, match="ffmpeg"):
        world.video(tmp_path / "bar.mp4")
