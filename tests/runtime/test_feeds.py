"""Arguments of a call: what is used in place, what is copied, what is refused and in which words."""

from __future__ import annotations

import array
import pickle
import re
from collections import ChainMap
from pathlib import Path
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from runtime_programs import program, ramp, tensors

from basalt.errors import BasaltError, ValidationError
from basalt.runtime.feeds import prepare_inputs, prepare_outputs
from basalt.runtime.program import Program
from basalt.runtime.spec import Row, Slot, TensorSpec

SHAPE = (4, 4)


@pytest.fixture(scope="module")
def double() -> Program:
    """y = x + 1 over float32[4, 4]."""
    row = Row(1, (Slot.input(0), Slot.output(0), Slot.real(1.0)), 0, 16, 1.0)
    return program(row, inputs=(TensorSpec("x", "float32", SHAPE),), outputs=(TensorSpec("y", "float32", SHAPE),))


@pytest.fixture(scope="module")
def two() -> Program:
    rows = (
        Row(0, (Slot.input(0), Slot.output(0)), 0, 16, 1.0),
        Row(1, (Slot.input(1), Slot.output(1), Slot.real(1.0)), 0, 16, 1.0),
    )
    return program(*rows, inputs=tensors("a", "b"), outputs=tensors("p", "q"))


def matrix() -> np.ndarray:
    return ramp().reshape(SHAPE)


def misaligned(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


class Wrapped:
    """Something that is no array but says how to become one."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


class Subclass(np.ndarray):
    """An array of a class of its own."""


class DLPack:
    """A tensor of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    "value",
    [
        matrix(),
        np.asfortranarray(matrix()),
        np.repeat(matrix(), 2, axis=1)[:, ::2],
        matrix()[::-1][::-1],
        misaligned(matrix()),
        matrix().astype(">f4"),
        matrix().view(Subclass),
        matrix().tolist(),
        [row.astype(int).tolist() for row in matrix()],
        Wrapped(matrix()),
        memoryview(matrix()),
        memoryview(matrix().tobytes()).cast("f", SHAPE),
        DLPack(matrix()),
    ],
)
def test_whatever_holds_the_right_numbers_works(double: Program, value: Any) -> None:
    np.testing.assert_array_equal(double.run({"x": value})["y"], matrix() + 1)


@given(
    base=hnp.arrays(np.float32, (9, 9), elements=st.floats(-100, 100, width=32)),
    step=st.tuples(st.sampled_from([1, 2, -1, -2]), st.sampled_from([1, 2, -1, -2])),
    transposed=st.booleans(),
)
def test_any_strides(double: Program, base: np.ndarray, step: tuple[int, int], transposed: bool) -> None:
    view = base[:: step[0], :: step[1]][:4, :4]
    view = view.T if transposed else view
    np.testing.assert_array_equal(double.run({"x": view})["y"], view + np.float32(1))


def test_read_only_and_mapped_inputs_are_used_in_place(double: Program, tmp_path: Path) -> None:
    frozen = matrix()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(double.run({"x": frozen})["y"], matrix() + 1)
    np.save(tmp_path / "x.npy", matrix())
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    (prepared,) = prepare_inputs(double.spec.inputs, {"x": mapped})
    assert type(prepared) is np.ndarray and np.shares_memory(prepared, mapped)
    np.testing.assert_array_equal(double.run({"x": mapped})["y"], matrix() + 1)


def test_inputs_are_never_written(double: Program) -> None:
    x = matrix()
    double.run({"x": x})
    np.testing.assert_array_equal(x, matrix())


