"""Sequences of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.compiler.onnx.host.checks import axis_of, integers, scalar, tensor
from basalt.compiler.onnx.host.element_types import dtype_of_code, type_name
from basalt.compiler.onnx.host.registry import HostNode, host_op


def _sequence(n: HostNode, name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise n.error(f"input {name!r} is a {type(value).__name__}, expected a sequence")
    return value


def _one_type(n: HostNode, tensors: list[Any]) -> list[Any]:
    """``tensors`` if all have the type of the first."""
    types = {type_name(t.dtype) for t in tensors if isinstance(t, np.ndarray)}
    if len(types) > 1:
        raise n.error(f"tensors of types {', '.join(sorted(types))} are given, expected one type")
    return tensors


def _position(n: HostNode, value: Any, count: int, last: int) -> int:
    """A position counted from the front; ``-count`` to ``last`` are allowed."""
    position = scalar(n, "position", value)
    if np.asarray(position).dtype.kind not in "iu":
        raise n.error(f"input 'position' is {position!r}, expected an integer")
    if not -count <= position <= last:
        raise n.error(f"input 'position' is {position}, expected {-count} to {last} for a sequence of {count}")
    return int(position) + count if position < 0 else int(position)


@host_op("SequenceConstruct", 11)
def sequence_construct(n: HostNode, *tensors: np.ndarray) -> list[np.ndarray]:
    """The sequence of the inputs, which are of one type."""
    return _one_type(n, [tensor(n, f"inputs {i}", t) for i, t in enumerate(tensors)])


@host_op("SequenceEmpty", 11)
def sequence_empty(n: HostNode) -> list[np.ndarray]:
    """A sequence without tensors, of element type ``dtype`` (float32)."""
    dtype_of_code(n, n.attr("dtype", 1), "dtype")
    return []


@host_op("SequenceInsert", 11)
def sequence_insert(
    n: HostNode, sequence: list[np.ndarray], element: np.ndarray, position: np.ndarray | None = None
) -> list[np.ndarray]:
    """The sequence with ``element`` inserted before ``position`` (at the end if absent)."""
    result = list(_sequence(n, "input_sequence", sequence))
    place = len(result) if position is None else _position(n, position, len(result), len(result))
    result.insert(place, tensor(n, "tensor", element))
    return _one_type(n, result)


@host_op("SequenceErase", 11)
def sequence_erase(n: HostNode, sequence: list[np.ndarray], position: np.ndarray | None = None) -> list[np.ndarray]:
    """The sequence without the tensor at ``position`` (the last if absent)."""
    result = list(_sequence(n, "input_sequence", sequence))
    last = np.asarray(-1) if position is None else position
    del result[_position(n, last, len(result), len(result) - 1)]
    return result


@host_op("SequenceAt", 11)
def sequence_at(n: HostNode, sequence: list[np.ndarray], position: np.ndarray) -> np.ndarray:
    """The tensor at ``position``."""
    tensors = _sequence(n, "input_sequence", sequence)
    return tensors[_position(n, position, len(tensors), len(tensors) - 1)]


@host_op("SequenceLength", 11)
def sequence_length(n: HostNode, sequence: list[np.ndarray]) -> np.ndarray:
    """How many tensors there are, a scalar int64."""
    return np.asarray(len(_sequence(n, "input_sequence", sequence)), dtype=np.int64)


@host_op("SplitToSequence", 11, 24)
def split_to_sequence(n: HostNode, x: np.ndarray, split: np.ndarray | None = None) -> list[np.ndarray]:
    """Parts of ``x`` along ``axis``: of ``split`` elements each (the last may be smaller), or of these sizes.

    Without ``split`` the parts have one element, and lose the axis unless ``keepdims``.
    """
    x = tensor(n, "input", x)
    axis = axis_of(n, int(n.attr("axis", 0)), x.ndim)
    size = x.shape[axis]
    if split is None:
        parts = [np.take(x, [i], axis=axis) for i in range(size)]
        return parts if n.attr("keepdims", 1) else [np.squeeze(p, axis=axis) for p in parts]
    sizes = integers(n, "split", split)
    if np.asarray(split).ndim == 0:
        if sizes[0] <= 0:
            raise n.error(f"input 'split' is {sizes[0]}, expected 1 or more")
        ends = list(range(sizes[0], size, sizes[0])) + [size] if size else []
    else:
        if min(sizes, default=0) < 0 or sum(sizes) != size:
            raise n.error(f"input 'split' is {sizes}, expected sizes that sum up to {size}, axis {axis} of {x.shape}")
        ends = np.cumsum(sizes, dtype=np.int64).tolist()
    starts = [0, *ends[:-1]]
    return [np.take(x, np.arange(a, b), axis=axis) for a, b in zip(starts, ends, strict=False)]


@host_op("ConcatFromSequence", 11)
def concat_from_sequence(n: HostNode, sequence: list[np.ndarray]) -> np.ndarray:
    """The tensors joined along ``axis``, a new one with ``new_axis``."""
    tensors = _one_type(n, _sequence(n, "input_sequence", sequence))
    if not tensors:
        raise n.error("input 'input_sequence' is empty, expected one tensor or more")
    stacked = bool(n.attr("new_axis", 0))
    rank = tensors[0].ndim
    axis = axis_of(n, int(n.required("axis")), rank + stacked)
    shapes = [t.shape if stacked else t.shape[:axis] + t.shape[axis + 1 :] for t in tensors]
    if any(t.ndim != rank or s != shapes[0] for t, s in zip(tensors, shapes, strict=True)):
        given = ", ".join(str(t.shape) for t in tensors[:8])
        raise n.error(
            f"the tensors have shapes {given}, expected equal ones{'' if stacked else f' but for axis {axis}'}"
        )
    return np.stack(tensors, axis) if stacked else np.concatenate(tensors, axis)
