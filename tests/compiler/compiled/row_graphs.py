"""Random graphs of reductions and element-wise operators around them: what fusion into row kernels is made of."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from basalt.compiler.ir import Value

from ..graphs import Sample
from ..making import Maker

SIZES = ((1, 2, 3), (1, 3, 5), (2, 4, 16, 17), (1, 7, 16, 33, 100))
"""Choices for each dimension, the innermost last."""
UNARY = ("relu", "abs", "neg", "tanh", "sigmoid")
BINARY = ("add", "sub", "mul", "max", "min")


class RowGraph:
    """Grows values of one shape, and of that shape with dimensions of 1."""

    def __init__(self, seed: int, dtypes: Sequence[str] = ("float32", "float16", "float64")) -> None:
        self.random = Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.dtype = self.random.choice(dtypes)
        self.maker = Maker()
        self.feeds: dict[str, np.ndarray] = {}
        rank = self.random.randint(1, 4)
        self.shape = tuple(self.random.choice(sizes) for sizes in SIZES[-rank:])
        self.axes = self.some_axes()
        self.values: list[Value] = [self.leaf(self.shape)]

    def some_axes(self) -> list[int]:
        """Axes to reduce, mostly the last ones."""
        rank = len(self.shape)
        cut = self.random.randrange(rank)
        some = self.random.sample(range(rank), self.random.randint(1, rank))
        return self.random.choice((list(range(cut, rank)), list(range(cut, rank)), [cut], some))

    def leaf(self, shape: Sequence[int]) -> Value:
        array = self.numbers.normal(size=tuple(shape)).astype(self.dtype)
        if self.random.random() < 0.3:
            return self.maker.constant(array, self.dtype)
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        return self.maker.input(name, self.dtype, array.shape)

    def beside(self) -> Value:
        """A value to combine with: made before, a new tensor, one that is broadcast, or a number."""
        choice = self.random.random()
        if choice < 0.6:
            return self.random.choice(self.values[-4:])
        if choice < 0.75:
            return self.leaf(self.shape)
        if choice < 0.9:
            return self.leaf([d if self.random.random() < 0.5 else 1 for d in self.shape])
        return self.leaf(())

    def grow(self) -> None:
        """Add a node or a few."""
        random, make = self.random, self.maker
        x = random.choice(self.values[-3:])
        choice = random.random()
        if choice < 0.3:
            y = make.call(random.choice(UNARY), x)
        elif choice < 0.65:
            pair = [x, self.beside()]
            random.shuffle(pair)
            y = make.call(random.choice(BINARY), *pair)
        elif choice < 0.9:
            axes = self.axes if random.random() < 0.8 else self.some_axes()
            op = random.choice(("reduce_mean", "reduce_max", "reduce_min", "reduce_sum", "reduce_l2"))
            y = make.call(op, x, axes=axes, keep_dimensions=True)
            if op in ("reduce_sum", "reduce_l2"):
                y = make.tanh(y)
        elif choice < 0.95 and x.shape == self.shape:
            y = make.softmax(x, random.choice(self.axes))
        elif x.shape == self.shape:
            y = make.layer_normalization(x, axes=self.axes, epsilon=0.1)
        else:
            y = make.sigmoid(x)
        self.values.append(y)

    def sample(self, steps: int) -> Sample:
        """The graph after some steps; what nothing reads is an output, and some of the rest too."""
        for _ in range(steps):
            self.grow()
        read = {v for n in self.maker.nodes for v in n.present}
        made = [v for n in self.maker.nodes for v in n.outputs]
        outputs = [v for v in made if v not in read] + [v for v in made if v in read and self.random.random() < 0.15]
        if self.random.random() < 0.3:
            axes = [a for a in self.axes if self.random.random() < 0.7]
            outputs.append(self.maker.reduce_sum(outputs[0], axes=[a for a in axes if a < outputs[0].type.rank]))
        graph = self.maker.graph(**{f"y{i}": v for i, v in enumerate(outputs)})
        return Sample(graph, self.maker.constants, self.feeds)
