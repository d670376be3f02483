"""Operators that other formats need and the standard lacks; graphs hold them like any other.

They are declared when one is first asked for by :func:`basalt.ops.get`.
"""

from __future__ import annotations

from . import (
    arithmetic,
    attention,
    bitcast,
    bitwise,
    block_products,
    deform_conv,
    fourier,
    functions,
    grid_sample,
    integer_products,
    interpolate,
    max_pool_indices,
    max_roi_pool,
    recurrent,
    roi_align,
    scan,
    scatter_reduce,
    sizes,
    top_k,
    tree_ensemble,
)

__all__ = [
    "arithmetic",
    "attention",
    "bitcast",
    "bitwise",
    "block_products",
    "deform_conv",
    "fourier",
    "functions",
    "grid_sample",
    "integer_products",
    "interpolate",
    "max_pool_indices",
    "max_roi_pool",
    "recurrent",
    "roi_align",
    "scan",
    "scatter_reduce",
    "sizes",
    "top_k",
    "tree_ensemble",
]
