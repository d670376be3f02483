"""The kinds of payload that a ``.bsl`` file can hold, and the codec of each.

A further kind needs a number that is fixed for good (docs/bsl-format.md keeps the list), a class of plain data, and two
functions over PayloadWriter and PayloadReader; :func:`register_codec` makes save and load know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

from basalt.errors import ModelFormatError, ValidationError

from .estimator_data import EstimatorData, read_estimator, write_estimator
from .graph_data import GraphData
from .graph_reader import read_graph
from .graph_writer import write_graph
from .kind_numbers import ESTIMATOR_KINDS, MODULE_KINDS, Kind
from .module_data import ModuleData, read_module, write_module
from .payload_reader import PayloadReader
from .payload_writer import PayloadWriter
from .program.codec import read_program, write_program
from .program.data import ProgramParts

__all__ = ["Codec", "Kind", "codec_of", "known_kinds", "read_payload", "register_codec", "write_payload"]


@dataclass(frozen=True)
class Codec:
    """How one kind is stored: ``write(writer, data)`` and ``read(reader) -> data``, data being a ``data_type``.

    Kinds may share a data type, whose attribute ``kind`` then tells them apart.
    """

    kind: IntEnum
    data_type: type
    write: Callable[[PayloadWriter, Any], None]
    read: Callable[[PayloadReader], Any]


_codecs: dict[int, Codec] = {
    Kind.GRAPH: Codec(Kind.GRAPH, GraphData, write_graph, read_graph),
    Kind.PROGRAM: Codec(Kind.PROGRAM, ProgramParts, write_program, read_program),
    **{k: Codec(k, EstimatorData, write_estimator, partial(read_estimator, kind=k)) for k in ESTIMATOR_KINDS},
    **{k: Codec(k, ModuleData, write_module, partial(read_module, kind=k)) for k in MODULE_KINDS},
}


def register_codec(codec: Codec) -> None:
    """Make a further kind known. Raises ValidationError if its number or data type is taken or the number no int32."""
    if not 0 < codec.kind < 1 << 31:
        raise ValidationError(f"kind {int(codec.kind)} ({codec.kind.name}) is not in [1, 2**31)")
    for other in _codecs.values():
        if other.kind == codec.kind or other.data_type is codec.data_type:
            raise ValidationError(
                f"kind {int(codec.kind)} ({codec.kind.name}) of {codec.data_type.__name__} clashes with "
                f"kind {int(other.kind)} ({other.kind.name}) of {other.data_type.__name__}"
            )
    _codecs[codec.kind] = codec


def known_kinds() -> dict[int, str]:
    """Number -> name of every registered kind."""
    return {int(codec.kind): codec.kind.name for codec in _codecs.values()}


def kind_list() -> str:
    """The registered kinds for a message: ``1 (GRAPH), ...``."""
    return ", ".join(f"{number} ({name})" for number, name in sorted(known_kinds().items()))


def codec_of(kind: int) -> Codec:
    """The codec of a kind's number. Raises ModelFormatError if there is none."""
    codec = _codecs.get(kind)
    if codec is None:
        raise ModelFormatError(f"unknown kind {int(kind)}; known: {kind_list()}")
    return codec


def read_payload(kind: int, reader: PayloadReader) -> Any:
    """Decode one payload of ``kind`` from where ``reader`` stands; codecs of containers nest others by it.

    Neither header nor CRC32C take part, and bytes after the payload are the caller's concern (``reader.expect_end``).
    Raises ModelFormatError for an unknown kind and for bytes that are no payload of that kind.
    """
    return codec_of(kind).read(reader)


def write_payload(writer: PayloadWriter, data: object) -> IntEnum:
    """Encode ``data`` by the codec of its type and return its kind. Raises ValidationError if there is none."""
    fitting = {codec.kind: codec for codec in _codecs.values() if isinstance(data, codec.data_type)}
    kind = getattr(data, "kind", None) if len(fitting) > 1 else next(iter(fitting), None)
    if kind in fitting:
        fitting[kind].write(writer, data)
        return fitting[kind].kind
    if fitting:
        expected = ", ".join(f"{int(k)} ({k.name})" for k in fitting)
        raise ValidationError(f"a {type(data).__name__} is of kind {kind!r}, expected one of {expected}")
    known = ", ".join(dict.fromkeys(codec.data_type.__name__ for codec in _codecs.values()))
    raise ValidationError(f"no kind of .bsl file stores {type(data).__name__}; known: {known}")
