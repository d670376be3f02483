"""Indices of every type: negative, outside, constant and fed."""

from __future__ import annotations

import numpy as np
import pytest

from .one_operator import FLOATS, INTS, check, numbers

INDICES = ("int32", "uint32", "int64")
each_index = pytest.mark.parametrize("index", INDICES)
where = pytest.mark.parametrize("constant", [(), ("indices",)])


def places(index: str, values: list[object]) -> np.ndarray:
    array = np.array(values)
    return (np.abs(array) if index == "uint32" else array).astype(index)


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_gather_of_every_type(dtype: str) -> None:
    check("gather", [numbers(dtype, 4, 3), np.array([[0, 3, -7], [9, -1, 2]])], axis=0)


@each_index
@where
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gather(dtype: str, index: str, constant: tuple[str, ...]) -> None:
    source = numbers(dtype, 4, 3)
    check("gather", [source, places(index, [[0, 3, -7], [9, -1, 2]])], axis=0, constant=constant)
    check("gather", [source, places(index, [1])[0]], axis=1, constant=constant)


@each_index
@where
def test_along_an_axis(index: str, constant: tuple[str, ...]) -> None:
    indices = places(index, [[0, 3, -9], [9, -2, 1]])
    check("gather_elements", [numbers("float32", 2, 4), indices], axis=1, constant=constant)
    updates = numbers("float32", 2, 3)
    distinct = places(index, [[0, 3, -2], [9, -1, 1]]) if index != "uint32" else places(index, [[0, 3, 1], [9, 2, 1]])
    check("scatter_elements", [numbers("float32", 2, 4), distinct, updates], axis=1, constant=constant)


@each_index
@where
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16", "uint64"])
def test_by_coordinates(dtype: str, index: str, constant: tuple[str, ...]) -> None:
    indices = places(index, [[0, 3], [-9, 9]]) if index != "uint32" else places(index, [[0, 3], [9, 9]])
    check("gather_nd", [numbers(dtype, 2, 5, 3), indices], constant=constant)
    check("scatter_nd", [numbers(dtype, 2, 5, 3), indices, numbers(dtype, 2, 3)], constant=constant)


def test_constant_indices_inside_are_kept_as_they_are() -> None:
    model = check("gather", [numbers("float32", 4), np.array([0, -4, 3])], constant=("indices",))
    assert [node.op_type for node in model.nodes] == ["Gather"]


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_scatter_reduce(dtype: str, reduction: str) -> None:
    indices = np.array([[1], [1], [-1]])
    check("scatter_nd_reduce", [numbers(dtype, 4, 3), indices, numbers(dtype, 3, 3)], reduction, opset=18)
    operands = [numbers(dtype, 4, 3), np.array([[1, 1], [1, -1]]), numbers(dtype, 2, 2)]
    check("scatter_elements_reduce", operands, reduction, axis=1, opset=18, again=dtype == "float32")


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_top_k(dtype: str) -> None:
    check("top_k", [numbers(dtype, 3, 6)], 2, axis=1)
    check("top_k", [numbers(dtype, 3, 6)], 2, axis=0, largest=False)


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_positions_of_extremes(dtype: str) -> None:
    check("arg_max", [numbers(dtype, 3, 4)], 1, keep_dimensions=True)
    check("arg_min", [numbers(dtype, 3, 4)], 0, output_data_type="int64")
