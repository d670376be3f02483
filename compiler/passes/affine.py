"""Convolutions and matrix products as linear functions of a channel, whose factor and addend can be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from basalt.ops import numpy_dtype

from ..ir import Constants, Node, Value
from ..narrow import narrow_type
from .emitter import Emitter
from .patterns import Match


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """A function ``x * factor + addend`` for each channel, in float64."""

    factor: np.ndarray
    addend: np.ndarray


def linear(m: Match) -> Linear:
    """The convolution or matrix product that a match bound to ``linear``."""
    return Linear(m.node("linear"))


@dataclass(frozen=True, slots=True)
class Weighted:
    """A node that multiplies its input by weights and may add a bias."""

    node: Node

    @property
    def weights(self) -> Value:
        return self.node.present[1]

    @property
    def bias(self) -> Value | None:
        return self.node.inputs[2] if len(self.node.inputs) > 2 else None

    def would_grow(self, affine: Affine, constants: Constants) -> bool:
        """Whether weights that are kept in half their bytes (:mod:`..narrow`) would not be with a factor in them."""
        if not self.weights.is_constant or (affine.factor == 1).all():
            return False
        layout = str(self.node.attrs.get("filter_layout", ""))
        if layout and self.weights.shape[layout.index("i")] == 1:
            # Those of depthwise convolutions are few, and kept as they are.
            return False
        return narrow_type(constants.array(self.weights)) is not None


@dataclass(frozen=True, slots=True)
class Linear(Weighted):
    """A conv2d, conv_transpose2d or gemm node."""

    @property
    def beta(self) -> float:
        """The factor of the bias."""
        return float(self.node.attrs.get("beta", 1.0))

    @property
    def channel_axis(self) -> int:
        """The axis of the output along which each index has weights of its own."""
        return 1 if self.node.op == "gemm" else str(self.node.attrs["input_layout"]).index("c")

    @property
    def channels(self) -> int:
        return int(self.node.output.shape[self.channel_axis])

    @property
    def is_constant(self) -> bool:
        return self.weights.is_constant and (self.bias is None or self.bias.is_constant)

    @property
    def has_channel_bias(self) -> bool:
        """Whether the addend is one number for each channel, as it always is in convolutions."""
        return self.bias is None or self.bias.shape[:-1] in ((), (1,))

    def stays_finite(self, affine: Affine, constants: Constants) -> bool:
        """Whether weights and bias are finite after folding: an overflow would be no rounding."""
        limit = float(np.finfo(numpy_dtype(self.weights.dtype)).max)
        with np.errstate(all="ignore"):
            factor, addend = np.abs(affine.factor).max(initial=0), np.abs(affine.addend).max(initial=0)
            largest = np.abs(constants.array(self.weights)).max(initial=0) * factor
            if self.bias is not None:
                addend = addend + np.abs(constants.array(self.bias)).max(initial=0) * factor * abs(self.beta)
        return bool(factor <= limit and largest <= limit and addend <= limit)

    def folded(self, affine: Affine, e: Emitter) -> Value:
        """The output of a new node that computes the affine function of this one's."""
        constants = e.context.constants
        dtype = numpy_dtype(self.weights.dtype)
        weights = self.weights
        if not (affine.factor == 1).all():
            scaled = constants.array(weights) * self._along_weights(affine.factor)
            weights = e.constant(scaled.astype(dtype), weights.name)
        bias = affine.addend
        if self.bias is not None:
            bias = bias + constants.array(self.bias).astype(np.float64).reshape(-1) * (affine.factor * self.beta)
        attrs: dict[str, Any] = dict(self.node.attrs)
        if self.node.op == "gemm":
            attrs["beta"] = 1.0
        name = "" if self.bias is None else self.bias.name
        return e.emit(self.node.op, self.node.inputs[0], weights, e.constant(bias.astype(dtype), name), **attrs)

    def _along_weights(self, factor: np.ndarray) -> np.ndarray:
        """The channels' factors, shaped to multiply the weights."""
        attrs = self.node.attrs
        if self.node.op == "gemm":
            return factor[:, None] if attrs["b_transpose"] else factor
        layout = str(attrs["filter_layout"])
        if self.node.op == "conv2d":
            return factor.reshape([-1 if letter == "o" else 1 for letter in layout])
        # A group's output channels meet its own input channels only: factors by (input channel, channel in the group).
        inputs = int(self.weights.shape[layout.index("i")])
        table = np.repeat(factor.reshape(attrs["groups"], -1), inputs // attrs["groups"], axis=0)
        ordered = table if layout.index("i") < layout.index("o") else table.T
        shape = [self.weights.shape[k] if letter in "io" else 1 for k, letter in enumerate(layout)]
        return ordered.reshape(shape)
