"""Element-wise operators, at every data type that they take, with the numbers at which meanings part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt import ops
from basalt.ops.types import numpy_dtype, widened

from .one_operator import FLOATS, INTS, check, extremes, numbers

OPERATORS = {**ops.all_operators(), **ops.extension_operators()}
UNARY = [n for n, o in OPERATORS.items() if len(o.operands) == 1 and o.operands[0].rank == (0, 8) and not o.arguments]
BINARY = [
    n for n, o in OPERATORS.items() if [x.name for x in o.operands] == ["a", "b"] and o.operands[0].rank == (0, 8)
]
SINCE = {name: 18 for name in OPERATORS if name.startswith("bitwise")}
IMPORTED = ("float32", "bfloat16", "int8", "int64")
"""Types whose models are imported again: the others are written alike."""
INEXACT_SUMS = ("reduce_l1", "reduce_sum", "reduce_sum_square")
"""ONNX Runtime sums int64 up in float64, and clamps."""


def types_of(op: str) -> list[str]:
    dtypes = OPERATORS[op].operands[0].dtypes
    assert isinstance(dtypes, frozenset)
    return [d for d in FLOATS + INTS if d in widened(dtypes)]


@pytest.mark.parametrize(("op", "dtype"), [(op, d) for op in UNARY for d in types_of(op)])
def test_unary(op: str, dtype: str) -> None:
    opset = SINCE.get(op, 17)
    check(op, [numbers(dtype, 2, 3, 4)], opset=opset, again=dtype in IMPORTED)
    if not (op in INEXACT_SUMS and dtype == "int64"):
        check(op, [extremes(dtype)], opset=opset, again=False)


@pytest.mark.parametrize(("op", "dtype"), [(op, d) for op in BINARY for d in types_of(op)])
def test_binary(op: str, dtype: str) -> None:
    opset = SINCE.get(op, 17)
    special = extremes(dtype)
    check(op, [special[:, None], special[None, :]], opset=opset, again=dtype in IMPORTED)
    check(op, [numbers(dtype, 2, 1), np.asarray(3, numpy_dtype(dtype))], constant=("b",), opset=opset, again=False)


@pytest.mark.parametrize("exponent", [0, 1, 2, 7, 63, -1])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_constant_integer_exponents_of_any_rank(dtype: str, exponent: int) -> None:
    check("pow", [extremes(dtype), np.full((1, 1), exponent, dtype)], constant=("b",))


@pytest.mark.parametrize("dtype", INTS)
def test_integers_are_divided_by_0_and_minus_1(dtype: str) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, 0, 7], dtype)
    b = np.array([0, 1, 2, info.max if info.min == 0 else -1], dtype)
    for op in ("div", "mod", "fmod"):
        check(op, [a[:, None], b])
        check(op, [a[:, None], b], constant=("b",), again=False)


@pytest.mark.parametrize("dtype", FLOATS + INTS)
@pytest.mark.parametrize(("low", "high"), [(-1, 3), (None, 2), (1, None), (0.3, 0.3), (None, None)])
def test_clamp(dtype: str, low: float | None, high: float | None) -> None:
    check("clamp", [extremes(dtype)], min_value=low, max_value=high)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("elu", {"alpha": 0.3}),
        ("hard_sigmoid", {"alpha": 0.3, "beta": 0.1}),
        ("leaky_relu", {"alpha": 0.3}),
        ("linear", {"alpha": 0.3, "beta": 0.1}),
        ("linear", {"alpha": 1.0, "beta": 0.0}),
    ],
)
def test_activations_with_numbers_that_float32_does_not_hold(op: str, options: dict[str, float], dtype: str) -> None:
    check(op, [extremes(dtype)], **options)


@pytest.mark.parametrize("dtype", (*FLOATS, "int8", "int32", "int64"))
def test_prelu_broadcasts_both_ways(dtype: str) -> None:
    check("prelu", [numbers(dtype, 2, 3), numbers(dtype, 4, 1, 1)])
    check("prelu", [numbers(dtype, 2, 3), numbers(dtype, 3)])


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_where(dtype: str) -> None:
    condition = np.array([[0, 1, 255]], np.uint8)
    check("where", [condition, numbers(dtype, 2, 3), numbers(dtype, 2, 1)])


@settings(max_examples=40)
@given(
    op=st.sampled_from(["add", "div", "greater", "pow", "mod", "max", "shift_right"]),
    dtype=st.sampled_from(INTS),
    data=st.data(),
)
def test_integers(op: str, dtype: str, data: st.DataObject) -> None:
    info = np.iinfo(dtype)
    element = st.one_of(
        st.integers(int(info.min), int(info.max)), st.sampled_from([0, 1, int(info.min), int(info.max)])
    )
    a, b = (np.array(data.draw(st.lists(element, min_size=4, max_size=4)), dtype) for _ in range(2))
    check(op, [a, b], again=False)
