"""MatMulNBits and MatMulBnb4: products with weights packed into 2, 4 or 8 bits, in blocks that share a scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, last_axis_product, wide, zeros

__all__ = ["unpacked"]

_NORMAL_FLOAT = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
"""The NF4 code (Dettmers et al. 2023)."""
_SMALL_FLOAT = (0.0, 0.0625 / 12, 8 / 12, 1.0, 4 / 12, 6 / 12, 2 / 12, 3 / 12)
"""The FP4 code's numbers of positive sign."""

_IN_BYTES = 4
"""The accuracy level that lets activations be rounded to 8 bits."""


def unpacked(packed: np.ndarray, bits: int, count: int) -> np.ndarray:
    """The first ``count`` numbers of ``bits`` bits along the last axis of bytes; a byte's lowest bits come first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return parts.reshape(*packed.shape[:-1], -1)[..., :count]


@onnx_op("MatMulNBits", 1, domain=MICROSOFT)
def matmul_n_bits(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    columns = n.attr("N")
    work = wide(x.dtype)
    if 0 in n.tensor(1).shape:
        y = zeros(n, (*x.shape[:-1], columns), work)
    else:
        y = _product(n, convert(n, x, work))
    if n.given(5):
        y = n.emit("add", y, convert(n, n.tensor(5), work))
    return convert(n, y, x.dtype)


class _Packed(NamedTuple):
    """The weights' codes [N, blocks * size], and scale and zero point of each block [N, blocks]."""

    codes: np.ndarray
    scale: Tensor
    zero: np.ndarray


def _product(n: NodeContext, x: Tensor) -> Tensor:
    packed = _unpacked(n, x.dtype)
    if n.given(4) or packed.zero.dtype != "uint8" or x.dtype != "float32":
        return last_axis_product(n, x, n.transpose(_weights(n, packed, x.dtype), (1, 0)))
    operands = n.constant(packed.codes, "uint8"), packed.scale, n.constant(packed.zero, "uint8")
    rows = n.reshape(x, (1, *x.shape)) if x.rank == 1 else x
    size, bits = n.attr("block_size"), n.attr("bits")
    rounded = n.attr("accuracy_level") == _IN_BYTES and bits == 4 and size % 16 == 0
    y = n.emit("matmul_blocks", rows, *operands, bits=bits, rounded=rounded)
    return n.reshape(y, y.shape[1:]) if x.rank == 1 else y


def _unpacked(n: NodeContext, dtype: str) -> _Packed:
    rows, depth, size, bits = (n.attr(name) for name in ("N", "K", "block_size", "bits"))
    if bits not in (2, 4, 8) or n.attr("weight_prepacked"):
        raise n.unsupported(
            f"weights of {bits} bits, weight_prepacked {n.attr('weight_prepacked')}; known are 2, 4, 8, 0"
        )
    if size < 1 or rows < 1 or depth < 1:
        raise n.error(f"N is {rows}, K {depth}, block_size {size}; expected positive numbers")
    blocks = -(-depth // size)
    packed = n.array(1)
    if packed.size * 8 != rows * blocks * size * bits:
        raise n.error(f"B has {packed.size} bytes, expected {rows * blocks * size * bits // 8}")
    codes = unpacked(packed.reshape(rows, blocks, -1), bits, size).reshape(rows, blocks * size)
    scale = n.reshape(convert(n, n.tensor(2), dtype), (rows, blocks))
    return _Packed(codes, scale, _zero_points(n, rows, blocks, bits))


def _weights(n: NodeContext, packed: _Packed, dtype: str) -> Tensor:
    """The weights [N, K] in a float type."""
    codes, scale, zero = packed
    depth, size, blocks = n.attr("K"), n.attr("block_size"), zero.shape[1]
    groups = n.array(4).reshape(-1)[:depth] if n.given(4) else np.arange(depth) // size
    if groups.size != depth or (groups.size and not 0 <= groups.min() <= groups.max() < blocks):
        raise n.error(f"g_idx must hold the block, below {blocks}, of each of {depth} rows")
    places = n.constant(groups.astype(np.int64))
    numbers = n.constant(codes[:, :depth].astype(np.float32), dtype)
    offsets = n.emit("gather", n.constant(zero, dtype), places, axis=1)
    return n.emit("mul", n.emit("sub", numbers, offsets), n.emit("gather", scale, places, axis=1))


def _zero_points(n: NodeContext, rows: int, blocks: int, bits: int) -> np.ndarray:
    """The zero points [N, blocks]: uint8 where they are packed or left out, else floats."""
    if not n.given(3):
        return np.full((rows, blocks), 1 << (bits - 1), np.uint8)
    given = n.array(3)
    if given.dtype == np.uint8:
        width = -(-blocks * bits // 8)
        if given.size != rows * width:
            raise n.error(f"zero_points has {given.size} bytes, expected {rows * width}")
        return unpacked(given.reshape(rows, width), bits, blocks)
    if given.size != rows * blocks:
        raise n.error(f"zero_points has {given.size} elements, expected {rows * blocks}")
    return given.reshape(rows, blocks).astype(np.float32)


@onnx_op("MatMulBnb4", 1, domain=MICROSOFT)
def matmul_bnb4(n: NodeContext) -> Tensor:
    """The weights [N, K] are stored as one row of codes, the first of two in a byte's high half."""
    x, packed, top = n.tensor(0), n.array(1), n.array(2)
    rows, depth, size = (n.attr(name) for name in ("N", "K", "block_size"))
    kind = n.attr("quant_type")
    if kind not in (0, 1):
        raise n.error(f"quant_type is {kind}, expected 0 or 1")
    count = rows * depth
    if packed.size != (count + 1) // 2 or top.size != -(-count // size):
        raise n.error(
            f"B and absmax have {packed.size} and {top.size} elements, expected {(count + 1) // 2} and "
            f"{-(-count // size)}"
        )
    table = np.array(_NORMAL_FLOAT if kind else (*_SMALL_FLOAT, *[-v for v in _SMALL_FLOAT]), np.float32)
    flat = packed.reshape(-1)
    codes = np.stack([flat >> 4, flat & 15], axis=1).reshape(-1)[:count]
    weights = table[codes] * np.repeat(top.reshape(-1).astype(np.float32), size)[:count]
    work = wide(x.dtype)
    matrix = n.constant(weights.reshape(rows, depth), work)
    if n.attr("transB"):
        matrix = n.transpose(matrix, (1, 0))
    return convert(n, last_axis_product(n, convert(n, x, work), matrix), x.dtype)
