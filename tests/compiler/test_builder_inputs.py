"""Inputs and constants of the builder: what is taken, what is refused and with which words."""

from __future__ import annotations

import array
import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import basalt
from basalt.errors import InvalidStateError, ValidationError


@pytest.fixture
def context() -> basalt.MLContext:
    return basalt.MLContext()


@pytest.fixture
def builder(context: basalt.MLContext) -> basalt.MLGraphBuilder:
    return basalt.MLGraphBuilder(context)


def value_of(builder: basalt.MLGraphBuilder, operand: basalt.MLOperand) -> np.ndarray:
    """The elements of a constant, as a graph shows them."""
    graph = builder.build({"y": builder.identity(operand)})
    (constant,) = graph.graph.constants()
    return graph.constants.array(constant)


def test_an_operand_has_a_type_and_a_shape(builder: basalt.MLGraphBuilder) -> None:
    x = builder.input("x", "float32", (1, 3))
    assert (x.data_type, x.shape, x.rank) == ("float32", (1, 3), 2)
    assert repr(x) == "<MLOperand 'x' float32[1, 3]>"
    assert repr(builder.constant(np.float32(2))) == "<MLOperand constant float32[]>"
    assert repr(builder.relu(x)) == "<MLOperand float32[1, 3]>"


def test_an_operand_is_immutable(builder: basalt.MLGraphBuilder) -> None:
    x = builder.input("x", "float32", (1, 3))
    with pytest.raises(AttributeError, match="immutable: shape cannot be set"):
        x.shape = (3, 1)  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del x.shape


def test_an_operand_is_no_array(builder: basalt.MLGraphBuilder) -> None:
    x = builder.input("x", "float32", (1, 3))
    with pytest.raises(TypeError, match="holds no elements"):
        np.asarray(x)
    with pytest.raises(TypeError):
        np.ones(3) + x  # type: ignore[operator]


@pytest.mark.parametrize("data_type", ["float16", np.float16, np.dtype("float16")])
def test_a_data_type_may_be_a_numpy_type(builder: basalt.MLGraphBuilder, data_type: Any) -> None:
    assert builder.input("x", data_type, [2]).data_type == "float16"


def test_an_input_takes_a_descriptor(builder: basalt.MLGraphBuilder) -> None:
    x = builder.input("x", {"dataType": "int8", "shape": [4, 5]})
    assert (x.data_type, x.shape) == ("int8", (4, 5))


