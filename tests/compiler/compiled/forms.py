"""Operands and results in many forms: views of other values, parts of larger tensors, stretched ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.ops import numpy_dtype
from basalt.ops.types import integer_bounds, is_float

from ..making import Maker
from .running import run_compiled

OPERAND_FORMS = ("plain", "plain", "constant", "transposed", "reversed", "sliced", "stretched", "joined")
RESULT_FORMS = ("plain", "plain", "plain", "transposed", "joined", "padded", "sliced", "twice")
INNER = (1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 1000, 4095, 4096, 4097)
"""Sizes of the innermost dimension: on both sides of what a vector or a block holds."""
OUTER = (1, 2, 3, 5, 16)
MOST = 20_000
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 1e-40, -1e-40, 3e38, 88.9, -104.5, 2.0**31)


@dataclass
class Bench:
    """A graph in the making, with an array for each input; ``random`` decides what a test does not."""

    random: Random
    maker: Maker = field(default_factory=Maker)
    feeds: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def numbers(self) -> np.random.Generator:
        return np.random.default_rng(self.random.getrandbits(32))

    def operand(self, array: np.ndarray, dtype: str, forms: Sequence[str] = OPERAND_FORMS) -> Value:
        """A value with the elements of an array (any of them equal along a dimension, if it is stretched)."""
        form = self.random.choice(forms)
        make = {
            "plain": self.input,
            "constant": self.maker.constant,
            "transposed": self._transposed,
            "reversed": self._reversed,
            "sliced": self._sliced,
            "stretched": self._stretched,
            "joined": self._joined,
        }[form]
        return make(array, dtype) if array.ndim else self.input(array, dtype)

    def input(self, array: np.ndarray, dtype: str) -> Value:
        """An input that is fed the array."""
        name = f"x{len(self.maker.inputs)}"
        self.feeds[name] = np.array(array, numpy_dtype(dtype), order="C")
        return self.maker.input(name, dtype, array.shape)

    def result(self, value: Value, forms: Sequence[str] = RESULT_FORMS) -> list[Value]:
        """The outputs to make of a result: itself, or something that has it written elsewhere than into a row."""
        if value.type.rank == 0 or value.type.size == 0:
            return [value]
        return {
            "plain": lambda: [value],
            "transposed": lambda: [self.maker.transpose(value, permutation=self._order(value.type.rank))],
            "joined": lambda: [self._join(value)],
            "padded": lambda: [self._pad(value)],
            "sliced": lambda: [self._cut(value)],
            "twice": lambda: [self._join(value), value],
        }[self.random.choice(forms)]()

    def check(self, outputs: Sequence[Value], tolerance: Tolerance, *, optimise: bool = False) -> None:
        """Compare the compiled program with the operators' NumPy semantics."""
        graph = self.maker.graph(**{f"y{i}": v for i, v in enumerate(outputs)})
        split = self.random.random() < 0.5
        got = run_compiled(graph, self.maker.constants, self.feeds, optimise=optimise, split=split, threads=3)
        expected = interpret(graph, self.maker.constants, self.feeds)
        assert got.keys() == expected.keys()
        for name, want in expected.items():
            assert_close(got[name], want, tolerance)

    def noise(self, shape: Sequence[int], dtype: str) -> np.ndarray:
        """Elements that nobody should see in a result."""
        return np.full(shape, 77, numpy_dtype("int8")).astype(numpy_dtype(dtype))

    def _order(self, rank: int) -> list[int]:
        return self.random.sample(range(rank), rank)

    def _transposed(self, array: np.ndarray, dtype: str) -> Value:
        order = self._order(array.ndim)
        return self.maker.transpose(self.input(array.transpose(order), dtype), permutation=_inverse(order))

    def _reversed(self, array: np.ndarray, dtype: str) -> Value:
        axes = [a for a in range(array.ndim) if self.random.random() < 0.6]
        return self.maker.reverse(self.input(np.flip(array, axes), dtype), axes=axes)

    def _sliced(self, array: np.ndarray, dtype: str) -> Value:
        steps = [self.random.choice((1, 1, 2, 3)) for _ in array.shape]
        starts = [self.random.choice((0, 1, 2)) for _ in array.shape]
        sizes = [d * s - self.random.randrange(s) for d, s in zip(array.shape, steps)]
        whole = self.noise([b + n + 1 for b, n in zip(starts, sizes)], dtype)
        whole[tuple(slice(b, b + n, s) for b, n, s in zip(starts, sizes, steps))] = array
        return self.maker.slice(self.input(whole, dtype), starts, sizes, strides=steps)

    def _stretched(self, array: np.ndarray, dtype: str) -> Value:
        axes = [a for a in range(array.ndim) if self.random.random() < 0.6]
        base = array[tuple(slice(0, 1) if a in axes else slice(None) for a in range(array.ndim))]
        array[...] = base
        lead = next((i for i, d in enumerate(base.shape) if d != 1), array.ndim) if self.random.random() < 0.5 else 0
        return self.maker.expand(self.input(base.reshape(base.shape[lead:]), dtype), array.shape)

    def _joined(self, array: np.ndarray, dtype: str) -> Value:
        """A part of a temporary tensor."""
        axis = self.random.randrange(array.ndim)
        beside = self.input(self.noise(array.shape, dtype), dtype)
        whole = self.maker.concat([beside, self.input(array, dtype), beside], axis)
        return self.maker.split(whole, 3, axis=axis)[1]

    def _join(self, value: Value) -> Value:
        axis = self.random.randrange(value.type.rank)
        beside = self.input(self.noise(value.shape, value.dtype), value.dtype)
        return self.maker.concat([beside, value, beside][self.random.choice((0, 1)) :], axis)

    def _pad(self, value: Value) -> Value:
        ends = [[self.random.choice((0, 1, 2)) for _ in value.shape] for _ in range(2)]
        return self.maker.pad(value, *ends)

    def _cut(self, value: Value) -> Value:
        starts = [self.random.randrange(d) for d in value.shape]
        return self.maker.slice(value, starts, [self.random.randint(1, d - s) for d, s in zip(value.shape, starts)])


