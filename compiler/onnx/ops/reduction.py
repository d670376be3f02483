"""Reductions: Sum, Mean, Max, Min, Prod, L1, L2, LogSum, LogSumExp, SumSquare, with axes as attribute or input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from basalt.ops.dims import product

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor, of_elements
from .precision import is_float

Axes = tuple[int, ...]
Reduce = Callable[[NodeContext, Tensor, Axes, bool], Tensor]

BODIES_SINCE = 18
"""The version from which the standard defines compound reductions by function bodies."""


def _axes(n: NodeContext, rank: int) -> Axes:
    """The axes to reduce, from the attribute or the input.

    No axes, left out or empty, stand for all of them, or for none with ``noop_with_empty_axes``.
    Negative ones, which the standard names from version 11 on, count from the end in all: models of old have them.
    """
    by_input = n.schema is not None and len(n.schema.inputs) > 1
    given = (n.ints(1) if n.given(1) else ()) if by_input else n.attr("axes") or ()
    if not given:
        return () if n.attr("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(n.axis(axis, rank, "axes") for axis in given)


def _translate(n: NodeContext, reduce: Reduce) -> Tensor:
    x = n.tensor(0)
    return reduce(n, x, _axes(n, x.rank), bool(n.attr("keepdims")))


def _core(n: NodeContext, x: Tensor, axes: Axes, keep: bool, op: str) -> Tensor:
    return n.emit(op, x, axes=axes, keep_dimensions=keep)


def _mean(n: NodeContext, x: Tensor, axes: Axes, keep: bool) -> Tensor:
    """Integers: their sum, which wraps around, divided by their number and truncated."""
    if is_float(x):
        return _core(n, x, axes, keep, "reduce_mean")
    count = of_elements("int64", np.array(product(x.shape[axis] for axis in axes), object))
    return n.emit("div", _core(n, x, axes, keep, "reduce_sum"), n.cast(count, x.dtype))


def _extreme(n: NodeContext, x: Tensor, axes: Axes, keep: bool, op: str) -> Tensor:
    if x.dtype != "bool":
        return _core(n, x, axes, keep, op)
    found = n.emit(op, x, axes=axes, keep_dimensions=keep, dtype="uint8")
    # The least of no truth values is the byte's greatest number.
    return n.emit("min", found, n.constant(1, "uint8"), dtype="bool")


def _l2(n: NodeContext, x: Tensor, axes: Axes, keep: bool) -> Tensor:
    """Integers from version 18 on as in the function body: squares summed in their type, the root in float32.

    Before, where no body is given, the norm is computed in float64.
    """
    if is_float(x):
        return _core(n, x, axes, keep, "reduce_l2")
    if n.version < BODIES_SINCE:
        return n.cast(_core(n, n.cast(x, "float64"), axes, keep, "reduce_l2"), x.dtype)
    squares = n.cast(_core(n, x, axes, keep, "reduce_sum_square"), "float32")
    return n.cast(n.emit("sqrt", squares), x.dtype)


def _log_sum(n: NodeContext, x: Tensor, axes: Axes, keep: bool) -> Tensor:
    """Integers, which versions before 28 allow: summed in their type, the logarithm in float64 and truncated."""
    if is_float(x):
        return _core(n, x, axes, keep, "reduce_log_sum")
    total = n.cast(_core(n, x, axes, keep, "reduce_sum"), "float64")
    return n.cast(n.emit("log", total), x.dtype)


def _log_sum_exp(n: NodeContext, x: Tensor, axes: Axes, keep: bool) -> Tensor:
    """Integers in float64, truncated at the end."""
    if is_float(x):
        return _core(n, x, axes, keep, "reduce_log_sum_exp")
    return n.cast(_core(n, n.cast(x, "float64"), axes, keep, "reduce_log_sum_exp"), x.dtype)


def _declare(name: str, versions: tuple[int, ...], reduce: Reduce) -> None:
    onnx_op(name, *versions)(partial(_translate, reduce=reduce))


_declare("ReduceSum", (1, 11, 13), partial(_core, op="reduce_sum"))
_declare("ReduceMean", (1, 11, 13, 18), _mean)
_declare("ReduceMax", (1, 11, 12, 13, 18, 20), partial(_extreme, op="reduce_max"))
_declare("ReduceMin", (1, 11, 12, 13, 18, 20), partial(_extreme, op="reduce_min"))
_declare("ReduceProd", (1, 11, 13, 18), partial(_core, op="reduce_product"))
_declare("ReduceL1", (1, 11, 13, 18), partial(_core, op="reduce_l1"))
_declare("ReduceL2", (1, 11, 13, 18), _l2)
_declare("ReduceLogSum", (1, 11, 13, 18, 28), _log_sum)
_declare("ReduceLogSumExp", (1, 11, 13, 18, 28), _log_sum_exp)
_declare("ReduceSumSquare", (1, 11, 13, 18), partial(_core, op="reduce_sum_square"))
