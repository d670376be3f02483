"""Builds the graph of a conformance case with the builder, as a user of the public interface would."""

from __future__ import annotations

from typing import Any

import numpy as np

import basalt

from .vectors import Call, Case

__all__ = ["build", "feeds_of"]

CONTEXT = basalt.MLContext()


def build(case: Case, context: basalt.MLContext = CONTEXT) -> basalt.MLGraph:
    """The graph of a case: its constants as constants, everything else as inputs."""
    builder = basalt.MLGraphBuilder(context)
    values = {name: _start(builder, name, array, name in case.constants) for name, array in case.inputs.items()}
    for call in case.calls:
        results = _call(builder, call, values)
        assert len(results) == len(call.outputs)
        values.update(zip(call.outputs, results))
    return builder.build({name: values[name] for name in case.expected})


def feeds_of(case: Case, graph: basalt.MLGraph) -> dict[str, np.ndarray]:
    """The arrays for the graph's inputs, from which those are missing that no output depends on."""
    return {spec.name: case.inputs[spec.name] for spec in graph.inputs}


def _start(builder: basalt.MLGraphBuilder, name: str, array: np.ndarray, constant: bool) -> basalt.MLOperand:
    return builder.constant(array) if constant else builder.input(name, array.dtype.name, array.shape)


def _call(builder: basalt.MLGraphBuilder, call: Call, values: dict[str, Any]) -> tuple[basalt.MLOperand, ...]:
    operands = [tuple(values[n] for n in o) if isinstance(o, tuple) else values[o] for o in call.operands]
    options = {name: values[operand] for name, operand in call.operand_options.items()}
    result = getattr(builder, call.name)(*operands, *call.arguments, **options, **call.options, label=call.name)
    assert isinstance(result, tuple) == call.sequence
    return result if isinstance(result, tuple) else (result,)
