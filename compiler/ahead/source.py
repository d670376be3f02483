"""The model that a program was compiled from, in the program's file: for other shapes, other CPUs, and no trust."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt import serialization
from basalt.errors import ModelFormatError
from basalt.runtime.stored.model import SOURCE, SOURCE_CONTENT
from basalt.serialization.program.data import Part
from basalt.serialization.program.file import ProgramFile

from ..exchange import to_data
from ..executable import Executable
from ..model import Model
from ..onnx.model import OnnxExecutable

__all__ = ["load_source", "source_parts"]


def source_parts(model: Any) -> dict[str, Part]:
    """The parts that hold a model as a file of its own: an ONNX model, or a ``.bsl`` file of another kind."""
    if isinstance(model, OnnxExecutable):
        return _parts("onnx", np.frombuffer(model.onnx.to_bytes(), np.uint8))
    if isinstance(model, Executable):
        data = model.to_data() if isinstance(model, Model) else to_data(model.graph, model.constants)
    else:
        data = model.to_data()
    return _parts("bsl", serialization.dump(data))


def load_source(file: ProgramFile, **options: Any) -> Any:
    """The model in a program's file, as ``basalt.load`` gives it; None if the file does not hold it.

    Raises ModelFormatError for a damaged one.
    """
    if SOURCE not in file:
        return None
    fields = file.record(SOURCE)
    form, content = fields.text("format"), file.data(SOURCE_CONTENT).data
    if form == "onnx":
        from ..onnx.model import load

        return load(content, **options)
    if form != "bsl":
        fields.fail("format", f"{form!r} is not known")
    from ..files import load_bsl

    found = load_bsl(content, **options)
    if found is None:
        raise ModelFormatError(f"{file.name}: the source is a program itself")
    return found


def _parts(form: str, content: np.ndarray) -> dict[str, Part]:
    return {SOURCE: {"format": form}, SOURCE_CONTENT: content}
