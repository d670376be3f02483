"""Where results are written: right into outputs, concatenations and padded tensors, without copies."""

from __future__ import annotations

import numpy as np

from basalt.compiler.codegen.kernel import Call
from basalt.compiler.codegen.lowering import Lowering
from basalt.compiler.ir import Value
from basalt.compiler.pipeline import lowered_graph

from .making import Maker


def calls(maker: Maker, **outputs: Value) -> list[Call]:
    """The kernel calls of a graph on which only the required passes ran."""
    lowering = Lowering(lowered_graph(maker.graph(**outputs), maker.constants, optimise=False), maker.constants)
    lowering.run()
    return lowering.calls


def kinds(maker: Maker, **outputs: Value) -> list[str]:
    return [each.kind for each in calls(maker, **outputs)]


def operand(maker: Maker, *shape: int) -> Value:
    return maker.input(f"x{len(maker.inputs)}", "float32", shape)


def test_operands_of_a_concatenation_are_computed_in_it() -> None:
    m = Maker()
    parts = [m.relu(operand(m, 4, 8)), m.neg(operand(m, 4, 8))]
    assert kinds(m, y=m.concat(parts, 1)) == ["relu", "neg"]


def test_inputs_are_copied_into_a_concatenation() -> None:
    m = Maker()
    assert kinds(m, y=m.concat([operand(m, 4, 8), m.neg(operand(m, 4, 8))], 0)) == ["neg", "copy"]


def test_a_value_that_is_joined_twice_is_copied_once() -> None:
    m = Maker()
    x = m.relu(operand(m, 4, 8))
    assert kinds(m, y=m.concat([x, x], 0)) == ["relu", "copy"]


def test_concatenations_of_concatenations_need_no_copy() -> None:
    m = Maker()
    inner = m.concat([m.relu(operand(m, 4, 8)), m.neg(operand(m, 4, 8))], 1)
    assert kinds(m, y=m.concat([inner, m.abs(operand(m, 2, 16))], 0)) == ["relu", "neg", "abs"]


def test_views_of_results_are_written_in_the_output() -> None:
    """A transposed or reshaped output is computed where it is needed."""
    m = Maker()
    x = operand(m, 4, 8)
    assert kinds(m, y=m.transpose(m.relu(x))) == ["relu"]
    assert kinds(m, y=m.reshape(m.relu(x), (2, 16))) == ["relu"]


def test_the_inside_of_a_padded_tensor_is_computed_in_place() -> None:
    m = Maker()
    assert kinds(m, y=m.pad(m.relu(operand(m, 4, 8)), (1, 0), (0, 2))) == ["relu", "fill", "fill"]


def test_views_of_inputs_are_copied_to_outputs_once() -> None:
    m = Maker()
    x = operand(m, 4, 8)
    assert kinds(m, y=m.transpose(x)) == ["copy"]
    assert kinds(m, y=m.slice(x, (0, 1), (4, 3))) == ["copy"]


def test_views_between_operators_cost_nothing() -> None:
    m = Maker()
    x = m.reverse(m.transpose(m.relu(operand(m, 4, 8))), axes=[0])
    assert kinds(m, y=m.neg(m.slice(x, (1, 0), (6, 4)))) == ["relu", "neg"]


def test_an_output_that_another_kernel_reads_is_not_computed_twice() -> None:
    m = Maker()
    x = m.relu(operand(m, 4, 8))
    assert kinds(m, y=x, z=m.neg(x)) == ["relu", "neg"]


def test_one_value_under_two_names_is_copied() -> None:
    m = Maker()
    x = m.relu(operand(m, 4, 8))
    assert kinds(m, y=x, z=x) == ["relu", "copy"]


def test_constants_and_inputs_as_outputs_are_copied() -> None:
    m = Maker()
    x = operand(m, 4)
    assert kinds(m, y=x, z=m.constant(np.ones(4))) == ["copy", "copy"]
