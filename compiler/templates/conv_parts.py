"""Convolutions made of others: of some of the results, of some of the taps, with results in places of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from ..codegen.epilogue import Epilogue
from ..codegen.lowering import Lowering
from ..ir import Value
from ..views import Storage, View, allocate
from .conv import Convolution
from .geometry import Places

__all__ = ["Derived", "copy_results", "own_places", "part_of", "replaced"]


@dataclass(frozen=True)
class Derived(Convolution):
    """A convolution whose weights are made of a constant filter's."""

    key: tuple[object, ...]
    """What ``derive`` does."""
    derive: Callable[[np.ndarray], np.ndarray]
    """From the filter's weights [groups, outputs, channels, height, width] to this one's."""

    def weights_key(self) -> tuple[object, ...]:
        return (*super().weights_key(), *self.key)

    def weights_array(self, array: np.ndarray) -> np.ndarray:
        return self.derive(super().weights_array(array))


class _Elsewhere(Epilogue):
    """The operators over places of other shapes."""

    own_shape: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.own_shape


def replaced(
    places: Places, shape: Sequence[int], extras: list[tuple[Value, View]], results: list[tuple[Value, View]]
) -> Places:
    """The operators over other places, all of which allow a shape [n, c, h, w]."""
    moved = copy(places.epilogue)
    moved.__class__ = _Elsewhere
    assert isinstance(moved, _Elsewhere)
    moved.own_shape, moved.extras, moved.results = tuple(shape), extras, results
    return Places(moved, "nchw", places.bias)


def part_of(places: Places, see: Callable[[View], View]) -> Places:
    """Where a part of the results is, given what it is of a view [n, c, h, w]."""
    epilogue, order = places.epilogue, [places.layout.index(letter) for letter in "nchw"]

    def part(view: View) -> View:
        return see(view.expanded(epilogue.shape).permuted(order))

    extras = [(value, part(view)) for value, view in epilogue.extras]
    results = [(value, part(view)) for value, view in epilogue.results]
    return replaced(places, results[0][1].shape, extras, results)


def own_places(places: Places, order: str) -> Places:
    """The same with results in temporary places, whose dimensions lie in an order of letters."""
    epilogue = copy(places.epilogue)
    axes = [places.layout.index(letter) for letter in order]
    inverse = [axes.index(axis) for axis in range(4)]

    def own(view: View) -> View:
        return allocate(Storage.ARENA, view.dtype, [view.shape[axis] for axis in axes]).permuted(inverse)

    epilogue.results = [(value, own(view)) for value, view in epilogue.results]
    return Places(epilogue, places.layout, places.bias)


def copy_results(lowering: Lowering, own: Places, places: Places) -> None:
    """Copy results from temporary places once they are computed."""
    for (_, source), (_, target) in zip(own.epilogue.results, places.epilogue.results):
        lowering.copy_later(source, target)
