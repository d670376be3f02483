"""Scan of version 8: the first axis of everything is the batch, and each entry may have a length of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..host.registry import HostNode
from ..node import NodeContext
from .bodies import HostBody
from .scan_plan import ScanPlan, run_scan

__all__ = ["BatchedRunner"]


class BatchedRunner:
    """The host's Scan-8."""

    def __init__(self, body: HostBody, n: NodeContext) -> None:
        self._body, self._count = body, len(n.inputs)
        scanned = int(n.attr("num_scan_inputs"))
        states = len(n.inputs) - 1 - scanned
        outs = len(body.graph.outputs) - states
        if scanned < 1 or states < 0 or outs < 0 or len(body.inputs) != states + scanned:
            raise n.error(
                f"has {len(n.inputs)} inputs, {scanned} of them scanned, but a body with {len(body.inputs)} inputs and "
                f"{len(body.graph.outputs)} outputs"
            )
        directions = [bool(d) for d in n.attr("directions") or [0] * scanned]
        if len(directions) != scanned:
            raise n.error(f"directions has {len(directions)} elements, expected {scanned}")
        self._plan = ScanPlan(states, [0] * scanned, directions, [0] * outs, [False] * outs)

    def __call__(self, node: HostNode, *values: Any) -> tuple[Any, ...]:
        lengths, *given = values[: self._count]
        captured = values[self._count :]
        states = self._plan.states
        batch, full = self._sizes(node, given)
        steps = np.full(batch, full) if lengths is None else np.asarray(lengths)
        if steps.shape != (batch,) or np.any((steps < 0) | (steps > full)):
            raise node.error(f"sequence_lens is {steps.tolist()}, expected {batch} lengths from 0 to {full}")
        rows = [self._row([x[b] for x in given], captured, int(steps[b])) for b in range(batch)]
        if not rows:
            outputs = self._body.graph.outputs
            return tuple(self._body.stack(i, []) for i in range(len(outputs)))
        return tuple(
            np.stack([_padded(np.asarray(row[i]), full) if i >= states else row[i] for row in rows])
            for i in range(len(rows[0]))
        )

    def _sizes(self, node: HostNode, given: Sequence[Any]) -> tuple[int, int]:
        """The size of the batch, and the length of the scanned inputs."""
        scanned = given[self._plan.states :]
        shapes = [np.shape(x) for x in given]
        if any(not s for s in shapes) or any(np.ndim(x) < 2 for x in scanned):
            raise node.error(f"inputs have shapes {shapes}, expected [batch, ...] and [batch, length, ...]")
        batches, lengths = {s[0] for s in shapes}, {np.shape(x)[1] for x in scanned}
        if len(batches) != 1 or len(lengths) != 1:
            raise node.error(f"inputs have shapes {shapes}, expected one size of the batch and one length")
        return batches.pop(), lengths.pop()

    def _row(self, given: Sequence[Any], captured: Sequence[Any], length: int) -> tuple[Any, ...]:
        states = self._plan.states
        cut = [*given[:states], *[x[:length] for x in given[states:]]]
        return run_scan(
            self._body, self._plan, [np.ascontiguousarray(x).reshape(x.shape) for x in cut], captured, length
        )


def _padded(rows: np.ndarray, length: int) -> np.ndarray:
    """Rows followed by zeros; without any, as much of the shape as is known."""
    return np.concatenate([rows, np.zeros((length - len(rows), *rows.shape[1:]), rows.dtype)])
