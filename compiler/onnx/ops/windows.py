"""Windows that slide along spatial axes: what attributes of convolutions and pooling say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from basalt.ops import Dim, Shape, SymDim
from basalt.ops.dims import MAX_DIMENSION, ceil_div, dim_max

from ..node import NodeContext

__all__ = [
    "POINT",
    "Window",
    "attribute_per_axis",
    "groups_of",
    "kernel_of",
    "moving_axes",
    "pad_pairs",
    "rounded_up",
    "same_padding",
    "windows_of",
]


@dataclass(frozen=True, slots=True)
class Window:
    """A window along one axis: ``length`` elements, ``dilation`` apart, moved by ``stride``, over a padded input."""

    length: int
    stride: int = 1
    dilation: int = 1
    begin: int = 0
    end: int = 0

    @property
    def extent(self) -> int:
        """How many places it spans."""
        return (self.length - 1) * self.dilation + 1

    def count(self, size: Dim) -> Dim:
        """How many of them lie in the padded input."""
        return (size + self.begin + self.end - self.extent) // self.stride + 1


POINT = Window(1)
"""The window along an axis that is not there."""


def moving_axes(sizes: Shape, windows: Sequence[Window]) -> list[int]:
    """The axes along which there is more than one element or place, the last one if there is none.

    Along the others nothing happens. Leaving them out keeps rows of elements together: an image of one column is a row.
    """
    still = [w.length == 1 and size == 1 and not w.begin and not w.end for size, w in zip(sizes, windows)]
    return [i for i, s in enumerate(still) if not s] or [len(windows) - 1]


def attribute_per_axis(n: NodeContext, name: str, count: int, least: int, default: int) -> tuple[int, ...]:
    """An attribute with one number for each of ``count`` axes (or two), checked; the default for an empty one."""
    values = n.attr(name, None)
    if not values:
        return (default,) * count
    if len(values) != count:
        raise n.error(f"attribute {name} has {len(values)} values, expected {count}")
    if any(not least <= v <= MAX_DIMENSION for v in values):
        raise n.error(f"attribute {name} is {list(values)}, expected numbers of {least} to {MAX_DIMENSION}")
    return tuple(values)


def groups_of(n: NodeContext, name: str = "group") -> int:
    """An attribute that says into how many groups channels are divided."""
    groups = n.attr(name)
    if not 1 <= groups <= MAX_DIMENSION:
        raise n.error(f"attribute {name} is {groups}, expected 1 to {MAX_DIMENSION}")
    return int(groups)


def kernel_of(n: NodeContext, kernel: Shape) -> tuple[int, ...]:
    """The window's sizes as a weight has them; refused where the attribute ``kernel_shape`` says otherwise."""
    sizes = n.static(*kernel)
    stated = attribute_per_axis(n, "kernel_shape", len(sizes), 0, 0) if n.has("kernel_shape") else sizes
    if stated != sizes:
        raise n.error(f"attribute kernel_shape is {list(stated)}, but the weight's is {list(sizes)}")
    return sizes


def windows_of(n: NodeContext, sizes: Shape, kernel: Sequence[int]) -> list[Window]:
    """The window along each axis, from the attributes strides, dilations, pads and auto_pad.

    With ``auto_pad`` SAME_UPPER or SAME_LOWER there are ``ceil(size / stride)`` windows.
    """
    rank = len(kernel)
    if len(sizes) != rank:
        raise n.error(f"the window has {rank} dimensions, expected {len(sizes)}")
    if any(k < 1 for k in kernel):
        raise n.error(f"the window's sizes are {list(kernel)}, expected at least 1")
    strides = attribute_per_axis(n, "strides", rank, 1, 1)
    dilations = attribute_per_axis(n, "dilations", rank, 1, 1)
    windows = [Window(k, s, d) for k, s, d in zip(kernel, strides, dilations)]
    mode = auto_pad(n)
    if mode == "NOTSET":
        pads = pad_pairs(n, rank)
        return [replace(w, begin=b, end=e) for w, (b, e) in zip(windows, pads)]
    if mode == "VALID":
        return windows
    return [_same(n, w, size, mode) for w, size in zip(windows, sizes)]


def auto_pad(n: NodeContext) -> str:
    """The attribute ``auto_pad``: NOTSET, VALID, SAME_UPPER or SAME_LOWER."""
    mode = n.attr("auto_pad", None) or "NOTSET"
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise n.error(f"attribute auto_pad is {mode!r}, expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    return str(mode)


def pad_pairs(n: NodeContext, rank: int) -> list[tuple[int, int]]:
    """The attribute ``pads`` by axis."""
    pads = attribute_per_axis(n, "pads", 2 * rank, 0, 0)
    return list(zip(pads[:rank], pads[rank:]))


def same_padding(total: int, lower: bool) -> tuple[int, int]:
    """A number of places divided between beginning and end; an odd one goes to the beginning if ``lower``."""
    half = total // 2
    return (total - half, half) if lower else (half, total - half)


def _same(n: NodeContext, window: Window, size: Dim, mode: str) -> Window:
    count = ceil_div(size, window.stride)
    total = dim_max((count - 1) * window.stride + window.extent - size, 0)
    (number,) = n.static(total)
    if number > MAX_DIMENSION:
        raise n.error(f"a window that spans {window.extent} places would need {number} places of padding")
    begin, end = same_padding(number, lower=mode == "SAME_LOWER")
    return replace(window, begin=begin, end=end)


def rounded_up(n: NodeContext, window: Window, size: Dim) -> tuple[Window, bool]:
    """The window with ``ceil_mode``: partial ones count, but not those that begin in the padding at the end.

    Returns:
        The window, its padding at the end adjusted, and whether its count must still be rounded up.
    """
    room = size + window.begin + window.end - window.extent
    if isinstance(room, SymDim):
        # The last window begins before the padding: size + begin > (ceil(room / stride)) * stride.
        if window.end + window.stride <= window.extent:
            return window, True
        (room,) = n.static(room)
    places = room + window.extent - window.end
    count = -(-room // window.stride) + 1
    if (count - 1) * window.stride >= places:
        count -= 1
    return replace(window, end=max(window.end, (count - 1) * window.stride + window.extent - places)), False
