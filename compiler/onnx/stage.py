"""A script's stages: a compiled region, the step after it, and the points where translation goes on."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from basalt.errors import BasaltError
from basalt.ops import Dim, SymDim, symbol
from basalt.ops.schema import MAX_RANK

from ..executable import Executable
from .errors import UnresolvedError
from .region import Region
from .state import Frame, Rebase, copy_frames, expressible, live_items, live_names, slots_in, tensors_in
from .steps import Bake, HostCall, Return, assemble, describe
from .tensor import (
    UNCARRIED,
    Absent,
    HostItem,
    Item,
    Tensor,
    carrier,
    carrier_array,
    known_tensor,
    logical_array,
    onnx_dtype_name,
)
from .tracer import Trace, Tracer, bind

__all__ = ["Point", "Stage", "StageOptions", "item_of", "kind_of", "sources_of"]

MAX_STAGES = 64
"""The translations that a point keeps: those used last."""
CONCRETE_FIRST = 2
"""Sizes for which a point translates anew before it tries symbolic ones."""


class StageOptions:
    """What all stages of a script share.

    ``general`` has everything translated for any sizes where that can be done, and not for those of the first runs.
    """

    def __init__(self, outputs: Sequence[str], threads: int | None, eager: bool | None, general: bool = False) -> None:
        self.outputs = tuple(outputs)
        self.threads, self.eager, self.general = threads, eager, general
        self.lock = threading.RLock()
        self._count = 0

    @property
    def executable(self) -> dict[str, Any]:
        """The options of an Executable."""
        return {"threads": self.threads, "eager": self.eager}

    @property
    def shared(self) -> dict[str, Any]:
        """The options that bodies of loops take over."""
        return {**self.executable, "general": self.general}

    def prefix(self) -> str:
        """A start for slots' names that no other stage has."""
        with self.lock:
            self._count += 1
            return f"{self._count}:"


