"""Normalizations (the standard's sections "batchNormalization", "instanceNormalization", "layerNormalization")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .convert import cast_number, double, nullable, sequence, uint
from .dims import Shape
from .registry import register
from .rounding import narrow, widen
from .schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Output, Types
from .shapes import check_axes, check_axis, expect_shape
from .spatial import INPUT_LAYOUTS, layout_option
from .types import FLOATS, TensorType

EPSILON = Option("epsilon", double, 1e-5, "added to the variance, against division by zero")


def _infer(t: Types, a: Attrs, parameters: Sequence[str], expected: Shape, meaning: str) -> Sequence[TensorType]:
    a["epsilon"] = cast_number(a["epsilon"], t.input.dtype)
    for name in parameters:
        if (given := getattr(t, name)) is not None:
            expect_shape(name, given.shape, expected, meaning)
    return [t.input]


def _normalize(
    x: np.ndarray, mean: np.ndarray, variance: np.ndarray, a: Attrs, scale: np.ndarray | None, bias: np.ndarray | None
) -> np.ndarray:
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias``; all broadcast to each other."""
    result = (x - mean) / np.sqrt(variance + a["epsilon"])
    if scale is not None:
        result = result * scale
    return result if bias is None else result + bias


def _along(axis: int, rank: int, vector: np.ndarray | None) -> np.ndarray | None:
    """A vector shaped to lie along one axis of a tensor."""
    return None if vector is None else widen(vector).reshape([-1 if i == axis else 1 for i in range(rank)])


@register
class BatchNormalization(Operator):
    """Each feature normalized by a given mean and variance.

    The result is ``(input - mean) / sqrt(variance + epsilon) * scale + bias``.
    """

    name = "batch_normalization"
    webnn = "batchNormalization"
    section = "api-mlgraphbuilder-batchnorm"
    operands = (
        Operand("input", FLOATS, (1, MAX_RANK), doc="the input tensor"),
        Operand("mean", "input", 1, doc="the mean of each feature, of shape [input.shape[axis]]"),
        Operand("variance", "input", 1, doc="the variance of each feature, of shape [input.shape[axis]]"),
        Operand("scale", "input", 1, optional=True, doc="factors (1 by default), of shape [input.shape[axis]]"),
        Operand("bias", "input", 1, optional=True, doc="addends (0 by default), of shape [input.shape[axis]]"),
    )
    options = (Option("axis", uint, 1, "the axis of the features"), EPSILON)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axis = check_axis(a["axis"], t.input.rank)
        features = (t.input.shape[axis],)
        return _infer(t, a, ("mean", "variance", "scale", "bias"), features, f"the input's size of axis {axis}")

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        data = widen(x.input)
        mean, variance, scale, bias = (_along(a["axis"], data.ndim, v) for v in (x.mean, x.variance, x.scale, x.bias))
        with np.errstate(all="ignore"):
            return [narrow(_normalize(data, mean, variance, a, scale, bias), out[0])]  # type: ignore[arg-type]


@register
class InstanceNormalization(Operator):
    """Each channel of each sample normalized by its own mean and variance over height and width."""

    name = "instance_normalization"
    webnn = "instanceNormalization"
    section = "api-mlgraphbuilder-instancenorm"
    operands = (
        Operand("input", FLOATS, 4, doc="the input tensor, laid out as layout says"),
        Operand("scale", "input", 1, optional=True, doc="factors (1 by default), of shape [channels]"),
        Operand("bias", "input", 1, optional=True, doc="addends (0 by default), of shape [channels]"),
    )
    outputs = (Output(rank=4),)
    options = (EPSILON, layout_option("layout", *INPUT_LAYOUTS))

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        channels = t.input.shape[a["layout"].index("c")]
        return _infer(t, a, ("scale", "bias"), (channels,), "the number of channels")

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        axis = a["layout"].index("c")
        axes = (a["layout"].index("h"), a["layout"].index("w"))
        scale, bias = _along(axis, 4, x.scale), _along(axis, 4, x.bias)
        return [narrow(_self_normalize(widen(x.input), axes, a, scale, bias), out[0])]


@register
class LayerNormalization(Operator):
    """The input normalized by its own mean and variance over ``axes``.

    ``scale`` and ``bias`` have the sizes of the input's dimensions ``axes``, in the order of ``axes``.
    """

    name = "layer_normalization"
    webnn = "layerNormalization"
    section = "api-mlgraphbuilder-layernorm"
    operands = (
        Operand("input", FLOATS, doc="the input tensor"),
        Operand("scale", "input", optional=True, doc="factors (1 by default)"),
        Operand("bias", "input", optional=True, doc="addends (0 by default)"),
    )
    options = (
        Option("axes", nullable(sequence(uint)), None, "the axes to normalize over; all but the first by default"),
        EPSILON,
    )

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axes = tuple(range(1, t.input.rank)) if a["axes"] is None else a["axes"]
        a["axes"] = check_axes(axes, t.input.rank)
        expected = tuple(t.input.shape[axis] for axis in axes)
        return _infer(t, a, ("scale", "bias"), expected, f"the input's sizes of axes {list(axes)}")

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        data, axes = widen(x.input), a["axes"]
        scale, bias = (_over(axes, data, v) for v in (x.scale, x.bias))
        return [narrow(_self_normalize(data, axes, a, scale, bias), out[0])]


def _over(axes: Sequence[int], data: np.ndarray, tensor: np.ndarray | None) -> np.ndarray | None:
    """A tensor with one dimension an axis of ``axes``, shaped to be broadcast to ``data``."""
    if tensor is None:
        return None
    ordered = widen(tensor).transpose(np.argsort(axes))
    return ordered.reshape([size if i in axes else 1 for i, size in enumerate(data.shape)])


def _self_normalize(
    data: np.ndarray, axes: Sequence[int], a: Attrs, scale: np.ndarray | None, bias: np.ndarray | None
) -> np.ndarray:
    with np.errstate(all="ignore"):
        count = max(1, np.prod([data.shape[axis] for axis in axes], dtype=np.int64))
        mean = data.sum(axis=tuple(axes), keepdims=True) / count
        variance = np.square(data - mean).sum(axis=tuple(axes), keepdims=True) / count
        return _normalize(data, mean, variance, a, scale, bias)
