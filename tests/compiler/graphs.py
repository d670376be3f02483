"""Random graphs: every operator, small shapes, values that stay tame; and the comparison of their results.

``random_graph(seed)`` is reproducible. Each node is evaluated as it is made, and dropped if its results are mostly
infinite, NaN or huge, so that later nodes still have something to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from basalt.compiler.ir import Constants, Graph, Value
from basalt.compiler.passes.evaluation import evaluate
from basalt.errors import BasaltError
from basalt.ops import numpy_dtype
from basalt.ops.types import integer_bounds, is_float

from .making import Maker

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40, 3e38)
NEUTRAL = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 4.0, 0.125)
_LARGEST = 1e4


@dataclass(frozen=True)
class Sample:
    """A graph, the arrays beside it, an array for each input, and the operators that it holds."""

    graph: Graph
    constants: Constants
    feeds: Mapping[str, np.ndarray]

    @property
    def ops(self) -> set[str]:
        return {node.op for node in self.graph.nodes}


class NoOperandError(Exception):
    """A recipe needs a data type that the graph does not use."""


class Pool:
    """What recipes draw operands from: the values made so far, new inputs and constants."""

    def __init__(self, seed: int, floats: Sequence[str], ints: Sequence[str], special: float) -> None:
        self.random = Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.floats = tuple(floats)
        self.ints = tuple(ints)
        self.special = special
        self.maker = Maker()
        self.arrays: dict[Value, np.ndarray] = {}

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        return tuple(self.random.choice((1, 2, 3, 4)) for _ in range(self.random.randint(low, high)))

    def array(self, dtype: str, shape: Sequence[int], neutral: bool = False) -> np.ndarray:
        """Random elements: tame, with some special ones."""
        shape = tuple(shape)
        if neutral:
            number = self.random.choice(NEUTRAL)
            return np.full(shape, number if is_float(dtype) else int(abs(number)), numpy_dtype(dtype))
        if not is_float(dtype):
            low, high = integer_bounds(dtype)
            return self.numbers.integers(max(low, -9), min(high, 9), shape, endpoint=True).astype(numpy_dtype(dtype))
        array = self.numbers.normal(size=shape).astype(numpy_dtype(dtype))
        hit = self.numbers.random(shape) < self.special
        with np.errstate(over="ignore"):
            return np.where(hit, self.numbers.choice(SPECIAL, shape), array).astype(numpy_dtype(dtype))

    def leaf(self, dtype: str, shape: Sequence[int], constant: bool | None = None) -> Value:
        """A new input or constant."""
        if constant if constant is not None else self.chance(0.5):
            array = self.array(dtype, shape, neutral=self.chance(0.4))
            value = self.maker.constant(array, dtype)
            array = self.maker.constants.array(value)
        else:
            array = self.array(dtype, shape)
            value = self.maker.input(f"x{len(self.maker.inputs)}", dtype, array.shape)
        self.arrays[value] = array
        return value

    def parameter(self, dtype: str, shape: Sequence[int]) -> Value:
        """A constant as a rule, sometimes an input: a weight."""
        return self.leaf(dtype, shape, constant=self.chance(0.8))

    def known(self, array: Any, dtype: str) -> Value:
        """A constant of given elements."""
        value = self.maker.constant(array, dtype)
        self.arrays[value] = self.maker.constants.array(value)
        return value

    def dtype(self, kinds: Sequence[str] | frozenset[str]) -> str:
        """One of the allowed data types that the graph uses."""
        found = [d for d in self.floats + self.ints if d in kinds]
        if not found:
            raise NoOperandError
        return self.random.choice(found)

    def any(self, dtypes: frozenset[str] | Sequence[str], ranks: tuple[int, int] = (0, 4)) -> Value:
        """A value of one of some data types, the later ones more often; a new one if there is none."""
        low, high = ranks
        found = [v for v in self.arrays if v.dtype in dtypes and low <= v.type.rank <= high and not v.is_constant]
        if found and self.chance(0.85):
            return self.random.choice(found[-self.random.choice((1, 1, 3, len(found))) :])
        return self.leaf(self.dtype(dtypes), self.shape(low, high), constant=self.chance(0.1))

    def of(self, dtype: str, shape: Sequence[int]) -> Value:
        """A value of a type."""
        found = [v for v in self.arrays if v.dtype == dtype and v.shape == tuple(shape)]
        return self.random.choice(found[-3:]) if found and self.chance(0.7) else self.leaf(dtype, shape)

    def beside(self, x: Value) -> Value:
        """A value of the same data type that can be broadcast to ``x``, or a number, or ``x`` itself."""
        if self.chance(0.1):
            return x
        if self.chance(0.3):
            return self.known(self.array(x.dtype, (), neutral=True), x.dtype)
        shape = tuple(1 if self.chance(0.2) else d for d in x.shape)[self.random.choice((0, 0, 0, 1, 2)) :]
        return self.of(x.dtype, shape)

    def condition(self, x: Value) -> Value:
        """A uint8 value that can be broadcast to ``x``."""
        if self.chance(0.2):
            return self.known(np.full(x.shape, self.random.choice((0, 1))), "uint8")
        if self.chance(0.5) and is_float(x.dtype):
            return self.make("lesser", x, self.beside(x)) or self.of("uint8", x.shape)
        return self.of("uint8", x.shape)

    def make(self, op: str, *args: Any, **options: Any) -> Any:
        """The outputs of a new node, or None if it is refused or its results are wild."""
        size = len(self.maker.nodes)
        try:
            result = self.maker.call(op, *args, **options)
        except BasaltError:
            return None
        node = self.maker.nodes[-1]
        operands = [None if v is None else self.arrays[v] for v in node.inputs]
        arrays = evaluate(op, operands, node.attrs, [v.type for v in node.outputs])
        if not all(self._is_tame(a) for a in arrays):
            del self.maker.nodes[size:]
            return None
        self.arrays.update(zip(node.outputs, arrays))
        return result

    def _is_tame(self, array: np.ndarray) -> bool:
        if array.dtype.kind not in "f" or array.size == 0:
            return array.size > 0
        with np.errstate(all="ignore"):
            good = np.isfinite(array) & (np.abs(array) < _LARGEST)
        return bool(good.mean() > (0.3 if self.special else 0.999))


Recipe = Callable[[Pool], Any]


def random_graph(
    seed: int,
    *,
    nodes: tuple[int, int] = (5, 50),
    floats: Sequence[str] = ("float32", "float16"),
    ints: Sequence[str] = ("int32", "uint8", "int64", "int8"),
    special: float = 0.0,
    only: Sequence[str] | None = None,
) -> Sample:
    """A reproducible random graph.

    Args:
        seed: what it depends on.
        nodes: the least and the greatest number of nodes, before dead ones are considered.
        floats: its floating-point types.
        ints: its integer types; conditions and indices come on top.
        special: the share of NaN, infinities, signed zeros and extreme numbers among floats.
        only: names of recipes to use (see :data:`recipes.RECIPES`); all if None.
    """
    from .recipes import FAMILIES, RECIPES

    pool = Pool(seed, floats, ints, special)
    names = list(RECIPES if only is None else only)
    if pool.chance(0.7):
        # Few operators of a kind, so that they meet each other over and over.
        kind = pool.random.choice((*FAMILIES, tuple(names)))
        family = [name for name in kind if name in names]
        names = pool.random.sample(family, min(len(family), 4))
    wanted = pool.random.randint(*nodes)
    for _ in range(6 * wanted):
        if len(pool.maker.nodes) >= wanted:
            break
        with suppress(NoOperandError):
            RECIPES[pool.random.choice(names)](pool)
    return _finished(pool)


def _finished(pool: Pool) -> Sample:
    maker = pool.maker
    read = {v for node in maker.nodes for v in node.present}
    ends = [v for node in maker.nodes for v in node.outputs if v not in read]
    extra = [v for node in maker.nodes for v in node.outputs if v in read and pool.chance(0.1)]
    graph = maker.graph(**{f"y{i}": v for i, v in enumerate(ends + extra)})
    return Sample(graph, maker.constants, {v.name: pool.arrays[v] for v in maker.inputs})


def assert_identical(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> None:
    """Equal to the bit, the signs of zeros included; any NaN equals any NaN."""
    assert before.keys() == after.keys()
    for name, old in before.items():
        new = after[name]
        assert (old.dtype, old.shape) == (new.dtype, new.shape), name
        np.testing.assert_array_equal(new, old, err_msg=name)
        if old.dtype.kind == "f":
            signed = ~np.isnan(old)
            np.testing.assert_array_equal(np.signbit(new)[signed], np.signbit(old)[signed], err_msg=f"sign of {name}")


def assert_near(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], tolerance: float) -> None:
    """Equal within ``tolerance`` times the largest finite magnitude of an output; NaN and infinities in place."""
    assert before.keys() == after.keys()
    for name, old in before.items():
        new = after[name]
        assert (old.dtype, old.shape) == (new.dtype, new.shape), name
        a, b = (x.astype(np.float64) for x in (old, new))
        with np.errstate(all="ignore"):
            scale = float(np.abs(a[np.isfinite(a)]).max(initial=1.0))
            np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance * scale, equal_nan=True, err_msg=name)


def ulps(expected: np.ndarray, given: np.ndarray) -> int:
    """The largest distance of two float arrays in units in the last place; NaNs must agree, 0 equals -0."""
    assert (expected.dtype, expected.shape) == (given.dtype, given.shape)
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(given), nan)
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[expected.dtype.itemsize]

    def ordered(x: np.ndarray) -> np.ndarray:
        bits = np.where(nan, np.zeros_like(x), x).view(kind).astype(object)
        return np.where(bits < 0, int(np.iinfo(kind).min) - bits, bits)

    distance = np.abs(ordered(expected) - ordered(given))
    return int(distance.max(initial=0))
