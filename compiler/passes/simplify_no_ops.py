"""Rewrites of operators that change nothing."""

from __future__ import annotations

from ..ir import Value
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import only_if, rewrite


def _keeps_type(m: Match) -> bool:
    return m["x"].type == m.output.type


@rewrite(op("identity", "x"))
def identity(m: Match, e: Emitter) -> Value:
    """A copy; where an output needs one, the pass separate_outputs puts it back."""
    return m["x"]


@rewrite(op(("cast", "reshape", "expand", "tile", "slice", "pad"), "x"), only_if(_keeps_type))
def movement_to_same_type(m: Match, e: Emitter) -> Value:
    """Each of these operators is a copy if its result has the input's data type and shape."""
    return m["x"]


@rewrite(
    op("resample2d", "x", name="resample"),
    only_if(_keeps_type),
    (
        "linear interpolation of an infinity with itself is NaN",
        lambda m: m.node("resample").attrs["mode"] == "nearest-neighbor",
    ),
)
def resample_to_same_size(m: Match, e: Emitter) -> Value:
    """The nearest element to each coordinate is the element itself."""
    return m["x"]


def _moves_nothing(m: Match) -> bool:
    order = [i for i in m.node("transpose").attrs["permutation"] if m["x"].shape[i] != 1]
    return order == sorted(order)


@rewrite(op("transpose", "x", name="transpose"), only_if(_moves_nothing))
def transpose_of_unit_axes(m: Match, e: Emitter) -> Value:
    """A transposition that only moves dimensions of size 1 is a reshape, or nothing."""
    return e.reshape(m["x"], m.output.shape)


@rewrite(
    op("reverse", "x", name="reverse"),
    only_if(lambda m: all(m["x"].shape[a] in (0, 1) for a in m.node("reverse").attrs["axes"])),
)
def reverse_of_unit_axes(m: Match, e: Emitter) -> Value:
    """One element is its own reverse."""
    return m["x"]


@rewrite(op("concat", "x", name="concat"), only_if(lambda m: len(m.root.inputs) == 1))
def concat_of_one(m: Match, e: Emitter) -> Value:
    """One tensor joined with none."""
    return m["x"]


@rewrite(op("split", "x"), only_if(lambda m: len(m.root.outputs) == 1))
def split_into_one(m: Match, e: Emitter) -> Value:
    """One part is the whole."""
    return m["x"]


def _sums_one(m: Match) -> bool:
    attrs = m.node("sum").attrs
    return m["x"].shape[attrs["axis"]] == 1 and not attrs["exclusive"]


@rewrite(op("cumulative_sum", "x", name="sum"), only_if(_sums_one), exact=False)
def cumulative_sum_of_one(m: Match, e: Emitter) -> Value:
    """The sum of one element; not exact, for a sum that starts from 0 has no negative zero."""
    return m["x"]


def _reduces_one(m: Match) -> bool:
    return all(m["x"].shape[axis] == 1 for axis in m.node("reduce").attrs["axes"])


@rewrite(op(("reduce_max", "reduce_min", "reduce_product"), "x", name="reduce"), only_if(_reduces_one))
def reduce_of_one(m: Match, e: Emitter) -> Value:
    """The largest, the smallest and the product of one element are that element."""
    return e.reshape(m["x"], m.output.shape)


@rewrite(op(("reduce_sum", "reduce_mean"), "x", name="reduce"), only_if(_reduces_one), exact=False)
def reduce_sum_of_one(m: Match, e: Emitter) -> Value:
    """The sum and mean of one element; not exact, for a sum that starts from 0 has no negative zero."""
    return e.reshape(m["x"], m.output.shape)


def _is_one_element_window(m: Match) -> bool:
    attrs = m.node("pool").attrs
    return attrs["window_dimensions"] == (1, 1) and attrs["strides"] == (1, 1) and not any(attrs["padding"])


@rewrite(op("max_pool2d", "x", name="pool"), only_if(_is_one_element_window))
def max_pool_of_one(m: Match, e: Emitter) -> Value:
    """The largest element of a window of one."""
    return m["x"]


@rewrite(op("average_pool2d", "x", name="pool"), only_if(_is_one_element_window), exact=False)
def average_pool_of_one(m: Match, e: Emitter) -> Value:
    """The mean of a window of one; not exact, for a sum that starts from 0 has no negative zero."""
    return m["x"]


def _keeps_all(m: Match) -> bool:
    attrs = m.node("triangular").attrs
    rows, columns = m["x"].shape[-2:]
    return attrs["diagonal"] <= 1 - rows if attrs["upper"] else attrs["diagonal"] >= columns - 1


@rewrite(op("triangular", "x", name="triangular"), only_if(_keeps_all))
def triangular_of_all(m: Match, e: Emitter) -> Value:
    """The diagonal lies in a corner, so that every element is kept."""
    return m["x"]


REWRITES = (
    identity,
    movement_to_same_type,
    resample_to_same_size,
    transpose_of_unit_axes,
    reverse_of_unit_axes,
    concat_of_one,
    split_into_one,
    cumulative_sum_of_one,
    reduce_of_one,
    reduce_sum_of_one,
    max_pool_of_one,
    average_pool_of_one,
    triangular_of_all,
)
