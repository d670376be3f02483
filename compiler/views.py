"""Where values live: buffers, and views of them with an offset and strides.

Movement operators (reshape, transpose, slice, expand, reverse, split, tile) become views, so that they cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from basalt.ops import numpy_dtype


class Storage(Enum):
    """Where a buffer comes from."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    ARENA = "arena"


@dataclass(slots=True, eq=False)
class Buffer:
    """A block of memory; ``index`` says which input, output or constant it is, ``offset`` its place in the arena.

    ``itemsize`` is an element's, to which the block is aligned.
    """

    storage: Storage
    nbytes: int
    index: int = -1
    offset: int = 0
    itemsize: int = 1


@dataclass(frozen=True, slots=True)
class View:
    """A strided window on a buffer; strides and offset count elements, and may be negative or zero."""

    buffer: Buffer
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def itemsize(self) -> int:
        return numpy_dtype(self.dtype).itemsize

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether elements lie in row-major order without gaps; the strides of dimensions of size 1 do not matter."""
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    @property
    def covers_buffer(self) -> bool:
        """Whether the view is the whole buffer in row-major order."""
        return self.offset == 0 and self.is_contiguous and self.size * self.itemsize == self.buffer.nbytes

    def same_elements(self, other: View) -> bool:
        """Whether two views of one shape name the same memory (strides of dimensions of size 1 do not matter)."""
        return (
            self.buffer is other.buffer
            and (self.offset, self.dtype, self.shape) == (other.offset, other.dtype, other.shape)
            and all(d == 1 or a == b for d, a, b in zip(self.shape, self.strides, other.strides))
        )

    def permuted(self, permutation: Sequence[int]) -> View:
        """The view with its dimensions in another order."""
        return replace(
            self, shape=tuple(self.shape[p] for p in permutation), strides=tuple(self.strides[p] for p in permutation)
        )

    def sliced(self, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> View:
        """Elements ``starts[i] + k * steps[i]``; ``sizes`` are those of the result."""
        offset = self.offset + sum(b * s for b, s in zip(starts, self.strides))
        strides = tuple(s * k for s, k in zip(self.strides, steps))
        return replace(self, shape=tuple(sizes), strides=strides, offset=offset)

    def reversed(self, axes: Sequence[int]) -> View:
        """The view read backwards along some axes."""
        offset = self.offset + sum((self.shape[a] - 1) * self.strides[a] for a in axes)
        strides = tuple(-s if i in axes else s for i, s in enumerate(self.strides))
        return replace(self, strides=strides, offset=offset)

    def expanded(self, shape: Sequence[int]) -> View:
        """The view stretched to a shape (a stride of 0 where it repeats)."""
        extra = len(shape) - len(self.shape)
        if extra < 0 or any(o not in (1, n) for o, n in zip(self.shape, shape[extra:])):
            raise ValueError(f"a view of shape {list(self.shape)} cannot be stretched to {list(shape)}")
        own = (1,) * extra + self.shape
        strides = (0,) * extra + self.strides
        return replace(
            self,
            shape=tuple(shape),
            strides=tuple(0 if o == 1 and n != 1 else s for o, n, s in zip(own, shape, strides)),
        )

    def reshaped(self, shape: Sequence[int]) -> View | None:
        """The view with another shape, or None if that takes a copy."""
        shape = tuple(shape)
        if self.is_contiguous or self.size == 0:
            return replace(self, shape=shape, strides=row_major(shape))
        strides = _reshape_strides(self.shape, self.strides, shape)
        return None if strides is None else replace(self, shape=shape, strides=strides)

    def raw(self) -> View:
        """The view with its elements taken as plain bits, so that moves keep every NaN and data types share kernels."""
        return replace(self, dtype=_RAW[self.itemsize])


_RAW = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def whole(buffer: Buffer, dtype: str, shape: Sequence[int]) -> View:
    """A contiguous view of a whole buffer."""
    return View(buffer, dtype, tuple(shape), row_major(shape))


def allocate(storage: Storage, dtype: str, shape: Sequence[int], index: int = -1) -> View:
    """A contiguous view of a new buffer of just its size."""
    itemsize = numpy_dtype(dtype).itemsize
    return whole(Buffer(storage, math.prod(shape) * itemsize, index, itemsize=itemsize), dtype, shape)


def _reshape_strides(old: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides for a reshape without a copy: matches groups of dimensions of equal element counts (as NumPy does)."""
    pairs = [(d, s) for d, s in zip(old, strides) if d != 1]
    result: list[int] = []
    i = j = 0
    while j < len(new):
        if new[j] == 1:
            result.append(1)
            j += 1
            continue
        if i == len(pairs):
            return None
        first_i, first_j = i, j
        count_old, count_new = pairs[i][0], new[j]
        i, j = i + 1, j + 1
        while count_old != count_new:
            if count_old < count_new:
                if i == len(pairs):
                    return None
                count_old *= pairs[i][0]
                i += 1
            else:
                if j == len(new):
                    return None
                count_new *= new[j]
                j += 1
        group = pairs[first_i:i]
        if any(a[1] != b[0] * b[1] for a, b in pairwise(group)):
            return None
        step = group[-1][1]
        sizes = new[first_j:j]
        result += [step * math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
    return tuple(result)


def memory_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The dimensions in the order of loops that walk memory in order: long steps outside, the shortest innermost.

    Args:
        shape: the iteration space; loops over it may be nested in any order.
        strides: each operand's strides over it; the first operand decides, the next ones where it does not.
    """

    def steps(axis: int) -> list[int]:
        return [0 if shape[axis] == 1 else -abs(s[axis]) for s in strides]

    return tuple(sorted(range(len(shape)), key=steps))


def collapse(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Merge neighbouring dimensions that every operand walks as one, and drop those of size 1.

    Args:
        shape: the iteration space.
        strides: each operand's strides over it.

    Returns:
        The smaller space (at least one dimension) and the operands' strides over it.
    """
    dims: list[int] = []
    columns: list[list[int]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        column = [s[axis] for s in strides]
        if dims and all(outer == inner * size for outer, inner in zip(columns[-1], column)):
            dims[-1] *= size
            columns[-1] = column
        else:
            dims.append(size)
            columns.append(column)
    if not dims:
        return (1,), [(0,) for _ in strides]
    return tuple(dims), [tuple(c[k] for c in columns) for k in range(len(strides))]
