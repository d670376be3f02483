"""Runs a model: stages one after another, translated when their inputs' kinds and sizes are first seen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from basalt.errors import BasaltError, ValidationError
from basalt.ops import Dim, symbol
from basalt.serialization.onnx import OnnxNode, OnnxType

from .errors import UnresolvedError
from .region import Region
from .stage import MAX_STAGES, Point, Stage, StageOptions, item_of, kind_of, sources_of
from .state import Frame, Scope
from .steps import Return, assemble
from .tensor import Item, Tensor, onnx_dtype
from .tracer import Tracer

__all__ = ["Entry", "Script"]


class Entry:
    """Where a graph begins: its stages by the kinds and sizes of the inputs.

    Args:
        nodes: the graph's nodes.
        scope: versions and functions.
        known: the values known before any run.
        declared: the inputs' names, with their types where the file states them.
        options: what all stages share.
        concrete_first: sizes for which to translate anew before symbolic ones are tried.
    """

    def __init__(
        self,
        nodes: Sequence[OnnxNode],
        scope: Scope,
        known: Mapping[str, Item],
        declared: Mapping[str, OnnxType | None],
        options: StageOptions,
        concrete_first: int = 0,
    ) -> None:
        self._nodes, self._scope, self._known = nodes, scope, known
        self._declared = declared
        self._options = options
        self._concrete_first = concrete_first
        self._stages: OrderedDict[Any, Stage] = OrderedDict()
        self._symbolic = True
        self._lock = options.lock
        self._sizes_seen = 0

    def enter(self, env: dict[str, Any], results: Sequence[Any] = ()) -> Stage:
        """The stage for the inputs in an environment."""
        with self._lock:
            kinds = tuple(kind_of(env[name]) for name in self._declared)
            stage = self._stages.get(("symbolic", kinds)) if self._symbolic else None
            if stage is not None:
                return stage
            key = (kinds, tuple(np.shape(v) if isinstance(v := env[n], np.ndarray) else None for n in self._declared))
            stage = self._stages.get(key)
            if stage is None:
                stage = self._make(env, kinds, key)
            return stage

    def symbolic_stage(self) -> Stage | None:
        """The stage for all sizes that the declared types allow; None where they or symbols do not suffice."""
        types = list(self._declared.values())
        if not self._symbolic or any(t is None or t.kind != "tensor" or t.shape is None for t in types):
            return None
        kinds = tuple((onnx_dtype(t.dtype), len(t.shape or ())) for t in types if t is not None)
        with self._lock:
            stage = self._stages.get(("symbolic", kinds))
            if stage is None:
                stage = self._try_symbolic(dict.fromkeys(self._declared), kinds)
            return stage

    def stages(self) -> list[Stage]:
        """What the graph was translated to so far."""
        with self._lock:
            return list(self._stages.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs whose kinds and sizes decide."""
        return tuple(self._declared)

    def keyed(self) -> dict[Any, Stage]:
        """What the graph was translated to so far, by the kinds and sizes that each holds for."""
        with self._lock:
            return dict(self._stages)

    def give_up_symbols(self) -> None:
        """Translate for known sizes only from now on."""
        with self._lock:
            self._symbolic = False
            for key in [k for k in self._stages if k[0] == "symbolic"]:
                del self._stages[key]

    def _make(self, env: Mapping[str, Any], kinds: Any, key: Any) -> Stage:
        self._sizes_seen += 1
        if self._symbolic and (self._options.general or self._sizes_seen > self._concrete_first):
            stage = self._try_symbolic(env, kinds)
            if stage is not None:
                return stage
        return self._keep(key, self._translate([self._concrete(n, env[n]) for n in self._declared], False))

    def _try_symbolic(self, env: Mapping[str, Any], kinds: Any) -> Stage | None:
        try:
            items = [self._general(n, t, env[n]) for n, t in self._declared.items()]
            return self._keep(("symbolic", kinds), self._translate(items, True))
        except (UnresolvedError, BasaltError):
            # What is wrong with the model shows, with sizes in the message, when it is translated for known ones.
            self._symbolic = False
            return None

    def _keep(self, key: Any, stage: Stage) -> Stage:
        while len(self._stages) >= MAX_STAGES:
            self._stages.popitem(last=False)
        self._stages[key] = stage
        return stage

    def _translate(self, items: Sequence[Item], symbolic: bool) -> Stage:
        frame = Frame(self._nodes, self._scope, {**self._known, **dict(zip(self._declared, items))})
        region = Region(sources_of(items))
        trace = Tracer([frame], self._options.outputs, region, self._options.shared).run()
        return Stage(trace, self._options, symbolic)

    def _concrete(self, name: str, value: Any) -> Item:
        return item_of(value, name, None)

    def _general(self, name: str, declared: OnnxType | None, value: Any) -> Item:
        if declared is not None and declared.kind == "tensor":
            shape = declared.shape if declared.shape is not None else [None] * np.ndim(value)
            return Tensor(declared.dtype, tuple(_dim(d, name, i) for i, d in enumerate(shape)), slot=name)
        if isinstance(value, np.ndarray):
            return item_of(value, name, _Named(name))
        return item_of(value, name, None)


class Script:
    """A graph that runs step by step.

    Args:
        entry: where it begins.
        options: what all stages share.
    """

    def __init__(self, entry: Entry, options: StageOptions) -> None:
        self.entry = entry
        self.options = options

    def run(self, values: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, Any]:
        """The outputs by name for the inputs by name.

        Raises:
            ValidationError: for what the model does not allow.
            UnsupportedError: for a node that nothing computes.
        """
        env = dict(values)
        results: Sequence[Any] = ()
        point: Entry | Point = self.entry
        while True:
            stage = point.enter(env, results)
            try:
                stage.run(env, out if isinstance(stage.step, Return) else None)
            except ValidationError:
                if not stage.symbolic:
                    raise
                # Sizes that the symbolic translation did not foresee, or that nothing allows: known sizes tell.
                point.give_up_symbols()
                continue
            if isinstance(stage.step, Return):
                return stage.outputs(env)
            inputs = [assemble(item, env) for item in stage.step.items]
            results = stage.step.call(inputs) if hasattr(stage.step, "call") else inputs
            assert stage.point is not None
            point = stage.point
            env = {slot: env[slot] for slot in point.slots}


class _Named:
    """Symbols named after an input's axes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._axis = -1

    def fresh(self) -> Any:
        self._axis += 1
        return symbol(f"{self._name}.{self._axis}")


def _dim(declared: int | str | None, name: str, axis: int) -> Dim:
    if isinstance(declared, int):
        return declared
    return symbol(declared or f"{name}.{axis}")
