"""Images of bytes with their channels last, for windows that are read four channels at a time."""

from __future__ import annotations

from dataclasses import dataclass

from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..views import View
from .byte_packing import groups_of
from .byte_products import GROUP, ZeroPoint

PIXELS = 64
"""Pixels of a line that a unit moves."""
BLOCK = 16
"""Fewest channels that are transposed in registers."""
_PLACE = "(pixel + w) * padded + c"


@dataclass(frozen=True)
class Pixels:
    """The pixels of an image, group by group, and one more that stands for the padding.

    ``words`` is int8 [pixels + 1, channels], the top bit of uint8 flipped, channels padded to fours with zeros;
    ``totals`` int32 [pixels + 1], the sums over the channels.
    """

    words: View
    totals: View


def channels_last(lowering: Lowering, image: View, groups: int, zero: ZeroPoint) -> Pixels:
    """An image [n, channels, h, w]; each channel of the padding is the zero point. A unit is a part of a line."""
    batches, channels, height, width = image.shape
    each = channels // groups
    padded = groups_of(each) * GROUP
    pixels = batches * groups * height * width
    result = Pixels(lowering.scratch("int8", (pixels + 1, padded)), lowering.scratch("int32", (pixels + 1,)))
    kernel = KernelBuilder("byte channels last")
    kernel.source("x", image)
    sn, sc, sh, sw = (kernel.integer(f"x_s{i}", s) for i, s in enumerate(image.strides))
    kernel.target("y", result.words)
    kernel.target("s", result.totals)
    joined = image.strides[2] == width * image.strides[3]
    lines, length = (1, height * width) if joined else (height, width)
    parts = -(-length // PIXELS)
    values = {"groups": groups, "lines": lines, "length": length, "parts": parts, "each": each, "padded": padded}
    for name, value in (values | {"behind": pixels}).items():
        kernel.parameter(name, value)
    byte = zero_byte(kernel, zero)
    with kernel.block("for u in range(start, stop)"):
        kernel.line("q = u // parts")
        kernel.line(f"first = (u - q * parts) * {PIXELS}")
        kernel.line(f"count = min({PIXELS}, length - first)")
        kernel.line("m = q // lines")
        kernel.line("n = m // groups")
        kernel.line(f"at = n * {sn} + (m - n * groups) * each * {sc} + (q - m * lines) * {sh} + first * {sw}")
        kernel.line("pixel = q * length + first")
        element = f"load_u8(x, at + w * {sw} + c * {sc})"
        if image.strides[3] != 1:
            _pixel_by_pixel(kernel, element, image.dtype)
        elif each < BLOCK:
            _channel_by_channel(kernel, element, image.dtype)
        else:
            kernel.line(f"transpose_8(y, pixel * padded, padded, x, at, {sc}, count, each)")
            _pixel_by_pixel(kernel, f"load_u8(y, {_PLACE})", image.dtype)
        if each < padded:
            with kernel.block("for c in range(each, padded)"), kernel.block("for w in range(count)"):
                kernel.line(f"store_u8(y, {_PLACE}, const_u8(0))")
        with kernel.block("if u == 0"):
            with kernel.block("for c in range(padded)"):
                kernel.line(f"store_u8(y, behind * padded + c, select_u8(lt_i64(c, each), {byte}, const_u8(0)))")
            total = f"mul_i32(cast_i8_i32(cast_u8_i8({byte})), cast_i64_i32(each))"
            kernel.line(f"storerw_i32(s, behind, {total})")
    lowering.add(kernel.call(batches * groups * lines * parts, result.words.size * 0.3 + 5.0))
    return result


def zero_byte(kernel: KernelBuilder, zero: ZeroPoint) -> str:
    """Declares the zero point; the expression of it as panels hold it."""
    if zero.view is None:
        kernel.typed_integer("zero_point", zero.number & 255, "u8")
        return "zero_point"
    kernel.source("zero", zero.view)
    if zero.view.dtype == "uint8":
        kernel.line("zero_point = bitxor_u8(load_u8(zero, 0), const_u8(128))")
    else:
        kernel.line("zero_point = cast_i8_u8(load_i8(zero, 0))")
    return "zero_point"


def _byte(kernel: KernelBuilder, element: str, dtype: str) -> None:
    """Stores a byte in its place, as ``v`` too."""
    kernel.line(f"v = bitxor_u8({element}, const_u8(128))" if dtype == "uint8" else f"v = {element}")
    kernel.line(f"store_u8(y, {_PLACE}, v)")


def _pixel_by_pixel(kernel: KernelBuilder, element: str, dtype: str) -> None:
    """Stores and adds up a unit's bytes, of which channels of a pixel are neighbours."""
    with kernel.block("for w in range(count)"):
        kernel.line("total = const_i32(0)")
        with kernel.block("for c in range(each)"):
            _byte(kernel, element, dtype)
            kernel.line("total = add_i32(total, cast_i8_i32(cast_u8_i8(v)))")
        kernel.line("storerw_i32(s, pixel + w, total)")


def _channel_by_channel(kernel: KernelBuilder, element: str, dtype: str) -> None:
    """Stores and adds up a unit's bytes, of which pixels of a channel are neighbours."""
    with kernel.block("for w in range(count)"):
        kernel.line("storerw_i32(s, pixel + w, const_i32(0))")
    with kernel.block("for c in range(each)"), kernel.block("for w in range(count)"):
        _byte(kernel, element, dtype)
        kernel.line("storerw_i32(s, pixel + w, add_i32(loadrw_i32(s, pixel + w), cast_i8_i32(cast_u8_i8(v))))")
