"""Model files: mapping them for reading, writing them so that a name never shows half a model."""

from __future__ import annotations

import mmap
import os
from typing import BinaryIO, cast

from basalt.errors import ModelFormatError, ValidationError

from ..atomic import atomic_file
from ..paths import io_errors, path_text, require_regular
from ..sources import Source
from .external import location_problem
from .model import OnnxModel
from .model_reader import read_model
from .model_writer import encode_model, lay_out
from .varints import Buffer

__all__ = ["load_model", "save_model"]

_CHUNK = 1 << 24


def load_model(source: Source, folder: str | os.PathLike[str] | None) -> OnnxModel:
    """Read a model; see :meth:`.model.OnnxModel.load`."""
    place = None if folder is None else path_text(folder)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return read_model(bytes(source), "<bytes>", place)
    if hasattr(source, "read"):
        content, name = _read_all(cast(BinaryIO, source))
        return read_model(content, name, place)
    path = path_text(source)
    return read_model(_map_file(path), path, os.path.dirname(os.path.abspath(path)) if place is None else place)


def _map_file(path: str) -> Buffer:
    with io_errors("load", path):
        # Opening a pipe would wait for its writer, so the kind of file is asked first.
        require_regular(os.stat(path))
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return b""
            try:
                return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
            except ValueError as error:
                raise ModelFormatError(f"{path}: the file shrank while it was opened") from error


def _read_all(file: BinaryIO) -> tuple[bytes, str]:
    label = getattr(file, "name", None)
    name = label if isinstance(label, str) else f"<{type(file).__name__}>"
    pieces: list[bytes] = []
    with io_errors("load", name):
        while True:
            piece = file.read(_CHUNK)
            if not isinstance(piece, (bytes, bytearray)):
                raise ValidationError(f"{name}: reading gave {type(piece).__name__}, not bytes; open it in binary mode")
            if not piece:
                return b"".join(pieces), name
            pieces.append(bytes(piece))


def save_model(model: OnnxModel, path: str | os.PathLike[str], external_data: str | None, threshold: int) -> None:
    """Write a model; see :meth:`.model.OnnxModel.save`."""
    target = path_text(path)
    if external_data is None:
        encoder = encode_model(model)
        with atomic_file(target) as file:
            file.writelines(encoder.chunks())
        return
    _check_location(external_data, target)
    layout = lay_out(model, external_data, threshold)
    encoder = encode_model(model, layout)
    # Both are complete before either takes its name.
    with atomic_file(target) as file:
        file.writelines(encoder.chunks())
        with atomic_file(os.path.join(os.path.dirname(target), external_data)) as weights:
            weights.writelines(layout.chunks())


def _check_location(location: str, target: str) -> None:
    if not isinstance(location, str):
        raise ValidationError(f"external_data is the name of a file, not {type(location).__name__}")
    problem = location_problem(location)
    if problem is None and (os.path.basename(location) != location or location == os.path.basename(target)):
        problem = f"{location!r} is not the name of another file in the model's folder"
    if problem:
        raise ValidationError(f"external_data: {problem}")
