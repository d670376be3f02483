"""Einsum: sums of products over named axes, as matrix products of two operands at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from basalt.ops import Dim, SymDim
from basalt.ops.dims import product
from basalt.ops.schema import MAX_RANK, RuleError
from basalt.ops.shapes import broadcast

from ..errors import OnHostError
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .einsum_equation import parse_equation

_COMPUTED = {"float16": "float32", "bfloat16": "float32"} | dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32")
"""Data types that are computed in wider ones and rounded, or cut off, once."""
ASSUMED = 64
"""What a symbolic size counts where the order of products is chosen."""


@dataclass(frozen=True)
class _Operand:
    tensor: Tensor
    labels: tuple[str, ...]

    def size(self, label: str) -> Dim:
        return self.tensor.shape[self.labels.index(label)]


@onnx_op("Einsum", 12, 28)
def einsum(n: NodeContext) -> Tensor:
    tensors = n.tensors()
    try:
        terms, result = parse_equation(n.attr("equation"), [t.rank for t in tensors])
    except ValueError as error:
        raise n.error(f"equation {n.attr('equation')!r} {error}") from None
    dtype = tensors[0].dtype
    held = _COMPUTED.get(dtype, dtype)
    wide = [t if held == dtype else n.emit("cast", t, data_type=held) for t in tensors]
    operands = [_diagonal(n, _Operand(t, labels)) for t, labels in zip(wide, terms)]
    sizes = _sizes(n, operands)
    operands = [_without_ones(n, o, sizes, result) for o in operands]
    while len(operands) > 1:
        first, second = _cheapest(operands, result, sizes)
        rest = [o for i, o in enumerate(operands) if i not in (first, second)]
        kept = {*result, *(label for o in rest for label in o.labels)}
        operands = [*rest, _contract(n, operands[first], operands[second], kept, result)]
    total = _sum_out(n, operands[0], set(result))
    y = _arranged(n, total, result, sizes)
    return y if held == dtype else n.emit("cast", y, data_type=dtype)


def _diagonal(n: NodeContext, x: _Operand) -> _Operand:
    """The operand with each label once: the diagonal over axes that share one."""
    for label in dict.fromkeys(x.labels):
        while x.labels.count(label) > 1:
            i = x.labels.index(label)
            j = x.labels.index(label, i + 1)
            size, other = n.static(x.tensor.shape[i], x.tensor.shape[j])
            if size != other:
                raise n.error(f"label {label!r} names axes of sizes {size} and {other}, expected equal sizes")
            rest = [a for a in range(x.tensor.rank) if a not in (i, j)]
            flat = n.transpose(x.tensor, (*rest, i, j))
            flat = n.reshape(flat, (*flat.shape[:-2], size * size))
            if size > 1:
                flat = n.slice(flat, flat.rank - 1, 0, size * size, size + 1)
            x = _Operand(flat, (*(x.labels[a] for a in rest), label))
    return x


def _sizes(n: NodeContext, operands: Sequence[_Operand]) -> dict[str, Dim]:
    """The size of each label, a 1 stretched to the size that it has elsewhere."""
    sizes: dict[str, Dim] = {}
    for o in operands:
        for label, size in zip(o.labels, o.tensor.shape):
            try:
                (sizes[label],) = broadcast((sizes.get(label, 1),), (size,))
            except RuleError:
                raise n.error(f"label {label!r} names axes of sizes {sizes[label]} and {size}") from None
    return sizes


def _without_ones(n: NodeContext, x: _Operand, sizes: dict[str, Dim], result: Sequence[str]) -> _Operand:
    """The operand without axes of size 1 that others stretch, or that no result shows."""
    kept = [
        label
        for label, d in zip(x.labels, x.tensor.shape)
        if not (d == 1 and (sizes[label] != 1 or label not in result))
    ]
    return _Operand(n.reshape(x.tensor, [x.size(label) for label in kept]), tuple(kept))


def _cheapest(operands: Sequence[_Operand], result: Sequence[str], sizes: dict[str, Dim]) -> tuple[int, int]:
    """The two operands whose product is smallest, compared with what they hold."""
    if len(operands) == 2:
        return 0, 1

    def volume(labels: set[str]) -> int:
        total = 1
        for label in labels:
            size = sizes[label]
            total *= ASSUMED if isinstance(size, SymDim) else size
        return total

    def growth(pair: tuple[int, int]) -> int:
        a, b = (set(operands[i].labels) for i in pair)
        others = {label for i, o in enumerate(operands) if i not in pair for label in o.labels}
        return volume((a | b) & (others | set(result))) - volume(a) - volume(b)

    return min(combinations(range(len(operands)), 2), key=growth)


def _sum_out(n: NodeContext, x: _Operand, kept: set[str]) -> _Operand:
    """The operand summed over the axes whose labels nothing needs."""
    axes = tuple(i for i, label in enumerate(x.labels) if label not in kept)
    if not axes:
        return x
    return _Operand(n.emit("reduce_sum", x.tensor, axes=axes), tuple(label for label in x.labels if label in kept))


def _contract(n: NodeContext, a: _Operand, b: _Operand, kept: set[str], result: Sequence[str]) -> _Operand:
    """The product of two operands, summed over what only they have and nothing needs."""
    a = _sum_out(n, a, kept | set(b.labels))
    b = _sum_out(n, b, kept | set(a.labels))
    order = {label: i for i, label in enumerate(result)}
    alone = [
        [order[label] for label in x.labels if label not in y.labels and label in order] for x, y in ((a, b), (b, a))
    ]
    if alone[0] and alone[1] and min(alone[1]) < min(alone[0]):
        a, b = b, a
    shared = [label for label in a.labels if label in b.labels]
    batch = sorted((label for label in shared if label in kept), key=lambda label: order.get(label, -1))
    summed = [label for label in shared if label not in kept]
    left = [label for label in a.labels if label not in shared]
    right = [label for label in b.labels if label not in shared]
    rows, columns, depth = product(map(a.size, left)), product(map(b.size, right)), product(map(a.size, summed))
    lead = tuple(a.size(label) for label in batch)
    shape = lead if len(lead) <= MAX_RANK - 3 else (product(lead),)
    x = n.reshape(_ordered(n, a, [*batch, *left, *summed]), (*shape, rows, depth))
    if "float" in a.tensor.dtype and summed:
        y = n.reshape(_ordered(n, b, [*batch, *summed, *right]), (*shape, depth, columns))
        product_ = n.emit("matmul", x, y)
    else:
        y = n.reshape(_ordered(n, b, [*batch, *right, *summed]), (*shape, columns, depth))
        product_ = _products(n, x, y, bool(summed))
    full = (*lead, *map(a.size, left), *map(b.size, right))
    if len(full) > MAX_RANK:
        raise OnHostError
    return _Operand(n.reshape(product_, full), (*batch, *left, *right))


def _products(n: NodeContext, x: Tensor, y: Tensor, summed: bool) -> Tensor:
    """[..., rows, depth] and [..., columns, depth], multiplied and summed up without a matrix product."""
    *lead, rows, depth = x.shape
    wide = n.emit("mul", n.reshape(x, (*lead, rows, 1, depth)), n.reshape(y, (*lead, 1, y.shape[-2], depth)))
    if summed:
        return n.emit("reduce_sum", wide, axes=(wide.rank - 1,))
    return n.reshape(wide, wide.shape[:-1])


def _ordered(n: NodeContext, x: _Operand, labels: Sequence[str]) -> Tensor:
    return n.transpose(x.tensor, [x.labels.index(label) for label in labels])


def _arranged(n: NodeContext, x: _Operand, result: Sequence[str], sizes: dict[str, Dim]) -> Tensor:
    """The operand with its axes in the order of the result."""
    y = _ordered(n, x, [label for label in result if label in x.labels])
    return n.reshape(y, [sizes[label] for label in result])
