"""Saving to and loading from ``.bsl`` files: header, checks, and the payload handed to its kind's codec."""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Any, TypeVar, overload

import numpy as np

from basalt.errors import ModelFormatError, ValidationError

from .atomic import atomic_file
from .checksum import extend_crc, payload_crc
from .header import HEADER_SIZE, MAX_PAYLOAD, PEEK_SIZE, check_identity, pack_header, unpack_header
from .kinds import codec_of, known_kinds, read_payload, write_payload
from .paths import path_text
from .payload_reader import PayloadReader
from .payload_writer import PayloadWriter
from .sources import Source, open_source, read_start, size_of

__all__ = ["dump", "file_size", "load", "peek_kind", "save", "save_payload"]

T = TypeVar("T")


def save(path: str | os.PathLike[str], data: object) -> None:
    """Save ``data`` (a GraphData, or the data type of another registered kind) to a ``.bsl`` file.

    The file appears under its name only when it is complete and on disk; see :func:`.atomic.atomic_file` for
    permissions, links and failures. Weights are streamed from their arrays.

    Raises ValidationError, before anything is written, if ``data`` is of no known kind, not well-formed or larger than
    2**31 - 25 bytes; OSError subclasses that name the file if it cannot be written.
    """
    target = path_text(path)
    writer = PayloadWriter()
    kind = write_payload(writer, data)
    save_payload(target, kind, writer)


def dump(data: object) -> np.ndarray:
    """The bytes of the file that :func:`save` would write, as a uint8 vector. Raises ValidationError as it does."""
    writer = PayloadWriter()
    kind = write_payload(writer, data)
    if writer.size > MAX_PAYLOAD:
        raise ValidationError(f"a payload of {writer.size} bytes exceeds the format's limit of {MAX_PAYLOAD}")
    content = np.empty(HEADER_SIZE + writer.size, np.uint8)
    end = HEADER_SIZE
    for piece in writer.chunks():
        content[end : end + len(piece)] = piece
        end += len(piece)
    header = pack_header(kind, writer.size, payload_crc(content[HEADER_SIZE:]))
    content[:HEADER_SIZE] = np.frombuffer(header, np.uint8)
    return content


def save_payload(path: str | os.PathLike[str], kind: int, writer: PayloadWriter) -> None:
    """Save a payload that was put together by hand; as :func:`save` otherwise."""
    target = path_text(path)
    codec_of(kind)
    size = writer.size
    if size > MAX_PAYLOAD:
        raise ValidationError(f"{target}: a payload of {size} bytes exceeds the format's limit of {MAX_PAYLOAD}")
    with atomic_file(target) as file:
        file.write(bytes(HEADER_SIZE))
        crc = 0
        for piece in writer.chunks():
            crc = extend_crc(crc, piece)
            file.write(piece.data)
        file.seek(0)
        file.write(pack_header(kind, size, crc))


@overload
def load(source: Source) -> Any: ...
@overload
def load(source: Source, data_type: type[T]) -> T: ...
def load(source: Source, data_type: type | None = None) -> Any:
    """Check a ``.bsl`` file and return what it holds, a GraphData for kind GRAPH.

    ``source`` is a path, bytes or a binary file object. A file is memory-mapped, and the weights are read-only views of
    the mapping, 64-byte aligned: they cost no memory of their own, and the file must not be changed in place or
    truncated while they live (:func:`save` never does that). 4-bit weights are unpacked. ``data_type`` states what the
    caller expects.

    Raises ModelFormatError for the first of: fewer than 24 bytes, magic, version, kind, declared length, CRC32C, faults
    in the payload (with offset and field), bytes left over, another kind than ``data_type``. Raises OSError subclasses
    that name the file if it cannot be read, ValidationError for arguments of wrong type.
    """
    if data_type is not None and not isinstance(data_type, type):
        raise ValidationError(f"the type to load must be a class, not {type(data_type).__name__}")
    content, name = open_source(source)
    kind = _check_container(content, name)
    reader = PayloadReader(content[HEADER_SIZE:], name)
    data = read_payload(kind, reader)
    reader.expect_end()
    if data_type is not None and not isinstance(data, data_type):
        codec = codec_of(kind)
        raise ModelFormatError(
            f"{name}: expected {data_type.__name__}, but the file is of kind {kind} ({codec.kind.name}), "
            f"which holds {codec.data_type.__name__}"
        )
    return data


def peek_kind(path: str | os.PathLike[str]) -> IntEnum:
    """The kind of a ``.bsl`` file, from its first 12 bytes; length and CRC32C are not checked.

    Raises ModelFormatError if the file is shorter, of another magic or version, or of an unknown kind; OSError
    subclasses that name the file if it cannot be read.
    """
    name = path_text(path)
    start = read_start(name, PEEK_SIZE)
    if len(start) < PEEK_SIZE:
        raise ModelFormatError(f"{name}: truncated .bsl header, {len(start)} bytes instead of {PEEK_SIZE} or more")
    return codec_of(check_identity(start, name, known_kinds())).kind


def file_size(path: str | os.PathLike[str]) -> int:
    """Length of any regular file in bytes, header included. Raises OSError subclasses that name the file."""
    return size_of(path_text(path))


def _check_container(content: np.ndarray, name: str) -> int:
    """Check everything about the file but its payload's meaning, and return its kind."""
    if len(content) < HEADER_SIZE:
        raise ModelFormatError(f"{name}: truncated .bsl header, {len(content)} bytes instead of {HEADER_SIZE} or more")
    start = content[:HEADER_SIZE].tobytes()
    kind = check_identity(start, name, known_kinds())
    header = unpack_header(start)
    size = len(content) - HEADER_SIZE
    if header.length != size:
        raise ModelFormatError(f"{name}: the header declares a payload of {header.length} bytes, but {size} follow it")
    if size > MAX_PAYLOAD:
        raise ModelFormatError(f"{name}: a payload of {size} bytes exceeds the format's limit of {MAX_PAYLOAD}")
    crc = payload_crc(content[HEADER_SIZE:])
    if header.crc != crc:
        raise ModelFormatError(
            f"{name}: the payload's CRC32C is 0x{crc:08X}, but the header says 0x{header.crc & 0xFFFFFFFFFFFFFFFF:08X}"
        )
    return kind
