"""Reductions (the standard's section "Reduction operations")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from .convert import boolean, nullable, sequence, uint
from .dims import Dim
from .expression import Term, typed
from .numpy_terms import evaluate
from .registry import register
from .rounding import narrow, widen
from .schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Output, Types
from .shapes import check_axes, check_shape, reduced_shape
from .types import ANY, FLOATS, TensorType, integer_bounds, is_float

_SUMMABLE = FLOATS | {"int32", "uint32", "int64", "uint64"}
_COMBINE: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


class Reduction(Operator):
    """A reduction over axes: elements mapped by :attr:`before`, combined by :attr:`combine`, mapped by :attr:`after`.

    A reduction over no elements gives what :attr:`combine` starts from (0, 1, or the type's lowest or highest value).
    """

    section = "api-mlgraphbuilder-reduce"
    options = (
        Option("axes", nullable(sequence(uint)), None, "the axes to reduce; all by default, none if empty"),
        Option("keep_dimensions", boolean, False, "whether reduced axes are kept, with size 1"),
    )
    outputs = (Output(rank=(0, MAX_RANK)),)
    before: ClassVar[str] = "input"
    """Scalar expression of each element (see :mod:`basalt.ops.expression`)."""
    combine: ClassVar[str] = "add"
    """How elements are combined: ``add``, ``mul``, ``max`` or ``min``; integers wrap around, NaN wins."""
    after: ClassVar[str] = "total"
    """Scalar expression of the combined ``total``, which may use ``count``, the number of elements combined."""

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axes = tuple(range(t.input.rank)) if a["axes"] is None else a["axes"]
        a["axes"] = check_axes(axes, t.input.rank)
        return [
            TensorType(t.input.dtype, check_shape(reduced_shape(t.input.shape, axes, a["keep_dimensions"]), zero=True))
        ]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return t.input.size

    def before_term(self, dtype: str) -> Term:
        """The typed :attr:`before`, in a data type."""
        return typed(self.before, {"input": dtype, "output": dtype})

    def after_term(self, dtype: str) -> Term:
        """The typed :attr:`after`, in a data type; ``count`` is a parameter."""
        return typed(self.after, {"total": dtype, "output": dtype}, ("count",))

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        with np.errstate(all="ignore"):
            return [narrow(self.reduce(widen(x.input), a["axes"], a["keep_dimensions"]), out[0])]

    def reduce(self, x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
        """The result in the operand's working precision, not yet rounded."""
        dtype = x.dtype.name
        mapped = evaluate(self.before_term(dtype), {"input": x}, dtype)
        combine = _COMBINE[self.combine]
        start = combine.identity
        if start is None:
            start = _extreme(x.dtype, highest=self.combine == "min")
        total = combine.reduce(mapped, axes, dtype=x.dtype, keepdims=keep, initial=start)
        count = math.prod(x.shape[axis] for axis in axes)
        return evaluate(self.after_term(dtype), {"total": total, "count": count}, dtype)


def _extreme(dtype: np.dtype, highest: bool) -> float | int:
    if is_float(dtype.name):
        return math.inf if highest else -math.inf
    return integer_bounds(dtype.name)[highest]


class _FloatReduction(Reduction):
    operands = (Operand("input", FLOATS, doc="the input tensor"),)


class _SummableReduction(Reduction):
    operands = (Operand("input", _SUMMABLE, doc="the input tensor"),)


class _AnyReduction(Reduction):
    operands = (Operand("input", ANY, doc="the input tensor"),)


@register
class ReduceL1(_SummableReduction):
    """The L1 norm over axes: the sum of the absolute values."""

    name = "reduce_l1"
    webnn = "reduceL1"
    before = "abs(input)"


@register
class ReduceL2(_FloatReduction):
    """The L2 norm over axes: the square root of the sum of the squares."""

    name = "reduce_l2"
    webnn = "reduceL2"
    before = "input * input"
    after = "sqrt(total)"


@register
class ReduceLogSum(_FloatReduction):
    """The logarithm of the sum over axes."""

    name = "reduce_log_sum"
    webnn = "reduceLogSum"
    after = "log(total)"


@register
class ReduceLogSumExp(_FloatReduction):
    """The logarithm of the sum of the exponentials over axes, computed without overflow."""

    name = "reduce_log_sum_exp"
    webnn = "reduceLogSumExp"
    before = "exp(input)"
    after = "log(total)"

    def reduce(self, x: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
        largest = x.max(axis=axes, keepdims=True, initial=-math.inf)
        shift = np.where(np.isinf(largest), 0.0, largest)
        return super().reduce(x - shift, axes, keep) + (shift if keep else shift.squeeze(axes))


@register
class ReduceMax(_AnyReduction):
    """The largest element over axes; NaN if one is NaN."""

    name = "reduce_max"
    webnn = "reduceMax"
    combine = "max"


@register
class ReduceMean(_FloatReduction):
    """The mean over axes."""

    name = "reduce_mean"
    webnn = "reduceMean"
    after = "total / count"


@register
class ReduceMin(_AnyReduction):
    """The smallest element over axes; NaN if one is NaN."""

    name = "reduce_min"
    webnn = "reduceMin"
    combine = "min"


@register
class ReduceProduct(_SummableReduction):
    """The product over axes."""

    name = "reduce_product"
    webnn = "reduceProduct"
    combine = "mul"


@register
class ReduceSum(_SummableReduction):
    """The sum over axes."""

    name = "reduce_sum"
    webnn = "reduceSum"


@register
class ReduceSumSquare(_SummableReduction):
    """The sum of the squares over axes."""

    name = "reduce_sum_square"
    webnn = "reduceSumSquare"
    before = "input * input"
