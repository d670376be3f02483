"""Loops of which LLVM computes several vectors side by side, since each waits for a long chain of instructions.

LLVM interleaves only loops of few instructions. Those of an elementary function wait for each other, four cycles each,
and a processor looks ahead no further than two or three vectors of them. Two vectors go side by side, or four where one
function of few registers is computed in a loop that says ``many_iterations()``.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir

from ..kernels.loops import chains_beside
from ..kernels.target import target

__all__ = ["ask_for_interleaving"]


class _LoopMetadata(ir.MDValue):
    """A node whose first operand is itself, as LLVM wants of those that describe a loop."""

    def descr(self, buffer: list[str]) -> None:
        operands = ", ".join(x.get_reference() for x in (self, *self.operands))
        buffer += (f"distinct !{{ {operands} }}", "\n")


def ask_for_interleaving(back: ir.Branch, body: Iterable[ir.Block]) -> None:
    """Have an innermost loop interleaved if its blocks hold long chains and registers are few.

    With more of them vectors are wider, and what does not fill two would be computed by halves.

    Args:
        back: the jump back to the loop's head.
        body: the blocks of the loop.
    """
    vectors = chains_beside(body)
    if target().registers >= 32 or vectors == 1:
        return
    module = back.parent.parent.parent
    wish = module.add_metadata(["llvm.loop.interleave.count", ir.IntType(32)(vectors)])
    back.set_metadata("llvm.loop", _LoopMetadata(module, [wish], str(len(module.metadata))))
