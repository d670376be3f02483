"""Templates: how each operator of the core becomes kernels. Importing the package declares them all."""

from __future__ import annotations

from . import (
    arg,
    conv,
    elementwise,
    grid_sample,
    indexing,
    integer_products,
    matmul,
    max_pool_indices,
    movement,
    padding,
    pool,
    quantization,
    recurrent,
    reduction,
    resample,
    scan,
    scatter_reduce,
    sizes,
    top_k,
)

__all__ = [
    "arg",
    "conv",
    "elementwise",
    "grid_sample",
    "indexing",
    "integer_products",
    "matmul",
    "max_pool_indices",
    "movement",
    "padding",
    "pool",
    "quantization",
    "recurrent",
    "reduction",
    "resample",
    "scan",
    "scatter_reduce",
    "sizes",
    "top_k",
]
