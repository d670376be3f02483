"""Discrete Fourier transforms; complex numbers are pairs of real and imaginary parts along the last axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..convert import boolean, integer
from ..dims import Dim, dim_max, product
from ..registry import register_extension
from ..rounding import narrow
from ..schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_shape, expect_shape
from ..types import TensorType

_TYPES = frozenset({"float32", "float64"})
_LENGTH = integer(1, 2**31 - 1)


@register_extension
class Dft(Operator):
    """The discrete Fourier transform along the last axis but one, ``sum_j x[j] * exp(-2i pi j k / length)``.

    Of the input [..., signal, 1 or 2] the first ``length`` elements count; a shorter signal goes on with zeros. The
    result is [..., length, 2], or [..., length // 2 + 1, 2] if it is ``onesided``.

    The ``inverse`` has the other sign and divides by the length. A ``onesided`` inverse takes the first
    ``length // 2 + 1`` elements of a transform and gives the real signal [..., length, 1]; the imaginary parts of the
    first and, for an even length, of the last of them are ignored.
    """

    name = "dft"
    operands = (Operand("input", _TYPES, (2, MAX_RANK), doc="the signals, [..., signal, 1 or 2]"),)
    arguments = (Option("length", _LENGTH, doc="the transform's length"),)
    options = (
        Option("inverse", boolean, False, "whether it is the inverse"),
        Option("onesided", boolean, False, "whether the second half is left out, which mirrors the first"),
    )

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        *outer, _, parts = t.input.shape
        if isinstance(parts, int) and parts not in (1, 2):
            fail(f"the last dimension is {parts}, expected 1 or 2")
        length, half = a["length"], a["length"] // 2 + 1
        found = (length, 1) if a["inverse"] and a["onesided"] else (half if a["onesided"] else length, 2)
        return [TensorType(t.input.dtype, check_shape((*outer, *found), zero=True))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return product(t.input.shape[:-2]) * _operations(a["length"], a["onesided"])

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        numbers = _complex(np.asarray(x.input))
        with np.errstate(all="ignore"):
            if a["inverse"] and a["onesided"]:
                return [narrow(np.fft.irfft(numbers, a["length"])[..., None], out[0])]
            found = (np.fft.ifft if a["inverse"] else np.fft.fft)(numbers, a["length"])
        return [narrow(_parts(found[..., : out[0].shape[-2]]), out[0])]


@register_extension
class Stft(Operator):
    """The transforms of the stretches of ``length`` elements every ``step`` elements of a signal.

    With signals [batch, total, 1 or 2] the result is [batch, (total - length) // step + 1, length, 2], or
    [..., length // 2 + 1, 2] if it is ``onesided``; there is none of a shorter signal. Each stretch is multiplied by
    the ``window`` [length] first, if there is one.
    """

    name = "stft"
    operands = (
        Operand("input", _TYPES, 3, doc="the signals, [batch, total, 1 or 2]"),
        Operand("window", "input", 1, optional=True, doc="factors of the elements of each stretch, [length]"),
    )
    arguments = (
        Option("length", _LENGTH, doc="elements of a stretch"),
        Option("step", _LENGTH, doc="elements from one stretch to the next"),
    )
    options = (Option("onesided", boolean, False, "whether the second half is left out, which mirrors the first"),)
    outputs = (Output(rank=4),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        batch, total, parts = t.input.shape
        if isinstance(parts, int) and parts not in (1, 2):
            fail(f"the last dimension is {parts}, expected 1 or 2")
        if t.window is not None:
            expect_shape("window", t.window.shape, (a["length"],))
        frames = dim_max((total - a["length"]) // a["step"] + 1, 0)
        columns = a["length"] // 2 + 1 if a["onesided"] else a["length"]
        return [TensorType(t.input.dtype, check_shape((batch, frames, columns, 2), zero=True))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return product(out[0].shape[:2]) * _operations(a["length"], t.input.shape[-1] == 1)

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        numbers = _complex(np.asarray(x.input))
        count: Any = out[0].shape[1]
        places = np.arange(count)[:, None] * a["step"] + np.arange(a["length"])
        frames = numbers[:, places]
        if x.window is not None:
            frames = frames * np.asarray(x.window)
        with np.errstate(all="ignore"):
            return [narrow(_parts(np.fft.fft(frames)[..., : out[0].shape[2]]), out[0])]


def _complex(x: np.ndarray) -> np.ndarray:
    if x.shape[-1] == 1:
        return x[..., 0].astype(np.complex128)
    wide = np.ascontiguousarray(x, np.float64)
    return wide.view(np.complex128)[..., 0]


def _parts(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], -1)


def _operations(length: int, half: bool) -> int:
    """As transforms are counted everywhere: 5 n log2(n), and half of it for real numbers."""
    return int((2.5 if half else 5) * length * max(math.log2(length), 1))
