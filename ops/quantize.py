"""Linear quantisation and its inverse, with a scale and a zero point for each block of the input."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from .elementwise import Expressed
from .expression import Term, typed
from .registry import register
from .schema import Arrays, Attrs, Operand, Output, Types, fail
from .shapes import blockwise_broadcastable_to, same_shape, text
from .types import FLOATS, INT4, TensorType, integer_bounds

_QUANTISED = frozenset({"uint8", "int8", "uint32", "int32"})
_WIDE = frozenset({"uint32", "int32"})


class _Blockwise(Expressed):
    """The expression over the input and a scale and zero point whose every element stands for a block of the input.

    Each dimension of the input is a whole multiple of the scale's: element ``i`` of the output takes element
    ``i // (input size // scale size)`` of the scale, in each dimension (the standard's blockwise broadcasting). This is
    no :class:`~basalt.ops.elementwise.Elementwise`, for such operands are not broadcast in the ordinary sense.
    """

    wide: str
    """The expression where values and zero points are of 32 bits, whose sums floats and int32 cannot hold."""

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        if not same_shape(t.scale.shape, t.zero_point.shape):
            fail(f"zero_point has shape {text(t.zero_point.shape)}, expected scale's, {text(t.scale.shape)}")
        for name, shape in (("scale", t.scale.shape), ("zero_point", t.zero_point.shape)):
            if not blockwise_broadcastable_to(shape, t.input.shape):
                fail(f"{name} shape {text(shape)} does not divide the input's, {text(t.input.shape)}, dimensionwise")
        return [TensorType(self.output_dtype(t), t.input.shape)]

    def output_dtype(self, t: Types) -> str:
        """The output's data type."""
        raise NotImplementedError

    def term(self, types: Sequence[TensorType | None], a: Attrs, output: TensorType) -> Term:
        dtypes = {o.name: t.dtype for o, t in zip(self.operands, types) if t is not None}
        low, high = integer_bounds(dtypes["zero_point"])
        chosen = self.wide.format(low=low, high=high) if dtypes["zero_point"] in _WIDE else self.expression
        return typed(chosen, {**dtypes, "output": output.dtype})

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        shape = np.shape(x.input)
        expanded = SimpleNamespace(
            input=x.input, scale=_stretched(x.scale, shape), zero_point=_stretched(x.zero_point, shape)
        )
        return super().evaluate(expanded, a, out)


def _stretched(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Each element repeated over its block; dimensions of 1 are left to ordinary broadcasting."""
    x = np.asarray(x)
    for axis, size in enumerate(shape):
        if x.shape[axis] not in (1, size):
            x = np.repeat(x, size // x.shape[axis], axis)
    return x


@register
class DequantizeLinear(_Blockwise):
    """``(input - zero_point) * scale``.

    The scale and the zero point have the input's rank and one shape, each of whose dimensions divides the input's.
    """

    name = "dequantize_linear"
    webnn = "dequantizeLinear"
    operands = (
        Operand("input", _QUANTISED | INT4, doc="the quantised tensor; int4 and uint4 go beyond the standard"),
        Operand("scale", FLOATS, "input", doc="what a step of the quantised value is worth, for each block"),
        Operand("zero_point", "input", "input", doc="the quantised value that stands for 0, for each block"),
    )
    outputs = (Output(dtypes="scale"),)
    expression = "(to(input, scale) - to(zero_point, scale)) * scale"
    wide = "to(to(input, int64) - to(zero_point, int64), scale) * scale"
    section = "api-mlgraphbuilder-dequantizelinear"

    def output_dtype(self, t: Types) -> str:
        return t.scale.dtype


@register
class QuantizeLinear(_Blockwise):
    """``clamp(round_even(input / scale) + zero_point)``, clamped to the range of the zero point's data type.

    The scale and the zero point have the input's rank and one shape, each of whose dimensions divides the input's.
    The quotient is computed in float32. What NaN gives is unspecified.
    """

    name = "quantize_linear"
    webnn = "quantizeLinear"
    operands = (
        Operand("input", FLOATS, doc="the input tensor, of any shape"),
        Operand("scale", "input", "input", doc="what a step of the quantised value is worth, for each block"),
        Operand(
            "zero_point",
            _QUANTISED | INT4,
            "input",
            doc="the quantised value that stands for 0, for each block; int4 and uint4 go beyond the standard",
        ),
    )
    outputs = (Output(dtypes="zero_point"),)
    expression = "to(rint(to(input, float32) / to(scale, float32)) + to(zero_point, float32), output)"
    wide = (
        "to(min(max(to(min(max(rint(to(input, float32) / to(scale, float32)), -8589934592), 8589934592), int64)"
        " + to(zero_point, int64), {low}), {high}), output)"
    )
    section = "api-mlgraphbuilder-quantizelinear"

    def output_dtype(self, t: Types) -> str:
        return t.zero_point.dtype
