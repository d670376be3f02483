"""Graphs that a builder built (the standard's section "MLGraph interface")."""

from __future__ import annotations

from basalt.runtime.context import BaseContext

from .executable import Executable
from .ir import Constants, Graph

__all__ = ["MLGraph"]


class MLGraph(Executable):
    """A built graph: run it with arrays (``run``), or with tensors of its context (``MLContext.dispatch``)."""

    def __init__(self, context: BaseContext, graph: Graph, constants: Constants) -> None:
        """Builders call this."""
        super().__init__(graph, constants, threads=context.threads, eager=context.eager_first_run)
        self._context = context
        context.adopt(self)

    @property
    def context(self) -> BaseContext:
        """The context that the graph belongs to; its ``destroy`` destroys the graph."""
        return self._context
