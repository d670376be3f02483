"""Positions of extremes (the standard's section "argMin/argMax operations")."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from .convert import boolean, enum, uint
from .registry import register
from .rounding import widen
from .schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import check_axis, check_shape, reduced_shape
from .types import ANY, TensorType, numpy_dtype


class _ArgMinMax(Operator):
    section = "api-mlgraphbuilder-argminmax"
    operands = (Operand("input", ANY, (1, MAX_RANK), doc="the input tensor"),)
    arguments = (Option("axis", uint, doc="the axis to reduce"),)
    options = (
        Option("keep_dimensions", boolean, False, "whether the reduced axis is kept, with size 1"),
        Option("output_data_type", enum("int32", "int64"), "int32", "the output's data type: int32 or int64"),
    )
    # Every size along an axis fits in both output types, so that the standard's check of it can't fail.
    outputs = (Output(dtypes=frozenset({"int32", "int64"}), rank=(0, MAX_RANK)),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axis = check_axis(a["axis"], t.input.rank)
        if t.input.shape[axis] == 0:
            fail(f"axis {axis} of the input is empty")
        shape = reduced_shape(t.input.shape, (axis,), a["keep_dimensions"])
        return [TensorType(a["output_data_type"], check_shape(shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        found = self.find(widen(x.input), a["axis"]).astype(numpy_dtype(a["output_data_type"]))
        return [np.expand_dims(found, a["axis"]) if a["keep_dimensions"] else found]

    @abstractmethod
    def find(self, x: np.ndarray, axis: int) -> np.ndarray:
        """The position of the extreme along an axis."""


@register
class ArgMin(_ArgMinMax):
    """The position of the smallest element along an axis: the first of equals, and the first NaN if there is one."""

    name = "arg_min"
    webnn = "argMin"

    def find(self, x: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(x.argmin(axis))


@register
class ArgMax(_ArgMinMax):
    """The position of the largest element along an axis: the first of equals, and the first NaN if there is one."""

    name = "arg_max"
    webnn = "argMax"

    def find(self, x: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(x.argmax(axis))