class Stage:
    """A translated stretch of a model: runs its region, then takes its step."""

    def __init__(self, trace: Trace, options: StageOptions, symbolic: bool) -> None:
        self.step = trace.step
        self.symbolic = symbolic
        self._prefix = options.prefix()
        self._exports: list[tuple[str, Tensor]] = []
        self.point: Point | None = None
        if isinstance(trace.step, Return):
            self._export_outputs(trace.region, trace.step)
        else:
            self._export_live(trace, trace.step, options)
        graph = trace.region.graph(self._exports)
        self._feeds = tuple((v.name, _tensor_dtype(trace.region, v.name)) for v in graph.inputs)
        self.executable = Executable(graph, trace.region.constants, **options.executable) if self._exports else None
        self._converted = tuple((slot, t.dtype) for slot, t in self._exports if carrier(t.dtype) != t.dtype != "bool")

    def _export_outputs(self, region: Region, step: Return) -> None:
        for name, item in step.outputs:
            if isinstance(item, Tensor) and item.dtype not in UNCARRIED and item.rank <= MAX_RANK:
                self._exports.append((name, item))
                continue
            for tensor in tensors_in(item):
                self._export(region, tensor)

    def _export_live(self, trace: Trace, step: Bake | HostCall, options: StageOptions) -> None:
        live = live_names(trace.frames, options.outputs)
        lasting = live_items(trace.frames, live)
        tensors = list(dict.fromkeys(t for item in (*step.items, *lasting) for t in tensors_in(item)))
        needed = {id(t) for item in step.items for t in tensors_in(item)}
        for tensor in tensors:
            if tensor.sizes is None:
                self._export(trace.region, tensor)
        dims = list(dict.fromkeys(d for t in tensors if t.slot for d in t.shape if isinstance(d, SymDim)))
        for tensor in tensors:
            if tensor.sizes is not None:
                told = all(expressible(d, dims) for d in tensor.sizes.reshape(-1))
                if id(tensor) in needed or not told:
                    self._export(trace.region, tensor)
        slotted = [t for t in tensors if t.slot]
        opaque = {slot for item in lasting for slot in slots_in(item)}
        self.point = Point(trace.frames, live, slotted, step, options, opaque)

    def _export(self, region: Region, tensor: Tensor) -> None:
        if tensor.array is not None or tensor.slot:
            return
        tensor.slot = f"{self._prefix}{len(self._exports)}"
        self._exports.append((tensor.slot, tensor))

    def lines(self, depth: int = 0) -> list[str]:
        """What the stage does and what came after it so far, for people; a line a region and a step."""
        where = "  " * depth
        found = []
        if self.executable is not None:
            operators = Counter(node.op for node in self.executable.graph.nodes)
            listed = ", ".join(f"{count} {op}" for op, count in operators.most_common(6))
            sizes = "any sizes" if self.symbolic else "sizes of one run"
            found.append(f"{where}region for {sizes}: {sum(operators.values())} core nodes ({listed})")
        found.append(f"{where}{describe(self.step)}")
        if self.point is not None:
            for stage in self.point.stages():
                found += stage.lines(depth + 1)
        return found

    @property
    def feeds(self) -> tuple[tuple[str, str], ...]:
        """The slots that the region reads, in its inputs' order, with the ONNX data types of their values."""
        return self._feeds

    @property
    def converted(self) -> tuple[tuple[str, str], ...]:
        """The results that leave the region in another form than it gives them, with their ONNX data types."""
        return self._converted

    @property
    def direct_outputs(self) -> set[str]:
        """The results that the region gives by name."""
        return {name for name, _ in self._exports}

    @property
    def converts(self) -> bool:
        """Whether values enter or leave the region in another form than outside."""
        return bool(self._converted) or any(carrier(dtype) != dtype for _, dtype in self._feeds)

    def run(self, env: dict[str, Any], out: Mapping[str, np.ndarray] | None = None) -> None:
        """Compute the region's results into the environment."""
        if self.executable is None:
            return
        feeds = {slot: _held(env[slot], dtype) for slot, dtype in self._feeds}
        results = self.executable.run(feeds, out)
        for slot, dtype in self._converted:
            results[slot] = logical_array(results[slot], dtype)
        env.update(results)

    def outputs(self, env: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name after the last step."""
        assert isinstance(self.step, Return)
        direct = self.direct_outputs
        return {name: env[name] if name in direct else assemble(item, env) for name, item in self.step.outputs}


class Point:
    """Where translation goes on once run-time values are there: one stage for each kind of them.

    Args:
        frames: the stack.
        live: the names of each frame that are still read.
        slotted: the tensors among them that are run-time values.
        step: what gives the results that are bound first, None at the start of a script.
        options: what all stages share.
        opaque: the slots of other run-time values among them.
    """

    def __init__(
        self,
        frames: list[Frame],
        live: Mapping[int, set[str]],
        slotted: Sequence[Tensor],
        step: Bake | HostCall | None,
        options: StageOptions,
        opaque: Set[str],
    ) -> None:
        self._frames, self._live, self._slotted = frames, live, tuple(slotted)
        self._opaque = opaque
        self._step = step
        self._options = options
        self._stages: OrderedDict[Any, Stage] = OrderedDict()
        self._symbolic = True
        self._sizes_seen = 0
        self._lock = options.lock
        self._prefix = options.prefix()

    def stages(self) -> list[Stage]:
        """What translation went on with so far."""
        with self._lock:
            return list(self._stages.values())

    def keyed(self) -> dict[Any, Stage]:
        """What translation went on with so far, by the kinds and sizes that each holds for."""
        with self._lock:
            return dict(self._stages)

    @property
    def watched(self) -> tuple[str, ...]:
        """The slots whose sizes decide."""
        return tuple(t.slot for t in self._slotted)

    @property
    def reads_elements(self) -> bool:
        """Whether elements decide, and not only kinds and sizes."""
        return isinstance(self._step, Bake)

    @property
    def prefix(self) -> str:
        """What the slots of the step's results begin with."""
        return self._prefix

    @property
    def last_frame(self) -> Frame | None:
        """The only frame, if none of its nodes is left; its names are those of the step's inputs and of outputs."""
        (frame, *others) = self._frames
        return frame if not others and frame.index == len(frame.nodes) else None

    @property
    def slots(self) -> set[str]:
        """The slots of the environment that are still read."""
        return {t.slot for t in self._slotted} | self._opaque

    def enter(self, env: dict[str, Any], results: Sequence[Any]) -> Stage:
        """The stage for run-time values; adds ``results`` to the environment."""
        for i, value in enumerate(results):
            env[f"{self._prefix}{i}"] = value
        with self._lock:
            kinds = self._kinds(results)
            stage = self._find(("symbolic", kinds)) if self._symbolic else None
            if stage is not None:
                return stage
            key = (kinds, tuple(np.shape(env[t.slot]) for t in self._slotted), _shapes(results))
            stage = self._find(key)
            if stage is None:
                stage = self._make(env, results, kinds, key)
            return stage

    def give_up_symbols(self) -> None:
        """Translate for known sizes only from now on."""
        with self._lock:
            self._symbolic = False
            for key in [k for k in self._stages if k[0] == "symbolic"]:
                del self._stages[key]

    def _find(self, key: Any) -> Stage | None:
        stage = self._stages.get(key)
        if stage is not None:
            self._stages.move_to_end(key)
        return stage

    def _make(self, env: Mapping[str, Any], results: Sequence[Any], kinds: Any, key: Any) -> Stage:
        self._sizes_seen += 1
        if self._symbolic and (self._options.general or self._sizes_seen > CONCRETE_FIRST):
            try:
                return self._keep(("symbolic", kinds), self._translate(env, results, True))
            except (UnresolvedError, BasaltError):
                self._symbolic = False
        return self._keep(key, self._translate(env, results, False))

    def _keep(self, key: Any, stage: Stage) -> Stage:
        while len(self._stages) >= MAX_STAGES:
            self._stages.popitem(last=False)
        self._stages[key] = stage
        return stage

    def _kinds(self, results: Sequence[Any]) -> Any:
        if isinstance(self._step, Bake):
            return tuple(_content(v) for v in results)
        return tuple(kind_of(v) for v in results)

    def _translate(self, env: Mapping[str, Any], results: Sequence[Any], symbolic: bool) -> Stage:
        names = _Symbols(self._prefix) if symbolic else None
        dims: dict[SymDim, Dim] = {}
        for tensor in self._slotted:
            for dim, size in zip(tensor.shape, np.shape(env[tensor.slot])):
                if isinstance(dim, SymDim) and dim not in dims:
                    dims[dim] = names.fresh() if names else int(size)
        baked = []
        if isinstance(self._step, Bake):
            baked = [
                (i, known_tensor(np.asarray(v))) for i, v in zip(self._step.items, results) if isinstance(i, Tensor)
            ]
        convert = Rebase(dims, baked)
        frames = copy_frames(self._frames, convert, self._live)
        if isinstance(self._step, Bake) and self._step.key is not None:
            frames[-1].decisions[convert.key(self._step.key)] = np.asarray(results[0])
        items = [convert(t) for t in self._slotted]
        if isinstance(self._step, HostCall):
            made = [item_of(v, f"{self._prefix}{i}", names) for i, v in enumerate(results)]
            bind(frames[-1], self._step.outputs, made)
            items += made
        region = Region(sources_of(items))
        trace = Tracer(frames, self._options.outputs, region, self._options.shared).run()
        return Stage(trace, self._options, symbolic)


class _Symbols:
    """Fresh symbols."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0

    def fresh(self) -> SymDim:
        self._count += 1
        return symbol(f"s{self._prefix.rstrip(':')}_{self._count}")


def item_of(value: Any, slot: str, names: Any) -> Item:
    """A host operator's result in the translation that goes on."""
    if isinstance(value, np.ndarray):
        shape = tuple(names.fresh() if names else int(d) for d in value.shape)
        return Tensor(onnx_dtype_name(value.dtype), shape, slot=slot)
    if value is None:
        return Absent()
    return HostItem(slot, "sequence" if isinstance(value, list) else "map")


def sources_of(items: Sequence[Item]) -> dict[str, Tensor]:
    """For each symbol a tensor with a dimension that is that symbol."""
    from .state import is_plain

    sources: dict[str, Tensor] = {}
    for tensor in (t for item in items for t in tensors_in(item)):
        if tensor.dtype in ("string", "complex64", "complex128") or not tensor.slot:
            continue
        for dim in tensor.shape:
            if isinstance(dim, SymDim) and is_plain(dim):
                sources.setdefault(next(iter(dim.symbols())), tensor)
    return sources


def kind_of(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    return type(value).__name__


def _content(value: Any) -> Any:
    array = np.asarray(value)
    return array.dtype.name, array.shape, array.tobytes() if array.dtype != object else tuple(array.reshape(-1))


def _shapes(results: Sequence[Any]) -> Any:
    return tuple(v.shape if isinstance(v, np.ndarray) else None for v in results)


def _held(value: np.ndarray, dtype: str) -> np.ndarray:
    """A run-time array as a region takes it."""
    if dtype == "bool":
        return np.ascontiguousarray(value).reshape(value.shape)
    return carrier_array(np.ascontiguousarray(value).reshape(value.shape), dtype)


def _tensor_dtype(region: Region, slot: str) -> str:
    return region.input_dtypes[slot]
