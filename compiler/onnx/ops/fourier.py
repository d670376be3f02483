"""Discrete Fourier transforms of any length as products with matrices of cosines and sines.

A transform of length L is one product with an L-by-L matrix, of a real and an imaginary part each. Long ones are done
in two steps of length a and b, L = a * b (Cooley and Tukey 1965), and long ones of a prime length as a convolution
(Bluestein 1970). The matrices are made in float64.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..node import NodeContext
from ..tensor import Tensor
from .building import last_axis_product
from .fourier_passes import by_passes, radices

__all__ = ["half_inverse", "transform"]

DIRECT = 512
"""The longest transform that is a single product, if its length has no factors that help."""


def transform(n: NodeContext, x: Tensor, length: int, columns: int, inverse: bool) -> Tensor:
    """The transform along the last axis but one.

    Args:
        n: the node.
        x: ``[..., signal, 1 or 2]`` in float32 or float64: real numbers, or real and imaginary parts.
            Of a signal longer than ``length`` the first elements count, a shorter one goes on with zeros.
        length: the transform's length.
        columns: how many of its results are wanted, from the first on.
        inverse: whether it is the inverse, which divides by the length.

    Returns:
        ``[..., columns, 2]``.
    """
    outer = x.shape[:-2]
    rows, parts = n.static(*x.shape[-2:])
    if rows > length:
        x = n.slice(x, x.rank - 2, 0, length)
        rows = length
    if parts == 2 and rows == length and radices(length) is not None:
        whole = by_passes(n, x, inverse)
        return whole if columns == length else n.slice(whole, whole.rank - 2, 0, columns)
    first, _ = _factors(length)
    if length <= DIRECT or (first == 1 and length <= 4 * DIRECT):
        flat = n.reshape(x, (*outer, rows * parts))
        matrix = n.constant(_interleaved(length, rows, parts, columns, inverse), x.dtype)
        return n.reshape(last_axis_product(n, flat, matrix), (*outer, columns, 2))
    real, imaginary = _planes(n, x, rows, length)
    both = _fourier(n, n.emit("concat", real, imaginary, axis=real.rank - 1), length, inverse)
    if inverse:
        both = n.emit("mul", both, n.scalar(1.0 / length, both))
    planes = [n.slice(both, both.rank - 1, start, columns) for start in (0, length)]
    return n.emit("concat", *[n.reshape(p, (*outer, columns, 1)) for p in planes], axis=len(outer) + 1)


def half_inverse(n: NodeContext, x: Tensor, length: int) -> Tensor:
    """The real signal ``[..., length, 1]`` whose transform begins with ``x``, ``[..., bins, 1 or 2]``.

    Bins beyond the middle are ignored, missing ones are zero, and so are the imaginary parts of the first and, if the
    length is even, of the middle one.
    """
    outer = x.shape[:-2]
    rows, parts = n.static(*x.shape[-2:])
    used = min(rows, length // 2 + 1)
    if used < rows:
        x = n.slice(x, x.rank - 2, 0, used)
    flat = n.reshape(x, (*outer, used * parts))
    matrix = n.constant(_half_inverse_matrix(length, used, parts), x.dtype)
    return n.reshape(last_axis_product(n, flat, matrix), (*outer, length, 1))


def _planes(n: NodeContext, x: Tensor, rows: int, length: int) -> tuple[Tensor, Tensor]:
    """Real and imaginary parts ``[..., length]``."""
    outer = x.shape[:-2]
    (parts,) = n.static(x.shape[-1])
    planes = [n.reshape(n.slice(x, x.rank - 1, i, 1), (*outer, rows)) for i in range(parts)]
    if rows < length:
        before = (0,) * planes[0].rank
        ending = (*before[1:], length - rows)
        planes = [n.emit("pad", p, beginning_padding=before, ending_padding=ending) for p in planes]
    if parts == 1:
        planes.append(n.expand(n.scalar(0, x), planes[0].shape))
    return planes[0], planes[1]


def _fourier(n: NodeContext, z: Tensor, length: int, inverse: bool) -> Tensor:
    """The transform, without division, of numbers ``[..., 2 * length]``: the real parts, then the imaginary ones."""
    first, second = _factors(length)
    if length <= DIRECT // 4 or (first == 1 and length <= 4 * DIRECT):
        return last_axis_product(n, z, n.constant(_planar(length, inverse), z.dtype))
    if first == 1:
        return _bluestein(n, z, length, inverse)
    outer = z.shape[:-1]
    rank = len(outer)
    keep = tuple(range(rank))
    # Element second * i + j is at (i, j): transforms of all columns, then of all rows.
    table = n.reshape(z, (*outer, 2, first, second))
    columns = n.reshape(n.transpose(table, (*keep, rank + 2, rank, rank + 1)), (*outer, second, 2 * first))
    turned = n.reshape(_fourier(n, columns, first, inverse), (*outer, second, 2, first))
    turned = _times(n, turned, *_twiddles(first, second, inverse))
    lines = n.reshape(n.transpose(turned, (*keep, rank + 2, rank + 1, rank)), (*outer, first, 2 * second))
    result = n.reshape(_fourier(n, lines, second, inverse), (*outer, first, 2, second))
    return n.reshape(n.transpose(result, (*keep, rank + 1, rank + 2, rank)), (*outer, 2 * length))


def _times(n: NodeContext, z: Tensor, real: np.ndarray, imaginary: np.ndarray) -> Tensor:
    """The products of numbers ``[..., 2, size]`` with constants whose shapes broadcast to ``[..., 1, size]``."""
    axis = z.rank - 2
    a, b = (n.slice(z, axis, i, 1) for i in (0, 1))
    c, d = (n.constant(t, z.dtype) for t in (real, imaginary))
    first = n.emit("sub", n.emit("mul", a, c), n.emit("mul", b, d))
    second = n.emit("add", n.emit("mul", a, d), n.emit("mul", b, c))
    return n.emit("concat", first, second, axis=axis)


def _bluestein(n: NodeContext, z: Tensor, length: int, inverse: bool) -> Tensor:
    """A transform as the convolution with a chirp, by transforms of a length that is a power of two."""
    outer = z.shape[:-1]
    size = 1 << (2 * length - 2).bit_length()
    turns = np.arange(length, dtype=np.int64) ** 2 % (2 * length)
    chirp = np.exp((1j if inverse else -1j) * np.pi * turns / length)
    kernel = np.zeros(size, np.complex128)
    kernel[:length] = chirp.conj()
    kernel[size - length + 1 :] = chirp[1:].conj()[::-1]
    spectrum = np.fft.fft(kernel) / size
    before = (0,) * (len(outer) + 2)
    held = _times(n, n.reshape(z, (*outer, 2, length)), chirp.real, chirp.imag)
    held = n.emit("pad", held, beginning_padding=before, ending_padding=(*before[1:], size - length))
    there = _fourier(n, n.reshape(held, (*outer, 2 * size)), size, False)
    product = _times(n, n.reshape(there, (*outer, 2, size)), spectrum.real, spectrum.imag)
    back = n.reshape(_fourier(n, n.reshape(product, (*outer, 2 * size)), size, True), (*outer, 2, size))
    cut = n.slice(back, back.rank - 1, 0, length)
    return n.reshape(_times(n, cut, chirp.real, chirp.imag), (*outer, 2 * length))


def _factors(length: int) -> tuple[int, int]:
    """Two factors of a length, as near to each other as can be; (1, length) for a prime."""
    for first in range(int(length**0.5), 1, -1):
        if length % first == 0:
            return first, length // first
    return 1, length


def _twiddles(first: int, second: int, inverse: bool) -> tuple[np.ndarray, np.ndarray]:
    """The factors between the two steps, ``[second, 1, first]``."""
    turns = np.outer(np.arange(second), np.arange(first)) % (first * second)
    angles = (2 if inverse else -2) * np.pi * turns / (first * second)
    return np.cos(angles)[:, None], np.sin(angles)[:, None]


def _waves(length: int, rows: int, columns: int, inverse: bool) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of the angles that element ``i`` is turned by in result ``k``, [rows, columns]."""
    turns = np.outer(np.arange(rows, dtype=np.int64), np.arange(columns, dtype=np.int64)) % max(length, 1)
    angles = (2 if inverse else -2) * np.pi * turns / max(length, 1)
    return np.cos(angles), np.sin(angles)


