"""Bytes to plain data and back: the ``.bsl`` container, its kinds and their codecs (docs/bsl-format.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .container import dump, file_size, load, peek_kind, save, save_payload
from .estimator_data import EstimatorData
from .graph_data import AttrValue, Dim, GraphData, NodeData, TensorSpec
from .header import MAGIC, VERSION
from .kind_numbers import ESTIMATOR_KINDS, MODULE_KINDS, Kind
from .kinds import Codec, read_payload, register_codec, write_payload
from .module_data import ModuleData
from .payload_reader import PayloadReader
from .payload_writer import PayloadWriter

__all__ = [
    "ESTIMATOR_KINDS",
    "MAGIC",
    "MODULE_KINDS",
    "VERSION",
    "AttrValue",
    "Codec",
    "Dim",
    "EstimatorData",
    "GraphData",
    "Kind",
    "ModuleData",
    "NodeData",
    "OnnxModel",
    "PayloadReader",
    "PayloadWriter",
    "TensorSpec",
    "dump",
    "file_size",
    "load",
    "peek_kind",
    "read_payload",
    "register_codec",
    "save",
    "save_payload",
    "write_payload",
]

if TYPE_CHECKING:
    from .onnx import OnnxModel
else:

    def __getattr__(name: str) -> object:
        """Import the ONNX codec at its first use: most programs that load a ``.bsl`` file never need it."""
        if name != "OnnxModel":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .onnx import OnnxModel

        return OnnxModel
