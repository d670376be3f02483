"""Positions of the smallest or largest element: one pass finds the extreme, the next its first place.

Both passes are plain reductions, so that both become vector code. A NaN is the extreme wherever there is one, since the
reduction lets it through. Short lines are written out element by element, in a loop over lines side by side; long ones
that lie side by side are walked together in one pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from basalt.ops import TensorType
from basalt.ops.types import is_float

from ..codegen.body import Access, Body
from ..codegen.choices import stays
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.loop_nest import write_loops
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX, register_suffix
from ..ir import Node, Value
from ..views import View, collapse
from .elementwise import decode

BLOCK = 64
"""Lines side by side that are walked together."""
SIDE_BY_SIDE = 8
"""Lines that fill a vector."""
LONGEST = 16
"""Most elements of a line that is written out."""


@template("arg_min", "arg_max")
def arg(node: Node, lowering: Lowering) -> None:
    """A unit is one position: a line along the axis."""
    source, target = lowering.read(node.present[0]), lowering.write(node.output)
    axis = node.attrs["axis"]
    kept = [i for i in range(len(source.shape)) if i != axis]
    targets = kept if node.attrs["keep_dimensions"] else range(len(kept))
    lines, strides = collapse(
        [source.shape[i] for i in kept], [[source.strides[i] for i in kept], [target.strides[i] for i in targets]]
    )
    length = source.shape[axis]
    is_short = stays((length,)) and 0 < length <= LONGEST
    kernel = KernelBuilder(f"{node.op} of {length}" if is_short else node.op)
    body = Body(kernel, (), len(lines) + 1, literal=LONGEST if is_short else 1)
    given = body.declare_input(_value(source), source, (*strides[0], source.strides[axis]))
    result = body.declare_output(_value(target), target, (*strides[1], 0))
    if is_short and lines:
        units, fewest = write_loops(body, lines, dict, lambda j, _: _short_line(body, node, (given, result), length, j))
        lowering.add(kernel.call(units, source.size * 0.1 + 5.0, min_chunk=fewest))
        return
    if lines and lines[-1] >= SIDE_BY_SIDE and abs(strides[0][-1]) < abs(source.strides[axis]):
        lowering.add(_lines_side_by_side(body, node, (given, result), lines, length))
        return
    sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(lines)]
    n = kernel.parameter("n", length)
    register = register_suffix(source.dtype)
    with kernel.block("for u in range(start, stop)"):
        body.start_row(decode(kernel, "u", sizes))
        kernel.line(f"extreme = {body.load(given, given.base)}")
        with kernel.block(f"for j in range({n})"):
            element = body.load(given, given.index(-1, "j"))
            kernel.line(f"extreme = r{node.op[4:]}_{register}(extreme, {element})")
        kernel.line(f"at = {n}")
        with kernel.block(f"for j in range({n})"):
            element = body.load(given, given.index(-1, "j"))
            kernel.line(f"at = min_i64(at, select_i64({_is_extreme(element, 'extreme', source.dtype)}, j, {n}))")
        suffix = SUFFIX[target.dtype]
        body.store(result, result.base, "at" if suffix == "i64" else f"cast_i64_{suffix}(at)")
    lowering.add(kernel.call(math.prod(lines), source.size * 0.4 + 5.0))


def _lines_side_by_side(
    body: Body, node: Node, places: tuple[Access, Access], lines: Sequence[int], length: int
) -> Call:
    """A unit is a block of neighbouring lines, walked element by element; extremes and places lie on the stack."""
    kernel, (given, result) = body.kernel, places
    inner, register, suffix = len(lines) - 1, register_suffix(given.dtype), SUFFIX[result.dtype]
    blocks = -(-lines[-1] // BLOCK)
    sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate([*lines[:-1], blocks])]
    width, n = kernel.parameter("width", lines[-1]), kernel.parameter("n", length)
    kernel.line(f"extremes = stack_{8 * BLOCK}()")
    kernel.line(f"places = stack_{4 * BLOCK}()")
    with kernel.block("for u in range(start, stop)"):
        indices = decode(kernel, "u", sizes)
        kernel.line(f"left = {indices[inner]} * {BLOCK}")
        kernel.line(f"count = min({BLOCK}, {width} - left)")
        body.start_row({axis: index for axis, index in indices.items() if axis < inner})
        with kernel.block("for i in range(count)"):
            first = body.load(given, given.index(inner, "(left + i)"))
            kernel.line(f"storerw_{register}(extremes, i, {first})")
            kernel.line("storerw_i32(places, i, const_i32(0))")
        with kernel.block(f"for j in range(1, {n})"), kernel.block("for i in range(count)"):
            element = body.load(given, f"{given.index(inner, '(left + i)')} + j * {given.strides[-1]}")
            best = kernel.define(f"loadrw_{register}(extremes, i)", "best")
            better = _is_better(node.op, element, best, given.dtype)
            kernel.line(f"better = {better}")
            kernel.line(f"storerw_{register}(extremes, i, select_{register}(better, {element}, {best}))")
            kernel.line("storerw_i32(places, i, select_i32(better, cast_i64_i32(j), loadrw_i32(places, i)))")
        with kernel.block("for i in range(count)"):
            at = kernel.define("loadrw_i32(places, i)", "at")
            body.store(result, result.index(inner, "(left + i)"), at if suffix == "i32" else f"cast_i32_{suffix}({at})")
    return kernel.call(math.prod(lines[:-1]) * blocks, math.prod(lines) * length * 0.15 + 5.0)


def _is_better(op: str, element: str, best: str, dtype: str) -> str:
    """The source of whether an element comes before the extreme so far; the first NaN comes before all numbers."""
    register = register_suffix(dtype)
    if not is_float(dtype):
        return f"{'gt' if op == 'arg_max' else 'lt'}_{register}({element}, {best})"
    worse = f"{'le' if op == 'arg_max' else 'ge'}_{register}({element}, {best})"
    return f"u8_bool(and_u8(bool_u8(eq_{register}({best}, {best})), not_u8(bool_u8({worse}))))"


def _short_line(body: Body, node: Node, places: tuple[Access, Access], length: int, variable: str) -> None:
    """One line, all of whose elements are in registers."""
    kernel, (given, result) = body.kernel, places
    last = len(given.strides) - 1
    register = register_suffix(given.dtype)
    elements = [body.load(given, given.element(last - 1, variable, {last: place})) for place in range(length)]
    extremes = list(elements)
    while len(extremes) > 1:
        pairs = [extremes[i : i + 2] for i in range(0, len(extremes), 2)]
        joined = [f"r{node.op[4:]}_{register}({', '.join(pair)})" for pair in pairs if len(pair) == 2]
        extremes = [kernel.define(text) for text in joined] + extremes[len(extremes) & ~1 :]
    at = kernel.define(f"const_i32({length - 1})", "at")
    for place in reversed(range(length - 1)):
        found = _is_extreme(elements[place], extremes[0], given.dtype)
        at = kernel.define(f"select_i32({found}, const_i32({place}), {at})", "at")
    suffix = SUFFIX[result.dtype]
    body.store(result, result.index(last - 1, variable), at if suffix == "i32" else f"cast_i32_{suffix}({at})")


def _is_extreme(element: str, extreme: str, dtype: str) -> str:
    """The source of whether an element is a line's extreme."""
    register = register_suffix(dtype)
    found = f"eq_{register}({element}, {extreme})"
    if not is_float(dtype):
        return found
    return f"u8_bool(or_u8(bool_u8({found}), bool_u8(isnan_{register}({element}))))"


def _value(view: View) -> Value:
    return Value(TensorType(view.dtype, view.shape))
