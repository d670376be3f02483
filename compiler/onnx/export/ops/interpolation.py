"""Linear interpolation at evenly spaced coordinates: Resize where it has such, else two elements blended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops import Dim
from basalt.ops.extension.interpolate import blended
from basalt.ops.types import is_float

from ..node import HALVES, NodeWriter
from ..registry import exports
from ..tensor import Tensor

_MODES = ("half_pixel", "align_corners", "asymmetric")


@exports("interpolate2d")
def interpolate2d(n: NodeWriter) -> Tensor:
    x = n["input"]
    axes = n.attrs["axes"]
    mode = _mode(n)
    if mode is not None and sorted(axes) == [2, 3] and (x.dtype == "float32" or x.dtype in HALVES):
        sizes = n.sizes(n.out[0].shape)
        return n.call("Resize", x, None, None, sizes, mode="linear", coordinate_transformation_mode=mode)
    # Where rounding would show in integers, it must be the core's, which computes in float64.
    image = n.widened(x) if is_float(x.dtype) else n.cast(x, "float64")
    for i, axis in enumerate(axes):
        image = blend(n, image, axis, *_neighbours(n, i, axis, image.dtype))
    return image if is_float(x.dtype) else n.cast(n.call("Round", image), x.dtype)


def blend(n: NodeWriter, image: Tensor, axis: int, low: Tensor, high: Tensor, weight: Tensor) -> Tensor:
    """The elements ``low`` and ``high`` along an axis, of which ``weight`` is the share of the latter."""
    below, above = (n.call("Gather", image, places, axis=axis) for places in (low, high))
    spread = n.along(weight, axis, 4)
    rest = n.call("Sub", n.scalar(1.0, weight.dtype), spread)
    return n.call("Add", n.call("Mul", below, rest), n.call("Mul", above, spread))


def _neighbours(n: NodeWriter, i: int, axis: int, dtype: str) -> tuple[Tensor, Tensor, Tensor]:
    """The elements beside each coordinate of one axis, and the second one's weight."""
    size, count = n.type("input").shape[axis], n.out[0].shape[axis]
    offset, step = n.attrs["offsets"][i], n.attrs["steps"][i]
    if isinstance(size, int) and isinstance(count, int):
        low, high, share = blended(size, count, offset, step)
        return n.ints(low.tolist()), n.ints(high.tolist()), n.constant(share.astype(dtype))
    places = n.call("Range", n.scalar(0, "int64"), n.reshape(n.sizes((count,)), ()), n.scalar(1, "int64"))
    steps = n.call("Mul", n.cast(places, "float64"), n.scalar(step, "float64"))
    last = n.cast(n.call("Sub", n.reshape(n.sizes((size,)), ()), n.scalar(1, "int64")), "float64")
    inside = n.call("Max", n.call("Add", steps, n.scalar(offset, "float64")), n.scalar(0.0, "float64"))
    coordinate = n.call("Min", inside, last)
    floor = n.call("Floor", coordinate)
    weight = n.cast(n.call("Sub", coordinate, floor), dtype)
    return n.cast(floor, "int64"), n.cast(n.call("Ceil", coordinate), "int64"), weight


def _mode(n: NodeWriter) -> str | None:
    """The mode of Resize whose coordinates, from known sizes, are these."""
    sizes = [(n.type("input").shape[axis], n.out[0].shape[axis]) for axis in n.attrs["axes"]]
    given = list(zip(n.attrs["offsets"], n.attrs["steps"]))
    if not all(isinstance(d, int) for pair in sizes for d in pair):
        return None
    for mode in _MODES:
        if all(_alike(wanted, _line(mode, *pair)) for wanted, pair in zip(given, sizes)):
            return mode
    return None


def _line(mode: str, size: Dim, count: Dim) -> tuple[float, float]:
    """Offset and step of a mode's coordinates."""
    assert isinstance(size, int) and isinstance(count, int)
    if mode == "align_corners":
        return 0.0, (size - 1) / (count - 1) if count > 1 else 0.0
    step = size / count
    return (step / 2 - 0.5 if mode == "half_pixel" else 0.0), step


def _alike(a: Sequence[float], b: Sequence[float]) -> bool:
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))
