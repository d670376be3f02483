"""Det and ReverseSequence."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import integers, real_tensor, tensor
from basalt.compiler.onnx.host.registry import HostNode, host_op


@host_op("Det", 11, 22)
def det(n: HostNode, x: np.ndarray) -> np.ndarray:
    """Determinants [*] of the square matrices [*, M, M], by LU factorisation; the 16-bit floats computed in float32."""
    x = real_tensor(n, "X", x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise n.error(f"input 'X' has shape {x.shape}, expected [*, M, M]")
    work = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
    with np.errstate(all="ignore"):
        return np.asarray(np.linalg.det(work)).astype(x.dtype)


@host_op("ReverseSequence", 10, 28)
def reverse_sequence(n: HostNode, x: np.ndarray, sequence_lens: np.ndarray) -> np.ndarray:
    """``x`` with the first ``sequence_lens[i]`` elements along ``time_axis`` reversed in batch ``i``.

    The axes are 0 and 1 in either order; lengths are 0 to the size of the time axis.
    """
    x, lengths = tensor(n, "input", x), np.array(integers(n, "sequence_lens", sequence_lens), dtype=np.int64)
    if x.ndim < 2:
        raise n.error(f"input 'input' has shape {x.shape}, expected rank 2 or more")
    batch_axis, time_axis = int(n.attr("batch_axis", 1)), int(n.attr("time_axis", 0))
    if {batch_axis, time_axis} != {0, 1}:
        raise n.error(f"batch_axis is {batch_axis} and time_axis {time_axis}, expected 0 and 1 in either order")
    batches, steps = x.shape[batch_axis], x.shape[time_axis]
    if lengths.shape != (batches,):
        raise n.error(f"input 'sequence_lens' has shape {lengths.shape}, expected {(batches,)}")
    if lengths.size and not (lengths.min() >= 0 and lengths.max() <= steps):
        raise n.error(f"input 'sequence_lens' holds {lengths.min()} to {lengths.max()}, expected 0 to {steps}")
    time = np.arange(steps)
    ends = lengths[:, None]
    source = np.where(time < ends, ends - 1 - time, time)
    batch = np.arange(batches)[:, None]
    moved = np.moveaxis(x, (batch_axis, time_axis), (0, 1))
    return np.ascontiguousarray(np.moveaxis(moved[batch, source], (0, 1), (batch_axis, time_axis)))
