"""Products with integers of a few bits, which are packed in words, and multiplied where they stand in these."""

from __future__ import annotations

import math

import numpy as np

from basalt.ops import TensorType

from ..codegen.epilogue import Epilogue
from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.tiling import TileShape, lanes_of, tile_rows
from ..ir import Node, Value
from ..kernels.target import byte_products, target
from ..views import View
from .dot_product import DotProductWriter
from .elementwise import decode
from .matmul import Side, lower_product
from .product import Matrix, Product, merge_rows
from .quantization import quantization

VECTORS = 2
"""Vectors of a panel."""


@template("matmul_blocks", epilogue=True)
def matmul_blocks(node: Node, lowering: Lowering) -> None:
    """A stack of products with one matrix; rows of all batches are those of one product where they can be.

    Where integers are multiplied as they are stored, an infinite number gives NaN.
    """
    epilogue = lowering.epilogue(node)
    a, codes, scale, zero = epilogue.operand_values
    assert a is not None and codes is not None and scale is not None and zero is not None
    *outer, rows, columns = epilogue.shape
    batches, bits = tuple(outer), epilogue.root.attrs["bits"]
    blocks, length = scale.shape[1], codes.shape[1]
    size, chunk = length // blocks, 0
    stored = all(v.is_constant for v in (codes, scale, zero)) and bits in (2, 4, 8) and size * bits % 32 == 0
    view = lowering.read(a)
    if epilogue.root.attrs["rounded"]:
        chunk = 32 if size % 32 == 0 else 16
        if not (stored and bits == 4 and size % chunk == 0 and adds_bytes()):
            view, chunk = _rounded_floats(lowering, view, chunk), 0
    if not stored:
        floats = Value(TensorType("float32", a.shape))
        lowering.bind(floats, view)
        weights = _dequantised(lowering, codes, scale, zero, a.shape[-1])
        epilogue.operand_values = (floats, weights)
        lower_product(lowering, epilogue, Side(floats, True), Side(weights, True), {})
        return
    width = VECTORS * lanes_of("float32")
    key = ("block panels", width)
    words = lowering.packed(codes, (*key, bits), lambda x: packed_words(x, bits, width))
    scales = lowering.packed(scale, (*key, "scales"), lambda x: _lines(_narrowed(x), width))
    number = uniform(lowering.constants.array(zero))
    zeros = None if number is not None else lowering.packed(zero, (*key, "zeros"), lambda x: _lines(x, width))
    marks = None
    if chunk:
        left, marks = lowering.shared(("rounded rows", view, chunk), lambda: _rounded(lowering, view, chunk, length))
    else:
        packed = ("block rows", view, bits, blocks, length)
        left = lowering.shared(packed, lambda: _rows(lowering, view, bits, blocks, length))
    views = epilogue.views()
    strides = [left.strides[:-1], (0,) * (len(batches) + 1), *(v.strides[:-1] for v in views)]
    merged_batches, merged_rows, merged = merge_rows(batches, rows, strides, shared=1)
    most = 8 if target().registers >= 32 else 5
    product = Product(
        merged_batches,
        merged_rows,
        columns,
        length,
        Matrix(left, merged[0][:-1], merged[0][-1], 1),
        Matrix(words, (0,) * len(merged_batches), words.strides[0], 1, panels=True),
        TileShape(tile_rows(merged_rows, most), VECTORS, lanes_of("float32")),
        [(*m, 0 if columns == 1 else v.strides[-1]) for m, v in zip(merged[2:], views)],
    )
    zero_points = zeros if zeros is not None else number or 0.0
    writer = _Writer(product, epilogue, bits, scales, zero_points)
    if marks is not None:
        writer = _RoundedWriter(product, epilogue, scales, zero_points, marks, chunk)
    lowering.add(writer.write())


def _dequantised(lowering: Lowering, codes: Value, scale: Value, zero: Value, depth: int) -> Value:
    """Weights [n, depth] that are computed at run time, in float32."""
    whole = Value(TensorType("float32", codes.shape))
    quantization(Node("dequantize_linear", (codes, scale, zero), (whole,), {}), lowering)
    columns, length = codes.shape
    used = whole if depth == length else Value(TensorType("float32", (columns, depth)))
    if used is not whole:
        lowering.bind(used, lowering.read(whole).sliced((0, 0), (columns, depth), (1, 1)))
    return used


def adds_bytes() -> bool:
    """Whether the CPU adds up products of bytes in vectors that are wide enough."""
    return target().bits >= 256 and byte_products() != "plain"


def uniform(array: np.ndarray) -> float | None:
    """The number that every element is, None if they differ."""
    flat = array.reshape(-1)
    return float(flat[0]) if (flat == flat[:1]).all() else None


