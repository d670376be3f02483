"""What convolutions and pools share: layouts, windows, and the operands' strides in one order of dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..codegen.body import Body
from ..codegen.epilogue import Epilogue
from ..codegen.kernel import KernelBuilder
from ..ir import Value
from ..views import View


@dataclass(frozen=True)
class Window:
    """The sliding window along height (first) and width."""

    taps: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    begin: tuple[int, int]
    """Rows above and columns left of the input."""
    inputs: tuple[int, int]
    outputs: tuple[int, int]

    @staticmethod
    def of(
        attrs: Mapping[str, Any],
        taps: Sequence[int],
        inputs: Sequence[int],
        outputs: Sequence[int],
        transposed: bool = False,
    ) -> Window:
        """The window of an operator's options; strides and dilations that no position uses count as 1."""
        top, _, left, _ = attrs["padding"]
        strides = [1 if n == 1 and not transposed else s for s, n in zip(attrs["strides"], outputs)]
        dilations = [1 if n == 1 else d for d, n in zip(attrs["dilations"], taps)]
        pairs = [tuple(v) for v in (taps, strides, dilations, (top, left), inputs, outputs)]
        return Window(*pairs)

    @property
    def is_point(self) -> bool:
        """Whether each output position sees exactly the input position of its own number."""
        return self.taps == self.strides == (1, 1) and self.begin == (0, 0) and self.inputs == self.outputs


def arranged(view: View, layout: str, order: str) -> View:
    """A view laid out as ``layout``, with its dimensions in another order of letters."""
    return view.permuted([layout.index(letter) for letter in order])


def grouped(view: View, axis: int, groups: int) -> View:
    """A view with a dimension of channels split into (groups, channels a group)."""
    size, stride = view.shape[axis], view.strides[axis]
    each = size // groups
    return replace(
        view,
        shape=(*view.shape[:axis], groups, each, *view.shape[axis + 1 :]),
        strides=(*view.strides[:axis], each * stride, stride, *view.strides[axis + 1 :]),
    )


def arranged_array(array: np.ndarray, layout: str, order: str) -> np.ndarray:
    """:func:`arranged` for an array."""
    return array.transpose([layout.index(letter) for letter in order])


class Places:
    """The results, extra operands and bias of a convolution or pool over (n, c, h, w) in any order of loops."""

    def __init__(self, epilogue: Epilogue, layout: str, bias: View | None = None) -> None:
        self.epilogue = epilogue
        self.layout = layout
        self.bias = bias

    @property
    def channels_last(self) -> bool:
        """Whether the results' neighbouring elements are channels, not columns."""
        _, c, _, w = self.strides("nchw")[-1]
        shape = dict(zip(self.layout, self.epilogue.shape))
        return (abs(c) < abs(w) and shape["c"] > 1) or shape["w"] == 1

    def strides(self, order: str) -> list[tuple[int, ...]]:
        """The strides of each of the epilogue's views, those of dimensions of size 1 counting as 0."""
        return [tuple(0 if d == 1 else s for d, s in zip(v.shape, v.strides)) for v in self.views(order)]

    def views(self, order: str) -> list[View]:
        """The epilogue's views with their dimensions in some order of letters."""
        return [arranged(view, self.layout, order) for view in self.epilogue.views()]

    def declare(self, kernel: KernelBuilder, order: str) -> tuple[Body, Value | None]:
        """Declare everything over loops in some order, innermost last; the second result is the key of the bias."""
        body = self.epilogue.declare_over(kernel, self.strides(order))
        return body, None if self.bias is None else declare_bias(body, self.bias, self.bias_strides(order))

    def bias_strides(self, order: str) -> tuple[int, ...]:
        assert self.bias is not None
        step = 0 if self.bias.shape[0] == 1 else self.bias.strides[0]
        return tuple(step if letter == "c" else 0 for letter in order)


def declare_bias(body: Body, bias: View, strides: Sequence[int]) -> Value:
    """Declare an operand that is the root's own; returns the key under which the body knows it."""
    from basalt.ops import TensorType

    key = Value(TensorType(bias.dtype, bias.shape))
    body.declare_input(key, bias, strides)
    return key


def with_bias(
    kernel: KernelBuilder, body: Body, key: Value | None, total: str, known: dict[Value, str], at: str
) -> str:
    """Write the sum of ``total`` and the bias at the innermost loop's variable ``at``; returns its name."""
    from ..codegen.terms import register_suffix

    if key is None:
        return total
    access = body.inputs[key]
    if key not in known:
        known[key] = body.load(access, access.index(-1, at))
    return kernel.define(f"add_{register_suffix(access.dtype)}({total}, {known[key]})")
