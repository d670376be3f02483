"""From a graph to a program: the pipeline, lowering, memory planning, and the plain data that the runtime loads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from basalt.runtime.spec import KernelCode, ProgramSpec, Row, Slot, TensorSpec

from .codegen.choices import measured
from .codegen.elementwise import CARRY_OVER
from .codegen.kernel import Call
from .codegen.lowering import Lowering
from .codegen.work import bytes_moved
from .hazards import independence
from .ir import Constants, Graph
from .memory import plan_memory
from .tuning.table import measured_choices
from .views import Storage, View


def compile_spec(graph: Graph, constants: Constants, *, optimise: bool = True) -> ProgramSpec:
    """The program of a graph whose sizes are all known; kernels are written but not compiled yet.

    Args:
        graph: the graph, with static shapes.
        constants: the arrays beside it.
        optimise: False leaves out every pass that the code generator does not need.

    Raises:
        UnsupportedError: for an operator without a kernel.
    """
    from .pipeline import lowered_graph

    return lower_graph(lowered_graph(graph, constants, optimise=optimise), constants)


def lower_graph(graph: Graph, constants: Constants) -> ProgramSpec:
    """The program of a graph that has gone through the pipeline, with the choices that were measured for its nodes."""
    lowering = Lowering(graph, constants)
    with measured(measured_choices()):
        lowering.run()
    return assemble(lowering)


def assemble(lowering: Lowering) -> ProgramSpec:
    """The program that a lowering gave the calls of."""
    graph = lowering.graph
    arena = plan_memory(lowering.calls, lowering.carried)
    kernels: dict[str, int] = {}
    codes: list[KernelCode] = []
    rows = []
    for call, free in zip(lowering.calls, independence(lowering.calls)):
        number = kernels.setdefault(call.source, len(codes))
        if number == len(codes):
            codes.append(KernelCode.of(call.source, call.names, call.kind))
        rows.append(_row(call, number, free))
    return ProgramSpec(
        inputs=_specs([(v.name, v) for v in graph.inputs]),
        outputs=_specs(graph.outputs),
        rows=tuple(rows),
        kernels=tuple(codes),
        constants=tuple(lowering.constant_arrays),
        arena_bytes=arena,
        carried=tuple([_carried(call) for call in lowering.calls if call.kind == CARRY_OVER]),
    )


def _specs(named: Sequence[tuple[str, object]]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name, v.dtype, tuple(v.shape)) for name, v in named)  # type: ignore[attr-defined]


def _row(call: Call, kernel: int, free: int) -> Row:
    return Row(
        kernel=kernel,
        slots=tuple(map(_slot, call.slots)),
        start=0,
        stop=call.units,
        cost=call.cost,
        min_chunk=call.min_chunk,
        serial=call.serial,
        free=free,
        label=call.label,
        operations=call.operations,
        nbytes=bytes_moved(call),
        dtype=call.dtype,
    )


def _carried(call: Call) -> tuple[int, int]:
    """The output and the input that a call keeps as one array."""
    source, target, *_ = call.slots
    assert isinstance(source, View) and isinstance(target, View)
    return target.buffer.index, source.buffer.index


def _slot(value: View | int | float) -> Slot:
    if isinstance(value, View):
        buffer = value.buffer
        offset = value.offset * value.itemsize
        make = {
            Storage.INPUT: partial(Slot.input, buffer.index),
            Storage.OUTPUT: partial(Slot.output, buffer.index),
            Storage.CONSTANT: partial(Slot.const, buffer.index),
        }.get(buffer.storage)
        return make(offset) if make else Slot.arena(buffer.offset + offset)
    return Slot.integer(value) if isinstance(value, int) else Slot.real(value)
