"""What is fused into one kernel, what is not, and why: by the names of the groups that come out."""

from __future__ import annotations

import pytest

from basalt.compiler.ir import FUSED, Graph, Node, Value
from basalt.compiler.passes.fuse import MAX_NODES, MAX_OPERANDS, fuse
from basalt.compiler.verify import verify

from .making import Maker


def groups(maker: Maker, **outputs: Value) -> list[str]:
    """The kernels of a graph in order: a plain operator, or ``root: operators`` of a fused group."""
    graph = fuse(maker.graph(**outputs))
    verify(graph, maker.constants, "fuse")
    return [shown(node) for node in graph.nodes]


def shown(node: Node) -> str:
    if node.op != FUSED:
        return node.op
    return f"{node.attrs['root']}: {' '.join(n.op for n in node.body.nodes)}"


def operand(maker: Maker, *shape: int, dtype: str = "float32") -> Value:
    return maker.input(f"x{len(maker.inputs)}", dtype, shape)


def test_a_chain_becomes_one_kernel() -> None:
    m = Maker()
    x = operand(m, 2, 3)
    assert groups(m, y=m.tanh(m.add(m.relu(x), x))) == ["elementwise: relu add tanh"]


def test_operands_of_other_shapes_are_broadcast_inside() -> None:
    m = Maker()
    assert groups(m, y=m.relu(m.add(operand(m, 2, 3), operand(m, 3)))) == ["elementwise: add relu"]


def test_a_smaller_value_is_not_computed_again_for_each_element() -> None:
    m = Maker()
    assert groups(m, y=m.add(operand(m, 2, 3), m.exp(operand(m, 3)))) == ["exp", "add"]


def test_a_value_that_leaves_the_group_is_stored_too() -> None:
    m = Maker()
    x = m.relu(operand(m, 2, 3))
    y = m.neg(x)
    graph = fuse(m.graph(y=y, x=x))
    (node,) = graph.nodes
    assert shown(node) == "elementwise: relu neg" and node.outputs == (x, y)


def test_a_diamond_is_one_kernel() -> None:
    m = Maker()
    x = m.relu(operand(m, 2, 3))
    assert groups(m, y=m.add(m.neg(x), m.abs(x))) == ["elementwise: relu neg abs add"]


def test_a_path_around_through_another_kernel_is_not_closed_to_a_cycle() -> None:
    """relu and add could be one kernel, but the sum between them needs the one and feeds the other."""
    m = Maker()
    x = m.relu(operand(m, 4, 4))
    found = groups(m, y=m.add(x, m.cumulative_sum(x, 0)))
    assert found == ["relu", "cumulative_sum", "add"]


def test_two_chains_through_a_barrier_keep_their_order() -> None:
    m = Maker()
    x = operand(m, 4, 4)
    first, second = m.relu(x), m.neg(x)
    y = m.add(m.cumulative_sum(first, 0), second)
    z = m.add(m.cumulative_sum(m.abs(second), 1), first)
    graph = fuse(m.graph(y=y, z=z))
    verify(graph, m.constants, "fuse")


def test_a_softmax_is_one_kernel_over_any_axis() -> None:
    for axis in range(3):
        m = Maker()
        x = operand(m, 4, 5, 6)
        powers = m.exp(m.sub(x, m.reduce_max(x, axes=[axis], keep_dimensions=True)))
        y = m.div(powers, m.reduce_sum(powers, axes=[axis], keep_dimensions=True))
        assert groups(m, y=y) == ["rows: reduce_max sub exp reduce_sum div"]


def test_what_is_before_and_after_a_reduction_joins_it() -> None:
    m = Maker()
    x = operand(m, 4, 5)
    y = m.sqrt(m.reduce_sum(m.mul(x, x), axes=[1], keep_dimensions=True))
    assert groups(m, y=y) == ["rows: mul reduce_sum sqrt"]


def test_reductions_over_other_axes_stay_apart() -> None:
    m = Maker()
    x = operand(m, 4, 5)
    rows, columns = (m.reduce_sum(x, axes=[a], keep_dimensions=True) for a in (1, 0))
    assert sorted(groups(m, y=rows, z=columns)) == ["reduce_sum", "reduce_sum"]


def test_reductions_that_drop_dimensions_are_not_roots() -> None:
    m = Maker()
    assert groups(m, y=m.reduce_sum(m.relu(operand(m, 4, 5)), axes=[1])) == ["relu", "reduce_sum"]


def test_element_wise_operators_follow_a_product() -> None:
    m = Maker()
    product = m.matmul(operand(m, 4, 5), operand(m, 5, 6))
    assert groups(m, y=m.relu(m.add(product, operand(m, 6)))) == ["matmul: matmul add relu"]


def test_operands_of_a_product_are_computed_before_it() -> None:
    m = Maker()
    assert groups(m, y=m.matmul(m.relu(operand(m, 4, 5)), operand(m, 5, 6))) == ["relu", "matmul"]


def test_two_products_are_two_kernels() -> None:
    m = Maker()
    x, w = operand(m, 4, 4), operand(m, 4, 4)
    assert groups(m, y=m.add(m.matmul(x, w), m.matmul(w, x))) in (
        ["matmul", "matmul: matmul add"],
        ["matmul: matmul add", "matmul"],
    )


@pytest.mark.parametrize("op", ["cumulative_sum", "transpose", "concat", "gather"])
def test_other_operators_are_joined_by_nothing(op: str) -> None:
    m = Maker()
    x = m.relu(operand(m, 4, 4))
    made = {
        "cumulative_sum": lambda: m.cumulative_sum(x, 0),
        "transpose": lambda: m.transpose(x),
        "concat": lambda: m.concat([x, x], 0),
        "gather": lambda: m.gather(x, operand(m, 4, dtype="int32")),
    }[op]()
    assert groups(m, y=m.neg(made)) == ["relu", op, "neg"]


def test_groups_are_bounded_in_nodes() -> None:
    m = Maker()
    x = operand(m, 2, 3)
    y = x
    for _ in range(3 * MAX_NODES):
        y = m.relu(m.neg(y))
    sizes = [len(n.body.nodes) for n in body_nodes(fuse(m.graph(y=y)))]
    assert sum(sizes) == 6 * MAX_NODES and max(sizes) <= MAX_NODES


def test_groups_are_bounded_in_operands() -> None:
    m = Maker()
    y = operand(m, 2, 3)
    for _ in range(3 * MAX_OPERANDS):
        y = m.add(y, operand(m, 2, 3))
    assert all(len(n.inputs) <= MAX_OPERANDS for n in body_nodes(fuse(m.graph(y=y))))


def test_labels_of_all_operators_are_kept() -> None:
    m = Maker()
    x = operand(m, 2, 3)
    (node,) = fuse(m.graph(y=m.neg(m.relu(x, label="first"), label="second"))).nodes
    assert node.labels() == ("first", "second")


def body_nodes(graph: Graph) -> list[Node]:
    return [n for n in graph.nodes if n.op == FUSED]
