"""What the operators with bodies share: bodies in place of their node, and bodies as scripts for the host to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from basalt.errors import ModelFormatError
from basalt.serialization.onnx import OnnxGraph, OnnxType

from ..host.registry import HostNode
from ..host.repeating import stack_entries
from ..node import NodeContext
from ..state import Finish, Frame, free_names
from ..tensor import Absent, Item, Tensor

if TYPE_CHECKING:
    from ..script import Entry
    from ..tracer import Tracer

__all__ = ["HostBody", "enter", "host_node", "is_unrolled", "names_read", "of_now", "stacked"]

UNROLLED_NODES = 2000
"""Bodies are repeated in place if that makes no more nodes than this."""
UNROLLED_BRANCHES = 8
"""Bodies that branch are repeated in place this often at most: each way through them is another translation."""
_BRANCHING = frozenset({"If", "Loop"})


def is_unrolled(body: OnnxGraph, times: int | None) -> bool:
    """Whether a body that runs ``times`` times (None if that is not known) is repeated in place."""
    if times is None or not 0 < times * max(1, len(body.nodes)) <= UNROLLED_NODES:
        return False
    return times <= UNROLLED_BRANCHES or not any(node.op_type in _BRANCHING for node in body.nodes)


def enter(
    tracer: Tracer, frame: Frame, n: NodeContext, body: OnnxGraph, env: Mapping[str, Item], finish: Finish
) -> None:
    """Go on with a body's nodes; what its inputs are stands in ``env``, what happens at its end in ``finish``."""
    from ..tracer import MAX_DEPTH, initial_values

    if len(tracer.frames) > MAX_DEPTH:
        raise ModelFormatError(f"{n.describe()}: bodies nest deeper than {MAX_DEPTH}")
    scope = replace(frame.scope, path=f"{n.label}/")
    tracer.push(Frame(scope.nodes(body), scope, {**initial_values(body), **env}, frame, finish))


def names_read(body: OnnxGraph) -> list[str]:
    """What the end of a body reads so that the body can begin again: its outputs, and the values around it."""
    return [*dict.fromkeys([*[v.name for v in body.outputs], *sorted(free_names(body))])]


def of_now(n: NodeContext, tracer: Tracer) -> NodeContext:
    """The node as the region of now sees it."""
    return NodeContext(
        n.op,
        n.domain,
        n.version,
        n.opset,
        n.label,
        n.inputs,
        n.attributes,
        n.output_names,
        n.schema,
        tracer.region,
        tracer,
    )


def stacked(tracer: Tracer, node: NodeContext, entries: Sequence[Item], axis: int) -> Item:
    """Results of iterations side by side along a new axis."""
    n = of_now(node, tracer)
    rows = []
    for item in entries:
        if not isinstance(item, Tensor):
            raise n.error(f"a scanned output is {item}, expected a tensor")
        along = n.axis(axis, item.rank + 1)
        rows.append(n.reshape(item, (*item.shape[:along], 1, *item.shape[along:])))
    return rows[0] if len(rows) == 1 else n.emit("concat", *rows, axis=axis % rows[0].rank)


def host_node(n: NodeContext) -> HostNode:
    """The node for messages of the host."""
    return HostNode(n.op, n.version, n.domain, n.label, {}, n.num_outputs)


class HostBody:
    """A body as a script of its own.

    Args:
        tracer: the translation that meets the node.
        frame: where the node stands.
        body: the body.
        n: the node.

    Raises:
        ModelFormatError: if the body reads a name that nothing around it gives.
    """

    def __init__(self, tracer: Tracer, frame: Frame, body: OnnxGraph, n: NodeContext) -> None:
        from ..script import Entry, Script
        from ..stage import StageOptions
        from ..tracer import initial_values

        self.graph = body
        captured = _captured(frame, body, n)
        self.captured = [item for _, item in captured if not _is_static(item)]
        """The values around the body that only a run knows."""
        self.inputs = [v.name for v in body.inputs]
        self._names = [*self.inputs, *[name for name, item in captured if not _is_static(item)]]
        self._outputs = [v.name for v in body.outputs]
        options = StageOptions(list(dict.fromkeys(self._outputs)), **tracer.options)
        known = {**{name: item for name, item in captured if _is_static(item)}, **initial_values(body)}
        scope = replace(frame.scope, path=f"{n.label}/")
        names: dict[str, Any] = dict.fromkeys(self._names)
        self._script = Script(Entry(scope.nodes(body), scope, known, names, options, concrete_first=2), options)

    def __call__(self, values: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
        """The body's outputs for its inputs and the values around it."""
        results = self._script.run(dict(zip(self._names, [*values, *captured])))
        return [results[name] for name in self._outputs]

    @property
    def input_count(self) -> int:
        """How many inputs the body has, besides what it reads from around it."""
        return len(self.inputs)

    @property
    def output_count(self) -> int:
        """How many outputs the body has."""
        return len(self._outputs)

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """The names of inputs and of what is read from around it, and those of outputs."""
        return self._names, self._outputs

    @property
    def entry(self) -> Entry:
        """Where the body begins."""
        return self._script.entry

    def declared(self) -> list[tuple[str, tuple[int, ...]]]:
        """Data type and shape of each output, as far as the body states them: sizes that it does not are 0."""
        return [_declared(value.type) for value in self.graph.outputs]

    def stack(self, place: int, entries: Sequence[Any], axis: int = 0) -> np.ndarray:
        """What iterations gave for an output, along a new axis; without any, what the body declares of its shape."""
        return stack_entries(*_declared(self.graph.outputs[place].type), entries, axis)


def _declared(declared: OnnxType | None) -> tuple[str, tuple[int, ...]]:
    shape = declared.shape if declared is not None and declared.shape is not None else ()
    dtype = declared.dtype if declared is not None and declared.dtype != "undefined" else "float32"
    return dtype, tuple([d if isinstance(d, int) else 0 for d in shape])


def _captured(frame: Frame, body: OnnxGraph, n: NodeContext) -> list[tuple[str, Item]]:
    """What a body reads from around it, by name."""
    found = []
    for name in sorted(free_names(body)):
        try:
            found.append((name, frame.lookup(name)))
        except KeyError:
            raise ModelFormatError(f"{n.describe()}: its body reads {name!r}, which nothing gives") from None
    return found


def _is_static(item: Item) -> bool:
    return item is None or isinstance(item, Absent) or (isinstance(item, Tensor) and item.array is not None)
