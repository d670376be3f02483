"""Dropout, in training mode too."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import number, real_tensor
from basalt.compiler.onnx.host.conversion import convert
from basalt.compiler.onnx.host.element_types import IEEE_FLOATS
from basalt.compiler.onnx.host.random import source
from basalt.compiler.onnx.host.registry import HostNode, host_op


def _drop(n: HostNode, x: np.ndarray, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """``x / (1 - ratio)`` where a random number reaches ``ratio``, else 0; and where that is."""
    if not 0 <= ratio < 1:
        raise n.error(f"the ratio is {ratio}, expected 0 to less than 1")
    if ratio == 0:
        return x, np.ones(x.shape, dtype=np.bool_)
    kept = np.asarray(source(n).uniform(0, 1.0, x.shape) >= ratio)
    work = x if x.dtype in IEEE_FLOATS else x.astype(np.float32)
    scaled = np.where(kept, work, work.dtype.type(0)) * work.dtype.type(1 / (1 - ratio))
    return convert(scaled, x.dtype), kept


@host_op("Dropout", 1, 6)
def dropout_1(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Random dropout unless ``is_test`` is set, and the mask in the type of ``x``."""
    x = real_tensor(n, "data", x)
    ratio = 0.0 if n.attr("is_test", 0) else float(n.attr("ratio", 0.5))
    y, kept = _drop(n, x, ratio)
    return y, kept.astype(x.dtype)


@host_op("Dropout", 7, 10)
def dropout_7(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``x`` itself (these versions only infer), and a mask of ones: in the type of ``x``, from 10 in bool."""
    x = real_tensor(n, "data", x)
    return x, np.ones(x.shape, dtype=x.dtype if n.version < 10 else np.bool_)


@host_op("Dropout", 12, 13, 22)
def dropout(
    n: HostNode, x: np.ndarray, ratio: np.ndarray | None = None, training_mode: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Random dropout by ``ratio`` (0.5 if absent) if ``training_mode`` is true, and the mask in bool."""
    x = real_tensor(n, "data", x)
    if training_mode is None or not number(n, "training_mode", training_mode):
        return x, np.ones(x.shape, dtype=np.bool_)
    return _drop(n, x, 0.5 if ratio is None else number(n, "ratio", ratio))
