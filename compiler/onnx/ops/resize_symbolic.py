"""Resize where sizes are only known at run time: coordinates are computed there, as :mod:`.resize_weights` does."""

from __future__ import annotations

from ..node import NodeContext
from ..tensor import Tensor
from .positions import counting, size_tensor
from .resize_targets import Target
from .resize_weights import Method

SYMBOLIC = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
)
"""Coordinates that this module computes."""


class _Axis:
    """The coordinates of an axis' results, float64[count]."""

    def __init__(self, n: NodeContext, t: Target, method: Method) -> None:
        self.n, self.method = n, method
        self.size = n.emit("cast", size_tensor(t.size), data_type="float64")
        self.count = n.emit("cast", size_tensor(t.count), data_type="float64")
        self.scale = self.op("div", self.count, self.size) if t.scale is None else n.constant(t.scale, "float64")
        self.last = self.op("sub", self.size, 1.0)
        place = n.emit("cast", counting(n, t.count), data_type="float64")
        self.coordinate = self._coordinate(place)

    def op(self, name: str, a: Tensor, b: Tensor | float) -> Tensor:
        return self.n.emit(name, a, b if isinstance(b, Tensor) else self.n.constant(b, "float64"))

    def _coordinate(self, place: Tensor) -> Tensor:
        n, mode, exact = self.n, self.method.coordinates, self.op("mul", self.scale, self.size)
        single = n.emit("equal", exact, n.constant(1.0, "float64"))
        if mode == "align_corners":
            spread = self.op("div", self.op("mul", place, self.last), self.op("sub", exact, 1.0))
            return n.emit("where", single, n.constant(0.0, "float64"), spread)
        if mode == "asymmetric":
            return self.op("div", place, self.scale)
        centre = self.op("div", self.op("add", place, 0.5), self.scale)
        if mode == "tf_half_pixel_for_nn":
            return centre
        coordinate = self.op("sub", centre, 0.5)
        if mode == "pytorch_half_pixel":
            return n.emit("where", single, n.constant(-0.5, "float64"), coordinate)
        if mode == "half_pixel_symmetric":
            rest = self.op("add", n.emit("neg", self.op("div", self.count, exact)), 1.0)
            return self.op("add", coordinate, self.op("mul", self.op("div", self.size, 2.0), rest))
        return coordinate

    def clamped(self, place: Tensor) -> Tensor:
        return self.op("min", self.op("max", place, 0.0), self.last)

    def index(self, place: Tensor) -> Tensor:
        return self.n.emit("cast", place, data_type="int64")

    def nearest(self) -> Tensor:
        """The elements nearest to the coordinates, int64[count]."""
        n, x, mode = self.n, self.coordinate, self.method.nearest
        if mode in ("floor", "ceil"):
            place = n.emit(mode, x)
        elif mode == "round_prefer_ceil":
            place = n.emit("floor", self.op("add", x, 0.5))
        else:
            place = n.emit("ceil", self.op("sub", x, 0.5))
        return self.index(self.clamped(place))


def nearest_along(n: NodeContext, x: Tensor, t: Target, method: Method) -> Tensor:
    """The nearest elements along an axis."""
    return n.emit("gather", x, _Axis(n, t, method).nearest(), axis=t.axis)


def linear_along(n: NodeContext, x: Tensor, t: Target, method: Method) -> Tensor:
    """A tensor of floats interpolated linearly along an axis, the edges repeated; narrow ones in float32."""
    axis = _Axis(n, t, method)
    held = "float64" if x.dtype == "float64" else "float32"
    place = axis.clamped(axis.coordinate)
    below = n.emit("floor", place)
    weight = n.reshape(axis.op("sub", place, below), (t.count, *[1] * (x.rank - t.axis - 1)))
    weight = weight if held == "float64" else n.emit("cast", weight, data_type=held)
    wide = x if x.dtype == held else n.emit("cast", x, data_type=held)
    low, high = (n.emit("gather", wide, axis.index(p), axis=t.axis) for p in (below, n.emit("ceil", place)))
    rest = n.emit("add", n.emit("neg", weight), n.scalar(1.0, weight))
    blend = n.emit("add", n.emit("mul", low, rest), n.emit("mul", high, weight))
    return blend if x.dtype == held else n.emit("cast", blend, data_type=x.dtype)
