"""Computing in a wider type and rounding once at the end."""

from __future__ import annotations

from collections.abc import Callable

from ..node import NodeContext
from ..tensor import Tensor
from .building import wide

__all__ = ["in_floats", "in_wide_floats", "is_float", "is_unsigned"]


def is_float(x: Tensor) -> bool:
    """Whether a tensor holds floats of 16 bits or more."""
    return x.dtype in ("float16", "bfloat16", "float32", "float64")


def is_unsigned(x: Tensor) -> bool:
    """Whether a tensor holds unsigned integers."""
    return x.dtype.startswith("uint")


def in_wide_floats(n: NodeContext, function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """A function of floats of one data type; floats of 16 bits take part, and are rounded at the end, as float32."""
    dtype = inputs[0].dtype
    return n.cast(function(*[n.cast(x, wide(dtype)) for x in inputs]), dtype)


def in_floats(n: NodeContext, function: Callable[..., Tensor], x: Tensor) -> Tensor:
    """A function of floats; integers take part as float64, and results are truncated to them.

    float32 would not hold every integer of 32 bits.
    """
    return in_wide_floats(n, function, x) if is_float(x) else n.cast(function(n.cast(x, "float64")), x.dtype)
