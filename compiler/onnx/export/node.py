"""What an exporter sees: one node of the core graph, and the ONNX calls that are to stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from basalt import ops
from basalt.errors import UnsupportedError
from basalt.ops import Dim, TensorType
from basalt.ops.types import integer_bounds, is_float, numpy_dtype

from ...ir import Node, Value
from .signatures import runs
from .sizes import Sizes
from .tensor import Tensor
from .writer import GraphWriter, scalar_array

__all__ = ["NodeWriter"]

HALVES = ("float16", "bfloat16")


class NodeWriter:
    """A node being written.

    ``attrs`` are the core node's, in converted form; ``inputs`` its operands in order, ``types`` their types (both None
    for absent ones) and ``out`` the types of its outputs, as the core has them. ``only`` are the constants that no
    other node reads.
    """

    def __init__(
        self, writer: GraphWriter, sizes: Sizes, node: Node, inputs: Sequence[Tensor | None], only: frozenset[Value]
    ) -> None:
        self.writer = writer
        self.opset = writer.opset
        self.node = node
        self.attrs = node.attrs
        self.inputs = tuple(inputs)
        self.types = tuple(None if v is None else v.type for v in node.inputs)
        self.out = tuple(v.type for v in node.outputs)
        self._sizes = sizes
        self._only = {t for v, t in zip(node.inputs, inputs) if t is not None and v in only}
        operator = ops.get(node.op)
        self._places = {} if operator.variadic else {o.name: i for i, o in enumerate(operator.operands)}

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the core operator's operands, none for one that takes a sequence."""
        return tuple(self._places)

    def __getitem__(self, name: str) -> Tensor:
        """A required operand, by the name that the core operator gives it."""
        tensor = self.get(name)
        assert tensor is not None, f"{self.node.op} has no {name}"
        return tensor

    def get(self, name: str) -> Tensor | None:
        """An operand, None if it is absent."""
        place = self._places[name]
        return self.inputs[place] if place < len(self.inputs) else None

    def type(self, name: str) -> TensorType:
        """The type of an operand that is there."""
        found = self.types[self._places[name]]
        assert found is not None
        return found

    def unsupported(self, message: str) -> NoReturn:
        """Refuse the node; the caller adds its name."""
        raise UnsupportedError(message)

    def runs(self, op_type: str, dtype: str) -> bool:
        """Whether an ONNX operator takes a data type, in ONNX Runtime too."""
        return runs(op_type, self.opset, dtype)

    def call(
        self, op_type: str, *inputs: Tensor | None, dtype: str | None = None, wraps: bool = False, **attributes: Any
    ) -> Tensor:
        """:meth:`.GraphWriter.call` of an operator with one output."""
        return self.writer.call(op_type, *inputs, dtype=dtype, wraps=wraps, **attributes)[0]

    def call_all(self, op_type: str, *inputs: Tensor | None, outputs: int, **attributes: Any) -> tuple[Tensor, ...]:
        """:meth:`.GraphWriter.call` of an operator with several outputs."""
        return self.writer.call(op_type, *inputs, outputs=outputs, **attributes)

    def constant(self, array: np.ndarray) -> Tensor:
        """A constant tensor."""
        return self.writer.constant(array)

    def scalar(self, value: float, dtype: str) -> Tensor:
        """A number as a tensor of rank 0."""
        return self.writer.constant(scalar_array(value, self.writer.carrier(dtype)))

    def ints(self, values: Sequence[int]) -> Tensor:
        """An int64 vector."""
        return self.writer.constant(np.asarray(values, np.int64).reshape(len(values)))

    def sizes(self, dims: Sequence[Dim]) -> Tensor:
        """Dimensions, symbolic ones included, as an int64 vector."""
        return self._sizes.vector(dims)

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """ONNX's Cast, for values that the data type holds and for integers that wrap around."""
        return self.writer.cast(x, dtype)

    def widened(self, x: Tensor) -> Tensor:
        """A half-precision tensor in float32, so that a composition is rounded once; others as they are."""
        return self.cast(x, "float32") if x.dtype in HALVES else x

    def truth(self, x: Tensor) -> Tensor:
        """A tensor of truth values (each value but 0 is true) as bool."""
        return self.cast(x, "bool")

    def reshape(self, x: Tensor, dims: Sequence[Dim], given: Sequence[Dim] | None = None) -> Tensor:
        """A tensor in another shape; ``given`` is its own, where known."""
        if given is not None and tuple(given) == tuple(dims):
            return x
        target = _written_shape(dims, given)
        if target is not None:
            return self.call("Reshape", x, self.ints(target))
        zero = 1 if any(d == 0 or not isinstance(d, int) for d in dims) else None
        return self.call("Reshape", x, self.sizes(dims), allowzero=zero)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """Dimensions in another order; a constant that only this node reads is rearranged instead."""
        if list(order) == list(range(len(order))):
            return x
        if x.array is not None and (x in self._only or x.array.size <= 16):
            turned = np.ascontiguousarray(x.array.transpose(order))
            # What nobody may write to is not copied again.
            turned.flags.writeable = False
            return self.writer.constant(turned, x.name)
        return self.call("Transpose", x, perm=tuple(order))

    def arrange(self, x: Tensor, layout: str, order: str) -> Tensor:
        """A tensor laid out as ``layout``, its dimensions in the given order of letters."""
        return self.transpose(x, [layout.index(letter) for letter in order])

    def expand(self, x: Tensor, dims: Sequence[Dim]) -> Tensor:
        """A tensor broadcast to a shape."""
        return self.call("Expand", x, self.sizes(dims))

    def filled(self, value: float, dtype: str, dims: Sequence[Dim]) -> Tensor:
        """A tensor of one number."""
        scalar = self.scalar(value, dtype)
        if all(isinstance(d, int) for d in dims) and int(np.prod(dims, dtype=np.int64)) <= 4096:  # type: ignore[arg-type]
            assert scalar.array is not None
            return self.constant(np.broadcast_to(scalar.array, tuple(dims)).copy())  # type: ignore[arg-type]
        return self.expand(scalar, dims)

    def along(self, vector: Tensor, axis: int, rank: int) -> Tensor:
        """A vector shaped to lie along one axis of a tensor."""
        return self.reshape(vector, [-1 if i == axis else 1 for i in range(rank)])

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """``a`` where a bool tensor is true, else ``b``."""
        return self.call("Where", condition, a, b, wraps=True)

    def reduce(self, op_type: str, x: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
        """A reduction over at least one axis; the axes became an input at 18, of ReduceSum at 13."""
        if self.opset >= 18 or op_type == "ReduceSum":
            return self.call(op_type, x, self.ints(axes), keepdims=int(keep))
        return self.call(op_type, x, axes=tuple(axes), keepdims=int(keep))

    def is_constant_of(self, x: Tensor | None, value: float) -> bool:
        """Whether a tensor is known and all its elements are a number."""
        return x is not None and x.array is not None and bool(np.all(np.asarray(x.array) == value))


def _written_shape(dims: Sequence[Dim], given: Sequence[Dim] | None) -> list[int] | None:
    """A shape as Reshape's constant target: 0 for a size that stays in its place, or -1 for the one that is unknown.

    Not both: where a size of 0 were kept, nothing would follow for the other. None where that does not do.
    """
    if all(isinstance(d, int) for d in dims):
        return None if 0 in dims else [int(d) for d in dims]  # type: ignore[arg-type]
    if 0 in dims:
        return None
    unknown = [i for i, d in enumerate(dims) if not isinstance(d, int)]
    if len(unknown) == 1:
        return [-1 if i in unknown else int(d) for i, d in enumerate(dims)]  # type: ignore[arg-type]
    if given is not None and all(i < len(given) and given[i] == dims[i] for i in unknown):
        return [0 if i in unknown else int(d) for i, d in enumerate(dims)]  # type: ignore[arg-type]
    return None


def lowest(dtype: str) -> float | int:
    """What no number of a data type is less than."""
    return -np.inf if is_float(dtype) else integer_bounds(dtype)[0]


def largest_finite(dtype: str) -> float:
    """The largest finite number of a float data type."""
    if dtype == "bfloat16":
        import ml_dtypes

        return float(ml_dtypes.finfo("bfloat16").max)
    return float(np.finfo(numpy_dtype(dtype)).max)