def test_symbolic_dimensions_can_be_calculated_with(builder: basalt.MLGraphBuilder) -> None:
    x = builder.input("x", "float32", ("n", 4))
    y = builder.reshape(x, (x.shape[0] * 2, 2))
    assert str(y.shape[0]) == "2*n"
    assert builder.input("z", "float32", (x.shape[0], "2*n", "7")).shape[2] == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "float32", (1,)), "input: name is '', expected a string that is not empty"),
        ((3, "float32", (1,)), "input: name is 3, expected a string"),
        (("x", "float31", (1,)), "input 'x': 'float31' is no data type, expected one of float32, float16, int32"),
        (("x", None, (1,)), "input 'x': None is no data type"),
        (("x", "float32"), "input 'x': a shape is missing after the data type 'float32'"),
        (("x", "float32", 3), "input 'x': shape is 3, expected a sequence of dimensions"),
        (("x", "float32", "nchw"), "input 'x': shape is 'nchw', expected a sequence"),
        (
            ("x", "float32", (0, 3)),
            r"input 'x': shape \(0, 3\) has dimension 0, expected an integer from 1 to 2147483647",
        ),
        (("x", "float32", (2**31,)), "has dimension 2147483648, expected an integer from 1 to 2147483647"),
        (("x", "float32", (-1,)), "has dimension -1"),
        (("x", "float32", (1.5,)), "has dimension 1.5"),
        (("x", "float32", (True,)), "has dimension True"),
        (("x", "float32", (" ",)), "has a dimension without a name"),
        (("x", "float32", (2**16, 2**15)), "has 2147483648 elements, expected at most 2147483647"),
        (("x", "float32", (1,) * 9), "has rank 9, expected at most 8"),
        (("x", "float32", itertools.count(1)), "has rank more than 8, expected at most 8"),
        (("x", "float32", np.array(3)), r"shape is array\(3\), expected a sequence of dimensions"),
        (("x", "float32", {2, 3}), r"shape is \{2, 3\}, expected a sequence of dimensions"),
        (("x", {"shape": [1]}), "lacks dataType"),
        (("x", {"dataType": "int8"}), "lacks shape"),
        (
            ("x", {"dataType": "int8", "dimensions": [1]}),
            "has no member 'dimensions'; its members are dataType and shape",
        ),
        (("x", {"dataType": "int8", "shape": [1]}, (1,)), "is given beside a descriptor"),
    ],
)
def test_inputs_that_are_refused(builder: basalt.MLGraphBuilder, arguments: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        builder.input(*arguments)


def test_input_names_are_unique(builder: basalt.MLGraphBuilder) -> None:
    builder.input("x", "float32", (1,))
    with pytest.raises(ValidationError, match="input 'x': the graph has an input of this name already"):
        builder.input("x", "float32", (1,))


def test_a_refused_input_leaves_its_name_free(builder: basalt.MLGraphBuilder) -> None:
    with pytest.raises(ValidationError):
        builder.input("x", "float32", (0,))
    assert builder.input("x", "float32", (1,)).shape == (1,)


def test_a_constant_is_a_copy(builder: basalt.MLGraphBuilder) -> None:
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    operand = builder.constant(given)
    given[:] = -1
    assert (operand.data_type, operand.shape) == ("float32", (2, 3))
    assert value_of(builder, operand).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "given",
    [
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2] / 2,
    ],
)
def test_a_constant_of_any_layout_becomes_plain(builder: basalt.MLGraphBuilder, given: np.ndarray) -> None:
    value = value_of(builder, builder.constant(given))
    assert value.dtype == np.float32 and value.dtype.isnative and value.flags.c_contiguous
    assert value.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        ("float32", 0.1, float(np.float32(0.1))),
        ("float32", 1e40, float("inf")),
        ("float16", 65520, float("inf")),
        ("float16", 65519, 65504.0),
        ("float32", -0.0, -0.0),
        ("int8", 300, 127),
        ("int8", -300.7, -128),
        ("uint8", -1, 0),
        ("int32", 2.5, 2),
        ("int32", 3.5, 4),
        ("int32", float("nan"), 0),
        ("uint64", float("inf"), 2**64 - 1),
        ("int64", 2**70, 2**63 - 1),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("uint8", True, 1),
    ],
)
def test_a_scalar_is_cast_as_the_standard_says(
    builder: basalt.MLGraphBuilder, data_type: str, value: float, expected: float
) -> None:
    operand = builder.constant(data_type, value)
    assert (operand.data_type, operand.shape) == (data_type, ())
    result = value_of(builder, operand)
    assert result.dtype == data_type and result[()] == expected
    assert np.signbit(float(result[()])) == np.signbit(expected)


@given(st.integers(-(2**70), 2**70), st.sampled_from(["int8", "uint8", "int32", "uint32", "int64", "uint64"]))
def test_integers_are_clamped(value: int, data_type: str) -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    bounds = np.iinfo(data_type)
    result = value_of(builder, builder.constant(data_type, value))
    assert int(result) == min(max(value, int(bounds.min)), int(bounds.max))


DESCRIPTOR = {"dataType": "float32", "shape": [2, 2]}
NUMBERS = np.array([[1, 2], [3, 4]], np.float32)


@pytest.mark.parametrize(
    "buffer",
    [
        NUMBERS,
        NUMBERS.reshape(-1),
        NUMBERS.tobytes(),
        bytearray(NUMBERS.tobytes()),
        memoryview(NUMBERS.tobytes()),
        array.array("f", [1, 2, 3, 4]),
        np.frombuffer(NUMBERS.tobytes(), np.uint8),
        np.frombuffer(NUMBERS.tobytes(), np.uint8).reshape(4, 4),
    ],
)
def test_a_constant_from_a_descriptor_and_a_buffer(builder: basalt.MLGraphBuilder, buffer: Any) -> None:
    operand = builder.constant(DESCRIPTOR, buffer)
    assert value_of(builder, operand).tolist() == [[1, 2], [3, 4]]


