"""Compiled extension operators on tensors without elements, or with as few as there can be."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from ..compiled.forms import Bench, Tolerance

CASES: list[tuple[str, list[tuple[tuple[int, ...], str]], list[Any], dict[str, Any]]] = [
    ("conv_integer", [((1, 0, 5, 5), "uint8"), ((3, 0, 2, 2), "int8")], [], {"padding": (1, 1, 1, 1)}),
    ("conv_integer", [((0, 2, 5, 5), "uint8"), ((3, 2, 2, 2), "int8")], [], {}),
    ("matmul_integer", [((0, 2, 3), "uint8"), ((3, 4), "int8")], [], {}),
    ("top_k", [((3, 4), "float32")], [0], {"axis": 1}),
    ("top_k", [((0, 4), "float32")], [2], {"axis": 1}),
    ("cumulative_product", [((3, 0), "float32")], [1], {}),
    ("max_pool_indices", [((0, 2, 5, 5), "float32")], [(2, 2)], {}),
    ("grid_sample", [((2, 0, 5, 5), "float32"), ((2, 3, 3, 2), "float32")], [], {}),
    (
        "grid_sample", [((1, 1, 1, 1), "float32"), ((1, 1, 1, 2), "float32")], [],
        {"padding_mode": "reflection", "align_corners": True},
    ),
    ("roi_align", [((2, 1, 5, 5), "float32"), ((0, 4), "float32"), ((0,), "int64")], [], {}),
    ("roi_align", [((2, 0, 5, 5), "float32"), ((2, 4), "float32"), ((2,), "int64")], [], {}),
    ("deform_conv", [((1, 0, 5, 5), "float32"), ((3, 0, 2, 2), "float32"), ((1, 8, 4, 4), "float32")], [], {}),
    ("deform_conv", [((0, 2, 5, 5), "float32"), ((3, 2, 2, 2), "float32"), ((0, 8, 4, 4), "float32")], [], {}),
    ("recurrent", [((0, 2, 3), "float32"), ((1, 12, 3), "float32"), ((1, 12, 3), "float32")], ["lstm", 3], {}),
    ("recurrent", [((4, 0, 3), "float32"), ((1, 9, 3), "float32"), ((1, 9, 3), "float32")], ["gru", 3], {}),
    ("recurrent", [((4, 2, 0), "float32"), ((1, 3, 0), "float32"), ((1, 3, 3), "float32")], ["rnn", 3], {}),
    ("bitwise_and", [((0,), "int32"), ((1,), "int32")], [], {}),
    ("dft", [((0, 8, 2), "float32")], [8], {}),
    ("dft", [((2, 0, 1), "float32")], [96], {"onesided": True}),
    ("stft", [((2, 3, 1), "float32")], [4, 1], {}),
    ("mod", [((), "float32"), ((), "float32")], [], {}),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
def test_few_elements(case: int) -> None:
    op, operands, arguments, options = CASES[case]
    bench = Bench(Random(case))
    values = [bench.input(np.ones(shape), dtype) for shape, dtype in operands]
    result = bench.maker.call(op, *values, *arguments, **options)
    outputs = list(result) if isinstance(result, tuple) else [result]
    bench.check(outputs, Tolerance(scaled=1e-5, signed_zeros=False))
