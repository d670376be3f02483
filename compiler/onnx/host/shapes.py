"""Operators that only change a tensor's shape, for element types that are not compiled: strings, complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.compiler.onnx.host.checks import axes_of, axis_of, check_size, integer, integers, tensor
from basalt.compiler.onnx.host.registry import HostNode, host_op


@host_op("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25)
def identity(n: HostNode, x: Any) -> Any:
    """The value itself: a tensor, from 14 a sequence, from 16 an optional."""
    return x


@host_op("Shape", 1, 13, 15, 19, 21, 23, 24, 25)
def shape(n: HostNode, x: np.ndarray) -> np.ndarray:
    """The sizes of ``x``, int64; from 15 those of the axes ``start`` up to ``end``, clamped to the rank."""
    sizes = tensor(n, "data", x).shape
    return np.array(sizes[slice(n.attr("start", 0), n.attr("end"))], dtype=np.int64)


@host_op("Size", 1, 13, 19, 21, 23, 24, 25)
def size(n: HostNode, x: np.ndarray) -> np.ndarray:
    """The number of elements, a scalar int64."""
    return np.asarray(tensor(n, "data", x).size, dtype=np.int64)


@host_op("Reshape", 1, 5, 13, 14, 19, 21, 23, 24, 25)
def reshape(n: HostNode, x: np.ndarray, sizes: np.ndarray | None = None) -> np.ndarray:
    """``x`` in another shape, an attribute at 1; one -1 stands for what is left, 0 for the size that ``x`` has there.

    With ``allowzero`` (from 14) 0 is a size of 0.
    """
    x = tensor(n, "data", x)
    asked = tuple(int(s) for s in n.attr("shape", ())) if n.version < 5 else integers(n, "shape", sizes)
    keep = not n.attr("allowzero", 0)
    if any(s < -1 for s in asked) or asked.count(-1) > 1 or (not keep and 0 in asked and -1 in asked):
        raise n.error(f"the shape asked for is {asked}, expected sizes and at most one -1")
    if keep and any(s == 0 and i >= x.ndim for i, s in enumerate(asked)):
        raise n.error(f"the shape asked for is {asked}, expected 0 only where the input of shape {x.shape} has an axis")
    result = [x.shape[i] if keep and s == 0 else s for i, s in enumerate(asked)]
    if -1 in result:
        others = int(np.prod([s for s in result if s != -1], dtype=object))
        if not others or x.size % others:
            raise n.error(f"the input of shape {x.shape} does not fit in shape {asked}")
        result[result.index(-1)] = x.size // others
    if int(np.prod(result, dtype=object)) != x.size:
        raise n.error(f"the input of shape {x.shape} does not fit in shape {asked}")
    return x.reshape(result)


@host_op("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
def flatten(n: HostNode, x: np.ndarray) -> np.ndarray:
    """``x`` as a matrix: the axes before ``axis`` are its rows, the others its columns."""
    x = tensor(n, "input", x)
    axis = int(n.attr("axis", 1))
    if not (0 if n.version < 11 else -x.ndim) <= axis <= x.ndim:
        raise n.error(f"attribute 'axis' is {axis}, expected an axis of shape {x.shape}, or {x.ndim}")
    split = axis + x.ndim if axis < 0 else axis
    return x.reshape(int(np.prod(x.shape[:split], dtype=np.int64)), int(np.prod(x.shape[split:], dtype=np.int64)))


def _axes(n: HostNode, axes: np.ndarray | None) -> tuple[int, ...] | None:
    """The axes: an attribute before version 13, then an input."""
    if n.version < 13:
        given = n.attr("axes")
        return None if given is None else tuple(int(a) for a in given)
    return None if axes is None else integers(n, "axes", axes)


@host_op("Squeeze", 1, 11, 13, 21, 23, 24, 25)
def squeeze(n: HostNode, x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    """``x`` without ``axes``, which are of size 1; without all that are of size 1 if none are given."""
    x = tensor(n, "data", x)
    given = _axes(n, axes)
    if given is None:
        return np.squeeze(x)
    chosen = axes_of(n, given, x.ndim)
    if any(x.shape[a] != 1 for a in chosen):
        raise n.error(f"'axes' is {given}, expected axes of size 1 of shape {x.shape}")
    return x.reshape([s for a, s in enumerate(x.shape) if a not in chosen])


@host_op("Unsqueeze", 1, 11, 13, 21, 23, 24, 25)
def unsqueeze(n: HostNode, x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    """``x`` with axes of size 1 at the places ``axes`` of the result."""
    x = tensor(n, "data", x)
    given = _axes(n, axes)
    if given is None:
        raise n.error("'axes' is missing")
    return np.expand_dims(x, axes_of(n, given, x.ndim + len(given)))


@host_op("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(n: HostNode, x: np.ndarray) -> np.ndarray:
    """``x`` with its axes in the order ``perm``, reversed if absent."""
    x = tensor(n, "data", x)
    perm = n.attr("perm")
    if perm is not None and sorted(perm) != list(range(x.ndim)):
        raise n.error(f"attribute 'perm' is {tuple(perm)}, expected each axis of shape {x.shape} once")
    return np.transpose(x, perm).copy()


@host_op("Expand", 8, 13)
def expand(n: HostNode, x: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """``x`` broadcast against a tensor of the given sizes."""
    x = tensor(n, "input", x)
    asked = check_size(n, integers(n, "shape", sizes))
    try:
        result = np.broadcast_shapes(x.shape, asked)
    except ValueError:
        raise n.error(f"the input of shape {x.shape} does not broadcast with shape {asked}") from None
    return np.broadcast_to(x, check_size(n, result)).copy()


@host_op("Tile", 1)
def tile_1(n: HostNode, x: np.ndarray, tiles: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """``x`` repeated ``tiles`` times along ``axis``."""
    x = tensor(n, "input", x)
    # The schema gives both the type of the input, a float.
    count, place = (integer(n, name, v) for name, v in (("tiles", tiles), ("axis", axis)))
    repeats = [1] * x.ndim
    repeats[axis_of(n, place, x.ndim, "input 'axis'")] = count
    return tile(n, x, np.array(repeats, dtype=np.int64))


@host_op("Tile", 6, 13)
def tile(n: HostNode, x: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    """``x`` repeated along each axis as often as ``repeats`` says."""
    x = tensor(n, "input", x)
    counts = integers(n, "repeats", repeats)
    if len(counts) != x.ndim or min(counts, default=0) < 0:
        raise n.error(f"input 'repeats' is {counts}, expected {x.ndim} counts of 0 or more for shape {x.shape}")
    check_size(n, (s * c for s, c in zip(x.shape, counts, strict=True)))
    return np.tile(x, counts)
