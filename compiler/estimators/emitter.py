"""Emits the core nodes of an estimator, over one input matrix of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from basalt import ops
from basalt.errors import UnsupportedError
from basalt.ops import TensorType, numpy_dtype, symbol
from basalt.ops.schema import REQUIRED

from ..ir import Constants, Node, Value
from .vocabulary import Vocabularies

__all__ = ["INPUT", "INVERSE_INPUT", "Emitter"]

INPUT = "X"
"""The input of every method but inverse_transform."""
INVERSE_INPUT = "Z"


class Emitter:
    """A graph under construction; operands may be values, arrays, or numbers of the working data type.

    ``dtype`` is what estimators compute in, float64 or float32.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.rows = symbol("rows")
        self.nodes: list[Node] = []
        self.constants = Constants()
        self.vocabularies = Vocabularies()
        self.refusals: list[Value] = []
        """Scalars that are 1 where a step meets a NaN or an infinity that it does not take."""
        self.unknowns: list[Value] = []
        """Scalars that are 1 where a step meets a category that it does not know."""
        self.strays: list[Value] = []
        """Scalars that are 1 where a step meets a NaN or an infinity that the step before made of finite numbers."""
        self.inspected: set[tuple[Value, bool]] = set()
        """Matrices with a refusal among the above, and whether it lets NaN pass."""
        self.numeric: set[int] = set()
        """Columns of the input that a step takes for numbers, or that a method returns."""
        self._path: list[str] = []
        self._labels: list[str] = []
        self._held: dict[tuple[str, tuple[int, ...], bytes], Value] = {}

    def input(self, name: str, columns: int) -> Value:
        """A new input, a matrix [rows, columns] of the working data type."""
        return Value(TensorType(self.dtype, (self.rows, columns)), name)

    @property
    def path(self) -> str:
        """Where in a composition this translation is: ``Pipeline.scale.StandardScaler``, say."""
        return ".".join(self._path)

    @contextmanager
    def within(self, name: str, label: str = "") -> Iterator[None]:
        """Name the step that the block translates; ``label`` goes to its nodes."""
        self._path.append(name)
        self._labels += [label] if label else []
        try:
            yield
        finally:
            self._path.pop()
            if label:
                self._labels.pop()

    def unsupported(self, what: str) -> UnsupportedError:
        """The error for something that this step states and that cannot be translated."""
        return UnsupportedError(f"{self.path}: {what}")

    def constant(self, array: Any, dtype: str | None = None) -> Value:
        """A constant; floats take the working data type unless ``dtype`` names another. Equal ones are stored once."""
        given = np.asarray(array)
        if dtype is None and given.dtype.kind == "f":
            dtype = self.dtype
        held = np.array(given, numpy_dtype(dtype) if dtype else given.dtype, order="C")
        key = (held.dtype.str, held.shape, held.tobytes())
        if key not in self._held:
            self._held[key] = self.constants.add(held)
        return self._held[key]

    def number(self, value: float, like: Value) -> Value:
        """A scalar constant of another value's data type."""
        return self.constant(np.asarray(value), like.dtype)

    def emit(self, op: str, *operands: Any, **attrs: Any) -> Value:
        """The first result of a core operator."""
        return self.emit_all(op, *operands, **attrs)[0]

    def emit_all(self, op: str, *operands: Any, **attrs: Any) -> tuple[Value, ...]:
        """Every result of a core operator; numbers take the data type of the first value among the operands."""
        like = next((o for o in operands if isinstance(o, Value) and not o.is_constant), None)
        inputs = tuple(self._operand(o, like) for o in operands)
        operator = ops.get(op)
        # In the order of the declaration, as files are read, so that saving again gives the same bytes.
        declared = (*operator.arguments, *operator.options)
        settled = {
            o.name: attrs.get(o.name, o.default) for o in declared if o.name in attrs or o.default is not REQUIRED
        }
        label = "/".join(self._labels)
        types, completed = operator.check(
            [None if v is None else v.type for v in inputs], settled, label, extended=True
        )
        outputs = tuple(Value(t) for t in types)
        self.nodes.append(Node(op, inputs, outputs, completed, label))
        return outputs

    def _operand(self, operand: Any, like: Value | None) -> Value | None:
        if operand is None or isinstance(operand, Value):
            return operand
        if isinstance(operand, (int, float)) and like is not None:
            return self.number(operand, like)
        return self.constant(operand)

    def cast(self, x: Value, dtype: str) -> Value:
        return x if x.dtype == dtype else self.emit("cast", x, data_type=dtype)

    def reshape(self, x: Value, shape: Sequence[Any]) -> Value:
        return self.emit("reshape", x, new_shape=tuple(shape))

    def flat(self, x: Value) -> Value:
        """[rows, 1] as [rows]."""
        return self.reshape(x, (self.rows,))

    def columns(self, x: Value, places: Sequence[int] | np.ndarray) -> Value:
        """Some columns of a matrix, in their order: x itself if they are all of them."""
        chosen = np.asarray(places, np.int64)
        width = x.shape[1]
        if np.array_equal(chosen, np.arange(width)):
            return x
        start, count = int(chosen[0]), len(chosen)
        if np.array_equal(chosen, np.arange(start, start + count)):
            return self.emit("slice", x, starts=(0, start), sizes=(self.rows, count))
        return self.emit("gather", x, self.constant(chosen), axis=1)

    def split_columns(self, x: Value, sizes: Sequence[int]) -> list[Value]:
        """Parts of a matrix that stand side by side."""
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return [self.columns(x, np.arange(start, end)) for start, end in pairwise(starts)]

    def joined(self, parts: Sequence[Value]) -> Value:
        """Matrices side by side."""
        return parts[0] if len(parts) == 1 else self.emit("concat", *parts, axis=1)

    def sum_columns(self, x: Value, keep: bool = False) -> Value:
        return self.emit("reduce_sum", x, axes=(1,), keep_dimensions=keep)

    def times(self, x: Value, weights: Any) -> Value:
        """``x @ weights.T`` for weights [targets, features]."""
        return self.emit("gemm", x, self.constant(np.asarray(weights, self.dtype)), b_transpose=True)

    def choose(self, condition: Value, yes: Any, no: Any) -> Value:
        """``yes`` where the condition is not 0, else ``no``."""
        first = next(v for v in (yes, no) if isinstance(v, Value))
        pair = [v if isinstance(v, Value) else self._operand(v, first) for v in (yes, no)]
        return self.emit("where", condition, *pair)

    def any(self, flags: Value) -> Value:
        """1 as int32 if any element of uint8 flags is not 0; a scalar of shape [1]."""
        found = self.emit("reduce_max", self.cast(flags, "int32"), axes=tuple(range(len(flags.shape))))
        return self.reshape(found, (1,))