@pytest.mark.parametrize("mapping", [MappingProxyType({"x": matrix()}), ChainMap({"x": matrix()})])
def test_any_mapping_is_accepted(double: Program, mapping: Any) -> None:
    np.testing.assert_array_equal(double.run(mapping)["y"], matrix() + 1)


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, "input 'x' is missing; the inputs are 'x'"),
        ({"z": matrix()}, "no input is named 'z'; the inputs are 'x'"),
        ({"x": matrix(), "z": 1}, "no input is named 'z'; the inputs are 'x'"),
        ({"x": ramp()}, "input 'x': shape [16] given, expected [4, 4] (float32)"),
        ({"x": np.zeros((4, 4, 1), np.float32)}, "input 'x': shape [4, 4, 1] given, expected [4, 4] (float32)"),
        ({"x": np.zeros(SHAPE)}, "input 'x': data type float64 given, expected float32"),
        ({"x": np.zeros(SHAPE, np.int32)}, "input 'x': data type int32 given, expected float32"),
        ({"x": np.zeros(SHAPE, bool)}, "input 'x': data type bool given, expected float32"),
        ({"x": np.float64(1)}, "input 'x': data type float64 given, expected float32"),
        ({"x": array.array("d", ramp())}, "input 'x': data type float64 given, expected float32"),
        ({"x": b"1234"}, "input 'x': data type bytes32 given, expected float32"),
        ({"x": 1.0}, "input 'x': shape [] given, expected [4, 4] (float32)"),
        ({"x": [[1, 2], [3]]}, "input 'x': list given, which is no array"),
        ({"x": None}, "input 'x': a value or list read as object given, which does not convert to float32"),
        ({"x": "text"}, "which does not convert to float32 without loss"),
        ({"x": [[True] * 4] * 4}, "read as bool given, which does not convert to float32 without loss"),
        ({"x": np.ma.masked_array(matrix(), matrix() > 3)}, "input 'x': a masked array given"),
        ([("x", matrix())], "inputs: list given, expected a mapping"),
        (None, "inputs: NoneType given, expected a mapping"),
    ],
)
def test_wrong_feeds_are_refused(double: Program, feeds: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)):
        double.run(feeds)


def test_the_first_missing_of_several_inputs(two: Program) -> None:
    with pytest.raises(ValidationError, match="input 'b' is missing; the inputs are 'a', 'b'"):
        two.run({"a": ramp()})
    with pytest.raises(ValidationError, match="no input is named 'c'"):
        two.run({"a": ramp(), "c": ramp()})


def converted(dtype: str, value: Any) -> np.ndarray:
    shape = np.shape(value)
    (array,) = prepare_inputs([TensorSpec("x", dtype, shape)], {"x": value})
    return array


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", [-128, 127]),
        ("uint8", [0, 255]),
        ("int64", [-(2**63), 2**63 - 1]),
        ("uint64", [0, 2**64 - 1]),
        ("float16", [1, 2048, 0.1, float("nan"), float("inf")]),
        ("float32", [16777216, -1.5]),
        ("float64", [0.1]),
        ("bfloat16", [1.0, 0.1, float("-inf")]),
        ("bool", [True, False]),
        ("float32", []),
        ("int4", [-8, 7]),
    ],
)
def test_python_numbers_convert(dtype: str, value: list[Any]) -> None:
    array = converted(dtype, value)
    expected = getattr(ml_dtypes, dtype, None) or dtype
    assert array.dtype == expected
    np.testing.assert_array_equal(array, [np.array(number).astype(expected) for number in value])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", [128]),
        ("uint8", [-1]),
        ("int32", [2**31]),
        ("int64", [2**63]),
        ("uint64", [2**64]),
        ("int32", [1.0]),
        ("bool", [1]),
        ("float16", [1e6]),
        ("float16", [2049]),
        ("float32", [16777217]),
        ("float32", [1e39]),
        ("int4", [8]),
        ("float32", [1j]),
        ("uint8", [b"a"]),
    ],
)
def test_python_numbers_that_do_not_fit_are_refused(dtype: str, value: list[Any]) -> None:
    with pytest.raises(ValidationError, match="input 'x'"):
        converted(dtype, value)


def test_bfloat16_arrays_are_told_from_uint16() -> None:
    spec = [TensorSpec("x", "bfloat16", (2,))]
    array = np.ones(2, ml_dtypes.bfloat16)
    assert prepare_inputs(spec, {"x": array})[0] is array
    with pytest.raises(ValidationError, match="data type uint16 given, expected bfloat16"):
        prepare_inputs(spec, {"x": np.ones(2, np.uint16)})


def test_out_is_written_and_returned(double: Program) -> None:
    y = np.empty(SHAPE, np.float32)
    for _ in range(3):
        assert double.run({"x": matrix()}, out={"y": y})["y"] is y
        np.testing.assert_array_equal(y, matrix() + 1)
        y[...] = 0


def test_some_of_the_outputs(two: Program) -> None:
    q = np.empty(16, np.float32)
    result = two.run({"a": ramp(), "b": ramp()}, out={"q": q})
    assert list(result) == ["p", "q"] and result["q"] is q
    np.testing.assert_array_equal(result["p"], ramp())
    np.testing.assert_array_equal(q, ramp() + 1)
    assert list(two.run({"a": ramp(), "b": ramp()}, out={})) == ["p", "q"]


