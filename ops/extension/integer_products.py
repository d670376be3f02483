"""Matrix products and convolutions of bytes, summed up in int32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..conv_numpy import convolve
from ..dims import Dim, Shape, product
from ..registry import register_extension
from ..schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Output, Types, fail
from ..shapes import broadcast, broadcastable_to, check_shape, expect_shape, same_dim, text
from ..spatial import DILATIONS, GROUPS, PADDING, STRIDES, window_outputs
from ..types import TensorType

BYTES = frozenset({"int8", "uint8"})
_INT32 = frozenset({"int32"})


def _wrapped(sums: np.ndarray) -> np.ndarray:
    """Whole numbers in float64, reduced to int32 (two's complement).

    A product is below 2**17, so that float64 holds the sum of any depth that memory can hold.
    """
    return sums.astype(np.int64).astype(np.int32)


def _centred(x: np.ndarray, zero_point: np.ndarray | None) -> np.ndarray:
    wide = np.asarray(x).astype(np.float64)
    return wide if zero_point is None else wide - np.asarray(zero_point).astype(np.float64)


def _check_zero_point(name: str, given: TensorType | None, lines: Dim, full: Shape, what: str) -> None:
    """A zero point is one number, one for each line of a matrix, or one for each line of each matrix of a stack."""
    if given is None or given.rank == 0 or given.shape == (1,):
        return
    if given.rank == 1:
        if not same_dim(given.shape[0], lines):
            fail(f"{name} has shape {text(given.shape)}, expected one number or one for each of the {lines} {what}")
    elif not broadcastable_to(given.shape, full):
        fail(f"{name} has shape {text(given.shape)}, expected one that can be broadcast to {text(full)}")


def as_lines(zero_point: np.ndarray | None, *, columns: bool) -> np.ndarray | None:
    """A zero point that NumPy broadcasts to its matrix: a vector stands for the columns, or for the rows."""
    if zero_point is None or np.ndim(zero_point) != 1 or columns:
        return zero_point
    return np.asarray(zero_point)[:, None]


@register_extension
class MatmulInteger(Operator):
    """The matrix product of ``a - a_zero_point`` and ``b - b_zero_point`` over their last two dimensions, in int32.

    [..., m, k] times [..., k, n] is [..., m, n]; leading dimensions are broadcast to each other, and sums wrap around.
    A zero point is one number, a vector (one for each row of ``a``, or each column of ``b``), or a tensor [..., m, 1]
    or [..., 1, n] that is broadcast to its operand's leading dimensions.
    """

    name = "matmul_integer"
    operands = (
        Operand("a", BYTES, (2, MAX_RANK), doc="the first matrix, or stack of matrices"),
        Operand("b", BYTES, (2, MAX_RANK), doc="the second matrix, or stack of matrices; signed or not whatever a is"),
        Operand(
            "a_zero_point", "a", (0, MAX_RANK), optional=True, doc="what stands for 0 in a, or in each of its rows"
        ),
        Operand("b_zero_point", "b", (0, MAX_RANK), optional=True, doc="that of b, or of each of its columns"),
    )
    outputs = (Output(dtypes=_INT32, rank=(2, MAX_RANK)),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        *left, rows, depth = t.a.shape
        *right, height, columns = t.b.shape
        if not same_dim(depth, height):
            fail(f"a has {depth} columns, but b has {height} rows; expected equal numbers")
        _check_zero_point("a_zero_point", t.a_zero_point, rows, (*left, rows, 1), "rows")
        _check_zero_point("b_zero_point", t.b_zero_point, columns, (*right, 1, columns), "columns")
        batches = broadcast(tuple(left), tuple(right))
        return [TensorType("int32", check_shape((*batches, rows, columns), zero=True))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return 2 * out[0].size * t.a.shape[-1]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        left = _centred(x.a, as_lines(x.a_zero_point, columns=False))
        right = _centred(x.b, as_lines(x.b_zero_point, columns=True))
        return [_wrapped(np.matmul(left, right))]


@register_extension
class ConvInteger(Operator):
    """The 2-D convolution of ``input - input_zero_point`` with ``filter - filter_zero_point``, in int32.

    Input is [n, c, h, w] and filter [o, c / groups, kh, kw]; sizes are those of ``conv2d``. Padding holds the input's
    zero point, and so adds nothing; sums wrap around.
    """

    name = "conv_integer"
    operands = (
        Operand("input", BYTES, 4, doc="the input, [n, c, h, w]"),
        Operand("filter", BYTES, 4, doc="the filter, [o, c / groups, kh, kw]; signed or not whatever the input is"),
        Operand("input_zero_point", "input", (0, 1), optional=True, doc="what stands for 0 in the input: one number"),
        Operand(
            "filter_zero_point", "filter", (0, 1), optional=True, doc="that of the filter, or of each output channel"
        ),
    )
    outputs = (Output(dtypes=_INT32, rank=4),)
    options = (PADDING, STRIDES, DILATIONS, GROUPS)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        batches, channels, *sizes = t.input.shape
        outputs, depth, *window = t.filter.shape
        groups = a["groups"]
        if isinstance(channels, int) and channels % groups:
            fail(f"{channels} input channels cannot be divided into {groups} groups")
        if not same_dim(channels, depth * groups):
            fail(f"the filter has {depth} input channels, but the input has {channels} in {groups} groups")
        if isinstance(outputs, int) and outputs % groups:
            fail(f"{outputs} output channels cannot be divided into {groups} groups")
        if t.input_zero_point is not None and t.input_zero_point.rank:
            expect_shape("input_zero_point", t.input_zero_point.shape, (1,))
        if t.filter_zero_point is not None and t.filter_zero_point.shape not in ((), (1,)):
            expect_shape("filter_zero_point", t.filter_zero_point.shape, (outputs,), "the number of output channels")
        shape = (batches, outputs, *window_outputs(tuple(sizes), tuple(window), a))
        return [TensorType("int32", check_shape(shape, zero=True))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return 2 * out[0].size * product(t.filter.shape[1:])

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        zero_point = None if x.filter_zero_point is None else np.asarray(x.filter_zero_point).reshape(-1, 1, 1, 1)
        image, weights = _centred(x.input, x.input_zero_point), _centred(x.filter, zero_point)
        return [_wrapped(convolve(image, weights, out[0].shape[2:], a))]  # type: ignore[arg-type]
