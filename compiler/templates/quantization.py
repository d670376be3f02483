"""Quantisation in blocks: dimensions are split into blocks and places in a block, and then it is element-wise."""

from __future__ import annotations

from basalt.ops.shapes import broadcastable_to

from ..codegen.elementwise import elementwise_call
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..ir import Node
from ..views import View


@template("quantize_linear", "dequantize_linear")
def quantization(node: Node, lowering: Lowering) -> None:
    """A scale and a zero point an element, a dimension, or a block."""
    shape = node.output.shape
    scale = node.present[1].shape
    blocks = () if broadcastable_to(scale, shape) else scale
    target = lowering.write(node.output) if not blocks else lowering.write_contiguous(node.output)
    views = {v: _split(lowering, lowering.read(v), shape, blocks) for v in node.present}
    split = target if not blocks else target.reshaped(_split_shape(shape, blocks))
    assert split is not None
    lowering.add(elementwise_call([node], list(views.items()), [(node.output, split)], ""))


def _split(lowering: Lowering, view: View, shape: tuple[int, ...], blocks: tuple[int, ...]) -> View:
    """A view over (blocks, place in the block) of each dimension."""
    if not blocks:
        return view
    if view.shape == blocks and view.shape != shape:
        doubled = tuple(x for s in view.strides for x in (s, 0))
        return View(view.buffer, view.dtype, _split_shape(shape, blocks), doubled, view.offset)
    split = view.reshaped(_split_shape(shape, blocks))
    if split is None:
        split = lowering.contiguous(view).reshaped(_split_shape(shape, blocks))
    assert split is not None
    return split


def _split_shape(shape: tuple[int, ...], blocks: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x for size, count in zip(shape, blocks) for x in (count, size // count))
