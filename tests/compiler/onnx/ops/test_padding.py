"""Pad at all versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

import ml_dtypes

from basalt.errors import ValidationError

from .single import BOTH, check, run

X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
LATER = (18, 19, 21, 23, 24, 25)
WIDTHS = ((1, 0), (2, 1))


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_modes(mode: str) -> None:
    options: dict[str, Any] = {"constant_values": 1.5} if mode == "constant" else {}
    expected = np.pad(X, WIDTHS, mode=mode, **options)  # type: ignore[call-overload]
    value = {"value": 1.5} if mode == "constant" else {}
    check("Pad", (1,), [X], expected, paddings=[1, 2, 0, 1], mode=mode, **value, compiled=BOTH)
    check("Pad", (2,), [X], expected, pads=[1, 2, 0, 1], mode=mode, **value)
    inputs = [X, ints(1, 2, 0, 1), np.float32(1.5) if mode == "constant" else None]
    check("Pad", (11, 13, *LATER), inputs, expected, mode=mode)
    check("Pad", (11, 25), inputs, expected, mode=mode, constant=(1,), symbolic=True, compiled=BOTH)


def test_wrap() -> None:
    for pads in ((1, 2, 0, 1), (0, 4, 3, 0), (7, 0, 0, 9)):
        expected = np.pad(X, (pads[::2], pads[1::2]), mode="wrap")
        check("Pad", (11, 13, *LATER), [X, ints(*pads)], expected, mode="wrap")
        check("Pad", (25,), [X, ints(*pads)], expected, mode="wrap", constant=(1,), symbolic=True, compiled=BOTH)
    with pytest.raises(ValidationError, match="mode"):
        run("Pad", 18, [X, ints(1, 0, 0, 0)], mode="mirror")


def test_axes() -> None:
    inputs = [X, ints(1, 2), np.float32(7), ints(-1)]
    check("Pad", LATER, inputs, np.pad(X, ((0, 0), (1, 2)), constant_values=7))
    check(
        "Pad",
        (25,),
        [X, ints(1, 2, 3, 4), None, ints(1, 0).astype(np.int32)],
        np.pad(X, ((2, 4), (1, 3))),
        compiled=BOTH,
    )
    with pytest.raises(ValidationError, match="once"):
        run("Pad", 18, [X, ints(1, 1, 1, 1), None, ints(1, -1)])
    with pytest.raises(ValidationError, match="pads"):
        run("Pad", 18, [X, ints(1, 1, 1)])


def test_negative_amounts_take_elements_off() -> None:
    check("Pad", (2,), [X], np.pad(X[1:], ((0, 2), (0, 0)))[:, :3], pads=[-1, 0, 2, -1], compiled=BOTH)
    check("Pad", (11, 13, *LATER), [X, ints(-1, 1, -1, -2)], np.pad(X[1:-1, :2], ((0, 0), (1, 0))))
    check("Pad", (13,), [X, ints(-1, 1, 0, -2)], np.pad(X[1:, :2], ((0, 0), (1, 0)), mode="edge"), mode="edge")
    check("Pad", (13,), [X, ints(-1, 1, 0, -2)], np.pad(X[1:, :2], ((0, 0), (1, 0))), constant=(1,), symbolic=True)
    with pytest.raises(ValidationError, match="more than"):
        run("Pad", 13, [X, ints(-2, 0, -2, 0)])


def test_reflection_beyond_the_whole_tensor() -> None:
    expected = np.pad(X, ((5, 0), (0, 9)), mode="reflect")
    check("Pad", (11, 25), [X, ints(5, 0, 0, 9)], expected, mode="reflect", compiled=BOTH)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "float64", "bfloat16"])
def test_data_types(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x, value = X.astype(kind), np.array(1, kind)
    for pads in ((1, 0, 0, 2), (0, 0, 0, 0)):
        expected = np.pad(x, (pads[::2], pads[1::2]), constant_values=value)
        check("Pad", (25,), [x, ints(*pads), value], expected)
        check(
            "Pad", (25,), [x, ints(*pads), value], expected, constant=(1, 2), compiled=(dtype in ("bool", "bfloat16"),)
        )
    largest = np.iinfo(kind).max if kind.kind in "iu" else 1
    check(
        "Pad",
        (25,),
        [x, ints(1, 0, 0, 0), np.array(largest, kind)],
        np.pad(x, ((1, 0), (0, 0)), constant_values=largest),
    )


def test_strings_and_complex_numbers() -> None:
    words = np.array([["a", "b"]], dtype=object)
    expected = np.array([["z", "a", "b"]], dtype=object)
    check("Pad", (13, 25), [words, ints(0, 1, 0, 0), np.array("z", dtype=object)], expected)
    check("Pad", (25,), [words, ints(0, 1, 0, 0)], np.array([["", "a", "b"]], dtype=object))
    x = np.array([1 + 2j, 3 - 1j], np.complex64)
    check("Pad", (13, 25), [x, ints(1, 1)], np.pad(x, 1))
    check("Pad", (25,), [x, ints(1, 0)], np.pad(x, (1, 0), mode="edge"), mode="edge")


def test_infinities_fill_too() -> None:
    check("Pad", (2,), [X], np.pad(X, 1, constant_values=-np.inf), pads=[1, 1, 1, 1], value=-np.inf, compiled=BOTH)


def test_amounts_that_no_tensor_holds() -> None:
    for mode in ("constant", "edge", "reflect", "wrap"):
        with pytest.raises(ValidationError, match=r"elements|dimension"):
            run("Pad", 25, [X, ints(0, 2**40, 0, 0)], mode=mode)


def test_empty_tensors_and_scalars() -> None:
    empty = np.zeros((0, 2), np.float32)
    check("Pad", (13,), [empty, ints(1, 0, 1, 0)], np.zeros((2, 2), np.float32), compiled=BOTH)
    check("Pad", (13,), [np.float32(3).reshape(()), ints()], np.float32(3))
    with pytest.raises(ValidationError, match="empty"):
        run("Pad", 13, [empty, ints(1, 0, 1, 0)], mode="edge")


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.sampled_from(["constant", "edge", "reflect", "wrap"]),
    st.booleans(),
    st.data(),
)
def test_like_numpy(shape: list[int], mode: str, symbolic: bool, data: st.DataObject) -> None:
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    widths = [data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5))) for _ in shape]
    inputs = [x, ints(*[b for b, _ in widths], *[e for _, e in widths])]
    expected = np.pad(x, widths, mode=mode)  # type: ignore[call-overload]
    check("Pad", (25,), inputs, expected, mode=mode, symbolic=symbolic, constant=(1,))
