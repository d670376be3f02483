"""GridSample for images of any rank, as core operators: all elements of all samples gathered, times their weights."""

from __future__ import annotations

from collections.abc import Sequence

from basalt.ops import Dim
from basalt.ops.dims import product

from ..node import NodeContext
from ..tensor import Tensor
from .positions import counting_along, size_tensor, size_vector

FAR = 2.0**30
"""Coordinates are moved into this distance of 0; NaN counts as far outside."""
_CUBIC = -0.75
"""The free parameter of cubic convolution (Keys, 1981)."""


def interpolate(n: NodeContext, x: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    """Samples of floats [n, c, ...sizes] at [n, ...places, rank]: as the core's ``grid_sample`` computes them."""
    batch, channels, *sizes = x.shape
    places: list[Dim] = list(grid.shape[1:-1])
    held = "float64" if "float64" in (x.dtype, grid.dtype) else "float32"
    rank, each = len(sizes), product(places)
    samples = batch * each
    start = n.emit("mul", counting_along(n, batch, 0, 2), size_tensor(product(sizes)))
    indices = n.reshape(n.expand(start, (batch, each)), (samples, 1))
    # A grid names the innermost axis first.
    place = n.emit("reverse", n.reshape(grid, (samples, rank)), axes=(1,))
    taps = _Axes(n, sizes, held, padding_mode, align_corners).taps(_cast(n, place, held), mode)
    weights: Tensor | None = None
    for i in range(rank):
        index, weight = (_joined(n, [n.slice(part, 1, i, 1) for part in parts]) for parts in zip(*taps))
        indices = _outer(n, "add", indices, n.emit("mul", index, size_tensor(product(sizes[i + 1 :]))))
        weights = weight if weights is None else _outer(n, "mul", weights, weight)
    assert weights is not None
    rows = n.reshape(n.transpose(x, (0, *range(2, x.rank), 1)), (batch * product(sizes), channels))
    found = _cast(n, n.emit("gather", rows, indices, axis=0), held)
    total = n.emit("matmul", n.reshape(weights, (samples, 1, weights.shape[1])), found)
    result = n.transpose(n.reshape(total, (batch, each, channels)), (0, 2, 1))
    return _cast(n, n.reshape(result, (batch, channels, *places)), x.dtype)


def _joined(n: NodeContext, parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else n.emit("concat", *parts, axis=1)


def _outer(n: NodeContext, op: str, a: Tensor, b: Tensor) -> Tensor:
    """Every pair of columns of two matrices, combined row by row."""
    samples, width = a.shape
    pairs = n.emit(op, n.reshape(a, (samples, width, 1)), n.reshape(b, (samples, 1, b.shape[1])))
    return n.reshape(pairs, (samples, width * b.shape[1]))


def _cast(n: NodeContext, x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype == dtype else n.emit("cast", x, data_type=dtype)


class _Axes:
    """What is sampled along all axes at once."""

    def __init__(self, n: NodeContext, sizes: Sequence[Dim], held: str, padding: str, align: bool) -> None:
        self.n, self.held, self.padding, self.align = n, held, padding, align
        self.sizes = size_vector(sizes)
        self.counts = _cast(n, self.sizes, held)

    def _op(self, op: str, x: Tensor, y: Tensor | float) -> Tensor:
        return self.n.emit(op, x, y if isinstance(y, Tensor) else self.n.scalar(y, self.held))

    def taps(self, place: Tensor, mode: str) -> list[tuple[Tensor, Tensor]]:
        """The elements that make each sample, [samples, axes]: int64 indices inside each axis, and their weights.

        Elements outside that count as 0 have the weight 0.
        """
        x = self._place(place, mode)
        first = x if mode == "nearest" else self.n.emit("floor", x)
        t = self._op("sub", x, first)
        rest = self._op("add", self.n.emit("neg", t), 1.0)
        index = self.n.emit("cast", first, data_type="int64")
        one = self.n.constant(1, "int64")
        after = self.n.emit("add", index, one)
        if mode == "nearest":
            return [self._resolved(index, rest)]
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

    def _near(self, u: Tensor) -> Tensor:
        """Keys' kernel at a distance up to 1."""
        inner = self._op("sub", self._op("mul", u, _CUBIC + 2), _CUBIC + 3)
        return self._op("add", self._op("mul", inner, self._op("mul", u, u)), 1.0)

    def _far(self, u: Tensor) -> Tensor:
        """Keys' kernel at a distance from 1 to 2."""
        inner = self._op("add", self._op("mul", self._op("sub", self._op("mul", u, _CUBIC), 5 * _CUBIC), u), 8 * _CUBIC)
        return self._op("sub", self._op("mul", inner, u), 4 * _CUBIC)

    def _place(self, place: Tensor, mode: str) -> Tensor:
        """The coordinate in elements, moved inside where the padding says so for whole places."""
        shifted = self._op("add", place, 1.0)
        if self.align:
            x = self._op("mul", self._op("div", shifted, 2.0), self._op("sub", self.counts, 1.0))
        else:
            x = self._op("div", self._op("sub", self._op("mul", shifted, self.counts), 1.0), 2.0)
        x = self.n.emit("where", self.n.emit("is_nan", x), self.n.scalar(-FAR, self.held), x)
        x = self.n.emit("clamp", x, min_value=-FAR, max_value=FAR)
        if mode == "nearest":
            x = self.n.emit("round_even", x)
        if self.padding == "reflection":
            return self._reflected(x)
        if self.padding == "border" and mode != "cubic":
            return self._op("min", self._op("max", x, 0.0), self._op("sub", self.counts, 1.0))
        return x

    def _reflected(self, x: Tensor) -> Tensor:
        """Coordinates reflected at both ends until they are inside."""
        n, low = self.n, 0.0 if self.align else -0.5
        span = self._op("sub", self.counts, 1.0) if self.align else self.counts
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
        n = self.n
        if self.padding == "reflection":
            return self._clamped(self._turned(index)), weight
        moved = self._clamped(index)
        if self.padding == "border":
            return moved, weight
        return moved, n.emit("where", n.emit("equal", moved, index), weight, n.scalar(0.0, self.held))

    def _clamped(self, index: Tensor) -> Tensor:
        last = self.n.emit("sub", self.sizes, self.n.constant(1, "int64"))
        return self.n.emit("max", self.n.emit("min", index, last), self.n.constant(0, "int64"))

    def _turned(self, index: Tensor) -> Tensor:
        """Indices reflected at the ends: 1 0 1 with ``align_corners``, else 0 0 1."""
        n, one = self.n, self.n.constant(1, "int64")
        double = n.emit("mul", self.sizes, n.constant(2, "int64"))
        period = n.emit("max", n.emit("sub", double, n.constant(2, "int64")), one) if self.align else double
        turned = n.emit("mod", index, period)
        back = n.emit("sub", period if self.align else n.emit("sub", period, one), turned)
        return n.emit("where", n.emit("lesser", turned, self.sizes), turned, back)