def frozen_array() -> np.ndarray:
    array = matrix()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"z": matrix()}, "no output is named 'z'; the outputs are 'y'"),
        ({"y": ramp()}, "output 'y': shape [16] given, expected [4, 4] (float32)"),
        ({"y": np.empty(SHAPE)}, "output 'y': data type float64 given, expected float32"),
        ({"y": [[0.0] * 4] * 4}, "output 'y': list given, expected a NumPy array to write to"),
        ({"y": frozen_array()}, "output 'y': the array given is not writeable"),
        ({"y": np.asfortranarray(matrix())}, "output 'y': the array given is not C-contiguous"),
        ({"y": misaligned(matrix())}, "output 'y': the array given is not aligned"),
        ({"y": matrix().astype(">f4")}, "output 'y': the array given is not in native byte order"),
        ([matrix()], "outputs: list given, expected a mapping"),
    ],
)
def test_wrong_out_is_refused(double: Program, out: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)):
        double.run({"x": matrix()}, out=out)


@pytest.mark.parametrize("shift", [-15, -1, 0, 1, 15])
def test_out_may_overlap_an_input(shift: int) -> None:
    # A kernel that reads x[i] after y[i - shift] was written would see its own results.
    memory = np.concatenate([np.full(16, 100, np.float32), ramp(), np.full(16, 100, np.float32)])
    x, y = memory[16:32], memory[16 + shift : 32 + shift]
    expected = x + 1
    row = Row(1, (Slot.input(0), Slot.output(0), Slot.real(1.0)), 0, 16, 1.0)
    assert program(row).run({"x": x}, out={"y": y})["y"] is y
    np.testing.assert_array_equal(y, expected)


def test_outputs_may_overlap_each_other_and_the_last_wins(two: Program) -> None:
    memory = np.zeros(24, np.float32)
    p, q = memory[:16], memory[8:]
    result = two.run({"a": ramp(), "b": -ramp()}, out={"p": p, "q": q})
    assert result["p"] is p and result["q"] is q
    np.testing.assert_array_equal(q, 1 - ramp())
    np.testing.assert_array_equal(p[:8], ramp()[:8])


def test_only_clashing_outputs_get_memory_of_their_own() -> None:
    x, y, z = ramp(), ramp(), ramp()
    written, results = prepare_outputs(tensors("y", "z", "w"), {"y": y, "z": x, "w": z}, [x])
    assert written[0] is y and written[2] is z and not np.shares_memory(written[1], x)
    assert [a is b for a, b in zip(results, (y, x, z))] == [True] * 3


def test_data_types_that_are_equal_but_not_the_same() -> None:
    spec = TensorSpec("y", "int64", (3,))
    for kind in (np.dtype("q"), np.dtype("l"), np.dtype("int64", metadata={"unit": "m"})):
        given = np.zeros(3, kind)
        (written,), (result,) = prepare_outputs([spec], {"y": given}, [])
        assert written.dtype is np.dtype("int64") and np.shares_memory(written, given) and result is written


def test_arrays_of_a_subclass_are_written_in_place(double: Program, tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "y", np.float32, "w+", shape=SHAPE)
    assert double.run({"x": matrix()}, out={"y": mapped})["y"] is mapped
    np.testing.assert_array_equal(mapped, matrix() + 1)


def test_errors_are_of_every_kind_that_callers_may_expect(double: Program) -> None:
    for kind in (ValidationError, TypeError, ValueError, BasaltError):
        with pytest.raises(kind):
            double.run({})


def test_arrays_from_another_process_are_taken_where_they_lie() -> None:
    """Their data types are equal to NumPy's own objects, but others."""
    given = pickle.loads(pickle.dumps(np.arange(16, dtype=np.float32)))
    assert given.dtype is not np.dtype("float32")
    (taken,) = prepare_inputs((TensorSpec("x", "float32", (16,)),), {"x": given})
    assert taken.dtype is np.dtype("float32") and np.shares_memory(taken, given)
    out = pickle.loads(pickle.dumps(np.zeros(16, np.float32)))
    copy = program(Row(0, (Slot.input(0), Slot.output(0)), 0, 16, 1.0))
    assert copy.run({"x": given}, {"y": out})["y"] is out and np.array_equal(out, given)
    strided = pickle.loads(pickle.dumps(np.arange(32, dtype=np.float32)))[::2]
    assert np.array_equal(copy.run({"x": strided})["y"], strided)
