"""Scan from version 9 on: repeated in place where it is bounded, else by the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from basalt.serialization.onnx import OnnxGraph

from ..host.repeating import Repetition
from ..node import NodeContext
from ..state import Frame
from ..steps import HostCall
from ..tensor import Item, Tensor
from .batched_scan import batched_scan
from .bodies import HostBody, enter, host_node, is_unrolled, names_read, of_now, stacked
from .scan_plan import ScanPlan

if TYPE_CHECKING:
    from ..tracer import Tracer

__all__ = ["scan"]


def scan(tracer: Tracer, frame: Frame, n: NodeContext) -> HostCall | None:
    """A scan of known, small length is repeated in place."""
    body: OnnxGraph = n.attr("body")
    if n.version == 8:
        repeat = batched_scan(n, body)
    else:
        plan = ScanPlan.of(n, body)
        length = plan.length(n)
        if is_unrolled(body, length):
            assert length is not None
            _check_lengths(n, plan, length)
            _Iterations(n, body, plan, length, list(n.inputs)).start(tracer, frame)
            return None
        repeat = plan.repeat(len(n.inputs))
    host_body = HostBody(tracer, frame, body, n)
    return HostCall(host_node(n), Repetition(host_body, repeat), [*n.inputs, *host_body.captured], n.output_names)


def _check_lengths(n: NodeContext, plan: ScanPlan, length: int) -> None:
    for i, axis in enumerate(plan.in_axes):
        x = n.tensor(plan.states + i)
        size = x.shape[n.axis(axis, x.rank, "scan_input_axes")]
        if size != length:
            raise n.error(f"scanned inputs have different lengths: {x} has not {length} along axis {axis}")


@dataclass(slots=True)
class _Iterations:
    """A scan repeated in place."""

    node: NodeContext
    body: OnnxGraph
    plan: ScanPlan
    times: int
    inputs: list[Item]
    scanned: list[list[Item]] = field(default_factory=list)
    done: int = 0

    @property
    def needs(self) -> Sequence[str]:
        return names_read(self.body)

    def start(self, tracer: Tracer, frame: Frame) -> None:
        n = of_now(self.node, tracer)
        values: list[Item] = list(self.inputs[: self.plan.states])
        for x, axis, backwards in zip(self.inputs[self.plan.states :], self.plan.in_axes, self.plan.in_reversed):
            assert isinstance(x, Tensor)
            place = self.times - 1 - self.done if backwards else self.done
            along = axis % x.rank
            cut = n.slice(x, along, place, 1)
            values.append(n.reshape(cut, [d for i, d in enumerate(x.shape) if i != along]))
        names = [v.name for v in self.body.inputs]
        enter(tracer, frame, self.node, self.body, dict(zip(names, values)), self)

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        from ..tracer import bind

        results = [frame.lookup(v.name) for v in self.body.outputs]
        states = self.plan.states
        self.inputs[:states] = results[:states]
        self.scanned = self.scanned or [[] for _ in results[states:]]
        for entries, item in zip(self.scanned, results[states:]):
            entries.append(item)
        self.done += 1
        caller = tracer.frames[-1]
        if self.done < self.times:
            self.start(tracer, caller)
            return
        rows = [
            stacked(tracer, self.node, entries[::-1] if backwards else entries, axis)
            for entries, axis, backwards in zip(self.scanned, self.plan.out_axes, self.plan.out_reversed)
        ]
        bind(caller, self.node.output_names, [*self.inputs[:states], *rows])

    def copy(self, convert: Callable[[Item], Item]) -> _Iterations:
        scanned = [[convert(i) for i in entries] for entries in self.scanned]
        return replace(self, inputs=[convert(i) for i in self.inputs], scanned=scanned)
