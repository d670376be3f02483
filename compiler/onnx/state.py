"""Where a translation stands: a stack of node lists, each with the values known by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from basalt.ops import Dim, SymDim, symbol
from basalt.ops.dims import symbols_of
from basalt.serialization.onnx import OnnxGraph, OnnxNode

from .tensor import HostItem, Item, ListItem, Tensor, of_elements

__all__ = ["Finish", "Frame", "Rebase", "Scope", "copy_frames", "expressible", "free_names", "live_items", "live_names"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What node lists of one graph or function share: the domains' versions, functions by (domain, name, overload).

    ``attributes`` are the values of a function's attributes, which nodes inside refer to; ``path`` names the function
    and the bodies around for labels; ``order`` has the nodes of bodies, by the body's id, that are not in order.
    """

    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str, str], Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    order: Mapping[int, Sequence[OnnxNode]] = field(default_factory=dict)

    def nodes(self, body: OnnxGraph) -> Sequence[OnnxNode]:
        """A body's nodes, each after those that it reads."""
        return self.order.get(id(body), body.nodes)


class Finish(Protocol):
    """What happens when a frame's nodes are done; ``copy`` gives one of its own to another continuation."""

    @property
    def needs(self) -> Sequence[str]:
        """The names in the frame that it reads."""
        ...

    def __call__(self, tracer: Any, frame: Frame) -> None: ...

    def copy(self, convert: Callable[[Item], Item]) -> Finish: ...


@dataclass(slots=True)
class Frame:
    """A list of nodes being translated. Names that it lacks are looked up in ``parent``.

    ``decisions`` are the elements of small tensors that its nodes computed to decide how they are translated.
    """

    nodes: Sequence[OnnxNode]
    scope: Scope
    env: dict[str, Item] = field(default_factory=dict)
    parent: Frame | None = None
    finish: Finish | None = None
    index: int = 0
    decisions: dict[tuple[Any, ...], np.ndarray] = field(default_factory=dict)

    def lookup(self, name: str) -> Item:
        """The value of a name.

        Raises:
            KeyError: if nothing has it.
        """
        frame: Frame | None = self
        while frame is not None:
            if name in frame.env:
                return frame.env[name]
            frame = frame.parent
        raise KeyError(name)


def copy_frames(frames: Sequence[Frame], convert: Rebase, keep: Mapping[int, set[str]]) -> list[Frame]:
    """The stack with values converted; of each frame only the names in ``keep`` (by the frame's id) stay."""
    made: dict[int, Frame] = {}
    for frame in frames:
        kept = keep[id(frame)]
        env = {name: convert(item) for name, item in frame.env.items() if name in kept}
        parent = None if frame.parent is None else made[id(frame.parent)]
        finish = None if frame.finish is None else frame.finish.copy(convert)
        decisions = {convert.key(key): value for key, value in frame.decisions.items()}
        made[id(frame)] = Frame(frame.nodes, frame.scope, env, parent, finish, frame.index, decisions)
    return [made[id(frame)] for frame in frames]


def free_names(graph: OnnxGraph) -> set[str]:
    """The names that a graph reads from the graphs around it."""
    own = {v.name for v in graph.inputs} | {t.name for t in graph.initializers}
    own |= {t.values.name for t in graph.sparse_initializers}
    free: set[str] = set()
    for node in graph.nodes:
        free |= node_reads(node) - own
        own.update(node.outputs)
    return (free | {v.name for v in graph.outputs} - own) - {""}


def node_reads(node: OnnxNode) -> set[str]:
    """The names that a node reads, its bodies included."""
    reads = set(node.inputs)
    for attribute in node.attributes.values():
        if attribute.kind == "GRAPH":
            reads |= free_names(attribute.value)  # type: ignore[arg-type]
        elif attribute.kind == "GRAPHS":
            for body in attribute.value:  # type: ignore[union-attr]
                reads |= free_names(body)  # type: ignore[arg-type]
    return reads


