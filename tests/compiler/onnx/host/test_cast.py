"""Cast to and from strings, CastLike, BitCast."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from basalt.errors import UnsupportedError, ValidationError

from .nodes import run, same, strings
from .peer import onnxruntime_run

STRING = 8


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_floats_to_strings_like_onnxruntime(dtype: np.dtype) -> None:
    values = [
        0.1,
        1,
        -0.0,
        1e10,
        1e-7,
        123456.789,
        12345678,
        1e8,
        1e-5,
        3e38,
        np.inf,
        -np.inf,
        np.nan,
        1 / 3,
        314.15926,
    ]
    with np.errstate(over="ignore"):
        x = np.array(values).astype(dtype)
    assert run("Cast", 13, x, to=STRING).tolist() == onnxruntime_run("Cast", 13, x, to=STRING)[0].tolist()


def test_numbers_to_strings() -> None:
    doubles = np.array([0.1, 1, 1e22, 123456789.125, 5e-324, -np.inf, np.nan])
    expected = ["0.1", "1", "1e+22", "123456789.125", "5e-324", "-INF", "NaN"]
    same(run("Cast", 9, doubles, to=STRING), strings(*expected))
    same(run("Cast", 13, np.array([True, False]), to=STRING), strings("1", "0"))
    same(run("Cast", 13, np.array([-(2**63)]), to=STRING), strings("-9223372036854775808"))
    same(run("Cast", 21, np.array([-8, 7]).astype(ml_dtypes.int4), to=STRING), strings("-8", "7"))
    same(run("Cast", 19, np.array([448, 0.5]).astype(ml_dtypes.float8_e4m3fn), to=STRING), strings("448", "0.5"))
    same(run("Cast", 13, np.zeros((2, 0)), to=STRING), strings(shape=(2, 0)))


def test_strings_to_numbers() -> None:
    words = strings("3.14", " -1e-5", "1E8", "+INF", "inf", "-inf", "nAn", ".5", "7.", "1e400")
    expected = np.array([3.14, -1e-5, 1e8, np.inf, np.inf, -np.inf, np.nan, 0.5, 7, np.inf])
    same(run("Cast", 9, words, to=11), expected)
    same(run("Cast", 9, words, to=1), expected.astype(np.float32))
    same(
        run("Cast", 13, strings("100.5", "-2.9", "1e3", "9223372036854775807"), to=7),
        np.array([100, -2, 1000, 2**63 - 1]),
    )
    same(run("Cast", 13, strings("18446744073709551615"), to=13), np.array([2**64 - 1], np.uint64))
    same(
        run("Cast", 13, strings("0", "0.0", "2", "true", "False", "nan"), to=9), np.array([0, 0, 1, 1, 0, 1], np.bool_)
    )
    same(run("Cast", 25, strings("-2"), to=26), np.array([-2]).astype(ml_dtypes.int2))
    same(run("Cast", 19, strings("1000"), to=17, saturate=0), np.array([np.nan]).astype(ml_dtypes.float8_e4m3fn))


@pytest.mark.parametrize("text", ["", "abc", "1_0", "0x10", "1e", "--1", "1 2", "infinite", "٣", "1e99999999"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="the node"):
        run("Cast", 13, strings(text), to=1)


@pytest.mark.parametrize(("text", "code"), [("300", 3), ("-1", 2), ("nan", 7), ("1e30", 7), ("1e999999", 7), ("8", 22)])
def test_what_an_integer_cannot_hold_is_refused(text: str, code: int) -> None:
    with pytest.raises(ValidationError, match=r"expected -?[0-9]+ to [0-9]+"):
        run("Cast", 21, strings(text), to=code)


def test_other_errors() -> None:
    with pytest.raises(UnsupportedError, match="complex"):
        run("Cast", 13, np.array([1j]), to=STRING)
    with pytest.raises(ValidationError, match="'to' is 99"):
        run("Cast", 13, np.array([1]), to=99)
    with pytest.raises(ValidationError, match="round_mode"):
        run("Cast", 24, np.array([1.0]), to=24, round_mode="sideways")
    with pytest.raises(ValidationError, match="is a list, expected a tensor"):
        run("Cast", 13, [np.zeros(1)], to=1)


def test_cast_1_names_its_type() -> None:
    same(run("Cast", 1, np.array([1.7], np.float32), to="INT32"), np.array([1], np.int32))
    with pytest.raises(ValidationError, match="'STRING'"):
        run("Cast", 1, np.array([1.7]), to="string")


def test_cast_like() -> None:
    same(run("CastLike", 15, np.array([1.7]), np.zeros(0, np.int8)), np.array([1], np.int8))
    same(
        run("CastLike", 19, np.array([1e9]), np.zeros(0, ml_dtypes.float8_e5m2), saturate=0).astype(np.float32),
        np.float32([np.inf]),
    )
    same(run("CastLike", 15, np.array([1.5]), strings()), strings("1.5"))


def test_bit_cast() -> None:
    x = np.array([1.0, -0.0], np.float32)
    same(run("BitCast", 26, x, to=6), np.array([0x3F800000, -(2**31)], np.int32))
    same(run("BitCast", 26, np.array([1, -8]).astype(ml_dtypes.int4), to=21).astype(int), np.array([1, 8]))
    same(run("BitCast", 26, np.array([9, 7]).astype(ml_dtypes.uint4), to=22).astype(int), np.array([-7, 7]))
    same(run("BitCast", 26, np.array([3]).astype(ml_dtypes.uint2), to=26).astype(int), np.array([-1]))
    same(run("BitCast", 26, np.array([-1.5]).astype(ml_dtypes.float4_e2m1fn), to=21).astype(int), np.array([0b1011]))
    same(run("BitCast", 26, np.array([2.0]), to=14).view(np.float64), np.array([2.0]))
    same(run("BitCast", 26, np.array([0, 2], np.uint8), to=9), np.array([False, True]))
    same(run("BitCast", 26, np.array([True]), to=2), np.array([1], np.uint8))
    strided = np.arange(8, dtype=np.int16).reshape(2, 4).T
    same(run("BitCast", 26, strided, to=4), strided.astype(np.uint16))
    for value, code in ((x, 7), (strings("a"), 7), (x, STRING)):
        with pytest.raises(ValidationError, match="as many bits"):
            run("BitCast", 26, value, to=code)
