"""Matrix products with integers of a few bits, blocks of which share a scale and a zero point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import boolean, integer
from ..dims import Dim
from ..registry import register_extension
from ..rounding import narrow, widen
from ..schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import expect_shape, same_shape, text
from ..types import TensorType


@register_extension
class MatmulBlocks(Operator):
    """The matrix product of ``a`` with ``(codes - zero_point) * scale``, both of which blocks along the depth share.

    [..., m, k] times the transpose of [n, blocks * size] is [..., m, n]. What codes there are beyond k, fewer than a
    block's, count for nothing. Codes are below ``2 ** bits``.
    """

    name = "matmul_blocks"
    operands = (
        Operand("a", frozenset({"float32"}), (2, MAX_RANK), doc="the first matrix, or stack of matrices"),
        Operand("codes", frozenset({"uint8"}), 2, doc="the integers of the second, transposed: [n, blocks * size]"),
        Operand("scale", "a", 2, doc="what each block's integers are multiplied by, [n, blocks]"),
        Operand("zero_point", "codes", 2, doc="what is subtracted from each block's integers, [n, blocks]"),
    )
    options = (
        Option("bits", integer(1, 8), 8, "bits that hold every code"),
        Option(
            "rounded", boolean, False, "whether ``a`` is rounded to 8 bits, in chunks of 32 (or 16 where blocks are)"
        ),
    )
    outputs = (Output(dtypes="a", rank="a"),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        *outer, rows, depth = t.a.shape
        columns, length = t.codes.shape
        if not same_shape(t.scale.shape, t.zero_point.shape):
            fail(f"zero_point has shape {text(t.zero_point.shape)}, expected scale's, {text(t.scale.shape)}")
        expect_shape("scale", t.scale.shape[:1], (columns,), "one line for each of the codes' lines")
        blocks = t.scale.shape[1]
        if all(isinstance(d, int) for d in (length, blocks, depth)):
            size = length // blocks if blocks else 0
            if size * blocks != length or not length - size < depth <= length:
                fail(f"a has {depth} columns, expected them to fill {blocks} blocks of {length} codes but for the last")
        return [TensorType("float32", (*outer, rows, columns))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return 2 * out[0].size * t.a.shape[-1]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        columns, blocks = np.shape(x.scale)
        codes = np.asarray(x.codes).reshape(columns, blocks, -1).astype(np.float32)
        weights = (codes - np.asarray(x.zero_point).astype(np.float32)[..., None]) * np.asarray(x.scale)[..., None]
        depth = np.shape(x.a)[-1]
        rows = _rounded(np.asarray(x.a), 16 if codes.shape[-1] % 32 else 32) if a["rounded"] else x.a
        return [narrow(np.matmul(widen(rows), widen(weights.reshape(columns, -1)[:, :depth].T)), out[0])]


def _rounded(x: np.ndarray, size: int) -> np.ndarray:
    """The numbers as steps of a 127th of the largest of each chunk, the last of which may be shorter."""
    depth = x.shape[-1]
    padded = np.zeros((*x.shape[:-1], -(-depth // size), size), np.float32)
    padded.reshape(*x.shape[:-1], -1)[..., :depth] = x
    with np.errstate(all="ignore"):
        top = np.abs(padded).max(-1, keepdims=True)
        inverse = np.where(top < np.float32(2.0**-100), np.float32(0), np.float32(127) / top)
        steps = np.rint(padded * inverse) * (top / np.float32(127))
    return steps.reshape(*x.shape[:-1], -1)[..., :depth]
