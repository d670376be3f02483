"""Products of float32 by tiles of bfloat16 pieces: every edge, fused operators, numbers that cannot be split."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.codegen.tiling import tile_shape
from basalt.compiler.ir import Value
from basalt.compiler.kernels.target import matrix_products
from basalt.compiler.lower import lower_graph
from basalt.compiler.passes.fuse import fuse
from basalt.compiler.templates.split_product import suits

from .harness import Maker, check, compiled, numbers

pytestmark = pytest.mark.skipif(
    "bfloat16" not in matrix_products(), reason="this CPU does not multiply tiles of bfloat16"
)


def check_split(m: Maker, feeds: dict[str, np.ndarray], **outputs: Value) -> dict[str, np.ndarray]:
    spec = lower_graph(fuse(m.graph(**outputs)), m.constants)
    assert any("amx_split_32" in kernel.names for kernel in spec.kernels)
    return check(m, feeds, **outputs)


@pytest.mark.parametrize(("rows", "depth", "columns"), [(64, 64, 64), (75, 100, 150), (300, 333, 90), (49, 700, 130)])
def test_sizes(rows: int, depth: int, columns: int) -> None:
    m = Maker()
    y = m.matmul(m.input("a", "float32", (rows, depth)), m.constant(numbers(2, (depth, columns)), "float32"))
    check_split(m, {"a": numbers(1, (rows, depth))}, y=y)


def test_batches_become_rows_and_products_share_the_split_rows() -> None:
    m, a = Maker(), numbers(1, (3, 40, 96))
    x = m.input("a", "float32", a.shape)
    outputs = {f"y{i}": m.matmul(x, m.constant(numbers(i + 2, (96, 64)), "float32")) for i in range(2)}
    check_split(m, {"a": a}, **outputs)
    spec = lower_graph(fuse(m.graph(**outputs)), m.constants)
    labels = [spec.kernels[row.kernel].label for row in spec.rows]
    assert labels.count("split rows") == 1


def test_factors_an_addend_and_transposed_operands() -> None:
    m, a = Maker(), numbers(1, (96, 80))
    b, c = numbers(2, (70, 96)), numbers(3, (70,))
    options = {"alpha": 0.5, "beta": 2.0, "a_transpose": True, "b_transpose": True}
    y = m.gemm(m.input("a", "float32", a.shape), m.constant(b, "float32"), m.constant(c, "float32"), **options)
    check_split(m, {"a": a}, y=m.relu(y))


@pytest.mark.parametrize("number", [np.inf, np.nan, 3.4e38])
def test_rows_with_numbers_that_cannot_be_split(number: float) -> None:
    m, a = Maker(), numbers(1, (70, 64))
    a[33, 5] = number
    a[69, 63] = -number
    x = m.input("a", "float32", a.shape)
    b = np.abs(numbers(2, (64, 64))) * np.float32(0.9)
    y = m.matmul(x, m.constant(b, "float32"))
    graph = m.graph(y=y)
    result = compiled(graph, m.constants, {"a": a})["y"]
    with np.errstate(all="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    a[[33, 69]] = 0
    others = np.arange(70) % 36 != 33
    np.testing.assert_array_equal(result[others], compiled(graph, m.constants, {"a": a})["y"][others])


def test_weights_that_cannot_be_split_are_multiplied_as_they_are() -> None:
    value = Maker().constant(numbers(1, (64, 64)), "float32")
    tile = tile_shape("float32", 64, 64)
    array = numbers(1, (64, 64))
    assert suits(value, lambda: array, 64, tile)
    for number in (np.inf, np.nan, -3.4e38):
        array[3, 3] = number
        assert not suits(value, lambda: array, 64, tile)
