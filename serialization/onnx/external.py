"""External data: the file beside a model that holds a tensor's bytes, found without ever leaving the model's folder.

Source: onnx.proto, TensorProto.external_data, and docs/ExternalData.md of the standard.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from pathlib import PurePosixPath, PureWindowsPath

from ..field_path import quote
from ..paths import require_regular
from .faults import Path, fault
from .varints import Buffer

__all__ = ["ExternalFiles", "location_problem"]

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# No waiting for a pipe's writer, no following of links: the path is resolved before, so there can be none.
_SAFE = _READ | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def location_problem(location: str) -> str | None:
    """What is wrong with the location of an external file, or None for a path that stays in its folder by its text."""
    if not location:
        return "the location of the external data is empty"
    if "\0" in location:
        return f"the location {quote(location)} contains a NUL character"
    windows = PureWindowsPath(location)
    if PurePosixPath(location).is_absolute() or windows.anchor:
        return f"the location {quote(location)} is an absolute path; it must be relative to the model's folder"
    # Windows parts: split at both kinds of slashes.
    if ".." in windows.parts:
        return f"the location {quote(location)} leads out of the model's folder"
    return None


class ExternalFiles:
    """The external files of one model, each mapped once. ``folder`` is the model's."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder)
        self._buffers: dict[str, Buffer] = {}
        self._digests: dict[str, str] = {}

    def part(self, entries: dict[str, str], needed: int, path: Path, at: int) -> tuple[Buffer, int, int]:
        """The mapped file of ``entries`` and the range of the ``needed`` bytes in it.

        Raises ModelFormatError, naming ``path`` and the byte ``at`` of the model, for a location outside of the folder,
        an offset or length that is no number or not in the file, another length than needed, or another SHA-1 digest.
        """
        location = entries["location"]
        offset = _number(entries, "offset", path, at) or 0
        length = _number(entries, "length", path, at)
        if length is not None and length != needed:
            raise fault(path, at, f"the external data has a length of {length} bytes, the tensor needs {needed}")
        buffer = self._buffers.get(location)
        if buffer is None:
            buffer = self._buffers[location] = self._open(location, path, at)
        if offset + needed > len(buffer):
            raise fault(
                path, at, f"{needed} bytes at offset {offset} of {quote(location)}, which has {len(buffer)} bytes only"
            )
        if "checksum" in entries:
            self._check_digest(location, buffer, entries["checksum"], path, at)
        return buffer, offset, offset + needed

    def _open(self, location: str, path: Path, at: int) -> Buffer:
        target = os.path.realpath(os.path.join(self._folder, location))
        if os.path.commonpath([self._folder, target]) != self._folder:
            raise fault(path, at, f"the location {quote(location)} is a link that leads out of the model's folder")
        try:
            descriptor = _open_below(self._folder, os.path.relpath(target, self._folder))
            try:
                status = os.fstat(descriptor)
                require_regular(status)
                if status.st_size == 0:
                    return b""
                return mmap.mmap(descriptor, status.st_size, access=mmap.ACCESS_READ)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise fault(path, at, f"cannot open the external data {quote(target)}: {reason}") from error

    def _check_digest(self, location: str, buffer: Buffer, stated: str, path: Path, at: int) -> None:
        digest = self._digests.get(location)
        if digest is None:
            digest = self._digests[location] = hashlib.sha1(buffer, usedforsecurity=False).hexdigest()
        if stated.lower() != digest:
            raise fault(
                path, at, f"the SHA-1 digest of {quote(location)} is {digest}, but the model states {quote(stated)}"
            )


def _open_below(folder: str, relative: str) -> int:
    """Open a file below ``folder`` step by step, so that nobody can put a link in a step's place meanwhile."""
    if os.open not in os.supports_dir_fd:
        return os.open(os.path.join(folder, relative), _SAFE)
    *folders, name = relative.split(os.sep)
    current = os.open(folder, _READ | os.O_DIRECTORY)
    try:
        for step in folders:
            inner = os.open(step, _READ | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = inner
        return os.open(name, _SAFE, dir_fd=current)
    finally:
        os.close(current)


def _number(entries: dict[str, str], key: str, path: Path, at: int) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    # 19 digits: beyond that a number is no file offset, and converting it takes more than linear time.
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise fault(path, at, f"the {key} of the external data is {quote(text)}, not a number of bytes")
    return int(text)
