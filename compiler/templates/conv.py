"""Convolutions: which kernel computes one, by its layouts, window and groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from ..codegen.epilogue import Epilogue
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.tiling import TileShape, lanes_of, pack_panels, register_type
from ..ir import Node, Value
from ..views import View
from .geometry import Places, Window, arranged, arranged_array, grouped
from .packing import packed_copy

WORTH_A_COPY = 4
"""Products of an element of the image from which on it is worth copies that make vectors of channels."""


@dataclass(frozen=True)
class Convolution:
    """A convolution with its operands in one order of dimensions, whatever their layouts."""

    image: View
    """[n, groups, channels, height, width]"""
    filter: Value
    layout: str
    """The filter's layout."""
    order: str
    """``oihw``, or ``iohw`` if the groups split the filter's input channels (transposed convolution)."""
    groups: int
    outputs: int
    """Output channels a group."""
    window: Window
    places: Places

    @property
    def image_of_groups(self) -> View:
        """The image as [n, groups, height, width], if a group has one channel."""
        n, g, _, h, w = range(5)
        shape, strides = self.image.shape, self.image.strides
        axes = (n, g, h, w)
        return replace(self.image, shape=tuple(shape[a] for a in axes), strides=tuple(strides[a] for a in axes))

    @property
    def dtype(self) -> str:
        return self.image.dtype

    @property
    def batch(self) -> int:
        return self.image.shape[0]

    @property
    def channels(self) -> int:
        """Input channels a group."""
        return self.image.shape[2]

    def weights_view(self, lowering: Lowering) -> View:
        """[groups, outputs, channels, height, width]"""
        view = grouped(arranged(lowering.read(self.filter), self.layout, self.order), 0, self.groups)
        return view.permuted(self._outputs_first)

    def weights_array(self, array: np.ndarray) -> np.ndarray:
        """:meth:`weights_view` for an array."""
        given = arranged_array(array, self.layout, self.order)
        split = given.reshape(self.groups, given.shape[0] // self.groups, *given.shape[1:])
        return split.transpose(self._outputs_first)

    @property
    def _outputs_first(self) -> tuple[int, ...]:
        return (0, 1, 2, 3, 4) if self.order[0] == "o" else (0, 2, 1, 3, 4)

    def weights_key(self) -> tuple[object, ...]:
        """What :meth:`weights_array` makes of the filter."""
        return self.layout, self.order, self.groups

    def rows(self, lowering: Lowering) -> View | None:
        """The filter as [groups, outputs, channels * height * width], the last of which are neighbours.

        None where that would take a copy in each run.
        """
        view = self.weights_view(lowering)
        groups, outputs, *depth = view.shape
        flat = view.reshaped((groups, outputs, math.prod(depth)))
        if flat is not None and (flat.strides[2] == 1 or flat.shape[2] == 1):
            return flat
        if not self.filter.is_constant:
            return None

        def pack(array: np.ndarray) -> np.ndarray:
            return np.ascontiguousarray(self.weights_array(array)).reshape(groups, outputs, -1)

        return lowering.packed(self.filter, ("columns", *self.weights_key()), pack)

    def panels(self, lowering: Lowering, tile: TileShape) -> View:
        """The filter as [groups, panels, height, width, channels, columns] of a tile over output channels.

        A constant one may be of a narrower data type that holds the same numbers.
        """
        if self.filter.is_constant:
            layout = ("filter", *self.weights_key(), tile.columns)
            return lowering.packed(self.filter, layout, self._pack(tile), narrow=True)
        view = self.weights_view(lowering).permuted((0, 3, 4, 2, 1))
        return packed_copy(lowering, view, tile, depths=3)

    def _pack(self, tile: TileShape) -> Callable[[np.ndarray], np.ndarray]:
        def pack(array: np.ndarray) -> np.ndarray:
            weights = self.weights_array(array).transpose(0, 3, 4, 2, 1)
            groups, *taps, channels, outputs = weights.shape
            panels = pack_panels(weights.reshape(groups, -1, outputs), tile.columns)
            return panels.reshape(groups, -1, *taps, channels, tile.columns)

        return pack


@template("conv2d", epilogue=True)
def conv2d(node: Node, lowering: Lowering) -> None:
    """A convolution, by the kernel that suits its layout, window and groups."""
    from .conv_channels import channels_call
    from .conv_columns import columns_call, unfolded_call
    from .conv_depthwise import depthwise_call, is_depthwise
    from .conv_grouped import grouped_call
    from .conv_lanes import lanes_call
    from .conv_lines import lines_call
    from .conv_pixels import pixels_call
    from .conv_planes import is_filter_of_lines, planes_call
    from .conv_point import point_call
    from .conv_windows import windows_call
    from .conv_winograd import winograd_call
    from .split_conv import split_conv_call

    c = _convolution(lowering.epilogue(node), "oihw")
    if (call := lines_call(c, lowering)) is not None:
        lowering.add(call)
        return
    c = _with_neighbours(c, lowering)
    call = split_conv_call(c, lowering) or winograd_call(c, lowering) or lanes_call(c, lowering)
    call = call or grouped_call(c, lowering)
    if call is None and is_filter_of_lines(c):
        call = planes_call(c, lowering)
    if call is None and not is_depthwise(c):
        call = unfolded_call(c, lowering) or windows_call(c, lowering)
        call = call or pixels_call(c, lowering) or planes_call(c, lowering)
    if call is not None:
        lowering.add(call)
    elif is_depthwise(c):
        lowering.add(depthwise_call(c, lowering))
    elif c.window.is_point:
        lowering.add(columns_call(c, lowering) or point_call(c, lowering))
    else:
        lowering.add(channels_call(c, lowering))


def _with_neighbours(c: Convolution, lowering: Lowering) -> Convolution:
    """A depthwise convolution with its image, and results if that is worth it, stored with their channels last.

    There would be no vectors to load else, or such that hang over the edges of rows.
    """
    if (c.channels, c.outputs) != (1, 1) or c.groups < lanes_of(c.dtype) or register_type(c.dtype) != c.dtype:
        return c
    n, g, i, h, w = range(5)
    in_order = c.image.strides[g] == 1
    if not c.places.channels_last:
        if c.window.outputs[1] == 1 or math.prod(c.window.taps) < WORTH_A_COPY or c.window.strides[1] > 2:
            return c
        places, copies = channels_last(c.places, lowering)
        c = replace(c, places=places)
        for own, view in copies:
            lowering.copy_later(own, view)
    if in_order:
        return c
    order = (n, h, w, g, i)
    image = lowering.scratch(c.dtype, tuple(c.image.shape[axis] for axis in order)).permuted((0, 3, 4, 1, 2))
    lowering.copy(c.image, image)
    return replace(c, image=image)


def channels_last(places: Places, lowering: Lowering) -> tuple[Places, list[tuple[View, View]]]:
    """The same with results in places of their own, and from which to which they are to be copied."""
    epilogue = copy(places.epilogue)
    order = [places.layout.index(letter) for letter in "nhwc"]
    inverse = [order.index(axis) for axis in range(4)]
    epilogue.results, copies = [], []
    for value, view in places.epilogue.results:
        own = lowering.scratch(view.dtype, tuple(view.shape[axis] for axis in order)).permuted(inverse)
        copies.append((own, view))
        epilogue.results.append((value, own))
    return Places(epilogue, places.layout, places.bias), copies


@template("conv_transpose2d", epilogue=True)
def conv_transpose2d(node: Node, lowering: Lowering) -> None:
    """A transposed convolution."""
    from .conv_phases import phase_calls
    from .conv_transpose import transposed_call

    c = _convolution(lowering.epilogue(node), "iohw")
    for call in phase_calls(c, lowering) or [transposed_call(c, lowering)]:
        lowering.add(call)


def _convolution(epilogue: Epilogue, filter_order: str) -> Convolution:
    """The operands in one order of dimensions; the filter's first letter is the channel that groups split."""
    attrs = epilogue.root.attrs
    layout, groups = attrs["input_layout"], attrs["groups"]
    given = epilogue.operand_values[1]
    assert given is not None
    sizes = {letter: given.shape[attrs["filter_layout"].index(letter)] for letter in "oihw"}
    image = grouped(arranged(epilogue.operand(0), layout, "nchw"), 1, groups)
    outputs = [epilogue.shape[layout.index(letter)] for letter in "hw"]
    bias = epilogue.operand(2) if len(epilogue.operand_values) > 2 and epilogue.operand_values[2] else None
    return Convolution(
        image,
        given,
        attrs["filter_layout"],
        filter_order,
        groups,
        sizes["o"] // groups if filter_order[0] == "o" else sizes["o"],
        Window.of(attrs, (sizes["h"], sizes["w"]), image.shape[3:], outputs, transposed=filter_order[0] == "i"),
        Places(epilogue, layout, bias),
    )
