"""Range: evenly spaced numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from basalt.compiler.onnx.host.checks import check_size, real_tensor, scalar
from basalt.compiler.onnx.host.element_types import dtype_of_code, type_name
from basalt.compiler.onnx.host.registry import HostNode, host_op


def _count(n: HostNode, start: Any, limit: Any, delta: Any) -> int:
    """max(ceil((limit - start) / delta), 0), exact for integers, in float64 for floats."""
    if delta == 0:
        raise n.error("input 'delta' is 0, expected another value")
    if isinstance(start, int):
        count = -((start - limit) // delta) if delta > 0 else -((limit - start) // -delta)
    else:
        steps = (limit - start) / delta
        if not math.isfinite(steps):
            raise n.error(f"start {start}, limit {limit}, delta {delta} give no finite number of elements")
        count = math.ceil(steps)
    return check_size(n, (max(count, 0),))[0]


def _accumulator(n: HostNode, dtype: np.dtype) -> np.dtype:
    """The type to compute in: ``stash_type`` for the 16-bit floats, float64 for float32, 64 bits for integers."""
    if dtype.kind in "iu":
        return np.dtype(np.int64 if dtype.kind == "i" else np.uint64)
    if dtype.itemsize > 2:
        return np.dtype(np.float64)
    stash = dtype_of_code(n, n.attr("stash_type", 1), "stash_type")
    if stash not in (np.float32, np.float64):
        raise n.error(f"attribute 'stash_type' is {type_name(stash)}, expected float32 or float64")
    return stash


@host_op("Range", 11, 27)
def number_range(n: HostNode, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """``start + i * delta`` for i from 0 up to (not including) ``limit``, a vector of the inputs' type."""
    first, end, step = (
        scalar(n, name, real_tensor(n, name, v)) for name, v in (("start", start), ("limit", limit), ("delta", delta))
    )
    dtype = np.asarray(start).dtype
    if not dtype == np.asarray(limit).dtype == np.asarray(delta).dtype:
        raise n.error(f"inputs are of types {start.dtype}, {limit.dtype}, {delta.dtype}, expected one type")
    work = _accumulator(n, dtype)
    python = int if dtype.kind in "iu" else float
    count = _count(n, python(first), python(end), python(step))
    with np.errstate(over="ignore"):
        # Integers may wrap in the product; the sum is then back in range, as every element lies before the limit.
        values = work.type(first) + np.arange(count).astype(work) * work.type(step)
    return values.astype(dtype)
