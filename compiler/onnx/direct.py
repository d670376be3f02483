"""The short way through models of one region: no environment, and no looking for the stage that comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from basalt.errors import ValidationError

from ..executable import Executable
from .stage import Stage
from .state import tensors_in
from .steps import HostCall, Return, assemble
from .tensor import Item, Tensor

__all__ = ["Direct", "direct"]


class Direct(Protocol):
    """What runs a model directly. Raises ValidationError for what it does not take, which the longer way may."""

    def run(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, Any]: ...


def direct(stage: Stage | None, inputs: Sequence[str], outputs: Sequence[str]) -> Direct | None:
    """The short way through the first stage for all sizes, if it and at most one host operator are the whole model.

    Args:
        stage: that stage.
        inputs: the names of the inputs, each a tensor that regions take as callers give it.
        outputs: the names of the outputs.
    """
    if stage is None or stage.executable is None or stage.converts:
        return None
    if {v.name for v in stage.executable.inputs} != set(inputs):
        return None
    if isinstance(stage.step, Return):
        return stage.executable if {v.name for v in stage.executable.outputs} == set(outputs) else None
    last = None if stage.point is None else stage.point.last_frame
    if last is None or not isinstance(stage.step, HostCall):
        return None
    made = stage.step.outputs
    items = {name: None if name in made else last.lookup(name) for name in outputs}
    given = {v.name for v in stage.executable.outputs}
    if not all(_is_there(item, given) for item in (*stage.step.items, *items.values())):
        return None
    return _Ending(stage.executable, stage.step, items)


def _is_there(item: Item | None, given: Set[str]) -> bool:
    """Whether an item can be put together from what the region gives by name."""
    return item is None or all(t.array is not None or t.slot in given for t in tensors_in(item))


class _Ending:
    """A region, then a host operator that gives some of the outputs."""

    def __init__(self, executable: Executable, step: HostCall, outputs: Mapping[str, Item | None]) -> None:
        self._executable, self._step = executable, step
        self._operands = [_getter(item) for item in step.items]
        # A region's results have names with a colon, or those of the model's outputs.
        self._made = [f"made:{name}" for name in step.outputs]
        self._outputs = [
            (name, itemgetter(f"made:{name}") if item is None else _getter(item)) for name, item in outputs.items()
        ]

    def run(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, Any]:
        if out is not None:
            raise ValidationError("arrays for outputs are not taken on the short way")
        env: dict[str, Any] = self._executable.run(feeds)
        env.update(zip(self._made, self._step.call([get(env) for get in self._operands])))
        return {name: get(env) for name, get in self._outputs}


def _getter(item: Item) -> Callable[[Mapping[str, Any]], Any]:
    """What puts an item together from a region's results."""
    if isinstance(item, Tensor) and item.array is None:
        return itemgetter(item.slot)
    return lambda env: assemble(item, env)
