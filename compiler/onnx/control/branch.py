"""If: the branch that the condition chooses, in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..node import NodeContext
from ..state import Frame
from .bodies import enter

if TYPE_CHECKING:
    from ..tracer import Tracer

__all__ = ["branch"]


def branch(tracer: Tracer, frame: Frame, n: NodeContext) -> None:
    """Go on with a branch; a condition of run time is waited for."""
    from ..tracer import BindOutputs

    chosen = n.array(0)
    if chosen.size != 1:
        raise n.error(f"the condition has {chosen.size} elements, expected 1")
    body = n.attr("then_branch" if chosen.reshape(-1)[0] else "else_branch")
    if len(body.outputs) < n.num_outputs:
        raise n.error(f"the branch has {len(body.outputs)} outputs, expected {n.num_outputs}")
    enter(tracer, frame, n, body, {}, BindOutputs([v.name for v in body.outputs], n.output_names))
