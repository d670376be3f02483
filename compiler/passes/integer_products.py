"""Products of dequantised operands as products of the integers, scaled afterwards.

``((a - za) * sa) . ((b - zb) * sb)`` is ``(a - za) . (b - zb) * (sa * sb)`` where ``sa`` is one number and ``sb`` one
for each column: the sums become exact, the weights stay as small as they are stored, and the processor multiplies four
times as many bytes at a time as floats. What follows, quantisation included, is fused with the scaling.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..ir import Graph, Node, Value
from .context import Context
from .emitter import Emitter
from .patterns import Match, constant, op
from .rewriting import Guard, apply_rewrites, index, only_if, rewrite

_BYTES = ("int8", "uint8")
_MAX_DEPTH = (2**31 - 1) // 255**2
"""Terms whose sum fits into int32, however large they are."""
_MIN_DEPTH = 16
"""Terms below which bytes do not fill a register, and floats are as fast."""
_MOST_ROWS = 32
"""Rows up to which weights are best multiplied as they are stored, in blocks of a few bits."""
_MIN_CHANNELS = 32
"""Output channels of a convolution below which arranging the bytes of its windows takes longer than the products."""

_A, _B = op("dequantize_linear", name="a"), op("dequantize_linear", name="b")


def integer_products(graph: Graph, context: Context) -> Graph:
    """The graph with products of dequantised operands computed in integers."""
    return apply_rewrites(graph, context, _RULES, "integer_products")


def _is_bytes(node: Node) -> bool:
    return node.present[0].dtype in _BYTES and node.output.dtype == "float32"


def _size(v: Value) -> int:
    return prod(v.shape)


def _lies_along(v: Value, axis: int) -> bool:
    """Whether a scale or zero point has one element, or one for each index along an axis."""
    return all(d == 1 for i, d in enumerate(v.shape) if i != axis % len(v.shape))


def _scaled(columns: int) -> Guard:
    """The guard that the operands are bytes, the first of one scale, the second of one for each column at most."""

    def holds(m: Match) -> bool:
        a, b = m.node("a"), m.node("b")
        axis = -2 if m.root.attrs.get("b_transpose") else columns
        whole = all(_size(v) == 1 for v in a.present[1:])
        return _is_bytes(a) and _is_bytes(b) and whole and all(_lies_along(v, axis) for v in b.present[1:])

    return "the scales are not one number, and one for each column", holds


def _depth_fits(depth: int) -> bool:
    return _MIN_DEPTH <= depth <= _MAX_DEPTH


def _line(e: Emitter, v: Value, shape: Sequence[int] = ()) -> Value:
    """A scale or zero point as a scalar, or as the vector that it is; in a shape where one is given."""
    if _size(v) == 1:
        return e.reshape(v, ())
    return e.reshape(v, tuple(shape) or (_size(v),))


def _rescaled(m: Match, e: Emitter, total: Value, shape: Sequence[int] = (), factor: float = 1.0) -> Value:
    """The sums in float32, times both scales."""
    scale = e.emit("mul", _line(e, m.node("a").present[1]), _line(e, m.node("b").present[1], shape))
    if factor != 1.0:
        scale = e.emit("mul", scale, e.scalar(factor, "float32"))
    return e.emit("mul", e.cast(total, "float32"), scale)


def _product(m: Match, e: Emitter, a: Value, b: Value) -> Value:
    zeros = [_line(e, m.node(name).present[2]) for name in ("a", "b")]
    return e.emit("matmul_integer", a, b, *zeros)


@rewrite(op("matmul", _A, _B), _scaled(-1), only_if(lambda m: _depth_fits(m.node("a").output.shape[-1])), exact=False)
def matmul(m: Match, e: Emitter) -> Value:
    """A sum of products of bytes less their zero points is exact, and scaled once."""
    return _rescaled(m, e, _product(m, e, m.node("a").present[0], m.node("b").present[0]))


def _gemm_depth(m: Match) -> int:
    return int(m.node("a").output.shape[0 if m.root.attrs["a_transpose"] else 1])


@rewrite(op("gemm", _A, _B), _scaled(-1), only_if(lambda m: _depth_fits(_gemm_depth(m))), exact=False)
def gemm(m: Match, e: Emitter) -> Value:
    """As a matrix product; the addend is added to what is scaled."""
    attrs = m.root.attrs
    a, b = (m.node(name).present[0] for name in ("a", "b"))
    a = e.emit("transpose", a, permutation=(1, 0)) if attrs["a_transpose"] else a
    b = e.emit("transpose", b, permutation=(1, 0)) if attrs["b_transpose"] else b
    result = _rescaled(m, e, _product(m, e, a, b), factor=attrs["alpha"])
    if len(m.root.present) < 3:
        return result
    addend = m.root.present[2]
    if attrs["beta"] != 1.0:
        addend = e.emit("mul", addend, e.scalar(attrs["beta"], "float32"))
    return e.emit("add", result, addend)


def _is_plain(m: Match) -> bool:
    attrs = m.root.attrs
    laid_out = (attrs["input_layout"], attrs["filter_layout"]) == ("nchw", "oihw")
    channels, *taps = m.node("b").output.shape
    return laid_out and attrs["groups"] == 1 and channels >= _MIN_CHANNELS and _depth_fits(prod(taps))


@rewrite(op("conv2d", _A, _B), _scaled(0), only_if(_is_plain), exact=False)
def conv2d(m: Match, e: Emitter) -> Value:
    """As a matrix product; padding, 0 in floats, is the zero point in integers."""
    attrs = m.root.attrs
    a, b = (m.node(name).present for name in ("a", "b"))
    zeros = [_line(e, v) for v in (a[2], b[2])]
    kept = {name: attrs[name] for name in ("padding", "strides", "dilations", "groups")}
    total = e.emit("conv_integer", a[0], b[0], *zeros, **kept)
    channels = (total.shape[1], 1, 1)
    result = _rescaled(m, e, total, channels)
    if len(m.root.present) < 3:
        return result
    return e.emit("add", result, e.reshape(m.root.present[2], channels))


def _few_rows(v: Value) -> bool:
    return v.dtype == "float32" and prod(v.shape[:-1]) <= _MOST_ROWS


def _fill_words(size: int, bits: int) -> bool:
    """Whether blocks of so many integers fill words of 32 bits."""
    return bits in (2, 4, 8) and size > 0 and size * bits % 32 == 0


def _is_stored_so(m: Match) -> bool:
    a, *weights = m.root.present
    codes, scale = weights[:2]
    size = codes.shape[1] // max(1, scale.shape[1])
    stored = all(v.is_constant for v in weights) and _fill_words(size, m.root.attrs["bits"])
    return m.root.attrs["rounded"] or (stored and _few_rows(a))


@rewrite(op("matmul_blocks"), only_if(lambda m: not _is_stored_so(m)), exact=False)
def matmul_blocks(m: Match, e: Emitter) -> Value:
    """Many rows are worth weights in floats."""
    a, codes, scale, zero = m.root.present
    weights = e.emit("dequantize_linear", codes, scale, zero)
    if a.shape[-1] != codes.shape[1]:
        weights = e.emit("slice", weights, starts=(0, 0), sizes=(codes.shape[0], a.shape[-1]))
    return e.emit("matmul", a, e.emit("transpose", weights, permutation=(1, 0)))


_WEIGHTS = op("dequantize_linear", constant("codes"), constant("scale"), constant("zero"), name="b")
_BITS = {"int4": 4, "uint4": 4, "int8": 8, "uint8": 8}


def _blocks_along(depth: int) -> Guard:
    """The guard that constant weights have blocks along an axis that fill words, and few rows multiply them."""

    def holds(m: Match) -> bool:
        codes, scale = m["codes"], m["scale"]
        if len(codes.shape) != 2 or codes.dtype not in _BITS or 0 in codes.shape or scale.dtype != "float32":
            return False
        columns = 1 - depth
        size = codes.shape[depth] // scale.shape[depth]
        return (
            _few_rows(m["a"])
            and scale.shape[columns] in (1, codes.shape[columns])
            and _fill_words(size, _BITS[codes.dtype])
        )

    return only_if(holds)


def _stored_so(m: Match, e: Emitter, depth: int) -> Value:
    """The product with weights as they are stored, made numbers without a sign, columns first."""
    dtype = m["codes"].dtype
    bits = _BITS[dtype]
    moved = 1 << (bits - 1) if dtype.startswith("int") else 0
    codes, scale, zero = (e.context.constants.array(m[name]) for name in ("codes", "scale", "zero"))
    codes, zero = ((x.astype(np.int16) + moved).astype(np.uint8) for x in (codes, zero))
    if depth == 0:
        codes, scale, zero = (np.ascontiguousarray(x.T) for x in (codes, scale, zero))
    scale, zero = (np.broadcast_to(x, (codes.shape[0], x.shape[1])).copy() for x in (scale, zero))
    return e.emit("matmul_blocks", m["a"], *(e.constant(x) for x in (codes, scale, zero)), bits=bits)


@rewrite(op("matmul", "a", _WEIGHTS), _blocks_along(0), exact=False)
def matmul_of_weights(m: Match, e: Emitter) -> Value:
    """Few rows take as long as reading the weights, which are smallest as they are stored."""
    return _stored_so(m, e, 0)


@rewrite(op("matmul", "a", op("transpose", _WEIGHTS)), _blocks_along(1), exact=False)
def matmul_of_transposed_weights(m: Match, e: Emitter) -> Value:
    """As for weights that are not transposed."""
    return _stored_so(m, e, 1)


REWRITES = (matmul, gemm, conv2d, matmul_blocks, matmul_of_weights, matmul_of_transposed_weights)
_RULES = index(REWRITES)
