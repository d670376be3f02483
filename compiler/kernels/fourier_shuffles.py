"""Shuffles of the fast Fourier transform: parts of complex numbers brought together and apart, results interleaved."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels.emit import F32, I32
from basalt.compiler.kernels.lanes import Value

__all__ = ["joined", "parted", "reversed_lanes", "shuffled", "stores"]


def shuffled(x: Value, y: Value, lanes: Sequence[int]) -> Value:
    """Lanes of two vectors, those of the second counted on from the first's."""
    mask = ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes))
    return Value(x.e, x.e.b.shuffle_vector(x.raw, y.raw, mask))


def reversed_lanes(x: Value) -> Value:
    """The last lane first."""
    return shuffled(x, x, range(x.raw.type.count - 1, -1, -1))


def parted(first: Value, second: Value) -> tuple[Value, Value]:
    """The even and the odd elements of two neighbouring vectors."""
    size = first.raw.type.count
    return shuffled(first, second, range(0, 2 * size, 2)), shuffled(first, second, range(1, 2 * size, 2))


def joined(even: Value, odd: Value) -> tuple[Value, Value]:
    """Two neighbouring vectors in which the elements of both take turns."""
    size = even.raw.type.count
    order = [i // 2 + (i % 2) * size for i in range(2 * size)]
    return shuffled(even, odd, order[:size]), shuffled(even, odd, order[size:])


def stores(vectors: Sequence[Value], run: int) -> list[tuple[int, ir.Value]]:
    """What to store where, so that runs of ``run`` elements of every vector take turns.

    Shuffles stay within 128 bits as long as they can: others take longer.

    Returns:
        offsets in elements, and vectors of up to as many lanes as the given ones.
    """
    lanes, radix = vectors[0].raw.type.count, len(vectors)
    wide = 32 if vectors[0].raw.type.element == F32 else 64
    block = min(lanes, max(128 // wide, run))
    units = block // run
    parts: list[_Part] = []
    first = 0
    while first < radix:
        count = units
        while count > radix - first:
            count //= 2
        for i, value in enumerate(_interleaved(vectors[first : first + count], run, block)):
            for j in range(lanes // (count * run)):
                start = j * count * run
                place, inside = divmod(start, block)
                unit = place * units + (i * block + inside) // (count * run)
                own = [(value, lane) for lane in range(start, start + count * run)]
                parts.append(((unit * radix + first) * run, own))
        first += count
    return [(offset, _gathered(own)) for offset, own in _merged(sorted(parts, key=lambda p: p[0]), lanes)]


_Part = tuple[int, list[tuple[Value, int]]]
"""An offset, and what is stored there on: lanes of vectors."""


def _interleaved(vectors: Sequence[Value], run: int, block: int) -> list[Value]:
    """Vectors (a power of two of them) of which each block holds runs of all that were at the same place."""
    if len(vectors) == 1:
        return list(vectors)
    pairs = [_zipped(x, y, run, block) for x, y in zip(vectors[::2], vectors[1::2])]
    return [v for half in zip(*pairs) for v in _interleaved(half, 2 * run, block)]


def _zipped(x: Value, y: Value, run: int, block: int) -> tuple[Value, Value]:
    """Runs of two vectors in turns: those of the first halves of all blocks, and those of the second ones."""
    lanes = x.raw.type.count
    orders: tuple[list[int], list[int]] = [], []
    for start in range(0, lanes, block):
        for half, order in enumerate(orders):
            begin = start + half * block // 2
            for at in range(begin, begin + block // 2, run):
                order += [*range(at, at + run), *range(lanes + at, lanes + at + run)]
    return shuffled(x, y, orders[0]), shuffled(x, y, orders[1])


def _merged(parts: list[_Part], most: int) -> list[_Part]:
    """Neighbours of equal length put together, as far as a vector reaches."""
    result: list[_Part] = []
    for offset, own in parts:
        while result and len(result[-1][1]) == len(own) <= most // 2 and result[-1][0] + len(own) == offset:
            offset, before = result.pop()
            own = before + own
        result.append((offset, own))
    return result


def _gathered(own: list[tuple[Value, int]]) -> ir.Value:
    """The vector of some lanes of others, or a scalar of one."""
    sources = list(dict.fromkeys(value for value, _ in own))
    if len(own) == 1:
        return sources[0].e.b.extract_element(sources[0].raw, I32(own[0][1]))
    if len(sources) > 2:
        low, high = (Value(sources[0].e, _gathered(part)) for part in (own[: len(own) // 2], own[len(own) // 2 :]))
        return shuffled(low, high, range(len(own))).raw
    x, y = sources[0], sources[-1]
    size = x.raw.type.count
    return shuffled(x, y, [lane + (size if value is not x else 0) for value, lane in own]).raw
