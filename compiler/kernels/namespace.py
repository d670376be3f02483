"""The scalar primitives of generated kernels, by name.

Names are ``{operation}_{type}``, with f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 for values in registers, f16 bf16 bool
for values in memory, and ``cast_{source}_{destination}``.
"""

from __future__ import annotations

import functools
from typing import Any

from basalt.compiler.kernels import (
    arith,
    block_dots,
    block_tiles,
    byte_tiles,
    channel_tiles,
    convert,
    dots,
    folds,
    fourier,
    line_tiles,
    matrix_tiles,
    memory,
    pixel_tiles,
    product_tiles,
    splitting,
    stack,
    tiles,
    transposition,
    tree_codes,
    tree_crown,
    tree_sums,
    tree_walk,
    unfolding,
    window_tiles,
    winograd_tiles,
)
from basalt.compiler.kernels.emit import Recipe

__all__ = ["SUFFIXES", "names", "names_for", "recipe"]

SUFFIXES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
    "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16",
    "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
}  # fmt: skip


@functools.cache
def _simple() -> dict[str, Recipe]:
    return memory.recipes() | arith.recipes() | convert.recipes()


@functools.cache
def _elementary() -> dict[str, Recipe]:
    # Most kernels need none of them, and their coefficients take time to load.
    from basalt.compiler.kernels import vmath

    return vmath.recipes()


@functools.cache
def recipe(name: str) -> Recipe:
    """The primitive called `name`, which is the same for every target; what it emits asks the current one.

    Raises:
        KeyError: for a name that is no primitive's.
    """
    return _simple().get(name) or _elementary().get(name) or _family(name)


def _family(name: str) -> Recipe:
    """A primitive whose parameters stand in its name."""
    return _FAMILIES.get(name.partition("_")[0], tiles).recipe(name)


_FAMILIES: dict[str, Any] = {
    "amx": matrix_tiles,
    "blockdot": block_dots,
    "blockround": block_dots,
    "blocktile": block_tiles,
    "bytetile": byte_tiles,
    "channels": channel_tiles,
    "dot": dots,
    "fft": fourier,
    "fold": folds,
    "lines": line_tiles,
    "pixels": pixel_tiles,
    "product": product_tiles,
    "split": splitting,
    "stack": stack,
    "transpose": transposition,
    "treecode": tree_codes,
    "treecrown": tree_crown,
    "treesum": tree_sums,
    "treewalk": tree_walk,
    "unfold": unfolding,
    "windows": window_tiles,
    "winograd": winograd_tiles,
}


def names() -> list[str]:
    """Every primitive of scalars; those with parameters in their names come on top."""
    return [*_simple(), *_elementary()]


def names_for(dtype: str) -> frozenset[str]:
    """Names of the primitives of a data type, given as ``float32`` or by its suffix ``f32``.

    Raises:
        KeyError: with `dtype`, if there is no such type.
    """
    suffix = dtype if dtype in SUFFIXES.values() else SUFFIXES[dtype]
    return frozenset(name for name in names() if suffix in name.split("_")[1:])
