"""ImageDecoder, through Pillow."""

from __future__ import annotations

import io

import numpy as np

from basalt.compiler.onnx.host.checks import tensor
from basalt.compiler.onnx.host.registry import HostNode, host_op

_MODES = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}
_FORMATS = ("BMP", "JPEG", "JPEG2000", "TIFF", "PNG", "WEBP", "PPM")
"""Pillow's names of the formats that ONNX lists (PPM reads all portable maps); no other decoder sees the bytes."""


@host_op("ImageDecoder", 20)
def image_decoder(n: HostNode, stream: np.ndarray) -> np.ndarray:
    """The encoded image as uint8 [height, width, channels] in ``pixel_format``; [0, 0, channels] if undecodable."""
    stream = tensor(n, "encoded_stream", stream, (1,))
    pixel_format = n.attr("pixel_format", "RGB")
    if pixel_format not in _MODES:
        raise n.error(f"attribute 'pixel_format' is {pixel_format!r}, expected one of {', '.join(_MODES)}")
    if stream.dtype != np.uint8:
        raise n.error(f"input 'encoded_stream' is of type {stream.dtype}, expected uint8")
    try:
        from PIL import Image
    except ImportError:
        raise n.unsupported("decoding images needs the package Pillow, which is not installed") from None
    channels = 1 if pixel_format == "Grayscale" else 3
    try:
        with Image.open(io.BytesIO(stream.tobytes()), formats=_FORMATS) as opened:
            image: Image.Image = opened
            if image.mode.startswith("I;16"):
                # Pillow does not convert grey images of 16 bits; their upper half is the image in 8 bits.
                image = Image.fromarray((np.array(image) >> 8).astype(np.uint8))
            pixels = np.array(image.convert(_MODES[pixel_format]), dtype=np.uint8)
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError):
        return np.zeros((0, 0, channels), dtype=np.uint8)
    pixels = pixels.reshape(*pixels.shape[:2], channels)
    return np.ascontiguousarray(pixels[:, :, ::-1]) if pixel_format == "BGR" else pixels
