"""Writing a model with machine code to a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from basalt.errors import ValidationError
from basalt.serialization.program.writing import save_program as write_file

from ..executable import Executable
from ..kernels.target import NATIVE
from ..onnx.model import OnnxExecutable
from .build import LevelProgress, compile_ahead
from .source import source_parts
from .weights import with_weights

__all__ = ["save_program"]


def save_program(
    model: Any,
    path: str | os.PathLike[str],
    shapes: Mapping[str, Sequence[int]] | Sequence[Mapping[str, Sequence[int]]] = (),
    *,
    feeds: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    cpu: str | Sequence[str] = NATIVE,
    dtype: str = "float32",
    source: bool = True,
    progress: LevelProgress | None = None,
) -> None:
    """Compile a model ahead of time into a ``.bsl`` file, which starts in milliseconds and needs no compiler.

    Args:
        model: what ``basalt.load`` gives, or a built graph.
        path: the file, which appears only once it is complete.
        shapes: a shape for each input by name, or several such dictionaries: the signatures to compile. Inputs of
            known shape may be left out.
        feeds: inputs by name, or several such dictionaries, of whose shapes there are to be programs too. A model that
            decides by values what it computes (``If``, shapes from data) needs some: the file holds what runs on them
            came to.
        cpu: for which CPUs: ``native`` (this one), ``v2``, ``v3``, ``v4`` (levels of x86-64), or several of them.
        dtype: what float32 weights are stored as: ``float32``, ``float16`` or ``bfloat16``. Narrow ones take half the
            bytes of the file and of memory, products of few rows are faster with them, and results differ by their
            rounding; everything is computed in float32 whichever it is. What is quantised keeps its scales, and
            weights whose numbers the data type lacks stay as they are.
        source: whether the file holds the model itself too. Without it, the file is smaller, but only the given shapes
            run, only on these CPUs, and only where the native code is trusted.
        progress: called with the level, kernels that are ready, kernels in all, and the seconds that the last took.

    Raises:
        ValidationError: for shapes that the model does not allow, unknown CPUs and data types, and a file beyond
            2**31 - 1 bytes.
        UnsupportedError: for what cannot be compiled ahead of time, and for narrow weights of an estimator.
        OSError: if the file cannot be written.
    """
    model, _ = with_weights(model, dtype)
    executable = model.executable() if callable(getattr(model, "executable", None)) else model
    if not isinstance(executable, (Executable, OnnxExecutable)):
        raise ValidationError(
            f"a {type(model).__name__} cannot be compiled, expected a graph, or what basalt.load gives"
        )
    parts = compile_ahead(
        executable,
        _several("shapes", shapes),
        feeds=_several("feeds", feeds),
        levels=_names("cpu", cpu),
        source=source_parts(model) if source else None,
        metadata={"name": executable.name},
        progress=progress,
    )
    write_file(path, parts)


def _several(what: str, given: Any) -> list[Any]:
    entries = [given] if isinstance(given, Mapping) else given
    if not isinstance(entries, (list, tuple)) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ValidationError(f"{what} is {given!r:.80}, expected a dictionary from input names, or a list of such")
    return list(entries)


def _names(what: str, given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise ValidationError(f"{what} is {given!r:.80}, expected a name, or a list of names")
    return list(names)
