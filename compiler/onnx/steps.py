"""What follows a region: the end, reading elements, or an operator on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .host.calling import call_operator
from .host.registry import HostNode
from .tensor import Absent, HostItem, Item, ListItem, Tensor

__all__ = ["Bake", "HostCall", "Return", "assemble", "describe"]

Environment = Mapping[str, Any]
"""Run-time values by slot: arrays, lists, dictionaries, None."""


@dataclass(slots=True)
class Return:
    """The end: the outputs by name."""

    outputs: Sequence[tuple[str, Item]]

    @property
    def items(self) -> list[Item]:
        return [item for _, item in self.outputs]


@dataclass(slots=True)
class Bake:
    """Read elements that decide about the rest of the graph; the translation that goes on holds for them only.

    ``key`` is the decision that they are, where they are none of the graph's values.
    """

    items: Sequence[Item]
    key: tuple[Any, ...] | None = None


@dataclass(slots=True)
class HostCall:
    """Call an operator's NumPy function, or the runner of a loop."""

    node: HostNode
    function: Callable[..., Any]
    items: Sequence[Item]
    outputs: Sequence[str]

    def call(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for run-time inputs.

        Raises:
            BasaltError: what the operator refuses; it names the node.
        """
        return call_operator(self.node, self.function, values)


def assemble(item: Item, env: Environment) -> Any:
    """The run-time value of an item."""
    if isinstance(item, Tensor):
        return item.array if item.array is not None else env[item.slot]
    if isinstance(item, ListItem):
        return [assemble(entry, env) for entry in item.items]
    if isinstance(item, HostItem):
        return item.details["value"] if "value" in item.details else env[item.slot]
    assert item is None or isinstance(item, Absent)
    return None


def describe(step: Return | Bake | HostCall) -> str:
    """A step for messages."""
    if isinstance(step, HostCall):
        return step.node.describe()
    return "the end" if isinstance(step, Return) else f"a node that reads the elements of {step.items[0]}"
