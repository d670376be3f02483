"""What convolutions and pooling share: layouts, the arithmetic of sliding windows, and the taps of a window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .convert import UINT_MAX, enum, integer, sequence, uint
from .dims import Shape, ceil_div
from .schema import Option, fail

_T = TypeVar("_T")

INPUT_LAYOUTS = ("nchw", "nhwc")
_positive = integer(1, UINT_MAX)

PADDING = Option(
    "padding",
    sequence(uint, 4),
    (0, 0, 0, 0),
    "rows and columns added around the input: (beginning height, ending height, beginning width, ending width)",
)
STRIDES = Option("strides", sequence(_positive, 2), (1, 1), "steps of the window: (height, width)")
DILATIONS = Option("dilations", sequence(_positive, 2), (1, 1), "distances of the window's elements: (height, width)")
GROUPS = Option("groups", _positive, 1, "number of groups that input and output channels are divided into")
BIAS_DOC = "values added to each output channel, of shape [output channels]"


def layout_option(name: str, *layouts: str) -> Option:
    """An option that names a layout; the first one is the default."""
    return Option(name, enum(*layouts), layouts[0], f"order of the dimensions: {', '.join(layouts)}")


def pick(shape: Sequence[_T], layout: str, order: str) -> tuple[_T, ...]:
    """The entries of a shape laid out as ``layout``, in the given order of letters."""
    return tuple(shape[layout.index(letter)] for letter in order)


def arrange(array: np.ndarray, layout: str, order: str) -> np.ndarray:
    """An array laid out as ``layout``, transposed to the given order of letters."""
    return array.transpose([layout.index(letter) for letter in order])


def window_counts(sizes: Shape, window: Shape, a: Mapping[str, Any], ceil: bool = False) -> Shape:
    """How many windows lie along height and width: the standard's "calculate conv2d output sizes", rounded."""
    counts = []
    for i, (size, length) in enumerate(zip(sizes, window)):
        extent = (length - 1) * a["dilations"][i] + 1
        room = size - extent + a["padding"][2 * i] + a["padding"][2 * i + 1]
        counts.append((ceil_div(room, a["strides"][i]) if ceil else room // a["strides"][i]) + 1)
    return tuple(counts)


def window_outputs(sizes: Shape, window: Shape, a: Mapping[str, Any], ceil: bool = False) -> Shape:
    """:func:`window_counts`, checked.

    Raises:
        RuleError: for a window that does not fit into the padded input.
    """
    counts = window_counts(sizes, window, a, ceil)
    for i, (axis, count) in enumerate(zip(("height", "width"), counts)):
        if window[i] == 0:
            fail(f"the window's {axis} is 0")
        if isinstance(count, int) and count < 1:
            begin, end = a["padding"][2 * i : 2 * i + 2]
            fail(
                f"the window of {axis} {window[i]} and dilation {a['dilations'][i]} exceeds the input's {axis}, "
                f"{sizes[i]} with padding {begin} + {end}"
            )
    return counts


Range = tuple[slice, slice]
"""Positions along an axis where a tap applies, and the elements it meets there."""


def tap_ranges(
    count: int, size: int, window: int, stride: int, dilation: int, begin: int
) -> Iterator[tuple[int, Range]]:
    """The taps of a window along one axis that meet elements, and where.

    Of ``count`` positions, position p meets with its tap t element ``p * stride + t * dilation - begin`` of ``size``.
    Neither padding nor the window's holes are ever materialised, so that their sizes cost nothing.
    """
    if not count or not size:
        return
    for tap in _meeting_taps(count, size, window, stride, dilation, begin):
        offset = tap * dilation - begin
        low = max(0, -(offset // stride))
        high = min(count, (size - 1 - offset) // stride + 1)
        if low < high:
            first = low * stride + offset
            last = (high - 1) * stride + offset
            yield tap, (slice(low, high), slice(first, last + 1, stride))


def _meeting_taps(count: int, size: int, window: int, stride: int, dilation: int, begin: int) -> Iterable[int]:
    """The taps that may meet an element: at most those of each position, whatever the window's and padding's sizes."""
    earliest = max(0, -(((count - 1) * stride - begin) // dilation))
    latest = min(window - 1, (size - 1 + begin) // dilation)
    if latest - earliest < count * size:
        return range(earliest, latest + 1)
    found: set[int] = set()
    for position in range(count):
        offset = begin - position * stride
        found.update(range(max(0, -(-offset // dilation)), min(window - 1, (size - 1 + offset) // dilation) + 1))
    return sorted(found)
