"""Loop: repeated in place where it is bounded, else by the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from basalt.serialization.onnx import OnnxGraph

from ..host.repeating import Repeat, Repetition
from ..node import NodeContext
from ..state import Frame
from ..steps import HostCall
from ..tensor import Item, known_tensor
from .bodies import HostBody, enter, host_node, is_unrolled, names_read, stacked

if TYPE_CHECKING:
    from ..tracer import Tracer

__all__ = ["loop"]


def loop(tracer: Tracer, frame: Frame, n: NodeContext) -> HostCall | None:
    """A loop of known, small length whose condition never changes is repeated in place."""
    body: OnnxGraph = n.attr("body")
    carried = max(0, len(n.inputs) - 2)
    if len(body.outputs) < 1 + carried or len(body.inputs) > 2 + carried:
        raise n.error(
            f"carries {carried} values, but its body has {len(body.inputs)} inputs and {len(body.outputs)} outputs"
        )
    count, condition = n.known(0), n.known(1)
    steady = not n.given(1) or (condition is not None and condition.size == 1 and bool(condition.reshape(-1)[0]))
    steady = steady and _keeps_condition(body)
    if steady and not n.given(0):
        raise n.error("never ends: it has no trip count, and its condition is always true")
    times = int(count.reshape(-1)[0]) if count is not None and count.size == 1 else None
    if steady and is_unrolled(body, times):
        assert times is not None
        _Iterations(n, body, times, list(n.inputs[2:]), n.output_names).start(tracer, frame)
        return None
    host_body = HostBody(tracer, frame, body, n)
    given = [*n.inputs, *[None] * (2 - len(n.inputs))]
    function = Repetition(host_body, Repeat("loop", len(given), carried))
    return HostCall(host_node(n), function, [*given, *host_body.captured], n.output_names)


def _keeps_condition(body: OnnxGraph) -> bool:
    """Whether a loop's body always gives the condition that it got, or true."""
    if len(body.inputs) < 2 or not body.outputs:
        return False
    wanted = body.outputs[0].name
    producers = {o: node for node in body.nodes for o in node.outputs}
    seen: set[str] = set()
    while wanted in producers and producers[wanted].op_type == "Identity" and wanted not in seen:
        seen.add(wanted)
        wanted = producers[wanted].inputs[0]
    if wanted == body.inputs[1].name:
        return True
    made = producers.get(wanted)
    if made is not None and made.op_type == "Constant" and "value" in made.attributes:
        return bool(np.all(made.attributes["value"].value.array()))  # type: ignore[union-attr]
    return any(t.name == wanted and bool(np.all(t.array())) for t in body.initializers)


@dataclass(slots=True)
class _Iterations:
    """A loop repeated in place: the end of each body begins the next."""

    node: NodeContext
    body: OnnxGraph
    times: int
    carried: list[Item]
    outside: Sequence[str]
    scanned: list[list[Item]] = field(default_factory=list)
    done: int = 0

    @property
    def needs(self) -> Sequence[str]:
        return names_read(self.body)

    def start(self, tracer: Tracer, frame: Frame) -> None:
        names = [v.name for v in self.body.inputs]
        values: list[Item] = [known_tensor(np.array(self.done, np.int64)), known_tensor(np.array(True)), *self.carried]
        enter(tracer, frame, self.node, self.body, dict(zip(names, values)), self)

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        from ..tracer import bind

        results = [frame.lookup(v.name) for v in self.body.outputs][1:]
        count = len(self.carried)
        self.carried = results[:count]
        self.scanned = self.scanned or [[] for _ in results[count:]]
        for entries, item in zip(self.scanned, results[count:]):
            entries.append(item)
        self.done += 1
        caller = tracer.frames[-1]
        if self.done < self.times:
            self.start(tracer, caller)
            return
        bind(caller, self.outside, [*self.carried, *[stacked(tracer, self.node, e, 0) for e in self.scanned]])

    def copy(self, convert: Callable[[Item], Item]) -> _Iterations:
        scanned = [[convert(i) for i in entries] for entries in self.scanned]
        return replace(self, carried=[convert(i) for i in self.carried], scanned=scanned)
