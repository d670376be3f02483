"""Reductions over some, all and no axes, of empty sets, and cumulative operators."""

from __future__ import annotations

import numpy as np
import pytest

from .one_operator import FLOATS, INTS, check, numbers

SUMMABLE = (*FLOATS, "int32", "uint32", "int64", "uint64")
TYPES = {
    **dict.fromkeys(("reduce_l2", "reduce_log_sum", "reduce_log_sum_exp", "reduce_mean"), FLOATS),
    **dict.fromkeys(("reduce_l1", "reduce_product", "reduce_sum", "reduce_sum_square"), SUMMABLE),
    **dict.fromkeys(("reduce_max", "reduce_min"), FLOATS + INTS),
}


@pytest.mark.parametrize("opset", [17, 18])
@pytest.mark.parametrize(("op", "dtype"), [(op, dtype) for op, dtypes in TYPES.items() for dtype in dtypes])
def test_reductions(op: str, dtype: str, opset: int) -> None:
    x = np.abs(numbers(dtype, 3, 4, 2)) if dtype in FLOATS else numbers(dtype, 3, 4, 2)
    check(op, [x], axes=(0, 2), opset=opset)
    check(op, [x], axes=(1,), keep_dimensions=True, opset=opset, again=False)
    check(op, [x], axes=(), opset=opset, again=False)
    check(op, [x[:, :0]], axes=(1,), keep_dimensions=True, opset=opset, again=False)


@pytest.mark.parametrize("dtype", ["int16", "int32", "uint32"])
def test_sums_wrap_around(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.max, info.max, info.min, 5], dtype)
    for op in ("reduce_sum", "reduce_l1", "reduce_sum_square"):
        check(op, [x])


@pytest.mark.parametrize("op", ["cumulative_sum", "cumulative_product"])
@pytest.mark.parametrize("dtype", SUMMABLE)
@pytest.mark.parametrize("opset", [17, 26])
def test_cumulative(op: str, dtype: str, opset: int) -> None:
    x = numbers(dtype, 3, 4, 2, low=0.5, high=1.5)
    for exclusive, backward in ((False, False), (True, False), (False, True), (True, True)):
        check(op, [x], 1, exclusive=exclusive, reversed=backward, opset=opset, again=backward)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(dtype: str, axis: int) -> None:
    check("softmax", [numbers(dtype, 2, 3, 4)], axis)
