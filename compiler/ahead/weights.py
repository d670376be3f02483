"""Models with their float32 weights stored as float16 or bfloat16: half the bytes, computed in float32 as before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from basalt.errors import UnsupportedError, ValidationError
from basalt.ops import TensorType, numpy_dtype

from ..executable import Executable
from ..ir import Constants, Graph, Node, Value, substitute
from ..model import Model
from ..narrow import FEWEST, FORMS
from ..onnx.model import OnnxExecutable

__all__ = ["WEIGHT_TYPES", "NarrowedWeights", "with_weights"]

WEIGHT_TYPES = ("float32", *FORMS)
"""The data types that weights can be stored in."""
TOLERANCE = 2.0**-7
"""The relative error, in the Euclidean norm, from which on weights stay as they are: twice bfloat16's largest."""


@dataclass
class NarrowedWeights:
    """What was stored narrow: ``dtype``, tensors and numbers, and the names of those whose numbers it lacks."""

    dtype: str
    tensors: int = 0
    numbers: int = 0
    kept: list[str] = field(default_factory=list)

    def narrow(self, array: np.ndarray, name: str) -> np.ndarray | None:
        """The array in the data type; None where it is no float32 weights, or its numbers are beyond the type's range.

        Weights are tensors of at least two dimensions that are worth it: what else is large is few numbers of a kind
        (scales, positions) that errors add up in.
        """
        if array.dtype != np.float32 or array.size < FEWEST or sum(size > 1 for size in array.shape) < 2:
            return None
        with np.errstate(all="ignore"):
            found = array.astype(numpy_dtype(self.dtype))
            error = found.astype(np.float32) - array
            fits = _norm(error) <= TOLERANCE * _norm(array)
        if not fits:
            self.kept.append(name)
            return None
        self.tensors += 1
        self.numbers += array.size
        return found


def with_weights(model: Any, dtype: str) -> tuple[Any, NarrowedWeights]:
    """A model that computes in float32 with its float32 weights rounded to a data type, and what became of them.

    What is quantised keeps its scales, and weights whose numbers the data type lacks (beyond float16's 65504, say, or
    nearly all below its smallest) stay float32. The model is the given one where there is nothing to store narrow.

    Raises:
        ValidationError: for a data type that is none of :data:`WEIGHT_TYPES`.
        UnsupportedError: for a model that is neither a graph nor an ONNX model.
    """
    if dtype not in WEIGHT_TYPES:
        raise ValidationError(f"weights cannot be stored as {dtype!r}, expected one of {', '.join(WEIGHT_TYPES)}")
    done = NarrowedWeights(dtype)
    if dtype == "float32":
        return model, done
    if isinstance(model, OnnxExecutable):
        from .onnx_weights import narrowed_onnx

        onnx = narrowed_onnx(model.onnx, done)
        return (model.like(onnx) if done.tensors else model), done
    if not isinstance(model, Executable):
        raise UnsupportedError(f"weights of a {type(model).__name__} are stored as they are, expected a graph")
    narrow = _narrowed_graph(model.graph, model.constants, done.narrow)
    if not done.tensors:
        return model, done
    return (model.like(*narrow) if isinstance(model, Model) else Model(*narrow, eager=False)), done


def _norm(array: np.ndarray) -> float:
    return float(np.linalg.norm(array.reshape(-1).astype(np.float64)))


def _narrowed_graph(
    graph: Graph, constants: Constants, narrow: Callable[[np.ndarray, str], np.ndarray | None]
) -> tuple[Graph, Constants]:
    store = constants.copy()
    fixed = {v for node in graph.nodes if "quantize" in node.op or "blocks" in node.op for v in node.present}
    fixed |= graph.output_values()
    casts: list[Node] = []
    replaced: dict[Value, Value] = {}
    by_key: dict[int | None, Value | None] = {}
    for value in graph.constants():
        if value in fixed:
            continue
        if value.constant not in by_key:
            found = narrow(constants.array(value), value.name)
            by_key[value.constant] = None if found is None else _cast(store.add(found, value.name), casts)
        wide = by_key[value.constant]
        if wide is not None:
            replaced[value] = wide
    changed = substitute(graph, replaced)
    return changed.with_nodes([*casts, *changed.nodes]), store


def _cast(stored: Value, casts: list[Node]) -> Value:
    wide = Value(TensorType("float32", stored.shape))
    casts.append(Node("cast", (stored,), (wide,), {"data_type": "float32"}))
    return wide
