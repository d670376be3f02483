"""Operators that move elements, at every data type."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.serialization.onnx import OnnxModel

from .one_operator import FLOATS, INTS, check, numbers

ALL = FLOATS + INTS
each_type = pytest.mark.parametrize("dtype", (*ALL, "bool", "int4", "uint4"))


def opset(dtype: str) -> int:
    """The first opset that is written and has a data type."""
    return 21 if dtype.endswith("int4") else 17


@each_type
def test_shapes(dtype: str) -> None:
    check("reshape", [numbers(dtype, 2, 6)], (3, 4), opset=opset(dtype))
    check("expand", [numbers(dtype, 2, 1)], (3, 2, 4), opset=opset(dtype))
    check("tile", [numbers(dtype, 2, 3)], (2, 1), opset=opset(dtype))
    check("transpose", [numbers(dtype, 2, 3, 4)], permutation=(1, 2, 0), opset=opset(dtype))


@each_type
def test_reverse(dtype: str) -> None:
    for axes in (None, (0, 2), ()):
        check("reverse", [numbers(dtype, 2, 3, 4)], axes=axes, opset=opset(dtype))


@each_type
def test_parts_and_joins(dtype: str) -> None:
    check("slice", [numbers(dtype, 5, 6)], (1, 2), (3, 4), strides=(2, 1), opset=opset(dtype))
    check("split", [numbers(dtype, 5, 6)], 3, axis=1, opset=opset(dtype))
    check("split", [numbers(dtype, 5, 6)], (2, 3), axis=0, opset=opset(dtype))
    check("concat", [numbers(dtype, 2, 3), numbers(dtype, 2, 1)], 1, opset=opset(dtype))


@each_type
@pytest.mark.parametrize("mode", ["constant", "edge", "reflection"])
def test_pad(dtype: str, mode: str) -> None:
    check("pad", [numbers(dtype, 3, 4)], (1, 0), (2, 3), mode=mode, value=2, opset=opset(dtype))


@each_type
@pytest.mark.parametrize("upper", [True, False])
def test_triangular(dtype: str, upper: bool) -> None:
    check("triangular", [numbers(dtype, 2, 3, 4)], upper=upper, diagonal=-1, opset=opset(dtype))


@pytest.mark.parametrize("opset", [17, 18])
def test_empty_tensors(opset: int) -> None:
    empty = np.zeros((0, 4), np.float32)
    check("concat", [empty, numbers("float32", 2, 4)], 0, opset=opset)
    check("transpose", [empty], opset=opset)
    check("reverse", [empty], opset=opset)
    check("add", [empty, numbers("float32", 1, 4)], opset=opset)


def test_what_changes_nothing_is_identity() -> None:
    x = numbers("float32", 2, 3)
    models = [
        check("slice", [x], (0, 0), (2, 3)),
        check("pad", [x], (0, 0), (0, 0)),
        check("reshape", [x], (2, 3)),
        check("transpose", [x], permutation=(0, 1)),
        check("pad", [numbers("float32")], (), ()),
    ]
    assert [operators(model) for model in models] == [["Identity"]] * len(models)


def operators(model: OnnxModel) -> list[str]:
    return [node.op_type for node in model.nodes]
