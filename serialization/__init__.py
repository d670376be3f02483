"""Bytes to plain data and back: the ``.bsl`` container, its kinds and their codecs (docs/bsl-format.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .container import dump, file_size, load, peek_kind, save, save_payload
    from .estimator_data import EstimatorData
    from .graph_data import AttrValue, Dim, GraphData, NodeData, TensorSpec
    from .header import MAGIC, VERSION
    from .kind_numbers import ESTIMATOR_KINDS, MODULE_KINDS, Kind
    from .kinds import Codec, read_payload, register_codec, write_payload
    from .module_data import ModuleData
    from .onnx import OnnxModel
    from .payload_reader import PayloadReader
    from .payload_writer import PayloadWriter

_NAMES = {
    "container": ("dump", "file_size", "load", "peek_kind", "save", "save_payload"),
    "estimator_data": ("EstimatorData",),
    "graph_data": ("AttrValue", "Dim", "GraphData", "NodeData", "TensorSpec"),
    "header": ("MAGIC", "VERSION"),
    "kind_numbers": ("ESTIMATOR_KINDS", "MODULE_KINDS", "Kind"),
    "kinds": ("Codec", "read_payload", "register_codec", "write_payload"),
    "module_data": ("ModuleData",),
    "onnx": ("OnnxModel",),
    "payload_reader": ("PayloadReader",),
    "payload_writer": ("PayloadWriter",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
"""The module of each public name, imported at its first use: a program that starts in milliseconds needs few."""

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


def __getattr__(name: str) -> Any:
    import importlib

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
