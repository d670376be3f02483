"""Declared types of values: tensors with symbolic shapes, sequences, maps, optionals (TypeProto)."""

from __future__ import annotations

from dataclasses import dataclass, field

from .wire_notes import WireNotes

__all__ = ["Dim", "OnnxType", "OnnxValueInfo"]

Dim = int | str | None
"""A size, the name of a symbolic size, or None where nothing is known (a negative size counts as that)."""


@dataclass(frozen=True, slots=True)
class OnnxType:
    """A value's type.

    ``kind`` is "tensor", "sparse_tensor", "sequence", "map", "optional", "opaque", or "none" for a type that says
    nothing. Tensors have ``dtype`` ("undefined" if not stated) and ``shape`` (None: unknown rank); sequences and
    optionals have ``element``; maps have ``key_dtype`` and ``element``, the type of their values; opaque types have
    ``opaque_domain`` and ``opaque_name``. ``denotation`` and ``dim_denotations`` (one a dimension, or empty) name
    standard meanings such as "IMAGE" and "DATA_BATCH".
    """

    kind: str = "tensor"
    dtype: str = "undefined"
    shape: tuple[Dim, ...] | None = None
    key_dtype: str = "undefined"
    element: OnnxType | None = None
    denotation: str = ""
    dim_denotations: tuple[str, ...] = ()
    opaque_domain: str = ""
    opaque_name: str = ""
    # The file's message if it says more than these fields do; dataclasses.replace leaves it behind.
    encoded: bytes | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(slots=True)
class OnnxValueInfo:
    """A named value with its declared type (ValueInfoProto)."""

    name: str = ""
    type: OnnxType | None = None
    doc_string: str = ""
    metadata_props: dict[str, str] = field(default_factory=dict)
    notes: WireNotes | None = field(default=None, compare=False, repr=False)

    @property
    def dtype(self) -> str:
        """Element type of a (sparse) tensor; "undefined" for other kinds and where none is declared."""
        return self.type.dtype if self.type is not None else "undefined"

    @property
    def shape(self) -> tuple[Dim, ...] | None:
        """Shape of a (sparse) tensor with the names of symbols; None for other kinds and an unknown rank."""
        return self.type.shape if self.type is not None else None
