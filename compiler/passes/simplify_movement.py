"""Rewrites of operators that move elements: two in a row become one, and some become views or attributes of others."""

from __future__ import annotations

from functools import reduce

from basalt.ops import Shape
from basalt.ops.shapes import broadcast

from ..ir import Node, Value
from .emitter import Emitter
from .patterns import Match, number, op
from .rewriting import Rewrite, only_if, rewrite
from .traits import COMPARISONS

_BROADCASTING = (
    *("add", "sub", "mul", "div", "max", "min", "pow", "prelu", "where"),
    *(*COMPARISONS, "logical_and", "logical_or", "logical_xor"),
)


def _dims(shape: Shape) -> tuple[int, ...]:
    return tuple(int(d) for d in shape)  # type: ignore[arg-type]


@rewrite(op("transpose", op("transpose", "x", name="inner"), name="outer"))
def transpose_of_transpose(m: Match, e: Emitter) -> Value:
    """The permutations are composed."""
    inner, outer = (m.node(name).attrs["permutation"] for name in ("inner", "outer"))
    return e.emit("transpose", m["x"], permutation=tuple(inner[i] for i in outer))


@rewrite(op("reshape", op("reshape", "x")))
def reshape_of_reshape(m: Match, e: Emitter) -> Value:
    """Only the last shape counts."""
    return e.reshape(m["x"], m.output.shape)


@rewrite(op("expand", op("expand", "x")))
def expand_of_expand(m: Match, e: Emitter) -> Value:
    """Only the last shape counts."""
    return e.expand(m["x"], m.output.shape)


@rewrite(op("expand", "x"), only_if(lambda m: m["x"].type.size == m.output.type.size))
def expand_to_same_size(m: Match, e: Emitter) -> Value:
    """Nothing but dimensions of size 1 is added."""
    return e.reshape(m["x"], m.output.shape)


@rewrite(op("reverse", op("reverse", "x", name="inner"), name="outer"))
def reverse_of_reverse(m: Match, e: Emitter) -> Value:
    """Axes reversed twice are not reversed."""
    inner, outer = (set(m.node(name).attrs["axes"]) for name in ("inner", "outer"))
    axes = tuple(sorted(inner ^ outer))
    return e.emit("reverse", m["x"], axes=axes) if axes else m["x"]


@rewrite(op("slice", op("slice", "x", name="inner"), name="outer"))
def slice_of_slice(m: Match, e: Emitter) -> Value:
    """The steps multiply, and the start of the outer one counts in steps of the inner one."""
    inner, outer = m.node("inner").attrs, m.node("outer").attrs
    rows = list(zip(inner["starts"], inner["strides"], outer["starts"], outer["strides"], _dims(m.output.shape)))
    return e.emit(
        "slice",
        m["x"],
        starts=tuple(a + b * s for a, s, b, _, _ in rows),
        sizes=tuple((n - 1) * s * t + 1 if n else 0 for _, s, _, t, n in rows),
        strides=tuple(s * t for _, s, _, t, _ in rows),
    )


@rewrite(op("tile", op("tile", "x", name="inner"), name="outer"))
def tile_of_tile(m: Match, e: Emitter) -> Value:
    """The numbers of repetitions multiply."""
    inner, outer = (m.node(name).attrs["repetitions"] for name in ("inner", "outer"))
    return e.emit("tile", m["x"], repetitions=tuple(a * b for a, b in zip(inner, outer)))


def _repeats_units(m: Match) -> bool:
    return all(count == 1 or size == 1 for count, size in zip(m.node("tile").attrs["repetitions"], m["x"].shape))


@rewrite(op("tile", "x", name="tile"), only_if(_repeats_units))
def tile_of_units(m: Match, e: Emitter) -> Value:
    """Repeating a dimension of size 1 is expansion, which needs no copy."""
    return e.expand(m["x"], m.output.shape)


def _pads_alike(m: Match) -> bool:
    inner, outer = m.node("inner").attrs, m.node("outer").attrs
    if inner["mode"] != outer["mode"] or inner["mode"] == "reflection":
        return False
    return inner["mode"] == "edge" or repr(inner["value"]) == repr(outer["value"])


@rewrite(op("pad", op("pad", "x", name="inner"), name="outer"), ("they add different elements", _pads_alike))
def pad_of_pad(m: Match, e: Emitter) -> Value:
    """Equal elements around equal ones."""
    inner, outer = m.node("inner").attrs, m.node("outer").attrs
    widths = {
        side: tuple(a + b for a, b in zip(inner[side], outer[side])) for side in ("beginning_padding", "ending_padding")
    }
    return e.emit("pad", m["x"], **widths, mode=outer["mode"], value=outer["value"])


def _joins(m: Match, node: Node) -> Node | None:
    """The only-read concat along the same axis that makes one of a concat's inputs."""
    for v in node.present:
        inner = m.graph.producer(v)
        if inner is None or inner.op != "concat" or inner.attrs["axis"] != node.attrs["axis"]:
            continue
        if m.graph.uses(v) == 1:
            return inner
    return None


@rewrite(op("concat", name="outer"), only_if(lambda m: _joins(m, m.root) is not None))
def concat_of_concat(m: Match, e: Emitter) -> Value:
    """One copy of each part instead of two."""
    inner = _joins(m, m.root)
    assert inner is not None
    flat: list[Value] = []
    for v in m.root.present:
        flat += inner.present if v is inner.output else (v,)
    return e.emit("concat", *flat, axis=m.root.attrs["axis"])


