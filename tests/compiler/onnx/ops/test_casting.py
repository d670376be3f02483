"""Cast, CastLike and BitCast between all pairs of data types, against the host's conversions (tested on their own)."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
import pytest

from basalt.compiler.onnx.attributes import code_of_dtype
from basalt.compiler.onnx.host.conversion import convert
from basalt.compiler.onnx.ops.small_floats import SMALL_FLOATS
from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import ValidationError

from .one_node import allowed, interpreted, run, versions

ALL = allowed("Cast", 28)
NARROW = {"int4": (-8, 8), "uint4": (0, 16), "int2": (-2, 2), "uint2": (0, 4)}
BITS = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}


@cache
def values(dtype: str) -> np.ndarray:
    """All values of a data type of up to 16 bits, many of a wider one: those near others' ends and halfway points."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in NARROW:
        return np.arange(*NARROW[dtype]).astype(np.int8).astype(onnx_dtype(dtype))
    if dtype in SMALL_FLOATS or dtype in ("int8", "uint8"):
        return np.arange(2 ** BITS.get(dtype, 8), dtype=np.uint8).view(onnx_dtype(dtype))
    if onnx_dtype(dtype).itemsize == 2:
        return np.arange(0, 2**16, 13, dtype=np.uint16).view(onnx_dtype(dtype))
    if dtype.startswith("float"):
        halves = np.arange(0, 2**16, 61, dtype=np.uint16)
        with np.errstate(all="ignore"):
            exact = np.concatenate(
                [halves.view(np.float16).astype(dtype), halves.view(ml_dtypes.bfloat16).astype(dtype)]
            )
            ends = np.array([448, 464, 480, 57344, 61440, 65504, 65520, 240, 248, 2.0**127, 127.5, 2.0**31]).astype(
                dtype
            )
            exact = np.concatenate([exact, ends, -ends])
            return np.concatenate([exact, np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)]).astype(dtype)
    bounds = np.iinfo(dtype)
    listed = [*range(300), *range(-300, 0), bounds.min, bounds.max, 2**24 + 1, 2**25 + 3, 2**53 + 1, 2**60 + 1]
    return np.array([v % 2**64 for v in listed], np.uint64).astype(dtype)


def same(actual: np.ndarray, expected: np.ndarray, given: np.ndarray, dtype: str) -> None:
    """Equal; the signs of NaNs, and what NaN becomes where there is none, are open."""
    assert actual.dtype == expected.dtype
    if dtype not in SMALL_FLOATS:
        np.testing.assert_array_equal(actual.astype(np.float64), expected.astype(np.float64))
        if onnx_dtype(dtype).kind in "iu":
            np.testing.assert_array_equal(actual, expected)
        return
    found, wanted = actual.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(found, wanted)
    with np.errstate(invalid="ignore"):
        signed = ~np.isnan(given.astype(np.float32)) & ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(wanted)[signed])


def check(source: str, target: str, version: int, compiled: bool, **attributes: int | str) -> None:
    x = values(source)
    expected = convert(
        x, onnx_dtype(target), bool(attributes.get("saturate", 1)), str(attributes.get("round_mode", "up"))
    )
    found = run("Cast", version, x, to=code_of_dtype(target), compiled=compiled, **attributes)
    same(found, expected, x, target)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("source", ALL)
def test_every_pair_of_types(source: str) -> None:
    for target in ALL:
        check(source, target, 28, compiled=False)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "int4"])
def test_compiled(source: str) -> None:
    for target in ("float32", "bfloat16", "int8", "uint64", "bool", "uint4", "int2", "float8_e4m3fn", "float4_e2m1fn"):
        check(source, target, 25, compiled=True)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("target", sorted(t for t in SMALL_FLOATS if t.startswith("float8")))
@pytest.mark.parametrize("compiled", [False, True])
def test_beyond_the_range_of_small_floats(target: str, compiled: bool) -> None:
    for source in ("float32", "float16", "float8_e5m2", "int32", "int64"):
        for mode in ("up", "down", "nearest") if target == "float8_e8m0fnu" else ("up",):
            for saturate in (0, 1):
                check(source, target, 25, compiled and source == "float32", saturate=saturate, round_mode=mode)


@pytest.mark.parametrize("version", versions("Cast"))
def test_every_version(version: int) -> None:
    for source in allowed("Cast", version):
        x = values(source)[:7]
        for target in ("float16", "int32", "bool"):
            to = (
                {"float16": "FLOAT16", "int32": "INT32", "bool": "BOOL"}[target]
                if version == 1
                else code_of_dtype(target)
            )
            found = run("Cast", version, x, to=to, compiled=False)
            same(found, convert(x, onnx_dtype(target)), x, target)


