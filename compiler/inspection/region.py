"""One graph of known sizes on its way to a program: everything that a page shows of it, as plain data."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

from basalt.runtime.spec import KernelCode, ProgramSpec

from ..codegen.choices import measured
from ..codegen.interrupts import deferred_interrupt
from ..codegen.lowering import Lowering
from ..codegen.registry import takes_epilogue
from ..ir import Constants, Graph
from ..lower import assemble
from ..pipeline import run_pipeline
from ..tuning.table import measured_choices
from .plan import kernels_of, memory_of, rows_of
from .provenance import named, numbered
from .records import Records
from .stages import stages_of

__all__ = ["Told", "code_of", "record", "region_of"]

Told = Callable[[int, int], None]
"""``told(done, total)``: kernels whose assembly was written, and how many there are."""


def region_of(graph: Graph, constants: Constants, sizes: Mapping[str, int], told: Told | None = None) -> dict[str, Any]:
    """What the passes, the code generator and the memory plan make of a graph.

    Args:
        graph: the graph as its user made it, all of whose sizes are known.
        constants: the arrays beside it, which are not added to.
        sizes: the sizes that its symbolic dimensions were given, to be shown.
        told: called after each kernel.

    Returns:
        Values and nodes by number; the stages of the pipeline as lists of these; rows, kernels with their code, and
        the plan of the memory.

    Raises:
        UnsupportedError: for an operator without a kernel.
    """
    region, spec = record(graph, constants, sizes)
    for done, (entry, code) in enumerate(zip(region["kernels"], spec.kernels), 1):
        entry["code"] = _packed(code)
        if told is not None:
            told(done, len(spec.kernels))
    return region


def record(graph: Graph, constants: Constants, sizes: Mapping[str, int]) -> tuple[dict[str, Any], ProgramSpec]:
    """As :func:`region_of` without the kernels' code, and the program."""
    store = constants.copy()
    labels = tuple(node.label for node in graph.nodes)
    records = Records(store, labels)
    start = numbered(graph)
    inputs = [records.value(v) for v in graph.inputs]
    # Fusing asks which operators have templates, and must not be charged for importing them.
    takes_epilogue("matmul")
    piped = run_pipeline(start, store, record=True)
    stages = stages_of(start, piped.stages, records)
    nodes = next(stage["nodes"] for stage in reversed(stages) if "nodes" in stage)
    lowering = Lowering(named(piped.graph, labels), store)
    with measured(measured_choices()):
        lowering.run()
    spec = assemble(lowering)
    memory, numbers = memory_of(lowering, spec, records)
    rows = rows_of(lowering, spec, nodes, numbers)
    return {
        "graph_name": graph.name,
        "sizes": dict(sizes),
        "inputs": inputs,
        "values": records.values,
        "nodes": records.nodes,
        "stages": stages,
        "rows": rows,
        "kernels": kernels_of(spec),
        "memory": memory,
    }, spec


def _packed(code: KernelCode) -> str:
    """A kernel's source and assembly as JSON, with gzip, in base64: assembly is large, and repeats itself."""
    from ..codegen.object_code import assembly_of

    with deferred_interrupt():
        text = json.dumps([code.source, assembly_of(code)])
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def code_of(packed: str) -> tuple[str, str]:
    """Source and assembly of a kernel's ``code``."""
    source, assembly = json.loads(gzip.decompress(base64.b64decode(packed)))
    return source, assembly
