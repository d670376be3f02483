"""ImageDecoder."""

from __future__ import annotations

import builtins
import io

import numpy as np
import pytest

from basalt.errors import UnsupportedError, ValidationError

from .nodes import run, same


def encoded(pixels: np.ndarray, kind: str) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    stream = io.BytesIO()
    image.fromarray(pixels).save(stream, kind)
    return np.frombuffer(stream.getvalue(), np.uint8)


PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM"])
def test_formats_without_loss(kind: str) -> None:
    stream = encoded(PIXELS, kind)
    same(run("ImageDecoder", 20, stream), PIXELS)
    same(run("ImageDecoder", 20, stream, pixel_format="BGR"), PIXELS[:, :, ::-1])


def test_grey_and_transparent_images() -> None:
    grey = encoded(PIXELS[:, :, 0], "PNG")
    same(run("ImageDecoder", 20, grey, pixel_format="Grayscale"), PIXELS[:, :, :1])
    same(run("ImageDecoder", 20, grey), np.repeat(PIXELS[:, :, :1], 3, axis=2))
    deep = PIXELS[:, :, 0].astype(np.uint16) * 256 + 200
    same(run("ImageDecoder", 20, encoded(deep, "PNG"), pixel_format="Grayscale"), PIXELS[:, :, :1])
    transparent = np.concatenate([PIXELS, np.full((5, 7, 1), 9, np.uint8)], axis=2)
    same(run("ImageDecoder", 20, encoded(transparent, "PNG")), PIXELS)


def test_what_cannot_be_decoded_gives_an_empty_image() -> None:
    stream = encoded(PIXELS, "PNG")
    empty = np.zeros((0, 0, 3), np.uint8)
    same(run("ImageDecoder", 20, stream[:40]), empty)
    same(run("ImageDecoder", 20, np.zeros(0, np.uint8)), empty)
    same(run("ImageDecoder", 20, encoded(PIXELS, "GIF")), empty)
    same(run("ImageDecoder", 20, stream[:9], pixel_format="Grayscale"), np.zeros((0, 0, 1), np.uint8))


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match="pixel_format"):
        run("ImageDecoder", 20, np.zeros(3, np.uint8), pixel_format="CMYK")
    with pytest.raises(ValidationError, match="uint8"):
        run("ImageDecoder", 20, np.zeros(3))
    real = builtins.__import__

    def without_pillow(name: str, *more: object, **other: object) -> object:
        if name.startswith("PIL"):
            raise ImportError(name)
        return real(name, *more, **other)

    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(UnsupportedError, match="Pillow"):
        run("ImageDecoder", 20, np.zeros(3, np.uint8))
