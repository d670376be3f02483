"""EyeLike, OneHot and ConstantOfShape: tensors of one or two values."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import axis_of, check_size, integers, real_tensor, scalar, tensor
from basalt.compiler.onnx.host.element_types import dtype_of_code, is_string
from basalt.compiler.onnx.host.registry import HostNode, host_op


@host_op("EyeLike", 9, 22)
def eye_like(n: HostNode, x: np.ndarray) -> np.ndarray:
    """Zeros of the shape of the matrix ``x`` with ones on diagonal ``k``, of type ``dtype`` or else of ``x``'s."""
    x = tensor(n, "input", x, (2,))
    code = n.attr("dtype")
    dtype = x.dtype if code is None else dtype_of_code(n, code, "dtype")
    if is_string(dtype):
        raise n.error("the result would be of type string, expected a numeric type or bool")
    return np.eye(x.shape[0], x.shape[1], k=int(n.attr("k", 0)), dtype=np.bool_).astype(dtype)


def _whole(values: np.ndarray) -> np.ndarray:
    """``values`` as int64, fractions cut off; a float that int64 cannot hold becomes the smallest int64."""
    if values.dtype.kind in "iu":
        if values.dtype == np.uint64 and (values > np.uint64(2**63 - 1)).any():
            return np.where(values > np.uint64(2**63 - 1), np.int64(2**63 - 1), values.astype(np.int64))
        return values.astype(np.int64)
    wide = values.astype(np.float64)
    fits = (wide >= -(2.0**63)) & (wide < 2.0**63)
    return np.where(fits, np.where(fits, wide, 0).astype(np.int64), np.iinfo(np.int64).min)


@host_op("OneHot", 9, 11, 28)
def one_hot(n: HostNode, indices: np.ndarray, depth: np.ndarray, values: np.ndarray) -> np.ndarray:
    """``values`` [off, on] along a new ``axis`` of ``depth`` elements, on at the index.

    Negative indices count from the back from version 11; what is out of range gives only off values.
    """
    indices, values = real_tensor(n, "indices", indices), tensor(n, "values", values, (1,))
    if values.shape != (2,):
        raise n.error(f"input 'values' has shape {values.shape}, expected (2,): off and on")
    classes = int(_whole(np.asarray(scalar(n, "depth", real_tensor(n, "depth", depth)))))
    if classes < 0:
        raise n.error(f"input 'depth' is {classes}, expected 0 or more")
    axis = axis_of(n, int(n.attr("axis", -1)), indices.ndim + 1)
    check_size(n, (*indices.shape, classes))
    wanted = _whole(indices)
    if n.version >= 11:
        wanted = np.where((wanted < 0) & (wanted >= -classes), wanted + classes, wanted)
    positions = np.arange(classes).reshape([-1 if a == axis else 1 for a in range(indices.ndim + 1)])
    return values[(np.expand_dims(wanted, axis) == positions).astype(np.int64)]


@host_op("ConstantOfShape", 9, 20, 21, 23, 24, 25)
def constant_of_shape(n: HostNode, shape: np.ndarray) -> np.ndarray:
    """A tensor of the given sizes filled with the only element of ``value`` (float32 0 if absent), of its type."""
    value = np.asarray(n.attr("value", np.zeros(1, dtype=np.float32)))
    if value.size != 1:
        raise n.error(f"attribute 'value' has shape {value.shape}, expected one element")
    result = np.empty(check_size(n, integers(n, "input", shape)), dtype=value.dtype)
    result[...] = value.reshape(-1)[0]
    return result
