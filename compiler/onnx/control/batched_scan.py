"""Scan of version 8: the first axis of everything is the batch, and each entry may have a length of its own."""

from __future__ import annotations

from basalt.serialization.onnx import OnnxGraph

from ..host.repeating import Repeat
from ..node import NodeContext

__all__ = ["batched_scan"]


def batched_scan(n: NodeContext, body: OnnxGraph) -> Repeat:
    """How the host repeats the body.

    Raises:
        ValidationError: if the numbers of inputs, outputs and attributes do not agree.
    """
    scanned = int(n.attr("num_scan_inputs"))
    states = len(n.inputs) - 1 - scanned
    outs = len(body.outputs) - states
    if scanned < 1 or states < 0 or outs < 0 or len(body.inputs) != states + scanned:
        raise n.error(
            f"has {len(n.inputs)} inputs, {scanned} of them scanned, but a body with {len(body.inputs)} inputs and "
            f"{len(body.outputs)} outputs"
        )
    directions = [int(bool(d)) for d in n.attr("directions") or [0] * scanned]
    if len(directions) != scanned:
        raise n.error(f"directions has {len(directions)} elements, expected {scanned}")
    return Repeat("batched_scan", len(n.inputs), states, (0,) * scanned, tuple(directions), (0,) * outs, (0,) * outs)
