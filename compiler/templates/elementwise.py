"""Element-wise kernels: any chain of scalar operators over broadcast, strided operands."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.body import Body
from ..codegen.kernel import Call, KernelBuilder
from ..ir import Node, Value
from ..views import View, collapse

BLOCK = 4096
"""Elements of a row that one unit computes: long rows are split so that threads share them."""


def elementwise_call(
    nodes: Sequence[Node], inputs: Sequence[tuple[Value, View]], outputs: Sequence[tuple[Value, View]], label: str
) -> Call:
    """The kernel that computes element-wise nodes.

    Args:
        nodes: the operators, in order.
        inputs: what they read; each view is broadcast to the outputs' shape.
        outputs: what is stored, all of one shape.
        label: the user's labels.
    """
    shape = outputs[0][1].shape
    views = [v.expanded(shape) for _, v in inputs] + [v for _, v in outputs]
    dims, strides = collapse(shape, [v.strides for v in views])
    kernel = KernelBuilder("+".join(n.op for n in nodes) or "copy")
    body = Body(kernel, nodes, len(dims))
    for (value, view), s in zip(inputs, strides):
        body.declare_input(value, view, s)
    for (value, view), s in zip(outputs, strides[len(inputs) :]):
        body.declare_output(value, view, s)
    if len(outputs) == 1:
        kernel.in_place += _reusable(inputs, outputs[0], strides, len(inputs))
    if len(dims) == 1:
        return _flat(kernel, body, dims[0], label)
    return _rows(kernel, body, dims, label)


def _reusable(
    inputs: Sequence[tuple[Value, View]], output: tuple[Value, View], strides: Sequence[Sequence[int]], last: int
) -> list[tuple[View, View]]:
    """Inputs that the output may overwrite: the same elements in the same places."""
    _, view = output
    return [
        (given, view)
        for (_, given), s in zip(inputs, strides)
        if s == strides[last] and given.itemsize == view.itemsize and given.shape == view.shape
    ]


def _flat(kernel: KernelBuilder, body: Body, size: int, label: str) -> Call:
    known = body.hoist(0)
    with kernel.block("for i in range(start, stop)"):
        body.point(0, "i", known)
    return kernel.call(size, size * body.cost_of_point(), min_chunk=16, label=label)


def _rows(kernel: KernelBuilder, body: Body, dims: tuple[int, ...], label: str) -> Call:
    inner = len(dims) - 1
    n = kernel.parameter("n", dims[inner])
    sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(dims[:-1])]
    split = dims[inner] > BLOCK
    blocks = -(-dims[inner] // BLOCK) if split else 1
    blocks_name = kernel.parameter("blocks", blocks) if split else "1"
    with kernel.block("for u in range(start, stop)"):
        first, last = _bounds(kernel, split, blocks_name, n)
        body.start_row(decode(kernel, "r", sizes))
        known = body.hoist(inner)
        with kernel.block(f"for j in range({first}, {last})"):
            body.point(inner, "j", known)
    rows = 1
    for d in dims[:-1]:
        rows *= d
    points = rows * dims[inner]
    return kernel.call(rows * blocks, points * body.cost_of_point() + rows * blocks * 5.0, label=label)


def _bounds(kernel: KernelBuilder, split: bool, blocks: str, n: str) -> tuple[str, str]:
    if not split:
        kernel.line("r = u")
        return "0", n
    kernel.line(f"r = u // {blocks}")
    kernel.line(f"first = (u - r * {blocks}) * {BLOCK}")
    kernel.line(f"last = min(first + {BLOCK}, {n})")
    return "first", "last"


def decode(kernel: KernelBuilder, row: str, sizes: Sequence[str]) -> dict[int, str]:
    """Write the split of a flat row number into indices, one a dimension, outermost first."""
    indices: dict[int, str] = {}
    for axis in range(len(sizes) - 1, 0, -1):
        kernel.line(f"q{axis} = {row} // {sizes[axis]}")
        kernel.line(f"i{axis} = {row} - q{axis} * {sizes[axis]}")
        indices[axis] = f"i{axis}"
        row = f"q{axis}"
    indices[0] = row
    return indices
