"""Templates: how each operator of the core becomes kernels. Importing the package declares them all."""

from __future__ import annotations

from . import (
    column_reduction,
    elementwise,
    indexing,
    matmul,
    movement,
    padding,
    quantization,
    recurrent,
    reduction,
    scan,
)

__all__ = [
    "column_reduction",
    "elementwise",
    "indexing",
    "matmul",
    "movement",
    "padding",
    "quantization",
    "recurrent",
    "reduction",
    "scan",
]
