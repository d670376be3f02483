"""The bytes of a model as one read-only vector, from a path, bytes or a binary file object."""

from __future__ import annotations

import contextlib
import mmap
import os
from typing import BinaryIO, TypeAlias, cast

import numpy as np

from basalt.errors import ModelFormatError, ValidationError

from .arrays import aligned_empty
from .header import HEADER_SIZE, MAX_PAYLOAD
from .paths import io_errors, path_text, require_regular

__all__ = ["Source", "open_source", "read_start", "size_of"]

Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO
"""A path, the bytes themselves, or a binary file object, which is read from its position to its end."""

_CHUNK = 1 << 24


def open_source(source: Source, *, soon: bool = True) -> tuple[np.ndarray, str]:
    """The whole content of ``source`` as a read-only uint8 vector, 64-byte aligned, and its name for messages.

    A file is mapped and stays mapped while an array refers to it; bytes and file objects are copied once, for the
    alignment's sake and so that nobody changes the model's weights through them. ``soon`` says that all of it is about
    to be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _copy_bytes(source), "<bytes>"
    if hasattr(source, "read"):
        return _read_file_object(cast(BinaryIO, source))
    path = path_text(source)
    return _map_file(path, soon), path


def read_start(path: str, size: int) -> bytes:
    """The first ``size`` bytes of a file, fewer if it is shorter."""
    with io_errors("load", path):
        require_regular(os.stat(path))
        with open(path, "rb", buffering=0) as file:
            return file.read(size)


def size_of(path: str) -> int:
    """Length of a regular file in bytes."""
    with io_errors("read the size", path):
        status = os.stat(path)
        require_regular(status)
        return status.st_size


def _map_file(path: str, soon: bool) -> np.ndarray:
    with io_errors("load", path):
        # Opening a pipe would wait for its writer, so the kind of file is asked first.
        require_regular(os.stat(path))
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return np.empty(0, np.uint8)
            try:
                mapping = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
            except ValueError as error:
                raise ModelFormatError(f"{path}: the file shrank while it was opened") from error
            # The checksum is about to read it all: 2.5 times as fast where the file is not in memory yet.
            if soon and hasattr(mmap, "MADV_WILLNEED"):
                with contextlib.suppress(OSError):
                    mapping.madvise(mmap.MADV_WILLNEED)
    return np.frombuffer(mapping, np.uint8)


def _copy_bytes(source: bytes | bytearray | memoryview) -> np.ndarray:
    view = memoryview(source)
    if not view.c_contiguous:
        raise ValidationError("a memoryview of a model must be C-contiguous")
    copy = aligned_empty(view.nbytes)
    if view.nbytes:
        copy[:] = np.frombuffer(view.cast("B"), np.uint8)
    return _frozen(copy)


def _read_file_object(file: BinaryIO) -> tuple[np.ndarray, str]:
    label = getattr(file, "name", None)
    name = label if isinstance(label, str) else f"<{type(file).__name__}>"
    pieces: list[bytes] = []
    size = 0
    with io_errors("load", name):
        while True:
            piece = file.read(_CHUNK)
            if not isinstance(piece, (bytes, bytearray)):
                raise ValidationError(f"{name}: reading gave {type(piece).__name__}, not bytes; open it in binary mode")
            if not piece:
                return _join(pieces, size), name
            pieces.append(piece)
            size += len(piece)
            if size > HEADER_SIZE + MAX_PAYLOAD:
                raise ModelFormatError(
                    f"{name}: longer than the {HEADER_SIZE + MAX_PAYLOAD} bytes of the largest .bsl file"
                )


def _join(pieces: list[bytes], size: int) -> np.ndarray:
    """Concatenate; each piece is freed as soon as it is copied, so that the content is never in memory twice."""
    joined = aligned_empty(size)
    end = size
    while pieces:
        piece = pieces.pop()
        joined[end - len(piece) : end] = np.frombuffer(piece, np.uint8)
        end -= len(piece)
    return _frozen(joined)


def _frozen(data: np.ndarray) -> np.ndarray:
    data.flags.writeable = False
    return data
