"""Max pooling with the places of the maxima: one row of the result after another."""

from __future__ import annotations

import math

from basalt.ops.extension.max_pool_indices import lowest
from basalt.ops.types import is_float

from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import SUFFIX, TermWriter, register_suffix
from ..ir import Node


@template("max_pool_indices")
def max_pool_indices(node: Node, lowering: Lowering) -> None:
    """A unit is a row of the result; only the taps that meet elements are walked."""
    source = lowering.read(node.present[0])
    values, places = (lowering.write_contiguous(v) for v in node.outputs)
    kernel = KernelBuilder("max_pool_indices")
    kernel.source("x", source)
    sn, sc, sh, sw = (kernel.integer(f"x_s{i}", s) for i, s in enumerate(source.strides))
    kernel.target("y", values)
    kernel.target("p", places)
    a = node.attrs
    _, channels, height, width = source.shape
    sizes = {
        "channels": channels,
        "height": height,
        "width": width,
        "rows": values.shape[2],
        "columns": values.shape[3],
    }
    for axis, suffix in enumerate("hw"):
        sizes |= {f"taps_{suffix}": a["window_dimensions"][axis], f"stride_{suffix}": a["strides"][axis]}
        sizes |= {f"step_{suffix}": a["dilations"][axis], f"pad_{suffix}": a["padding"][2 * axis]}
    for name, value in sizes.items():
        kernel.parameter(name, value)
    low = TermWriter(kernel).constant(lowest(source.dtype), source.dtype)
    with kernel.block("for u in range(start, stop)"):
        kernel.line("q = u // rows")
        kernel.line("oy = u - q * rows")
        kernel.line("n = q // channels")
        kernel.line(f"image = n * {sn} + (q - n * channels) * {sc}")
        _taps(kernel, "h", "oy", "height")
        with kernel.block("for ox in range(columns)"):
            _taps(kernel, "w", "ox", "width")
            _best(kernel, source.dtype, low, (sh, sw))
            place = "w * height + h" if a["column_major"] else "h * width + w"
            kernel.line("place = -1")
            with kernel.block("if h >= 0"):
                kernel.line(f"place = q * height * width + {place}")
            kernel.line(f"store_{SUFFIX[source.dtype]}(y, u * columns + ox, best)")
            kernel.line("store_i64(p, u * columns + ox, place)")
    taps = math.prod(min(t, d) for t, d in zip(a["window_dimensions"], (height, width)))
    lowering.add(kernel.call(math.prod(values.shape[:3]), values.size * (taps * 0.8 + 3.0)))


def _taps(kernel: KernelBuilder, axis: str, position: str, size: str) -> None:
    """Write where a window begins along an axis, and the range of its taps that meet elements."""
    kernel.line(f"from_{axis} = {position} * stride_{axis} - pad_{axis}")
    kernel.line(f"low_{axis} = max(0, -(from_{axis} // step_{axis}))")
    kernel.line(f"high_{axis} = min(taps_{axis}, ({size} - 1 - from_{axis}) // step_{axis} + 1)")


def _best(kernel: KernelBuilder, dtype: str, low: str, strides: tuple[str, str]) -> None:
    """Write the walk over a window; leaves its greatest element in ``best``, found at ``h`` and ``w``."""
    suffix = register_suffix(dtype)
    for name, value in (("best", low), ("h", "-1"), ("w", "-1")):
        kernel.line(f"{name} = {value}")
    with kernel.block("for ky in range(low_h, high_h)"):
        kernel.line("iy = from_h + ky * step_h")
        with kernel.block("for kx in range(low_w, high_w)"):
            kernel.line("ix = from_w + kx * step_w")
            kernel.line(f"v = load_{SUFFIX[dtype]}(x, image + iy * {strides[0]} + ix * {strides[1]})")
            better = f"h < 0 or gt_{suffix}(v, best)"
            if is_float(dtype):
                better += f" or (isnan_{suffix}(v) and not isnan_{suffix}(best))"
            with kernel.block(f"if {better}"):
                for name, value in (("best", "v"), ("h", "iy"), ("w", "ix")):
                    kernel.line(f"{name} = {value}")
