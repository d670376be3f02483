"""Parameters, loads and stores, and what their alias metadata lets LLVM do."""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from basalt.compiler.kernels.processor import native_processor

from .loops import SUFFIXES, Kernel, Loop, dtype_of
from .values import INTEGERS, assert_same, samples

on_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")

PARAMETERS = """
def k(table, start, stop):
    storerw_{t}(ptr(table, 0), 0, par_{t}(table, 1))
"""


def _parameter(dtype: str, value: float | int) -> Any:
    out = np.zeros(1, dtype_of(dtype))
    Kernel(PARAMETERS.format(t=SUFFIXES[dtype]))([out, value], 0, 0)
    return out[0]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_parameters(dtype: str) -> None:
    bounds = np.iinfo(dtype)
    for value in (0, 1, bounds.max, bounds.min):
        assert _parameter(dtype, int(np.array(value, np.uint64 if value > 2**62 else np.int64).view(np.int64))) == value


def test_float_parameters() -> None:
    assert _parameter("float64", 0.1) == 0.1
    assert _parameter("float32", 0.1) == np.float32(0.1)
    assert np.isnan(_parameter("float32", float("nan")))


@pytest.mark.parametrize("form", ["", "rw"])
@pytest.mark.parametrize("dtype", [*SUFFIXES])
def test_copies_are_exact(dtype: str, form: str) -> None:
    x = samples(dtype)
    assert_same(Loop("x0", (dtype,), dtype, form)(x), x)


CONSTANTS = """
def k(table, start, stop):
    storerw_f32(ptr(table, 0), 0, const_f32(0.1))
    storerw_f32(ptr(table, 0), 1, const_f32(1e999))
    storerw_f32(ptr(table, 0), 2, bits_f32(0x7fc00000))
    storerw_f64(ptr(table, 1), 0, const_f64(0.1))
    storerw_f64(ptr(table, 1), 1, bits_f64(0x8000000000000000))
    storerw_u8(ptr(table, 2), 0, const_u8(255))
    storerw_u64(ptr(table, 3), 0, const_u64(0xffffffffffffffff))
    storerw_i64(offset(ptr(table, 3), 8), 0, const_i64(-5))
"""


def test_constants_and_offsets() -> None:
    singles, doubles = np.zeros(3, np.float32), np.zeros(2)
    bytes_, wide = np.zeros(1, np.uint8), np.zeros(2, np.uint64)
    Kernel(CONSTANTS)([singles, doubles, bytes_, wide], 0, 0)
    np.testing.assert_array_equal(singles, np.float32([0.1, np.inf, np.nan]))
    assert doubles.tolist() == [0.1, 0.0]
    assert np.signbit(doubles[1])
    assert bytes_[0] == 255
    assert wide.tolist() == [2**64 - 1, 2**64 - 5]


EIGHT = "add_f32(add_f32(add_f32(x0, x1), add_f32(x2, x3)), add_f32(add_f32(x4, x5), add_f32(x6, x7)))"


def _optimized(loop: Loop) -> str:
    return str(loop.kernel.dispatcher.overloads[loop.kernel.dispatcher.signatures[0]].library.get_llvm_str())


@on_x86
def test_eight_inputs_vectorise_without_overlap_checks() -> None:
    loop = Loop(EIGHT, ("float32",) * 8, "float32")
    assert re.search(r"\tv?addps\t", loop.kernel.assembly)
    assert "memcheck" not in _optimized(loop)
    # Without the promise LLVM compares the buffers' bounds, so that this test would notice the metadata's loss.
    assert "memcheck" in _optimized(Loop(EIGHT, ("float32",) * 8, "float32", form="rw"))
    x = np.random.default_rng(0).normal(size=(8, 1003)).astype(np.float32)
    pairs = x[0::2] + x[1::2]
    np.testing.assert_array_equal(loop(*x), (pairs[0] + pairs[1]) + (pairs[2] + pairs[3]))


@on_x86
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_vectorise_without_calls(dtype: str) -> None:
    assembly = Loop("mul_f32(x0, x0)", (dtype,), dtype).kernel.assembly
    assert re.search(r"\tv?mulp[sh]\t", assembly)  # LLVM may multiply halves as halves, with the same result
    assert "\tcall" not in assembly


@pytest.mark.parametrize("size", [1, 7, 64, 1003])
def test_an_output_may_replace_an_input(size: int) -> None:
    """What memory planning relies on: element i is read before it is written, by the same iteration."""
    x, y = np.random.default_rng(0).normal(size=(2, size)).astype(np.float32)
    expected = x * y + x
    product = Loop("add_f32(mul_f32(x0, x1), x0)", ("float32", "float32"), "float32")
    product.kernel([x, y, x], 0, size)
    np.testing.assert_array_equal(x, expected)


RUNNING_SUM = """
def k(table, start, stop):
    x = ptr(table, 0)
    o = ptr(table, 1)
    for i in range(start, stop):
        storerw_i64(o, i, add_i64(loadrw_i64(o, i - 1), load_i64(x, i)))
"""


def test_rw_reads_what_was_written() -> None:
    x = np.arange(100)
    out = np.zeros(100, np.int64)
    Kernel(RUNNING_SUM)([x, out], 1, 100)
    np.testing.assert_array_equal(out, np.cumsum(x))


WIDE = """
def k(table, start, stop):
    {hint}
    x = ptr(table, 0)
    o = ptr(table, 1)
    for i in range(start, stop):
        store_f32(o, i, sqrt_f32(load_f32(x, i)))
"""


def test_wide_vectors() -> None:
    wide = Kernel(WIDE.format(hint="wide_vectors()"))
    out, x = np.empty(77, np.float32), np.arange(77, dtype=np.float32)
    wide([x, out], 0, 77)
    np.testing.assert_array_equal(out, np.sqrt(x))
    if "zmm" in Kernel(WIDE.format(hint="pass")).assembly or not _has_avx512():
        pytest.skip("LLVM has no wider vectors here than those that it prefers")
    assert "zmm" in wide.assembly


def _has_avx512() -> bool:
    return "+avx512vl" in native_processor().features


def test_loads_are_typed_views_of_the_buffer() -> None:
    x: npt.NDArray[Any] = np.array([-1], np.int8)
    assert Loop("cast_u8_i32(x0)", ("uint8",), "int32")(x.view(np.uint8)).tolist() == [255]
    assert Loop("cast_i8_i32(x0)", ("int8",), "int32")(x).tolist() == [-1]
