"""LLVM loops with values carried in registers, and internal functions for what is called from several places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from weakref import WeakKeyDictionary, WeakSet

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I64, Emitter, Recipe
from basalt.compiler.kernels.types import Type

__all__ = [
    "POINTER",
    "chains_beside",
    "counted",
    "internal_function",
    "micro_kernel",
    "note_long_chain",
    "note_many_iterations",
]

POINTER = ir.PointerType()
Body = Callable[[ir.Value, list[ir.Value]], list[ir.Value]]


def counted(b: ir.IRBuilder, count: ir.Value, carried: Sequence[ir.Value], body: Body) -> list[ir.Value]:
    """``for k in range(count)`` around ``body(k, values) -> new values``; returns the values after the loop."""
    before = b.block
    head, inside, after = (b.append_basic_block(name) for name in ("head", "inside", "after"))
    b.branch(head)
    b.position_at_end(head)
    k = b.phi(I64)
    phis = [b.phi(value.type) for value in carried]
    k.add_incoming(I64(0), before)
    for phi, value in zip(phis, carried):
        phi.add_incoming(value, before)
    b.cbranch(b.icmp_signed("<", k, count), inside, after)
    b.position_at_end(inside)
    values = body(k, list(phis))
    k.add_incoming(b.add(k, I64(1)), b.block)
    for phi, value in zip(phis, values):
        phi.add_incoming(value, b.block)
    b.branch(head)
    b.position_at_end(after)
    return list(phis)


def micro_kernel(name: str, operands: tuple[Type, ...], write: Callable[[Emitter, Sequence[ir.Value]], None]) -> Recipe:
    """The primitive without a result that is a function of its own, which ``write(emitter, arguments)`` fills."""
    return Recipe(types.void, operands, partial(internal_function, name, write))


def internal_function(
    name: str, write: Callable[[Emitter, Sequence[ir.Value]], None], e: Emitter, *operands: ir.Value
) -> None:
    """Call the function ``name`` of this module, which ``write(emitter, arguments)`` fills when it is first called.

    A function of its own keeps the optimisers of the surrounding code away from hand-placed registers.
    """
    module = e.b.module
    function = module.globals.get(name)
    if function is None:
        kinds = [POINTER if isinstance(a.type, ir.PointerType) else a.type for a in operands]
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
        function.linkage = "internal"
        for attribute in ("noinline", "nounwind"):
            function.attributes.add(attribute)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        write(Emitter(builder, e.features), function.args)
        builder.ret_void()
    e.b.call(function, [e.b.bitcast(a, POINTER) if isinstance(a.type, ir.PointerType) else a for a in operands])


_CHAINS: WeakKeyDictionary[ir.Block, list[bool]] = WeakKeyDictionary()
_MANY: WeakSet[ir.Block] = WeakSet()


def note_long_chain(b: ir.IRBuilder, *, brief: bool = False) -> None:
    """Note that instructions which wait for each other for long go where the builder stands.

    Args:
        b: the builder.
        brief: whether they need so few registers that four of such chains fit beside each other.
    """
    _CHAINS.setdefault(b.block, []).append(brief)


def note_many_iterations(b: ir.IRBuilder) -> None:
    """Note that a loop around the place where the builder stands has enough iterations for many vectors."""
    _MANY.add(b.block)


def chains_beside(blocks: Iterable[ir.Block]) -> int:
    """How many vectors of a loop of these blocks should be computed side by side; 1 if LLVM may decide."""
    found = list(blocks)
    chains = [brief for block in found for brief in _CHAINS.get(block, ())]
    if not chains:
        return 1
    return 4 if chains == [True] and any(block in _MANY for block in found) else 2
