"""Filling a view with one number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from basalt.ops import TensorType

from ..ir import Value
from ..views import View, collapse
from .body import Body
from .kernel import KernelBuilder

if TYPE_CHECKING:
    from .lowering import Lowering


def fill(lowering: Lowering, view: View, number: float | int) -> None:
    """Add the kernel that stores a number in every element of a view."""
    from ..templates.elementwise import decode

    dims, (strides,) = collapse(view.shape, [view.strides])
    kernel = KernelBuilder("fill")
    body = Body(kernel, (), len(dims))
    value = Value(TensorType(view.dtype, view.shape))
    target = body.declare_output(value, view, strides)
    name = body.terms.parameter("value", number, view.dtype)
    n = kernel.parameter("n", dims[-1])
    sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(dims[:-1])]
    if not sizes:
        with kernel.block("for i in range(start, stop)"):
            body.store(target, target.index(0, "i"), name)
    else:
        with kernel.block("for u in range(start, stop)"):
            body.start_row(decode(kernel, "u", sizes))
            with kernel.block(f"for j in range({n})"):
                body.store(target, target.index(-1, "j"), name)
    units = math.prod(dims[:-1]) if sizes else dims[0]
    lowering.add(kernel.call(units, math.prod(dims) * view.itemsize * 0.06 + units, min_chunk=1 if sizes else 64))