def _split_of(m: Match) -> Node | None:
    """The split along a concat's axis whose parts, all of them and in order, the concat joins."""
    split = m.graph.producer(m.root.present[0])
    if split is None or split.op != "split" or split.attrs["axis"] != m.root.attrs["axis"]:
        return None
    return split if split.outputs == m.root.inputs else None


@rewrite(op("concat"), only_if(lambda m: _split_of(m) is not None))
def concat_of_split(m: Match, e: Emitter) -> Value:
    """The parts put together are the whole."""
    split = _split_of(m)
    assert split is not None
    return split.present[0]


def _run_of_slices(m: Match) -> tuple[Value, int, int] | None:
    """What the parts of a concat are cut from next to each other: a value, where they begin, and how long they are."""
    axis, source, place, length = m.root.attrs["axis"], None, 0, 0
    for v in m.root.present:
        cut = m.graph.producer(v)
        if cut is None or cut.op != "slice" or set(cut.attrs["strides"]) != {1}:
            return None
        start = cut.attrs["starts"]
        if source is None:
            source, place, others = cut.present[0], start[axis], start
        same = (*start[:axis], *start[axis + 1 :]) == (*others[:axis], *others[axis + 1 :])
        if cut.present[0] is not source or start[axis] != place + length or not same:
            return None
        length += int(v.shape[axis])
    return None if source is None else (source, place, length)


@rewrite(op("concat"), only_if(lambda m: len(m.root.present) > 1 and _run_of_slices(m) is not None))
def concat_of_slices(m: Match, e: Emitter) -> Value:
    """Stretches that follow each other are one stretch."""
    run = _run_of_slices(m)
    first = m.graph.producer(m.root.present[0])
    assert run is not None and first is not None
    return e.emit("slice", run[0], starts=first.attrs["starts"], sizes=m.output.shape)


def _splits_at_joins(m: Match) -> bool:
    join = m.node("concat")
    axis = m.root.attrs["axis"]
    if join.attrs["axis"] != axis:
        return False
    return [v.shape[axis] for v in join.present] == [v.shape[axis] for v in m.root.outputs]


@rewrite(op("split", op("concat", name="concat")), ("it cuts elsewhere than they were joined", _splits_at_joins))
def split_of_concat(m: Match, e: Emitter) -> tuple[Value, ...]:
    """The parts are what was joined."""
    return m.node("concat").present


def _index(m: Match) -> int:
    """The one position that a gather reads, inside the axis as the operator's rule for other positions says."""
    size = int(m["x"].shape[m.root.attrs["axis"]])
    given = int(m.number("i"))
    return min(max(given + size if given < 0 else given, 0), size - 1)


@rewrite(op("gather", "x", number("i")), only_if(lambda m: m["i"].type.size == 1))
def gather_of_one(m: Match, e: Emitter) -> Value:
    """A slice at a position known in advance needs no copy."""
    axis = m.root.attrs["axis"]
    starts = tuple(_index(m) if i == axis else 0 for i in range(m["x"].type.rank))
    sizes = tuple(1 if i == axis else d for i, d in enumerate(m["x"].shape))
    return e.reshape(e.emit("slice", m["x"], starts=starts, sizes=sizes), m.output.shape)


def _transposed(side: str) -> Rewrite:
    transpose = op("transpose", "x", name="transpose")
    args = (transpose, "y") if side == "a" else ("y", transpose)

    def swap(m: Match, e: Emitter) -> Value:
        """The product reads the matrix by columns instead of a transposed copy by rows."""
        attrs = {**m.root.attrs, f"{side}_transpose": not m.root.attrs[f"{side}_transpose"]}
        a, b = (m["x"], m["y"]) if side == "a" else (m["y"], m["x"])
        return e.emit("gemm", a, b, *m.root.inputs[2:], **attrs)

    swap.__name__ = f"transpose_into_gemm_{side}"
    swaps = only_if(lambda m: m.node("transpose").attrs["permutation"] == (1, 0))
    return rewrite(op("gemm", *args), swaps)(swap)


def _without_expansion(m: Match) -> list[Value] | None:
    """The operands of an element-wise node without the expansions that the result's shape does not need."""
    operands = [v for v in m.root.inputs if v is not None]
    changed = False
    for i, v in enumerate(operands):
        expand = m.graph.producer(v)
        if expand is None or expand.op != "expand":
            continue
        tried = [*operands[:i], expand.present[0], *operands[i + 1 :]]
        if reduce(broadcast, (t.shape for t in tried)) == m.output.shape:
            operands, changed = tried, True
    return operands if changed else None


@rewrite(op(_BROADCASTING), only_if(lambda m: _without_expansion(m) is not None))
def expand_into_operand(m: Match, e: Emitter) -> Value:
    """An element-wise operator broadcasts its operands itself."""
    return e.emit(m.root.op, *(_without_expansion(m) or ()))


REWRITES = (
    transpose_of_transpose,
    reshape_of_reshape,
    expand_of_expand,
    expand_to_same_size,
    reverse_of_reverse,
    slice_of_slice,
    tile_of_tile,
    tile_of_units,
    pad_of_pad,
    concat_of_concat,
    concat_of_split,
    concat_of_slices,
    split_of_concat,
    gather_of_one,
    _transposed("a"),
    _transposed("b"),
    expand_into_operand,
)
