"""An ONNX model: what a file holds, and the operations on it as a whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from basalt.errors import ValidationError

from ..sources import Source
from .element_types import ELEMENT_TYPES
from .engine import Engine, engine_for
from .graph import OnnxFunction, OnnxGraph, OnnxNode
from .tensor import OnnxTensor
from .value_type import OnnxValueInfo
from .wire_notes import WireNotes

__all__ = ["OnnxModel"]


@dataclass(slots=True)
class OnnxModel:
    """A model (ModelProto). Load one from a file, or build one by hand from the records of this package.

    ``opset_imports`` maps domains to versions; ai.onnx is "". ``training_info`` and ``configuration`` hold the encoded
    TrainingInfoProto and DeviceConfigurationProto messages as they stand in the file.
    """

    graph: OnnxGraph = field(default_factory=OnnxGraph)
    opset_imports: dict[str, int] = field(default_factory=dict)
    ir_version: int = 8
    producer_name: str = ""
    producer_version: str = ""
    domain: str = ""
    model_version: int = 0
    doc_string: str = ""
    metadata_props: dict[str, str] = field(default_factory=dict)
    functions: tuple[OnnxFunction, ...] = ()
    training_info: tuple[bytes, ...] = ()
    configuration: tuple[bytes, ...] = ()
    notes: WireNotes | None = field(default=None, compare=False, repr=False)
    _engine: Engine | None = field(default=None, init=False, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """All but the engine, which belongs to this object and process."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "_engine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._engine = None

    @classmethod
    def load(cls, source: Source, *, folder: str | os.PathLike[str] | None = None) -> OnnxModel:
        """Read a model from a path, bytes or a binary file object.

        A file is memory-mapped, and weights are views of the map: it must not be changed in place or truncated while
        they live (:meth:`save` never does that). External data is looked for in ``folder``, by default that of the
        path, and never outside of it; for bytes and file objects without ``folder``, only ``array()`` of a tensor
        with external data fails.

        Raises ModelFormatError, with file, field and byte offset, for a file that is no ONNX model; time and memory
        are bounded by the file's size, whatever it claims. Raises OSError subclasses that name the file if it cannot
        be read, ValidationError for a source of another type.
        """
        # Reader and writer know this class, so they cannot be imported before it.
        from .files import load_model

        return load_model(source, folder)

    def save(self, path: str | os.PathLike[str], external_data: str | None = None, *, threshold: int = 1024) -> None:
        """Write the model to a file, which appears under its name only when it is complete and on disk.

        With ``external_data``, the name of a file in the same folder, initialisers of at least ``threshold`` bytes go
        there, one after the other; it is required beyond 2**31 - 1 bytes. Otherwise the file holds everything, weights
        that came from external files included. Saving over the file that the model was loaded from is safe.

        Raises ValidationError, before anything is written, for records that ONNX cannot express, a model too large, or
        a name in ``external_data`` that is no plain file name or the model's own; OSError subclasses that name the
        file if it cannot be written.
        """
        from .files import save_model

        save_model(self, path, external_data, threshold)

    def to_bytes(self) -> bytes:
        """The model as one message; raises ValidationError as :meth:`save` does."""
        from .model_writer import encode_model

        return b"".join(encode_model(self).chunks())

    @property
    def inputs(self) -> tuple[OnnxValueInfo, ...]:
        """The graph inputs that a caller must feed: those that are no initialisers."""
        known = {tensor.name for tensor in self.graph.initializers}
        known.update(tensor.name for tensor in self.graph.sparse_initializers)
        return tuple(value for value in self.graph.inputs if value.name not in known)

    @property
    def outputs(self) -> tuple[OnnxValueInfo, ...]:
        """The graph outputs."""
        return self.graph.outputs

    @property
    def initializers(self) -> dict[str, OnnxTensor]:
        """The dense initialisers by name."""
        return {tensor.name: tensor for tensor in self.graph.initializers}

    @property
    def nodes(self) -> tuple[OnnxNode, ...]:
        """The graph's nodes in the file's order."""
        return self.graph.nodes

    @property
    def opset(self) -> int:
        """The version of ai.onnx that the model imports; 1, the standard's value for old files, if it imports none."""
        return self.opset_imports.get("", 1)

    @property
    def producer(self) -> str:
        """Name and version of the tool that wrote the model, such as "pytorch 2.4.0"; "" if not stated."""
        return " ".join(part for part in (self.producer_name, self.producer_version) if part)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Execute the model and return its outputs by name; the engine is made at the first call and kept, so later
        changes of the records have no effect.

        Raises what the registered engine raises, see :func:`.engine.register_engine`.
        """
        if self._engine is None:
            self._engine = engine_for(self)
        return self._engine.run(feeds)

    def predict_matrix(self, matrix: np.ndarray) -> np.ndarray:
        """The first output, shape (rows, columns), for a matrix of shape (rows, features) fed as the first input.

        The matrix is cast to the input's element type. An output of shape (rows,) becomes one column, one of more
        dimensions is flattened per row.

        Raises ValidationError if the model has no input or output, more than one input to feed, an input that is no
        numeric tensor or has another number of columns, or if the first output has not one entry a row.
        """
        value = self._matrix_input()
        data = np.asarray(matrix)
        if data.ndim != 2:
            raise ValidationError(f"a matrix has 2 dimensions, but the given array has shape {data.shape}")
        _check_columns(value, data.shape)
        results = self.run({value.name: data.astype(ELEMENT_TYPES[value.dtype].numpy(), copy=False)})
        result = np.asarray(results[self.outputs[0].name])
        if result.ndim == 0 or len(result) != len(data):
            raise ValidationError(
                f"output {self.outputs[0].name!r} of shape {result.shape} has not one entry a row of {len(data)}"
            )
        return result.reshape(len(data), -1) if result.size else result.reshape(len(data), 0)

    def _matrix_input(self) -> OnnxValueInfo:
        inputs = self.inputs
        if len(inputs) != 1 or not self.outputs:
            names = ", ".join(repr(value.name) for value in inputs) or "none"
            raise ValidationError(
                f"predict_matrix needs a model with one input and an output; inputs: {names}, "
                f"outputs: {len(self.outputs)}"
            )
        kind = inputs[0].type.kind if inputs[0].type else "undeclared"
        if kind != "tensor" or inputs[0].dtype in ("undefined", "string"):
            raise ValidationError(f"input {inputs[0].name!r} is no numeric tensor, but {kind} of {inputs[0].dtype}")
        return inputs[0]


def _check_columns(value: OnnxValueInfo, given: tuple[int, ...]) -> None:
    declared = value.shape
    if declared is None:
        return
    fits = len(declared) == 2 and all(not isinstance(want, int) or want == got for want, got in zip(declared, given))
    if not fits:
        raise ValidationError(f"input {value.name!r} is declared with shape {declared}, the matrix has shape {given}")
