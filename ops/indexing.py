"""Reading and writing elements by index: gather, gather_elements, gather_nd, scatter_elements, scatter_nd.

A negative index counts from the end of its dimension. An index that still lies outside is moved to the nearest end, so
that no index reaches beyond the tensor whatever a graph is fed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .convert import uint
from .dims import Dim, Shape
from .registry import register
from .schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import check_axis, check_shape, same_shape, text
from .types import ANY, TensorType

INDEX_TYPES = frozenset({"int32", "uint32", "int64"})
_AXIS = Option("axis", uint, 0, "the axis that the indices count along")


def clamp_indices(indices: np.ndarray, size: int) -> np.ndarray:
    """Indices into a dimension of a given size, each made to lie inside it."""
    wide = np.asarray(indices).astype(np.int64)
    return np.clip(np.where(wide < 0, wide + size, wide), 0, size - 1)


def _check_source(size: Dim, indices: TensorType) -> None:
    if size == 0 and indices.size != 0:
        fail("the input is empty along an axis that is indexed, so that no index is inside it")


@register
class Gather(Operator):
    """Slices of the input along an axis: the axis is replaced by the dimensions of ``indices``."""

    name = webnn = "gather"
    operands = (
        Operand("input", ANY, (1, 8), doc="the tensor to take slices of"),
        Operand("indices", INDEX_TYPES, doc="which slices, of any shape; negative indices count from the end"),
    )
    options = (_AXIS,)
    outputs = (Output(rank=(1, 8)),)
    section = "api-mlgraphbuilder-gather"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axis = check_axis(a["axis"], t.input.rank)
        _check_source(t.input.shape[axis], t.indices)
        shape = t.input.shape[:axis] + t.indices.shape + t.input.shape[axis + 1 :]
        return [TensorType(t.input.dtype, check_shape(shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        source = np.asarray(x.input)
        return [np.take(source, clamp_indices(x.indices, source.shape[a["axis"]]), a["axis"], mode="clip")]


class _AlongAxis(Operator):
    def check_indices(self, t: Types, a: Attrs) -> None:
        """The indices' shape is the input's, but for the axis."""
        axis = check_axis(a["axis"], t.input.rank)
        expected = (*t.input.shape[:axis], t.indices.shape[axis], *t.input.shape[axis + 1 :])
        if not same_shape(t.indices.shape, expected):
            fail(f"indices has shape {text(t.indices.shape)}, expected {text(expected)}: the input's but for the axis")
        _check_source(t.input.shape[axis], t.indices)


@register
class GatherElements(_AlongAxis):
    """One element of the input for each index: the index replaces the element's own position along the axis."""

    name = "gather_elements"
    webnn = "gatherElements"
    operands = (
        Operand("input", ANY, (1, 8), doc="the tensor to take elements of"),
        Operand("indices", INDEX_TYPES, "input", doc="positions along the axis; the input's shape but for that axis"),
    )
    options = (_AXIS,)
    section = "api-mlgraphbuilder-gatherelements"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        self.check_indices(t, a)
        return [TensorType(t.input.dtype, check_shape(t.indices.shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        source = np.asarray(x.input)
        return [np.take_along_axis(source, clamp_indices(x.indices, source.shape[a["axis"]]), a["axis"])]


def _split_coordinates(t: Types) -> Shape:
    """The shape of what the indices address: their leading dimensions, then the input's that no coordinate names."""
    coordinate = t.indices.shape[-1]
    if not isinstance(coordinate, int):
        fail(f"the last dimension of indices is {coordinate}, expected a known size: the length of a coordinate")
    if not 1 <= coordinate <= t.input.rank:
        fail(f"indices hold coordinates of length {coordinate}, expected 1 to the input's rank, {t.input.rank}")
    for size in t.input.shape[:coordinate]:
        _check_source(size, t.indices)
    return t.indices.shape[:-1] + t.input.shape[coordinate:]


def _coordinates(indices: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    indices = np.asarray(indices)
    return tuple(clamp_indices(indices[..., i], shape[i]) for i in range(indices.shape[-1]))


@register
class GatherNd(Operator):
    """Slices of the input by coordinates: the last dimension of ``indices`` holds the leading coordinates of each."""

    name = "gather_nd"
    webnn = "gatherND"
    operands = (
        Operand("input", ANY, (1, 8), doc="the tensor to take slices of"),
        Operand("indices", INDEX_TYPES, (1, 8), doc="the coordinates; negative indices count from the end"),
    )
    outputs = (Output(rank=(0, 8)),)
    section = "api-mlgraphbuilder-gathernd"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        return [TensorType(t.input.dtype, check_shape(_split_coordinates(t), zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        source = np.asarray(x.input)
        return [source[_coordinates(x.indices, source.shape)]]


@register
class ScatterElements(_AlongAxis):
    """A copy of the input with one element replaced for each index: the inverse of ``gather_elements``.

    Where two indices name one element, the later in row-major order wins.
    """

    name = "scatter_elements"
    webnn = "scatterElements"
    operands = (
        Operand("input", ANY, (1, 8), doc="the tensor to start from"),
        Operand("indices", INDEX_TYPES, "input", doc="positions along the axis; the input's shape but for that axis"),
        Operand("updates", "input", "input", doc="the new elements, one for each index"),
    )
    options = (_AXIS,)
    section = "api-mlgraphbuilder-scatterelements"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        self.check_indices(t, a)
        if not same_shape(t.updates.shape, t.indices.shape):
            fail(f"updates has shape {text(t.updates.shape)}, expected that of indices, {text(t.indices.shape)}")
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        result = np.array(x.input)
        np.put_along_axis(result, clamp_indices(x.indices, result.shape[a["axis"]]), x.updates, a["axis"])
        return [result]


@register
class ScatterNd(Operator):
    """A copy of the input with one slice replaced for each coordinate: the inverse of ``gather_nd``.

    Where two coordinates name one slice, the later in row-major order wins.
    """

    name = "scatter_nd"
    webnn = "scatterND"
    operands = (
        Operand("input", ANY, (1, 8), doc="the tensor to start from"),
        Operand("indices", INDEX_TYPES, (1, 8), doc="the coordinates; negative indices count from the end"),
        Operand("updates", "input", doc="the new slices, one for each coordinate"),
    )
    outputs = (Output(rank=(1, 8)),)
    section = "api-mlgraphbuilder-scatternd"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        expected = _split_coordinates(t)
        if not same_shape(t.updates.shape, expected):
            fail(f"updates has shape {text(t.updates.shape)}, expected {text(expected)}: one slice for each coordinate")
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        result = np.array(x.input)
        result[_coordinates(x.indices, result.shape)] = x.updates
        return [result]
