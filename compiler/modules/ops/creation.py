"""Tensors out of nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.ops import SymDim

from ...onnx.tensor import Tensor, onnx_dtype
from ..context import AtenContext
from ..registry import aten


@aten("full.default")
def full(n: AtenContext, size: Any, value: Any, **options: Any) -> Tensor:
    return n.filled(value)


@aten("full_like.default", "new_full.default")
def full_like(n: AtenContext, x: Tensor, *args: Any, **options: Any) -> Tensor:
    return n.filled(args[-1])


@aten("zeros.default", "zeros_like.default", "new_zeros.default", "zero.default")
@aten("empty.memory_format", "empty_like.default", "new_empty.default", "empty_strided.default")
@aten("new_empty_strided.default")
def zeros(n: AtenContext, *args: Any, **options: Any) -> Tensor:
    return n.filled(0)


@aten("ones.default", "ones_like.default", "new_ones.default")
def ones(n: AtenContext, *args: Any, **options: Any) -> Tensor:
    return n.filled(1)


@aten("scalar_tensor.default")
def scalar_tensor(n: AtenContext, value: Any, **options: Any) -> Tensor:
    return n.tensor_of(value, n.dtype)


@aten("fill.Scalar", "fill.Tensor")
def fill(n: AtenContext, x: Tensor, value: Any) -> Tensor:
    return n.filled(value)


@aten("arange.default", "arange.start", "arange.start_step")
def arange(n: AtenContext, *args: Any, **options: Any) -> Tensor:
    start, end, step = [0, args[0], 1] if len(args) == 1 else [*args, 1][:3]
    dtype = onnx_dtype(n.dtype)
    if not any(isinstance(value, SymDim) for value in (start, end, step)):
        return n.constant(np.arange(start, end, step).astype(dtype))
    return n.cast(positions(n, n.shape[0], start, step), n.dtype)


def positions(n: AtenContext, count: Any, start: Any = 0, step: Any = 1) -> Tensor:
    """``start, start + step, ...`` as int64; ``count`` of them."""
    if any(isinstance(v, float) for v in (start, step)):
        raise n.unsupported("a range of floats whose length is symbolic")
    limit = start + count * step
    return n.call("Range", *[n.size_tensor((v,), ()) for v in (start, limit, step)])


@aten("linspace.default")
def linspace(n: AtenContext, start: float, end: float, steps: int, **options: Any) -> Tensor:
    (count,) = n.static(steps)
    return n.constant(np.linspace(start, end, count).astype(onnx_dtype(n.dtype)))


@aten("eye.default", "eye.m")
def eye(n: AtenContext, *args: Any, **options: Any) -> Tensor:
    return n.constant(np.eye(*n.static(*n.shape), dtype=onnx_dtype(n.dtype)))
