"""Compiled integer products and convolutions, against their NumPy semantics."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from basalt.compiler.ir import Value
from basalt.compiler.lower import compile_spec

from ..compiled.forms import EXACT, Bench, fill
from ..making import Maker

PAIRS = [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]
Shape = tuple[int, ...]


def _byte(bench: Bench, shape: Shape, dtype: str, *, constant: bool) -> Value:
    array = fill(bench, shape, dtype, wild=True)
    return bench.maker.constant(array, dtype) if constant else bench.input(array, dtype)


def _scaled(bench: Bench, value: Value) -> Value:
    """What dequantises sums, fused behind the product."""
    return bench.maker.mul(bench.maker.cast(value, "float32"), bench.maker.constant(0.5))  # type: ignore[no-any-return]


def _check(bench: Bench, value: Value, case: int) -> None:
    outputs = [_scaled(bench, value) if case % 2 else value]
    bench.check(outputs if case % 3 else bench.result(outputs[0]), EXACT, optimise=bool(case % 2))


PRODUCTS: list[tuple[Shape, Shape, Shape | None, Shape | None]] = [
    ((5, 7), (7, 9), None, None),
    ((3, 13, 64), (64, 70), (), ()),
    ((2, 1, 4, 30), (3, 30, 33), (4,), (33,)),
    ((2, 3, 20), (2, 20, 40), (2, 3, 1), (2, 1, 40)),
    ((1, 128), (128, 64), (1,), (64,)),
    ((3, 0), (0, 4), (), ()),
]


@pytest.mark.parametrize("case", range(len(PRODUCTS)))
@pytest.mark.parametrize(("a_dtype", "b_dtype"), PAIRS)
@pytest.mark.parametrize("constant", [False, True])
def test_matmul(case: int, a_dtype: str, b_dtype: str, constant: bool) -> None:
    a_shape, b_shape, za, zb = PRODUCTS[case]
    bench = Bench(Random(case))
    a = _byte(bench, a_shape, a_dtype, constant=constant and case == 3)
    b = _byte(bench, b_shape, b_dtype, constant=constant)
    given: dict[str, Any] = {}
    if za is not None:
        given["a_zero_point"] = _byte(bench, za, a_dtype, constant=case == 1)
    if zb is not None:
        given["b_zero_point"] = _byte(bench, zb, b_dtype, constant=case == 2)
    _check(bench, bench.maker.call("matmul_integer", a, b, **given), case + constant)


@pytest.mark.parametrize(("spread", "far"), [(4, 0.0), (9, 0.004), (22, 0.0), (70, 0.0)])
@pytest.mark.parametrize(("a_dtype", "b_dtype"), PAIRS)
@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 9, 5), (9, 64, 33), (67, 44, 70)])
def test_weights_as_networks_have_them(
    spread: float, far: float, a_dtype: str, b_dtype: str, rows: int, depth: int, columns: int
) -> None:
    bench = Bench(Random(rows))
    rng = np.random.default_rng(rows)
    weights = np.rint(rng.standard_normal((depth, columns)) * spread)
    weights[rng.random(weights.shape) < far] = 127
    weights[-2:, 0] = -128
    weights = np.clip(weights, -128, 127).astype(np.int8)
    if b_dtype == "uint8":
        weights = weights.view(np.uint8) ^ np.uint8(128)
    a = _byte(bench, (rows, depth), a_dtype, constant=False)
    given = {"a_zero_point": _byte(bench, (), a_dtype, constant=rows == 1)}
    if rows == 9:
        given["b_zero_point"] = _byte(bench, (columns,), b_dtype, constant=False)
    _check(bench, bench.maker.call("matmul_integer", a, bench.maker.constant(weights, b_dtype), **given), rows)


@pytest.mark.parametrize("seed", range(4))
def test_operands_of_any_layout(seed: int) -> None:
    bench = Bench(Random(seed))
    dtypes = PAIRS[seed]
    a, b = (bench.operand(fill(bench, s, d, wild=True), d) for s, d in zip(((3, 9, 36), (3, 36, 17)), dtypes))
    bench.check(bench.result(bench.maker.call("matmul_integer", a, b)), EXACT)


CONVOLUTIONS: list[tuple[Shape, Shape, Shape | None, Shape | None, dict[str, Any]]] = [
    ((1, 3, 9, 9), (8, 3, 3, 3), None, None, {"padding": (1, 1, 1, 1)}),
    (
        (2, 8, 7, 12), (12, 4, 3, 2), (), (12,),
        {"padding": (1, 0, 2, 1), "groups": 2, "strides": (2, 1), "dilations": (1, 2)},
    ),
    ((1, 5, 6, 6), (5, 1, 1, 1), (), (), {"groups": 5}),
    ((2, 16, 5, 5), (7, 16, 5, 5), (1,), (1,), {"padding": (2, 2, 2, 2)}),
    ((2, 42, 9, 13), (6, 21, 3, 3), (), (), {"padding": (1, 1, 0, 1), "groups": 2, "strides": (1, 2)}),
    ((1, 48, 11, 6), (5, 48, 2, 2), (), None, {"padding": (0, 1, 1, 0)}),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CONVOLUTIONS)))
@pytest.mark.parametrize(("x_dtype", "w_dtype"), PAIRS)
@pytest.mark.parametrize("constant", [False, True])
def test_conv(case: int, x_dtype: str, w_dtype: str, constant: bool) -> None:
    x_shape, w_shape, zx, zw, options = CONVOLUTIONS[case]
    bench = Bench(Random(case))
    x = _byte(bench, x_shape, x_dtype, constant=False)
    w = _byte(bench, w_shape, w_dtype, constant=constant)
    given = dict(options)
    if zx is not None:
        given["input_zero_point"] = _byte(bench, zx, x_dtype, constant=constant)
    if zw is not None:
        given["filter_zero_point"] = _byte(bench, zw, w_dtype, constant=case == 2)
    _check(bench, bench.maker.call("conv_integer", x, w, **given), case + constant)


@pytest.mark.parametrize("seed", range(8))
def test_convolutions_of_images_of_any_layout(seed: int) -> None:
    bench = Bench(Random(seed))
    x_dtype, w_dtype = PAIRS[seed % 4]
    x = bench.operand(fill(bench, (2, 20, 9, 10), x_dtype, wild=True), x_dtype)
    w = _byte(bench, (5, 20, 3, 3), w_dtype, constant=True)
    zero = _byte(bench, (), x_dtype, constant=False)
    bench.check([bench.maker.call("conv_integer", x, w, input_zero_point=zero, padding=(1, 1, 1, 1))], EXACT)


def test_a_convolution_that_is_stored_transposed_with_what_follows_it() -> None:
    bench = Bench(Random(0))
    x, w = (_byte(bench, s, "uint8", constant=False) for s in ((2, 3, 6, 7), (5, 3, 3, 3)))
    y = _scaled(bench, bench.maker.call("conv_integer", x, w))
    bench.check([bench.maker.transpose(y, permutation=(0, 2, 3, 1))], EXACT, optimise=True)


def test_what_dequantises_is_part_of_the_product() -> None:
    maker = Maker()
    x = maker.input("x", "uint8", (4, 64))
    sums = maker.call("matmul_integer", x, maker.constant(np.ones((64, 32)), "int8"))
    graph = maker.graph(y=maker.mul(maker.cast(sums, "float32"), maker.constant(0.25)))
    assert len(compile_spec(graph, maker.constants).rows) == 1