def packed_words(codes: np.ndarray, bits: int, width: int) -> np.ndarray:
    """Codes [n, depth] as uint32 [panels, depth * bits / 32, columns of a panel], the first ones in the lowest bits."""
    columns, depth = codes.shape
    per = 32 // bits
    split = codes.reshape(columns, depth // per, per)
    words = np.zeros((columns, depth // per), np.uint32)
    for place in range(per):
        words |= split[..., place].astype(np.uint32) << np.uint32(bits * place)
    return _lines(words, width)


def _lines(array: np.ndarray, width: int) -> np.ndarray:
    """[n, lines] as [panels, lines, columns of a panel], the last panel filled up with zeros."""
    columns, lines = array.shape
    panels = -(-columns // width)
    padded = np.zeros((panels * width, lines), array.dtype)
    padded[:columns] = array
    return np.ascontiguousarray(padded.reshape(panels, width, lines).swapaxes(1, 2))


def _narrowed(scale: np.ndarray) -> np.ndarray:
    """Scales in float16 if it holds them."""
    with np.errstate(over="ignore"):
        narrow = scale.astype(np.float16)
    return narrow if np.array_equal(narrow.astype(np.float32), scale) else scale


def factors(bits: int, length: int) -> np.ndarray:
    """What numbers are multiplied by that are to be multiplied by integers where they stand in their words."""
    per = 32 // bits
    line = [2.0 ** (-bits * place) for place in range(per - 1)] + [1.0]
    return np.tile(np.array(line, np.float32), length // per)


def _rows(lowering: Lowering, view: View, bits: int, blocks: int, length: int) -> View:
    """Rows [..., rows, depth] as micro-kernels read them, [..., rows, length + blocks]; a unit is a row."""
    *lines, depth = view.shape
    result = lowering.scratch("float32", (*lines, length + blocks))
    kernel = KernelBuilder("block rows")
    kernel.source("x", view)
    kernel.source("f", lowering.add_constant(factors(bits, length)))
    kernel.target("y", result)
    strides = [kernel.integer(f"x_s{i}", s) for i, s in enumerate(view.strides)]
    sizes = {"depth": depth, "length": length, "blocks": blocks, "size": length // blocks, "pitch": length + blocks}
    for name, value in sizes.items():
        kernel.parameter(name, value)
    with kernel.block("for u in range(start, stop)"):
        indices = decode(kernel, "u", [kernel.parameter(f"d{i}", d) for i, d in enumerate(lines)])
        kernel.line("base = " + " + ".join(f"{i} * {strides[axis]}" for axis, i in indices.items()))
        with kernel.block("for k in range(depth)"):
            read = f"load_f32(x, base + k * {strides[-1]})"
            kernel.line(f"store_f32(y, u * pitch + k, mul_f32({read}, load_f32(f, k)))")
        with kernel.block("for k in range(depth, length)"):
            kernel.line("store_f32(y, u * pitch + k, const_f32(0.0))")
        with kernel.block("for b in range(blocks)"):
            kernel.line("total = const_f32(0.0)")
            with kernel.block("for k in range(b * size, min((b + 1) * size, depth))"):
                kernel.line(f"total = add_f32(total, load_f32(x, base + k * {strides[-1]}))")
            kernel.line("store_f32(y, u * pitch + length + b, total)")
    lowering.add(kernel.call(math.prod(lines), view.size * 1.6 + 5.0))
    return result


def _rounded(lowering: Lowering, view: View, chunk: int, length: int) -> tuple[View, View]:
    """Rows [..., rows, depth] rounded to int8 [..., rows, length], and each chunk's step and sum."""
    *lines, depth = view.shape
    if depth != length:
        padded = lowering.scratch("float32", (*lines, length))
        ones = (1,) * len(view.shape)
        rest = (*[0] * len(lines), depth)
        lowering.copy(view, padded.sliced((0,) * len(rest), view.shape, ones))
        lowering.fill(padded.sliced(rest, (*lines, length - depth), ones), 0.0)
        view = padded
    elif not view.is_contiguous:
        view = lowering.contiguous(view)
    rows = lowering.scratch("int8", (*lines, length))
    marks = lowering.scratch("float32", (*lines, 2 * (length // chunk)))
    kernel = KernelBuilder("rounded rows")
    kernel.source("x", view)
    kernel.target("y", rows)
    kernel.target("m", marks)
    kernel.parameter("length", length)
    kernel.parameter("chunks", length // chunk)
    with kernel.block("for u in range(start, stop)"):
        kernel.line(f"blockround_{chunk}(y, u * length, m, 2 * u * chunks, x, u * length, chunks)")
    lowering.add(kernel.call(math.prod(lines), view.size * 0.3 + 5.0))
    return rows, marks


def _rounded_floats(lowering: Lowering, view: View, chunk: int) -> View:
    """Rows [..., rows, depth] rounded to 8 bits in chunks, as floats of the same shape."""
    depth = view.shape[-1]
    length = -(-depth // chunk) * chunk
    rows, marks = _rounded(lowering, view, chunk, length)
    result = lowering.scratch("float32", rows.shape)
    kernel = KernelBuilder("restored rows")
    kernel.source("x", rows)
    kernel.source("m", marks)
    kernel.target("y", result)
    kernel.parameter("chunk", chunk)
    with kernel.block("for u in range(start, stop)"), kernel.block("for k in range(chunk)"):
        # Of eight neighbours those at even places come first.
        kernel.line("i = k % 8")
        kernel.line("place = u * chunk + k - i + i // 2 + 4 * (i % 2)")
        kernel.line("step = load_f32(m, 2 * u)")
        kernel.line("store_f32(y, u * chunk + k, mul_f32(cast_i8_f32(load_i8(x, place)), step))")
    lowering.add(kernel.call(rows.size // chunk, rows.size * 1.0 + 5.0))
    return result.sliced((0,) * len(view.shape), view.shape, (1,) * len(view.shape))


class _Writer(DotProductWriter):
    """Divides the work as for inner products, whose sums are collected as these are."""

    def __init__(self, product: Product, epilogue: Epilogue, bits: int, scales: View, zeros: View | float) -> None:
        super().__init__(product, epilogue, None)
        kernel, self.bits, self.scales, self.zeros = self.kernel, bits, scales, zeros
        kernel.source("scales", scales)
        if isinstance(zeros, View):
            kernel.source("zeros", zeros)
        else:
            kernel.real("zero", zeros, "f32")
        blocks, words = scales.shape[1], product.right.view.shape[1]
        kernel.parameter("scales_p", math.prod(scales.shape[1:]))
        kernel.parameter("words_p", product.right.stride)
        kernel.parameter("groups", blocks)
        kernel.parameter("words", words // blocks)

    def _sums(self) -> None:
        tile = self.product.tile
        scale = "f16" if self.scales.dtype == "float16" else "f32"
        each = isinstance(self.zeros, View)
        name = f"blocktile_{tile.rows}x{tile.vectors}x{tile.lanes}_{self.bits}_{scale}_{'each' if each else 'one'}"
        self._each_tile(
            f"{name}(tile, (r - top) * pitch + (panel - first_panel) * {tile.columns}, pitch, height * pitch, count, "
            "left, left_at + r * left_r, left_r, depth, right, panel * words_p, scales, panel * scales_p, "
            f"{'zeros, panel * scales_p' if each else 'zero'}, groups, words)"
        )

    def _each_tile(self, text: str) -> None:
        kernel, rows = self.kernel, self.product.tile.rows
        panels = kernel.block("for panel in range(first_panel, last_panel)")
        with panels, kernel.block(f"for r in range(top, bottom, {rows})"):
            kernel.line(f"count = min({rows}, bottom - r)")
            kernel.line(text)


class _RoundedWriter(_Writer):
    """As for floats, with rows of int8, whose chunks' steps and sums are in ``marks``."""

    def __init__(
        self, product: Product, epilogue: Epilogue, scales: View, zeros: View | float, marks: View, chunk: int
    ) -> None:
        super().__init__(product, epilogue, 4, scales, zeros)
        self.chunk, self.dtype = chunk, "float32"
        self.kernel.source("marks", marks)
        self.kernel.parameter("pieces", product.depth // scales.shape[1] // chunk)
        self.kernel.parameter("marks_r", marks.shape[-1])

    def _sums(self) -> None:
        tile = self.product.tile
        scale = "f16" if self.scales.dtype == "float16" else "f32"
        each = isinstance(self.zeros, View)
        form = f"{self.chunk}_{byte_products()}_{scale}_{'each' if each else 'one'}"
        self._each_tile(
            f"blockdot_{tile.rows}x{tile.vectors}x{tile.lanes}_{form}(tile, "
            f"(r - top) * pitch + (panel - first_panel) * {tile.columns}, pitch, height * pitch, count, "
            "left, left_at + r * left_r, left_r, "
            "marks, (left_at + r * left_r) // depth * marks_r, left_r // depth * marks_r, "
            f"right, panel * words_p, scales, panel * scales_p, {'zeros, panel * scales_p' if each else 'zero'}, "
            "groups, pieces)"
        )
