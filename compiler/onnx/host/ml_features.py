"""Feature operators of ai.onnx.ml: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.compiler.onnx.host.checks import check_size, real_tensor, tensor
from basalt.compiler.onnx.host.element_types import is_float, type_name
from basalt.compiler.onnx.host.registry import ML, HostNode, host_op


@host_op("ArrayFeatureExtractor", 1, domain=ML)
def array_feature_extractor(n: HostNode, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The columns of [*, C] at ``indices`` (taken as a vector), 0 to C - 1; [1, count] for a vector."""
    x, wanted = tensor(n, "X", x), tensor(n, "Y", indices).reshape(-1)
    if x.ndim == 0 or not wanted.size:
        raise n.error(f"inputs have shapes {x.shape} and {np.shape(indices)}, expected rank 1 or more and an index")
    if wanted.dtype.kind not in "iu" or wanted.min() < 0 or wanted.max() >= x.shape[-1]:
        raise n.error(f"input 'Y' holds {wanted.min()} to {wanted.max()}, expected integers 0 to {x.shape[-1] - 1}")
    found = np.take(x, wanted.astype(np.int64), axis=-1)
    return found[None] if x.ndim == 1 else found


@host_op("Binarizer", 1, domain=ML)
def binarizer(n: HostNode, x: np.ndarray) -> np.ndarray:
    """1 where an element is greater than ``threshold``, else 0, in the type of ``x``."""
    x = real_tensor(n, "X", x)
    return (x > np.float64(n.attr("threshold", 0.0))).astype(x.dtype)


@host_op("FeatureVectorizer", 1, domain=ML)
def feature_vectorizer(n: HostNode, *inputs: np.ndarray) -> np.ndarray:
    """The inputs [N, C_i] (or [C_i]: one row) side by side, float32; each cut or filled up with 0 to its size.

    ``inputdimensions`` holds the sizes; without it each input keeps its own.
    """
    rows = [np.atleast_2d(real_tensor(n, f"X {i}", x, (1, 2))) for i, x in enumerate(inputs)]
    sizes = n.attr("inputdimensions") or tuple(r.shape[1] for r in rows)
    if not rows or len(sizes) != len(rows) or len({r.shape[0] for r in rows}) != 1:
        given = ", ".join(str(r.shape) for r in rows[:8])
        raise n.error(
            f"inputs {given} and sizes {tuple(sizes)} are given, expected as many, and inputs of equal length"
        )
    result = np.zeros(check_size(n, (rows[0].shape[0], sum(check_size(n, sizes)))), dtype=np.float32)
    start = 0
    for row, size in zip(rows, sizes, strict=True):
        width = min(size, row.shape[1])
        result[:, start : start + width] = row[:, :width]
        start += size
    return result


def _per_feature(n: HostNode, name: str, values: Sequence[float], x: np.ndarray) -> np.ndarray:
    """An attribute of one element, or of one a feature (the last axis)."""
    if len(values) not in (1, x.shape[-1] if x.ndim else 1):
        raise n.error(f"attribute {name!r} has {len(values)} elements, expected 1 or one a feature of shape {x.shape}")
    return np.asarray(values)


@host_op("Imputer", 1, domain=ML)
def imputer(n: HostNode, x: np.ndarray) -> np.ndarray:
    """``x`` with every element equal to the replaced value (NaN included) changed to the imputed one."""
    x = real_tensor(n, "X", x)
    floats = is_float(x.dtype)
    name = "imputed_value_floats" if floats else "imputed_value_int64s"
    values = n.attr(name)
    if not values:
        raise n.error(f"attribute {name!r} is missing, expected it for an input of type {type_name(x.dtype)}")
    replaced = n.attr("replaced_value_float", 0.0) if floats else n.attr("replaced_value_int64", 0)
    missing = np.isnan(x) if replaced != replaced else x == np.asarray(replaced)
    with np.errstate(over="ignore"):
        imputed = _per_feature(n, name, values, x).astype(x.dtype)
    return np.where(missing, imputed, x)


@host_op("Normalizer", 1, domain=ML)
def normalizer(n: HostNode, x: np.ndarray) -> np.ndarray:
    """float32 rows of [N, C] (or [C]) divided by their largest element, sum of magnitudes, or Euclidean length.

    Rows whose divisor is 0 stay. MAX is the largest element itself, as the standard's formula has it, L1 the sum of
    magnitudes and L2 keeps signs, where its formulas cannot be meant: ONNX Runtime computes the same.
    """
    x = real_tensor(n, "X", x, (1, 2))
    rows = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
    norm = n.attr("norm", "MAX")
    if norm == "MAX":
        divisor = rows.max(axis=-1, keepdims=True, initial=-np.inf)
    elif norm == "L1":
        divisor = np.abs(rows).sum(axis=-1, keepdims=True)
    elif norm == "L2":
        divisor = np.sqrt(np.square(rows).sum(axis=-1, keepdims=True))
    else:
        raise n.error(f"attribute 'norm' is {norm!r}, expected MAX, L1 or L2")
    with np.errstate(all="ignore"):
        return np.where(divisor == 0, rows, rows / divisor).astype(np.float32)


@host_op("Scaler", 1, domain=ML)
def scaler(n: HostNode, x: np.ndarray) -> np.ndarray:
    """``(x - offset) * scale`` in float32, both of one element or one a feature."""
    x = real_tensor(n, "X", x)
    offset = _per_feature(n, "offset", n.attr("offset", (0.0,)), x)
    scale = _per_feature(n, "scale", n.attr("scale", (1.0,)), x)
    work = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    with np.errstate(all="ignore"):
        return ((x.astype(work) - offset.astype(work)) * scale.astype(work)).astype(np.float32)
