"""What stops a translation at a node: reasons to go another way, none of which a user sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tensor import Item

__all__ = ["NeedValueError", "OnHostError", "UnresolvedError"]


class NeedValueError(Exception):
    """The elements of a value decide about the graph, and only running what comes before it will tell them.

    ``key`` names the decision where the value is none of the graph's, but was computed to decide (see
    :meth:`.node.NodeContext.decide`).
    """

    def __init__(self, item: Item, key: tuple[Any, ...] | None = None) -> None:
        super().__init__(str(item))
        self.item = item
        self.key = key


class OnHostError(Exception):
    """This node is computed by its host operator."""


class UnresolvedError(Exception):
    """Symbolic sizes do not suffice; the model must be translated for the sizes of a call."""
