"""If: the branch that the condition chooses, in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..node import NodeContext
from ..state import Frame
from .bodies import enter

if TYPE_CHECKING:
    from ..tracer import Tracer

__all__ = ["branch"]


def branch(tracer: Tracer, frame: Frame, n: NodeContext) -> None:
    """Go on with a branch; a condition of run time is waited for."""
    chosen = n.array(0)
    if chosen.size != 1:
        raise n.error(f"the condition has {chosen.size} elements, expected 1")
    body = n.attr("then_branch" if chosen.reshape(-1)[0] else "else_branch")
    if len(body.outputs) < n.num_outputs:
        raise n.error(f"the branch has {len(body.outputs)} outputs, expected {n.num_outputs}")
    enter(tracer, frame, n, body, {}, Branch([v.name for v in body.outputs], n.output_names))


@dataclass(slots=True)
class Branch:
    """At the end of a branch its outputs become the node's."""

    inside: Sequence[str]
    outside: Sequence[str]

    @property
    def needs(self) -> Sequence[str]:
        return self.inside

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        from ..tracer import bind

        bind(tracer.frames[-1], self.outside, [frame.lookup(name) for name in self.inside])

    def copy(self, convert: Any) -> Branch:
        return self
