"""GridSample for images of any rank, as core operators: one gather for each combination of elements along the axes."""

from __future__ import annotations

import itertools
from functools import reduce

from basalt.ops import Dim
from basalt.ops.dims import product

from ..node import NodeContext
from ..tensor import Tensor
from .positions import counting_along, inside, size_tensor

FAR = 2.0**30
_CUBIC = -0.75


def interpolate(n: NodeContext, x: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    """Samples of floats [n, c, ...sizes] at [n, ...places, rank]: as the core's ``grid_sample`` computes them."""
    batch, channels, *sizes = x.shape
    places: list[Dim] = list(grid.shape[1:-1])
    held = "float64" if "float64" in (x.dtype, grid.dtype) else "float32"
    rank = len(sizes)
    axes = []
    for i, size in enumerate(sizes):
        place = n.slice(grid, grid.rank - 1, rank - 1 - i, 1)
        place = _cast(n, n.reshape(place, (batch, product(places))), held)
        axes.append(_Axis(n, size, held, padding_mode, align_corners).taps(place, mode))
    strides = [product(sizes[i + 1 :]) for i in range(rank)]
    rows = n.reshape(n.transpose(x, (0, *range(2, x.rank), 1)), (batch * product(sizes), channels))
    first = n.emit("mul", counting_along(n, batch, 0, 2), size_tensor(product(sizes)))
    total: Tensor | None = None
    for taps in itertools.product(*axes):
        at = reduce(
            lambda a, b: n.emit("add", a, b),
            [first, *(n.emit("mul", index, size_tensor(s)) for (index, _), s in zip(taps, strides))],
        )
        weight = reduce(lambda a, b: n.emit("mul", a, b), [w for _, w in taps])
        found = _cast(n, n.emit("gather", rows, at, axis=0), held)
        part = n.emit("mul", found, n.reshape(weight, (*weight.shape, 1)))
        total = part if total is None else n.emit("add", total, part)
    assert total is not None
    result = n.reshape(n.transpose(total, (0, 2, 1)), (batch, channels, *places))
    return _cast(n, result, x.dtype)


def _cast(n: NodeContext, x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype == dtype else n.emit("cast", x, data_type=dtype)


class _Axis:
    """What is sampled along one axis."""

    def __init__(self, n: NodeContext, size: Dim, held: str, padding: str, align: bool) -> None:
        self.n, self.held, self.padding, self.align, self.size = n, held, padding, align, size
        self.count = _cast(n, size_tensor(size), held)

    def _op(self, op: str, x: Tensor, y: Tensor | float) -> Tensor:
        return self.n.emit(op, x, y if isinstance(y, Tensor) else self.n.scalar(y, self.held))

    def taps(self, place: Tensor, mode: str) -> list[tuple[Tensor, Tensor]]:
        """The elements that make a sample, as int64 indices inside the axis, and their weights, 0 for those outside."""
        x = self._place(place, mode)
        first = x if mode == "nearest" else self.n.emit("floor", x)
        t = self._op("sub", x, first)
        rest = self._op("add", self.n.emit("neg", t), 1.0)
        index = self.n.emit("cast", first, data_type="int64")
        one = self.n.constant(1, "int64")
        after = self.n.emit("add", index, one)
        if mode == "nearest":
            return [self._resolved(index, self._op("add", t, 1.0))]
        if mode == "linear":
            return [self._resolved(index, rest), self._resolved(after, t)]
        weights = [
            self._far(self._op("add", t, 1.0)),
            self._near(t),
            self._near(rest),
            self._far(self._op("add", rest, 1.0)),
        ]
        indices = [self.n.emit("sub", index, one), index, after, self.n.emit("add", after, one)]
        return [self._resolved(i, w) for i, w in zip(indices, weights)]

    def _place(self, place: Tensor, mode: str) -> Tensor:
        """The coordinate in elements, moved inside where the padding says so for whole places."""
        shifted = self._op("add", place, 1.0)
        if self.align:
            x = self._op("mul", self._op("div", shifted, 2.0), self._op("sub", self.count, 1.0))
        else:
            x = self._op("div", self._op("sub", self._op("mul", shifted, self.count), 1.0), 2.0)
        x = self.n.emit("where", self.n.emit("is_nan", x), self.n.scalar(-FAR, self.held), x)
        x = self.n.emit("clamp", x, min_value=-FAR, max_value=FAR)
        if mode == "nearest":
            x = self.n.emit("round_even", x)
        if self.padding == "reflection":
            return self._reflected(x)
        if self.padding == "border" and mode != "cubic":
            return self._op("min", self._op("max", x, 0.0), self._op("sub", self.count, 1.0))
        return x

    def _reflected(self, x: Tensor) -> Tensor:
        """Coordinates reflected at both ends until they are inside."""
        n, low = self.n, 0.0 if self.align else -0.5
        span = self._op("sub", self.count, 1.0) if self.align else self.count
        # An axis of one element has all places at its centre.
        span = self._op("max", span, 2.0**-20)
        period = self._op("mul", span, 2.0)
        away = self._op("sub", x, low)
        turned = self._op("sub", away, self._op("mul", n.emit("floor", self._op("div", away, period)), period))
        folded = self._op("min", turned, self._op("sub", period, turned))
        outside = n.emit(
            "logical_or",
            n.emit("lesser", away, n.scalar(0.0, self.held)),
            n.emit("greater", away, span),
        )
        return n.emit("where", outside, self._op("add", folded, low), x)

    def _resolved(self, index: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        n, total = self.n, size_tensor(self.size)
        if self.padding == "reflection":
            return self._turned(index, total), weight
        last = n.emit("sub", total, n.scalar(1, total))
        zero = n.scalar(0, total)
        moved = n.emit("max", n.emit("min", index, last), zero)
        if self.padding == "border":
            return moved, weight
        return moved, n.emit("where", n.emit("equal", moved, index), weight, n.scalar(0.0, self.held))

    def _turned(self, index: Tensor, total: Tensor) -> Tensor:
        """Indices reflected at the ends: 1 0 1 with ``align_corners``, else 0 0 1."""
        n, one = self.n, self.n.constant(1, "int64")
        double = n.emit("mul", total, n.constant(2, "int64"))
        period = n.emit("max", n.emit("sub", double, n.constant(2, "int64")), one) if self.align else double
        turned = n.emit("mod", index, period)
        back = n.emit("sub", period if self.align else n.emit("sub", period, one), turned)
        found = n.emit("where", n.emit("lesser", turned, total), turned, back)
        return inside(n, found, self.size)
