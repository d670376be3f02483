"""``stack_{bytes}()``: scratch memory on the stack of the thread that runs a kernel, aligned to 64 bytes."""

from __future__ import annotations

import re
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I8, Emitter, Recipe
from basalt.compiler.kernels.sizes import STACK_LIMIT

__all__ = ["recipe"]

_NAME = re.compile(r"stack_(\d+)")


def _allocate(size: int, e: Emitter) -> ir.Value:
    with e.b.goto_entry_block():
        place = e.b.alloca(ir.ArrayType(I8, size))
        place.align = 64
    return e.b.bitcast(place, I8.as_pointer())


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for another name, or one that asks for more than :data:`STACK_LIMIT`.
    """
    match = _NAME.fullmatch(name)
    if match is None or int(match[1]) > STACK_LIMIT:
        raise KeyError(name)
    return Recipe(types.voidptr, (), partial(_allocate, int(match[1])))
