"""How many arithmetic operations operators say they need."""

from __future__ import annotations

import numpy as np
import pytest

import basalt
from basalt.compiler.codegen.work import operations_of


def _operations(name: str, shapes: list[tuple[int, ...]], dtype: str = "float32", **options: object) -> int:
    builder = basalt.MLGraphBuilder(basalt.MLContext(), extended=True)
    operands = [builder.input(f"x{i}", dtype, shape) for i, shape in enumerate(shapes)]
    result = getattr(builder, name)(*operands, **options)
    graph = builder.build({"y": result[0] if isinstance(result, (tuple, list)) else result})
    (node,) = graph.graph.nodes
    return operations_of(node)


@pytest.mark.parametrize(
    ("name", "shapes", "options", "expected"),
    [
        ("add", [(3, 4), (4,)], {}, 12),
        ("transpose", [(3, 4)], {}, 0),
        ("reduce_sum", [(3, 4)], {"axes": [1]}, 12),
        ("matmul", [(5, 3, 4), (4, 7)], {}, 2 * 5 * 3 * 4 * 7),
        ("gemm", [(4, 3), (4, 7)], {"a_transpose": True}, 2 * 3 * 4 * 7),
        ("conv2d", [(2, 6, 8, 8), (4, 3, 3, 3)], {"groups": 2}, 2 * (2 * 4 * 6 * 6) * 3 * 9),
        ("conv2d", [(2, 8, 8, 6), (4, 3, 3, 6)], {"input_layout": "nhwc", "filter_layout": "ohwi"}, 2 * 288 * 54),
        ("conv_transpose2d", [(1, 6, 5, 5), (6, 4, 3, 3)], {}, 2 * (6 * 25) * 4 * 9),
        ("max_pool2d", [(1, 2, 4, 4)], {"window_dimensions": [2, 2], "strides": [2, 2]}, 8 * 4),
    ],
)
def test_counts(name: str, shapes: list[tuple[int, ...]], options: dict[str, object], expected: int) -> None:
    assert _operations(name, shapes, **options) == expected


def test_recurrent_networks_count_both_products_of_every_step() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x, w, r = (builder.input(n, "float32", s) for n, s in (("x", (5, 2, 3)), ("w", (1, 16, 3)), ("r", (1, 16, 4))))
    graph = builder.build({"h": builder.lstm(x, w, r, 5, 4)[0]})
    assert operations_of(graph.graph.nodes[0]) == 2 * 5 * 2 * (16 * 3 + 16 * 4)


def test_a_program_counts_what_its_graph_does() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext(), extended=True)
    x = builder.input("x", "float64", (10, 8))
    graph = builder.build({"y": builder.relu(builder.matmul(x, builder.constant(np.ones((8, 6)))))})
    (row,) = graph.compile().spec.rows  # type: ignore[attr-defined]
    assert (row.operations, row.dtype) == (2 * 10 * 8 * 6 + 60, "float64")
    assert row.nbytes >= 8 * (80 + 48 + 60)
