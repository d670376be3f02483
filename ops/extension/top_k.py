"""The largest or smallest elements along an axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import boolean, dimension, uint
from ..registry import register_extension
from ..schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_axis, check_shape
from ..types import ANY, TensorType


@register_extension
class TopK(Operator):
    """The ``k`` largest (or smallest) elements along an axis, best first, and their positions.

    Of equal elements the one with the lower position comes first; zeros of both signs are equal. NaN is greater than
    every number, as in NumPy's sorting. The order is the same whether ``sorted`` asks for one or not.
    """

    name = "top_k"
    operands = (Operand("input", ANY, (1, MAX_RANK), doc="the input tensor"),)
    arguments = (Option("k", dimension, doc="how many elements: a number or a symbolic dimension"),)
    options = (
        Option("axis", uint, 0, "the axis to choose along"),
        Option("largest", boolean, True, "whether the largest elements are chosen, or the smallest"),
        Option("sorted", boolean, True, "whether the order matters"),
    )
    outputs = (Output("values", rank="input"), Output("indices", dtypes=frozenset({"int64"}), rank="input"))

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axis = check_axis(a["axis"], t.input.rank)
        size, k = t.input.shape[axis], a["k"]
        if isinstance(size, int) and isinstance(k, int) and k > size:
            fail(f"k is {k}, expected at most the size of axis {axis}, {size}")
        shape = check_shape((*t.input.shape[:axis], k, *t.input.shape[axis + 1 :]), zero=True)
        return [TensorType(t.input.dtype, shape), TensorType("int64", shape)]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        given, axis = np.asarray(x.input), a["axis"]
        keys = given.astype(np.float32) if given.dtype.name in ("float16", "bfloat16") else given
        if a["largest"]:
            # A stable sort of the reversed line, read backwards, has the largest first and equals in their own order.
            order = given.shape[axis] - 1 - np.flip(np.argsort(np.flip(keys, axis), axis, kind="stable"), axis)
        else:
            order = np.argsort(keys, axis, kind="stable")
        chosen = np.take(order, np.arange(a["k"]), axis).astype(np.int64)
        return [np.take_along_axis(given, chosen, axis), chosen]
