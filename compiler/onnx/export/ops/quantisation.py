"""Linear quantisation: ONNX's operators for one scale, one along an axis, or (from 21 on) blocks along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from basalt.ops import Dim, known
from basalt.ops.types import integer_bounds

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_BYTES = ("int8", "uint8")
_FOUR_BITS = ("int4", "uint4")
_HUGE = 8589934592.0
"""Beyond every sum of a 32-bit integer and a zero point."""


class _Scales:
    """Scale and zero point in the form that ONNX takes, and the attributes that say so; ``form`` is None for none."""

    def __init__(self, n: NodeWriter) -> None:
        shape, dims = n.type("input").shape, n.type("scale").shape
        self.form: list[Dim] | None = None
        self.options: dict[str, Any] = {}
        differing = [i for i, d in enumerate(dims) if d != 1]
        blocked = [i for i, (d, size) in enumerate(zip(dims, shape)) if d != size]
        if not differing:
            self.form = []
        elif len(differing) == 1 and dims[differing[0]] == shape[differing[0]]:
            self.form, self.options = [dims[differing[0]]], {"axis": differing[0]}
        elif n.opset >= 21 and len(blocked) <= 1 and known(*shape, *dims):
            axis = blocked[0] if blocked else len(shape) - 1
            self.form, self.options = list(dims), {"axis": axis, "block_size": int(shape[axis] // dims[axis])}  # type: ignore[arg-type]

    def shaped(self, n: NodeWriter, x: Tensor) -> Tensor:
        assert self.form is not None
        return n.reshape(x, self.form, n.type("scale").shape)


def _direct(n: NodeWriter, dtype: str) -> bool:
    """Whether ONNX's operators know the quantised type, zero points included."""
    return dtype in _BYTES or (dtype in _FOUR_BITS and n.opset >= 21)


@exports("dequantize_linear")
def dequantize_linear(n: NodeWriter) -> Tensor:
    x, scale, zero = n["input"], n["scale"], n["zero_point"]
    scales = _Scales(n)
    if scales.form is not None and scale.dtype != "float64" and _direct(n, x.dtype):
        shaped = scales.shaped(n, n.widened(scale)), scales.shaped(n, zero)
        return n.call("DequantizeLinear", x, *shaped, dtype="float32", **scales.options)
    wide = n.type("input").dtype in ("int32", "uint32")
    # Differences of bytes are exact in any float; the core rounds wider ones to the scale's type before it multiplies.
    scale = _stretched(n, scale if wide else n.widened(scale))
    difference = n.call("Sub", *(n.cast(t, "int64" if wide else "int32") for t in (x, _stretched(n, zero))))
    return n.call("Mul", n.cast(difference, scale.dtype), scale)


@exports("quantize_linear")
def quantize_linear(n: NodeWriter) -> Tensor:
    x, scale, zero = n["input"], n["scale"], n["zero_point"]
    dtype = n.out[0].dtype
    scales = _Scales(n)
    x, scale = n.cast(x, "float32"), n.cast(scale, "float32")
    if scales.form is not None and _direct(n, dtype) and dtype == zero.dtype:
        return n.call("QuantizeLinear", x, scales.shaped(n, scale), scales.shaped(n, zero), **scales.options)
    scale, zero = _stretched(n, scale), _stretched(n, zero)
    steps = n.call("Round", n.call("Div", x, scale))
    near = n.call("Clip", steps, n.scalar(-_HUGE, "float32"), n.scalar(_HUGE, "float32"))
    total = n.call("Add", n.cast(near, "int64"), n.cast(zero, "int64"))
    low, high = (n.scalar(bound, "int64") for bound in integer_bounds(dtype))
    limited = n.call("Clip", total, low, high)
    return n.cast(n.cast(limited, "int8" if dtype == "int4" else "uint8") if dtype in _FOUR_BITS else limited, dtype)


def _stretched(n: NodeWriter, x: Tensor) -> Tensor:
    """Each element repeated over its block; dimensions of 1, and those of the input, are left to broadcasting."""
    shape, dims = n.type("input").shape, n.type("scale").shape
    repeated = [i for i, (d, size) in enumerate(zip(dims, shape)) if d not in (1, size)]
    if not repeated:
        return x
    split = _interleaved(dims, [1 if i in repeated else None for i in range(len(dims))])
    full = _interleaved(dims, [shape[i] // dims[i] if i in repeated else None for i in range(len(dims))])
    merged = [shape[i] if i in repeated else d for i, d in enumerate(dims)]
    return n.reshape(n.expand(n.reshape(x, split), full), merged)


def _interleaved(dims: Sequence[Dim], factors: Sequence[Dim | None]) -> list[Dim]:
    result: list[Dim] = []
    for d, factor in zip(dims, factors):
        result += [d] if factor is None else [d, factor]
    return result
