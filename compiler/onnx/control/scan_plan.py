"""How a scan cuts its inputs and stacks its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from basalt.serialization.onnx import OnnxGraph

from ..host.repeating import Repeat
from ..node import NodeContext
from ..tensor import Tensor

__all__ = ["ScanPlan"]


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Which inputs are states (the first ``states``), and along which axes the others are cut and stacked."""

    states: int
    in_axes: Sequence[int]
    in_reversed: Sequence[bool]
    out_axes: Sequence[int]
    out_reversed: Sequence[bool]

    @classmethod
    def of(cls, n: NodeContext, body: OnnxGraph) -> ScanPlan:
        """The plan of a node of version 9 or later.

        Raises:
            ValidationError: if the numbers of inputs, outputs and attributes do not agree.
        """
        scanned = int(n.attr("num_scan_inputs"))
        states = len(n.inputs) - scanned
        if scanned < 1 or states < 0 or len(body.inputs) != len(n.inputs):
            raise n.error(f"has {len(n.inputs)} inputs, {scanned} of them scanned, but a body with {len(body.inputs)}")
        outs = len(body.outputs) - states
        if outs < 0:
            raise n.error(f"carries {states} states, but its body has {len(body.outputs)} outputs")

        def listed(name: str, count: int) -> list[int]:
            given = list(n.attr(name) or [0] * count)
            if len(given) != count:
                raise n.error(f"{name} has {len(given)} elements, expected {count}")
            return given

        return cls(
            states,
            listed("scan_input_axes", scanned),
            [bool(d) for d in listed("scan_input_directions", scanned)],
            listed("scan_output_axes", outs),
            [bool(d) for d in listed("scan_output_directions", outs)],
        )

    def repeat(self, given: int) -> Repeat:
        """How the host repeats the body for a node of so many inputs."""
        return Repeat(
            "scan",
            given,
            self.states,
            tuple(self.in_axes),
            tuple(map(int, self.in_reversed)),
            tuple(self.out_axes),
            tuple(map(int, self.out_reversed)),
        )

    def length(self, n: NodeContext) -> int | None:
        """The number of iterations where it is known now."""
        first = n.item(self.states)
        if not isinstance(first, Tensor) or first.rank == 0:
            return None
        size = first.shape[n.axis(self.in_axes[0], first.rank, "scan_input_axes")]
        return size if isinstance(size, int) else None
