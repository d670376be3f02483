"""NonZero and Compress: results whose size depends on the data."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import axis_of, tensor
from basalt.compiler.onnx.host.element_types import is_string
from basalt.compiler.onnx.host.registry import HostNode, host_op


@host_op("NonZero", 9, 13)
def non_zero(n: HostNode, x: np.ndarray) -> np.ndarray:
    """Indices of the elements that are not zero (not empty for strings), int64 [rank, count], in row-major order.

    A scalar has no axes, so its result is [0, 1] or [0, 0], as the standard says.
    """
    x = tensor(n, "X", x)
    kept = np.array([bool(v) for v in x.flat]).reshape(x.shape) if is_string(x.dtype) else x.astype(np.bool_)
    return np.ascontiguousarray(np.argwhere(kept).T, dtype=np.int64)


@host_op("Compress", 9, 11, 28)
def compress(n: HostNode, data: np.ndarray, condition: np.ndarray) -> np.ndarray:
    """The slices of ``data`` along ``axis`` (the elements, without ``axis``) at which ``condition`` is true.

    ``condition`` is a vector of bool; one shorter than the axis leaves the rest out. A true element beyond the axis is
    an error.
    """
    data = tensor(n, "input", data)
    condition = tensor(n, "condition", condition, (1,))
    axis = n.attr("axis")
    if axis is None:
        data, axis = data.reshape(-1), 0
    axis = axis_of(n, axis, data.ndim)
    chosen = np.flatnonzero(condition.astype(np.bool_))
    if chosen.size and chosen[-1] >= data.shape[axis]:
        raise n.error(f"input 'condition' is true at {chosen[-1]}, expected at most {data.shape[axis] - 1}")
    return np.take(data, chosen, axis=axis)