@lru_cache(maxsize=32)
def _interleaved(length: int, rows: int, parts: int, columns: int, inverse: bool) -> np.ndarray:
    """The matrix [rows * parts, columns * 2] over interleaved parts."""
    cos, sin = _waves(length, rows, columns, inverse)
    matrix = np.zeros((rows, parts, columns, 2))
    matrix[:, 0, :, 0], matrix[:, 0, :, 1] = cos, sin
    if parts == 2:
        matrix[:, 1, :, 0], matrix[:, 1, :, 1] = -sin, cos
    return matrix.reshape(rows * parts, columns * 2) / (length if inverse else 1)


@lru_cache(maxsize=32)
def _planar(length: int, inverse: bool) -> np.ndarray:
    """The matrix [2 * length, 2 * length] over real parts followed by imaginary ones."""
    cos, sin = _waves(length, length, length, inverse)
    return np.block([[cos, sin], [-sin, cos]])


def _half_inverse_matrix(length: int, bins: int, parts: int) -> np.ndarray:
    """The matrix [bins * parts, length]."""
    cos, sin = _waves(length, bins, length, True)
    weight = np.full((bins, 1), 2.0)
    weight[:1] = 1.0
    if length % 2 == 0 and bins == length // 2 + 1:
        weight[-1:] = 1.0
    matrix = np.zeros((bins, parts, length))
    matrix[:, 0] = weight * cos
    if parts == 2:
        matrix[:, 1] = -np.where(weight == 2.0, 2.0, 0.0) * sin
    return matrix.reshape(bins * parts, length) / max(length, 1)