def test_bytes_of_a_constant_are_copied(builder: basalt.MLGraphBuilder) -> None:
    buffer = bytearray(NUMBERS.tobytes())
    operand = builder.constant(DESCRIPTOR, buffer)
    buffer[:] = bytes(16)
    assert value_of(builder, operand).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (0.5,),
            r'constant: got 0.5 alone, expected an array; a scalar needs its data type: constant\("float32", 0.5\)',
        ),
        (([1.0, 2.0],), r"got \[1.0, 2.0\] alone, expected an array"),
        ((np.array(["a"]),), "an array of <U1 has no data type of a graph"),
        ((np.array([None]),), "an array of object has no data type"),
        ((np.ones((2, 0), np.float32),), r"shape \(2, 0\) has dimension 0"),
        ((NUMBERS, NUMBERS), "a value is given beside the array"),
        (("float33", 1), "'float33' is no data type"),
        (("float32", "1"), "the value of a float32 scalar: expected a number, got '1'"),
        (("float32", [1.0]), r"the value of a float32 scalar: expected a number, got \[1.0\]"),
        ((DESCRIPTOR,), "comes without a buffer"),
        ((DESCRIPTOR, NUMBERS.tobytes()[:-1]), r"got 15 bytes, expected 16 for float32\[2, 2\]"),
        ((DESCRIPTOR, NUMBERS.astype(np.float64)), r"the array holds float64, expected float32 or bytes \(uint8\)"),
        ((DESCRIPTOR, NUMBERS.reshape(4, 1)), r"the array has shape \[4, 1\], expected \[2, 2\]"),
        ((DESCRIPTOR, [1.0, 2.0, 3.0, 4.0]), "got list, expected a NumPy array or a bytes-like object"),
        (({**DESCRIPTOR, "shape": [2, 0]}, b""), "has dimension 0"),
        (({**DESCRIPTOR, "shape": ["n"]}, b""), "has dimension 'n', expected an integer"),
    ],
)
def test_constants_that_are_refused(builder: basalt.MLGraphBuilder, arguments: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        builder.constant(*arguments)


def test_an_operand_is_no_constant(builder: basalt.MLGraphBuilder) -> None:
    with pytest.raises(ValidationError, match=r"constant: <MLOperand 'x' float32\[1\]> is an operand already"):
        builder.constant(builder.input("x", "float32", (1,)))


@pytest.mark.parametrize("dtype", [np.float64, np.bool_, np.int16, ml_dtypes.bfloat16, ml_dtypes.int4])
def test_constants_may_have_types_that_the_standard_lacks(context: basalt.MLContext, dtype: Any) -> None:
    builder = basalt.MLGraphBuilder(context, extended=True)
    assert builder.constant(np.ones(3, dtype)).data_type == np.dtype(dtype).name


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_quantisation_takes_four_bits_beyond_the_standard(builder: basalt.MLGraphBuilder, dtype: Any) -> None:
    packed = builder.input("x", np.dtype(dtype).name, (2, 2))
    scale, zero = builder.constant(np.ones((1, 1), np.float32)), builder.constant(np.ones((1, 1), dtype))
    assert builder.dequantize_linear(packed, scale, zero).data_type == "float32"
    with pytest.raises(ValidationError, match="expected one of"):
        builder.add(packed, packed)


def test_a_constant_tensor(context: basalt.MLContext, builder: basalt.MLGraphBuilder) -> None:
    tensor = context.create_constant_tensor(NUMBERS)
    operand = builder.constant(tensor)
    tensor.destroy()
    assert value_of(builder, operand).tolist() == [[1, 2], [3, 4]]


def test_tensors_that_make_no_constant(context: basalt.MLContext, builder: basalt.MLGraphBuilder) -> None:
    with pytest.raises(ValidationError, match="belongs to another context than the builder"):
        builder.constant(basalt.MLContext().create_constant_tensor(NUMBERS))
    with pytest.raises(ValidationError, match="is no constant tensor; create_constant_tensor makes them"):
        builder.constant(context.create_tensor("float32", (2, 2)))
    tensor = context.create_constant_tensor(NUMBERS)
    with pytest.raises(ValidationError, match="a value is given beside the tensor"):
        builder.constant(tensor, 3)
    tensor.destroy()
    with pytest.raises(ValidationError, match="was destroyed"):
        builder.constant(tensor)


def test_a_builder_needs_a_context_in_use(context: basalt.MLContext) -> None:
    with pytest.raises(ValidationError, match="context is 3, expected an MLContext"):
        basalt.MLGraphBuilder(3)  # type: ignore[arg-type]
    context.destroy()
    with pytest.raises(InvalidStateError, match="MLGraphBuilder: the context was destroyed"):
        basalt.MLGraphBuilder(context)
