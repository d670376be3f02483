"""Positions of the smallest or largest element: one pass finds the extreme, the next its first place.

Both passes are plain reductions, so that both become vector code. A NaN is the extreme wherever there is one, since the
reduction lets it through.
"""

from __future__ import annotations

import math

from basalt.ops import TensorType
from basalt.ops.types import is_float

from ..codegen.body import Body
from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX, register_suffix
from ..ir import Node, Value
from ..views import View, collapse
from .elementwise import decode


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
    kernel = KernelBuilder(node.op)
    body = Body(kernel, (), len(lines) + 1)
    given = body.declare_input(_value(source), source, (*strides[0], source.strides[axis]))
    result = body.declare_output(_value(target), target, (*strides[1], 0))
    sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(lines)]
    n = kernel.parameter("n", source.shape[axis])
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
            found = f"eq_{register}({element}, extreme)"
            if is_float(source.dtype):
                found = f"u8_bool(or_u8(bool_u8({found}), bool_u8(isnan_{register}({element}))))"
            kernel.line(f"at = min_i64(at, select_i64({found}, j, {n}))")
        suffix = SUFFIX[target.dtype]
        body.store(result, result.base, "at" if suffix == "i64" else f"cast_i64_{suffix}(at)")
    lowering.add(kernel.call(math.prod(lines), source.size * 0.4 + 5.0))


def _value(view: View) -> Value:
    return Value(TensorType(view.dtype, view.shape))
