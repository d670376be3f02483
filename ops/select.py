"""Selection between two tensors, element by element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .elementwise import Elementwise
from .registry import register
from .schema import Arrays, Attrs, Operand, Output, Types
from .types import ANY, TensorType


@register
class Where(Elementwise):
    """``true_value`` where ``condition`` is not 0, else ``false_value``; all three are broadcast to each other."""

    name = webnn = "where"
    operands = (
        Operand("condition", frozenset({"uint8"}), doc="the condition, of any shape; each value but 0 is true"),
        Operand("true_value", ANY, doc="the values where the condition is true"),
        Operand("false_value", "true_value", doc="the values where it is false, of the same data type"),
    )
    outputs = (Output(dtypes="true_value", rank=(0, 8)),)
    expression = "select(condition != 0, true_value, false_value)"
    section = "api-mlgraphbuilder-where"

    def output_dtype(self, t: Types, a: Attrs) -> str:
        return t.true_value.dtype

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.where(np.asarray(x.condition) != 0, x.true_value, x.false_value)]
