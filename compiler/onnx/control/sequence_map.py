"""SequenceMap: the body for each element, in place where all lengths are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from basalt.serialization.onnx import OnnxGraph

from ..host.repeating import Repeat, Repetition
from ..node import NodeContext
from ..state import Frame
from ..steps import HostCall
from ..tensor import Item, ListItem
from .bodies import HostBody, enter, host_node, is_unrolled, names_read

if TYPE_CHECKING:
    from ..tracer import Tracer

__all__ = ["sequence_map"]


def sequence_map(tracer: Tracer, frame: Frame, n: NodeContext) -> HostCall | None:
    """The body for each element of the first sequence, and of the others at the same place."""
    body: OnnxGraph = n.attr("body")
    if len(body.inputs) != len(n.inputs) or len(body.outputs) < n.num_outputs:
        raise n.error(f"has {len(n.inputs)} inputs, but a body with {len(body.inputs)}")
    lists = [i for i in n.inputs if isinstance(i, ListItem)]
    if isinstance(n.item(0), ListItem) and is_unrolled(body, len(lists[0].items)):
        if len({len(i.items) for i in lists}) != 1:
            raise n.error(f"sequences have lengths {[len(i.items) for i in lists]}, expected one")
        if all(not _is_other(i) for i in n.inputs):
            _Iterations(n, body, len(lists[0].items), list(n.inputs)).start(tracer, frame)
            return None
    host_body = HostBody(tracer, frame, body, n)
    function = Repetition(host_body, Repeat("sequence_map", len(n.inputs)))
    return HostCall(host_node(n), function, [*n.inputs, *host_body.captured], n.output_names)


def _is_other(item: Item) -> bool:
    """Whether a value may be a sequence whose elements are not known now."""
    from ..tensor import HostItem

    return isinstance(item, HostItem)


@dataclass(slots=True)
class _Iterations:
    """SequenceMap repeated in place."""

    node: NodeContext
    body: OnnxGraph
    times: int
    inputs: list[Item]
    mapped: list[list[Item]] = field(default_factory=list)
    done: int = 0

    @property
    def needs(self) -> Sequence[str]:
        return names_read(self.body)

    def start(self, tracer: Tracer, frame: Frame) -> None:
        names = [v.name for v in self.body.inputs]
        values = [i.items[self.done] if isinstance(i, ListItem) else i for i in self.inputs]
        enter(tracer, frame, self.node, self.body, dict(zip(names, values)), self)

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        from ..tracer import bind

        results = [frame.lookup(v.name) for v in self.body.outputs]
        self.mapped = self.mapped or [[] for _ in results]
        for entries, item in zip(self.mapped, results):
            entries.append(item)
        self.done += 1
        caller = tracer.frames[-1]
        if self.done < self.times:
            self.start(tracer, caller)
        else:
            bind(caller, self.node.output_names, [ListItem(entries) for entries in self.mapped])

    def copy(self, convert: Callable[[Item], Item]) -> _Iterations:
        mapped = [[convert(i) for i in entries] for entries in self.mapped]
        return replace(self, inputs=[convert(i) for i in self.inputs], mapped=mapped)
