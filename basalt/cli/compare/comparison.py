"""Runs two models, or a model and a peer, on the same inputs, compares outputs, and looks inside where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from basalt.cli import arrays, feeding, models
from basalt.cli.output import compiling
from basalt.errors import BasaltError

from . import sides
from .differences import Difference, Limits, difference
from .pairing import Pairing, pair
from .search import Finding, Pair, first_difference
from .sides import Side
from .sources import GraphSource, Key

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Comparison", "Located"]

_BUDGET = 1 << 30
"""Bytes of intermediate results that are observed at once, of each side."""
_GUESS = 1 << 22
"""Bytes of a result where no shapes are known."""
_FEWEST = 8


@dataclass(frozen=True)
class Located:
    """Where a difference begins, or why that could not be found (``finding`` is None then)."""

    finding: Finding | None
    pairing: Pairing | None
    why: str = ""


class Comparison:
    """One comparison: :meth:`feed`, then :meth:`run`, then :meth:`locate` if it does not agree.

    Args:
        model: the file of the first model.
        other: that of the second, or the name of a peer (see :data:`.engines.PEERS`).
        limits: what may differ.
        trust: whether machine code in the files may be run, ``keys`` a file of keys that are trusted.

    Raises:
        click.ClickException, BasaltError: for files that cannot be used, and models that do not take the same inputs
            and give outputs of the same names.
    """

    def __init__(
        self, model: Path, other: Path | str, limits: Limits, trust: bool = False, keys: Path | None = None
    ) -> None:
        self.limits = limits
        self.sizes = models.Sizes({}, {}, ())
        self.differences: dict[str, Difference] = {}
        self._model = sides.load(model, trust, keys)
        self._fixed: Mapping[str, tuple[int, ...]] = sides.fixed_shapes(self._model)
        self.feeds: dict[str, np.ndarray] = {}
        if isinstance(other, str):
            self.left, self.right = sides.with_peer(model, self._model, other)
        else:
            second = sides.load(other, trust, keys)
            self.left, self.right = sides.with_model(model, self._model, other, second)
            self._fixed = {**sides.fixed_shapes(second), **self._fixed}

    def feed(
        self,
        inputs: Sequence[tuple[str | None, Path]],
        shapes: Sequence[tuple[str, tuple[int, ...]]],
        dims: Sequence[tuple[str, int]],
        seed: int,
    ) -> None:
        """Read or make the inputs. Shapes that one of the models fixes need not be given."""
        model = sides.stated(self._model)
        files = feeding.input_files(model, inputs)
        stated = {name for name, _ in shapes} | files.keys()
        more = [] if dims else [(name, shape) for name, shape in self._fixed.items() if name not in stated]
        self.feeds, self.sizes = feeding.feeds_and_sizes(model, files, [*shapes, *more], dims, seed)

    def run(self) -> None:
        """Run both and compare their outputs. Raises click.ClickException if these have other names."""
        for side in (self.left, self.right):
            side.outputs = arrays.flattened(self._run(side, side.runs))
        mine, other = self.left.outputs, self.right.outputs
        if mine.keys() != other.keys():
            raise click.ClickException(
                f"the outputs differ: {self.left.name} gives {', '.join(mine)}; {self.right.name} {', '.join(other)}"
            )
        self.differences = {name: difference(array, other[name], self.limits) for name, array in mine.items()}

    @property
    def agrees(self) -> bool:
        """Whether all outputs agree."""
        return all(each.agrees for each in self.differences.values())

    def locate(self) -> Located:
        """The first node whose result differs. What keeps it from being found is told, for the outputs are known."""
        left, right = self.left.source, self.right.source
        if left is None or right is None:
            blind = self.left if left is None else self.right
            return Located(None, None, f"{blind.name} does not show its nodes")
        pairing = pair(left, right)
        if not pairing.pairs:
            return Located(None, pairing, "the models have no nodes of the same operator and name")
        try:
            return Located(first_difference(pairing.pairs, self._observe, self._at_once()), pairing)
        except (BasaltError, click.ClickException) as error:
            message = error.message if isinstance(error, click.ClickException) else str(error)
            return Located(None, pairing, f"intermediate results could not be had: {message}")

    def _observe(self, pairs: Sequence[Pair]) -> tuple[list[Difference], bool]:
        mine, outputs = self._observed(self.left, [key for key, _ in pairs])
        other, references = self._observed(self.right, [key for _, key in pairs])
        differences = [difference(a, b, self.limits) for a, b in zip(mine, other, strict=True)]
        agree = all(difference(array, references[name], self.limits).agrees for name, array in outputs.items())
        return differences, agree

    def _observed(self, side: Side, keys: Sequence[Key]) -> tuple[list[Any], dict[str, Any]]:
        """These results, and the outputs."""
        assert side.source is not None
        runs, names = side.source.observing(keys)
        found = self._run(side, runs)
        outputs = arrays.flattened({output.name: found[output.name] for output in side.runs.outputs})
        return [found[names[key]] for key in keys], outputs

    def _run(self, side: Side, runs: Any) -> dict[str, Any]:
        with compiling() as show:
            return side.engine(runs, self.feeds, show)

    def _at_once(self) -> int:
        graph = sides.graph_of(self._model)
        average = _GUESS if graph is None else GraphSource(graph).average_bytes(self.sizes.dims)
        return max(_FEWEST, int(_BUDGET / max(1.0, average)))