@pytest.mark.parametrize("name", ["FLOAT", "DOUBLE", "INT64", "UINT8"])
def test_version_1_names_the_type(name: str) -> None:
    dtype = {"FLOAT": "float32", "DOUBLE": "float64"}.get(name, name.lower())
    assert run("Cast", 1, np.array([1.5, 2.5], np.float16), to=name).dtype == dtype


@pytest.mark.parametrize("version", versions("CastLike"))
def test_cast_like(version: int) -> None:
    x = np.array([0, 1.5, -2.25, 7], np.float32)
    for target in allowed("CastLike", version, 1):
        like = np.zeros(2, onnx_dtype(target))
        found = run("CastLike", version, x, like, compiled=version == 25)
        same(found, convert(x, onnx_dtype(target)), x, target)
    assert run("CastLike", version, x, np.array(["a"], object)).tolist() == ["0", "1.5", "-2.25", "7"]


def test_cast_like_passes_its_attributes_on() -> None:
    x = np.array([1e9, 3], np.float32)
    found = run("CastLike", 25, x, np.zeros(1, ml_dtypes.float8_e5m2), saturate=0).astype(np.float32)
    assert found.tolist() == [np.inf, 3]
    found = run("CastLike", 25, x, np.zeros(1, ml_dtypes.float8_e8m0fnu), round_mode="down").astype(np.float32)
    assert found.tolist() == [2.0**29, 2]


def test_strings_are_cast_by_the_host() -> None:
    words = np.array(["1.5", "-INF", "7"], object)
    assert run("Cast", 19, words, to=1).tolist() == [1.5, -np.inf, 7]
    assert run("Cast", 19, np.array([1.5, 2], np.float32), to=8).tolist() == ["1.5", "2"]


@pytest.mark.parametrize("compiled", [False, True])
def test_bit_cast(compiled: bool) -> None:
    by_width: dict[int, list[str]] = {}
    for dtype in allowed("BitCast", 26):
        width = {**BITS, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}.get(dtype, 8 * onnx_dtype(dtype).itemsize)
        by_width.setdefault(width, []).append(dtype)
    for dtypes in by_width.values():
        for source in dtypes:
            for target in dtypes:
                _check_bits(source, target, compiled)


def _check_bits(source: str, target: str, compiled: bool) -> None:
    x = values(source)[-40:]
    found = run("BitCast", 26, x, to=code_of_dtype(target), compiled=compiled)
    assert found.dtype == onnx_dtype(target)
    if target == "bool":
        assert found.tolist() == (x.view(np.uint8) != 0).tolist()
    elif target in NARROW and source != target:
        assert ((found.view(np.uint8) ^ x.view(np.uint8)) & (15 if "4" in target else 3)).max() == 0
    else:
        assert (found.view(f"u{x.itemsize}") == x.view(f"u{x.itemsize}")).all()


def test_bit_cast_refuses_types_of_other_sizes() -> None:
    with pytest.raises(ValidationError, match="as many bits"):
        run("BitCast", 26, np.zeros(3, np.float32), to=code_of_dtype("int16"))


@pytest.mark.parametrize(
    ("version", "target"),
    [(6, "bfloat16"), (9, "bfloat16"), (13, "float8_e5m2"), (19, "int4"), (23, "float8_e8m0fnu"), (24, "int2")]
    + [(25, "float6_e2m3fn"), (28, "complex64")],
)
def test_a_version_casts_to_its_own_types_only(version: int, target: str) -> None:
    with pytest.raises(ValidationError, match=f"to is {target}, expected one of"):
        run("Cast", version, np.zeros(3, np.float32), to=code_of_dtype(target))


@pytest.mark.parametrize("attributes", [{"to": 0}, {"to": 99}, {"to": 1, "round_mode": "sideways"}])
def test_wrong_attributes(attributes: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match=list(attributes)[-1]):
        run("Cast", 25, np.zeros(3, np.int32), **attributes)


def test_a_cast_to_the_same_type_is_free() -> None:
    x = np.array([1.5, np.nan], np.float32)
    with interpreted():
        np.testing.assert_array_equal(run("Cast", 13, x, to=1), x)


def test_sizes_and_scalars() -> None:
    for target in ("int4", "bool", "float8_e4m3fn"):
        to = code_of_dtype(target)
        assert run("Cast", 25, np.zeros((0, 3), np.float32), to=to, compiled=False).shape == (0, 3)
        assert run("Cast", 25, np.array(2, np.float32), to=to, symbolic=True).shape == ()
        assert run("Cast", 25, np.zeros((2, 3), np.float32), to=to, symbolic=True).shape == (2, 3)
