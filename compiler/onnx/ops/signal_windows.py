"""HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix: tables of signal processing."""

from __future__ import annotations

import math

import numpy as np

from ..attributes import dtype_of_code
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor, of_elements, onnx_dtype
from .building import convert, iota

_COSINES = {
    "HannWindow": (0.5, -0.5),
    "HammingWindow": (25.0 / 46.0, -21.0 / 46.0),
    "BlackmanWindow": (0.42, -0.5, 0.08),
}
"""Each window as a sum of cosines: the factors of cos(0), cos(w), cos(2w) (Harris 1978)."""


@onnx_op("HannWindow", 17)
@onnx_op("HammingWindow", 17)
@onnx_op("BlackmanWindow", 17)
def window(n: NodeContext) -> Tensor:
    """The window of a length; a window of one element that is not periodic is NaN, as the formula gives."""
    dims = n.dims(0)
    if len(dims) != 1:
        raise n.error(f"size has {len(dims)} elements, expected 1")
    (size,) = dims
    dtype = dtype_of_code(n.attr("output_datatype"))
    period = size if n.attr("periodic") else size - 1
    factors = _COSINES[n.op]
    if isinstance(size, int) and isinstance(period, int):
        if size < 0:
            raise n.error(f"size is {size}, expected at least 0")
        with np.errstate(all="ignore"):
            angles = np.arange(size) * (2 * np.pi) / np.float64(period)
            table = sum(f * np.cos(i * angles) for i, f in enumerate(factors))
            return n.constant(np.asarray(table).astype(onnx_dtype(dtype)))
    steps = n.emit("mul", iota(n, size, "float64"), n.scalar(2 * math.pi, "float64"))
    divisor = convert(n, of_elements("int64", np.array(period, dtype=object)), "float64")
    turns = n.emit("div", steps, divisor)
    total = n.scalar(factors[0], "float64")
    for i, factor in enumerate(factors[1:], 1):
        wave = n.emit("cos", n.emit("mul", turns, n.scalar(i, "float64")))
        total = n.emit("add", total, n.emit("mul", wave, n.scalar(factor, "float64")))
    return convert(n, total, dtype)


@onnx_op("MelWeightMatrix", 17)
def mel_weight_matrix(n: NodeContext) -> Tensor:
    numbers = []
    for place in range(5):
        array = n.array(place)
        if array.size != 1:
            raise n.error(f"input {n.input_name(place)} has {array.size} elements, expected 1")
        numbers.append(array.reshape(-1)[0])
    bins, length, rate = (int(v) for v in numbers[:3])
    if bins < 0 or length < 0 or rate <= 0:
        raise n.error(f"num_mel_bins {bins}, dft_length {length}, sample_rate {rate}: expected positive numbers")
    low, high = (float(v) for v in numbers[3:])
    edges = _mel_edges(n, bins, length, rate, (low, high))
    dtype = dtype_of_code(n.attr("output_datatype"))
    return n.constant(_triangles(edges, length // 2 + 1, bins).astype(onnx_dtype(dtype)))


def _mel_edges(n: NodeContext, bins: int, length: int, rate: int, hertz: tuple[float, float]) -> np.ndarray:
    """The spectrogram's bins at which triangles begin, peak and end, evenly spaced in mel."""
    with np.errstate(all="ignore"):
        low, high = (2595 * np.log1p(f / 700) / np.log(10) for f in hertz)
        mel = np.arange(bins + 2) * ((high - low) / (bins + 2)) + low
        places = ((length + 1) * (700 * np.expm1(mel / 2595 * np.log(10)))) // rate
    if not np.all((places >= 0) & (places <= length // 2)):
        raise n.error(f"bands from {hertz[0]} to {hertz[1]} Hz lie beyond half of the sample rate {rate}")
    return places.astype(np.int64)


def _triangles(edges: np.ndarray, rows: int, bins: int) -> np.ndarray:
    table = np.zeros((rows, bins))
    for i in range(bins):
        low, peak, high = (int(e) for e in edges[i : i + 3])
        if low == peak:
            table[peak, i] = 1
        else:
            table[low : peak + 1, i] = np.arange(peak - low + 1) / (peak - low)
        if high > peak:
            table[peak:high, i] = np.arange(high - peak, 0, -1) / (high - peak)
    return table