@dataclass(frozen=True)
class Tolerance:
    """What a result may differ by: units in the last place, relative to the largest element, and in any case."""

    ulps: float = 0.0
    scaled: float = 0.0
    absolute: float = 0.0
    signed_zeros: bool = True


EXACT = Tolerance()


def benches() -> st.SearchStrategy[Bench]:
    """A new bench, reproducible from one drawn number."""
    return st.integers(0, 2**32 - 1).map(lambda seed: Bench(Random(seed)))


def shapes(low: int = 0, high: int = 5, most: int = MOST) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of bounded size; with ``high`` above 4 now and then of up to the highest rank there is."""

    @st.composite
    def drawn(draw: st.DrawFn) -> tuple[int, ...]:
        rank = draw(st.integers(6, 8) if high > 4 and draw(st.integers(0, 9)) == 9 else st.integers(low, high))
        shape = [draw(st.sampled_from(INNER))] if rank else []
        for _ in range(rank - 1):
            size = draw(st.sampled_from(OUTER if rank < 6 else (1, 2)))
            shape.insert(0, size if size * np.prod(shape) <= most else 1)
        return tuple(shape)

    return drawn()


def fill(bench: Bench, shape: Sequence[int], dtype: str, *, wild: bool | None = None) -> np.ndarray:
    """Elements about 0, or (``wild``) of every magnitude with NaN, infinities and the ends of the range."""
    random, kind = bench.numbers, numpy_dtype(dtype)
    wild = bench.random.random() < 0.5 if wild is None else wild
    if not is_float(dtype):
        low, high = integer_bounds(dtype) if dtype != "bool" else (0, 1)
        if not wild:
            return random.integers(max(low, -9), min(high, 9), shape, endpoint=True).astype(kind)
        array = random.integers(low, high, shape, np.uint64 if dtype == "uint64" else np.int64, endpoint=True)
        edges = np.array([low, high, 0, min(1, high), low + 1, high - 1], array.dtype)
        return np.where(random.random(shape) < 0.2, random.choice(edges, shape), array).astype(kind)
    tame = random.normal(size=shape) * random.choice((0.1, 1.0, 10.0), shape)
    if not wild:
        return tame.astype(kind)
    bits = random.integers(0, 256, (*shape, kind.itemsize), np.uint8).view(kind).reshape(shape)
    # Whether a signalling NaN to the power of 0 is 1 depends on how NumPy widens it.
    bits = np.where(np.isnan(bits), np.array(np.nan, kind), bits)
    with np.errstate(all="ignore"):
        special = random.choice(SPECIAL, shape).astype(kind)
    which = random.random(shape)
    return np.asarray(np.where(which < 0.3, bits, np.where(which < 0.5, special, tame.astype(kind))), kind)


def assert_close(given: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> None:
    """Equal shapes and types, NaN where NaN is expected, elements within the tolerance; exact integers."""
    assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
    if not is_float(given.dtype.name):
        np.testing.assert_array_equal(given, expected)
        return
    with np.errstate(all="ignore"):
        a, b = (x.astype(np.float64) for x in (given, expected))
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b), "NaN in other places")
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
        finite = np.abs(b[np.isfinite(b)])
        room = tolerance.ulps * _spacing(b, given.dtype) + tolerance.scaled * finite.max(initial=0.0)
        room = room + tolerance.absolute
        wrong = ~((a == b) | (apart <= room) | np.isnan(a))
    if tolerance.signed_zeros:
        wrong |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    at = np.flatnonzero(wrong)[:5]
    assert not at.size, (
        f"{int(wrong.sum())} of {wrong.size} elements differ, at {at}: {given.reshape(-1)[at]}, expected "
        f"{expected.reshape(-1)[at]}, apart {apart.reshape(-1)[at] / _spacing(b, given.dtype).reshape(-1)[at]} units"
    )


def _spacing(x: np.ndarray, dtype: Any) -> np.ndarray:
    """The unit in the last place of a data type at each number; at an infinity that of the greatest number."""
    info = ml_dtypes.finfo(dtype)
    exponent = np.frexp(np.clip(np.abs(np.nan_to_num(x, posinf=np.inf)), float(info.tiny), float(info.max)))[1]
    return np.ldexp(1.0, exponent - 1 - int(info.nmant))


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def broadcast_pair(bench: Bench, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that are broadcast to a third."""
    pair = []
    for _ in range(2):
        kept = [d if bench.random.random() < 0.75 else 1 for d in shape]
        drop = bench.random.choice((0, 0, 0, len(kept)))
        pair.append(tuple(kept[bench.random.randint(0, drop) if drop else 0 :]))
    full = np.broadcast_shapes(*pair)
    if full != tuple(shape):
        pair[bench.random.randrange(2)] = tuple(shape)
    return pair[0], pair[1]