def live_names(frames: Sequence[Frame], outputs: Sequence[str]) -> dict[int, set[str]]:
    """The names of each frame that its remaining nodes, those of frames inside it, or their ends still read.

    ``outputs`` are the names that the bottom frame gives in the end.
    """
    live: dict[int, set[str]] = {id(frame): set() for frame in frames}
    live[id(frames[0])].update(name for name in outputs if name in frames[0].env)
    for frame in frames:
        reads = set(frame.finish.needs) if frame.finish is not None else set()
        for node in frame.nodes[frame.index :]:
            reads |= node_reads(node)
        for name in reads:
            holder: Frame | None = frame
            while holder is not None and name not in holder.env:
                holder = holder.parent
            if holder is not None:
                live[id(holder)].add(name)
    return live


def live_items(frames: Sequence[Frame], live: Mapping[int, set[str]]) -> list[Item]:
    """The values of the live names, and those that ends of frames hold."""
    items = [frame.env[name] for frame in frames for name in sorted(live[id(frame)])]

    def note(item: Item) -> Item:
        items.append(item)
        return item

    for frame in frames:
        if frame.finish is not None:
            frame.finish.copy(note)
    return items


def tensors_in(item: Item) -> list[Tensor]:
    """The tensors that a value consists of."""
    if isinstance(item, Tensor):
        return [item]
    if isinstance(item, ListItem):
        return [t for entry in item.items for t in tensors_in(entry)]
    return []


def slots_in(item: Item) -> set[str]:
    """The slots of the run-time values in a value that are no tensors."""
    if isinstance(item, HostItem):
        return {item.slot} if item.slot else set()
    return {slot for entry in item.items for slot in slots_in(entry)} if isinstance(item, ListItem) else set()


class Rebase:
    """Converts values of a finished region to values of the next one; gives the same result for the same value.

    Args:
        dims: what stands for each dimension that is no number: a fresh symbol, or a call's size.
        baked: arrays for tensors whose elements became known.
    """

    def __init__(self, dims: Mapping[SymDim, Dim], baked: Sequence[tuple[Tensor, Tensor]] = ()) -> None:
        self._dims = dims
        self._plain = {next(iter(d.symbols())): other for d, other in dims.items() if is_plain(d)}
        self._made: dict[int, tuple[Item, Item]] = {id(old): (old, new) for old, new in baked}

    def __call__(self, item: Item) -> Item:
        found = self._made.get(id(item))
        if found is None:
            found = self._made[id(item)] = (item, self._convert(item))
        return found[1]

    def _convert(self, item: Item) -> Item:
        if isinstance(item, ListItem):
            return ListItem([self(entry) for entry in item.items], item.dtype)
        if not isinstance(item, Tensor) or item.array is not None:
            return item
        if item.sizes is not None and not item.slot:
            return of_elements(item.dtype, np.frompyfunc(self.dim, 1, 1)(item.sizes))
        return Tensor(item.dtype, tuple(self.dim(d) for d in item.shape), slot=item.slot)

    def dim(self, dim: Dim) -> Dim:
        """A dimension in the next region's terms."""
        if not isinstance(dim, SymDim):
            return dim
        return self._dims[dim] if dim in self._dims else dim.bind(self._plain)

    def key(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """A decision's key in the next region's terms."""
        return tuple(
            self.dim(part) if isinstance(part, SymDim) else self(part) if isinstance(part, Tensor) else part
            for part in key
        )


def expressible(dim: Dim, dims: Iterable[SymDim]) -> bool:
    """Whether a dimension can be told from ``dims``."""
    if not isinstance(dim, SymDim):
        return True
    return dim in dims or symbols_of(dim) <= {next(iter(d.symbols())) for d in dims if is_plain(d)}


def is_plain(dim: SymDim) -> bool:
    """Whether a dimension is a symbol alone."""
    names = dim.symbols()
    return len(names) == 1 and dim == symbol(next(iter(names)))
