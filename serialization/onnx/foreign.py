"""Telling files of other formats apart, so that a mistaken path gets a plain answer."""

from __future__ import annotations

__all__ = ["foreign_format"]

_STARTS = (
    (b"BSLT", "a .bsl file; load it with basalt.load"),
    (b"PK\x03\x04", "a ZIP archive (a PyTorch checkpoint or .npz, perhaps)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\x00", "compressed with xz"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (a Keras model, perhaps)"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x80\x02", "a Python pickle (a PyTorch checkpoint, perhaps)"),
    (b"\x7fELF", "a program or library"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with git lfs pull"),
)
_TEXT = bytes(range(32, 127)) + b"\t\n\r\f\v"


def foreign_format(start: bytes) -> str | None:
    """What the file is whose first bytes are ``start``, as a part of a sentence; None if that cannot be told."""
    for magic, name in _STARTS:
        if start.startswith(magic):
            return name
    if start[4:8] == b"TFL3":
        return "a TensorFlow Lite model"
    if start[4:8] == b"ORTM":
        return "in ONNX Runtime's own .ort format"
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return "an HTML page (an error page from a download, perhaps)"
    if text.startswith(b"<"):
        return "XML or HTML text"
    if text.startswith((b"{", b"[")):
        return "JSON or similar text"
    if len(start) > 3 and not start.translate(None, _TEXT):
        return "plain text"
    return None
