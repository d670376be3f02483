"""Control flow: If, Loop, Scan, SequenceMap. Bodies are translated in place where that is bounded, else run on host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from basalt.errors import ModelFormatError
from basalt.serialization.onnx import OnnxGraph

from .host.registry import HostNode
from .node import NodeContext
from .state import Frame, free_names
from .steps import HostCall
from .tensor import Absent, Item, ListItem, Tensor, known_tensor, onnx_dtype

if TYPE_CHECKING:
    from .tracer import Tracer

__all__ = ["CONTROL"]

UNROLLED_NODES = 2000
"""Bodies are repeated in place if that makes no more nodes than this."""

Control = Callable[["Tracer", Frame, NodeContext], "HostCall | tuple[Item, ...] | None"]


def _if(tracer: Tracer, frame: Frame, n: NodeContext) -> None:
    """The branch that the condition chooses, in place; a condition of run time is waited for."""
    chosen = n.array(0)
    if chosen.size != 1:
        raise n.error(f"the condition has {chosen.size} elements, expected 1")
    body = n.attr("then_branch" if chosen.reshape(-1)[0] else "else_branch")
    _push_body(tracer, frame, n, body, {}, _Branch([v.name for v in body.outputs], n.output_names))


def _loop(tracer: Tracer, frame: Frame, n: NodeContext) -> HostCall | None:
    """A loop of known, small length whose condition never changes is repeated in place."""
    body: OnnxGraph = n.attr("body")
    count, condition = n.known(0), n.known(1)
    steady = (not n.given(1) or (condition is not None and bool(condition.reshape(-1)[0]))) and _keeps_condition(body)
    if count is not None and steady:
        times = max(0, int(count.reshape(-1)[0]))
        if times > 0 and times * max(1, len(body.nodes)) <= UNROLLED_NODES:
            _Iterations(n, body, times, list(n.inputs[2:]), n.output_names).start(tracer, frame)
            return None
    captured, items = _captured(frame, body, n)
    runner = _LoopRunner(_Body(tracer, frame, body, captured, n), len(n.inputs) - 2, n.num_outputs)
    return HostCall(_host_node(n), runner, [*n.inputs, *[None] * (2 - len(n.inputs)), *items], n.output_names)


def _scan(tracer: Tracer, frame: Frame, n: NodeContext) -> HostCall | None:
    """A scan of known, small length is repeated in place."""
    body: OnnxGraph = n.attr("body")
    if n.version >= 9:
        plan = _ScanPlan.of(n, body)
        length = plan.length(n)
        if length is not None and length > 0 and length * max(1, len(body.nodes)) <= UNROLLED_NODES:
            plan.unroll(tracer, frame, n, body, length)
            return None
    captured, items = _captured(frame, body, n)
    runner = _ScanRunner(_Body(tracer, frame, body, captured, n), n)
    return HostCall(_host_node(n), runner, [*n.inputs, *items], n.output_names)


def _sequence_map(tracer: Tracer, frame: Frame, n: NodeContext) -> HostCall | None:
    """The body for each element; in place where all lengths are known."""
    body: OnnxGraph = n.attr("body")
    first = n.item(0)
    if isinstance(first, ListItem) and 0 < len(first.items) * max(1, len(body.nodes)) <= UNROLLED_NODES:
        _MapIterations(n, body, len(first.items)).start(tracer, frame)
        return None
    captured, items = _captured(frame, body, n)
    runner = _MapRunner(_Body(tracer, frame, body, captured, n), len(n.inputs))
    return HostCall(_host_node(n), runner, [*n.inputs, *items], n.output_names)


CONTROL: dict[str, Control] = {"If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _sequence_map}


def _host_node(n: NodeContext) -> HostNode:
    return HostNode(n.op, n.version, n.domain, n.label, {}, n.num_outputs)


def _push_body(
    tracer: Tracer, frame: Frame, n: NodeContext, body: OnnxGraph, env: dict[str, Item], finish: Any
) -> None:
    from .tracer import MAX_DEPTH, initial_values

    if len(tracer.frames) > MAX_DEPTH:
        raise ModelFormatError(f"{n.describe()}: bodies nest deeper than {MAX_DEPTH}")
    scope = replace(frame.scope, path=f"{n.label}/")
    tracer.push(Frame(scope.nodes(body), scope, {**initial_values(body), **env}, frame, finish))


@dataclass(slots=True)
class _Branch:
    """At the end of a branch its outputs become the node's."""

    inside: Sequence[str]
    outside: Sequence[str]

    @property
    def needs(self) -> Sequence[str]:
        return self.inside

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        from .tracer import bind

        bind(tracer.frames[-1], self.outside, [frame.lookup(name) for name in self.inside])

    def copy(self, convert: Any) -> _Branch:
        return self


@dataclass(slots=True)
class _Iterations:
    """A loop repeated in place: the end of each body begins the next."""

    node: NodeContext
    body: OnnxGraph
    times: int
    carried: list[Item]
    outside: Sequence[str]
    scanned: list[list[Item]] = field(default_factory=list)
    done: int = 0

    @property
    def needs(self) -> Sequence[str]:
        return [v.name for v in self.body.outputs]

    def start(self, tracer: Tracer, frame: Frame) -> None:
        names = [v.name for v in self.body.inputs]
        values: list[Item] = [known_tensor(np.array(self.done, np.int64)), known_tensor(np.array(True)), *self.carried]
        _push_body(tracer, frame, self.node, self.body, dict(zip(names, values)), self)

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        from .tracer import bind

        results = [frame.lookup(v.name) for v in self.body.outputs][1:]
        count = len(self.carried)
        self.carried = results[:count]
        self.scanned = self.scanned or [[] for _ in results[count:]]
        for entries, item in zip(self.scanned, results[count:]):
            entries.append(item)
        self.done += 1
        caller = tracer.frames[-1]
        if self.done < self.times:
            self.start(tracer, caller)
            return
        stacked = [_stack(tracer, self.node, entries, 0) for entries in self.scanned]
        bind(caller, self.outside, [*self.carried, *stacked])

    def copy(self, convert: Callable[[Item], Item]) -> _Iterations:
        scanned = [[convert(i) for i in entries] for entries in self.scanned]
        return replace(self, carried=[convert(i) for i in self.carried], scanned=scanned)


@dataclass(slots=True)
class _MapIterations:
    """SequenceMap repeated in place."""

    node: NodeContext
    body: OnnxGraph
    times: int
    inputs: list[Item] = field(default_factory=list)
    mapped: list[list[Item]] = field(default_factory=list)
    done: int = 0

    def __post_init__(self) -> None:
        self.inputs = self.inputs or list(self.node.inputs)

    @property
    def needs(self) -> Sequence[str]:
        return [v.name for v in self.body.outputs]

    def start(self, tracer: Tracer, frame: Frame) -> None:
        names = [v.name for v in self.body.inputs]
        values = [i.items[self.done] if isinstance(i, ListItem) else i for i in self.inputs]
        _push_body(tracer, frame, self.node, self.body, dict(zip(names, values)), self)

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        from .tracer import bind

        results = [frame.lookup(v.name) for v in self.body.outputs]
        self.mapped = self.mapped or [[] for _ in results]
        for entries, item in zip(self.mapped, results):
            entries.append(item)
        self.done += 1
        caller = tracer.frames[-1]
        if self.done < self.times:
            self.start(tracer, caller)
        else:
            bind(caller, self.node.output_names, [ListItem(entries) for entries in self.mapped])

    def copy(self, convert: Callable[[Item], Item]) -> _MapIterations:
        mapped = [[convert(i) for i in entries] for entries in self.mapped]
        return replace(self, inputs=[convert(i) for i in self.inputs], mapped=mapped)


@dataclass(frozen=True, slots=True)
class _ScanPlan:
    """Scan 9 and later: which inputs are states, and along which axes the others are cut and stacked."""

    states: int
    in_axes: Sequence[int]
    in_reversed: Sequence[bool]
    out_axes: Sequence[int]
    out_reversed: Sequence[bool]

    @classmethod
    def of(cls, n: NodeContext, body: OnnxGraph) -> _ScanPlan:
        scanned = int(n.attr("num_scan_inputs"))
        states = len(n.inputs) - scanned
        if scanned < 1 or states < 0 or len(body.inputs) != len(n.inputs):
            raise n.error(f"has {len(n.inputs)} inputs, {scanned} of them scanned, but a body with {len(body.inputs)}")
        outs = len(body.outputs) - states

        def listed(name: str, count: int) -> list[int]:
            return list(n.attr(name) or [0] * count)

        return cls(
            states,
            listed("scan_input_axes", scanned),
            [bool(d) for d in listed("scan_input_directions", scanned)],
            listed("scan_output_axes", outs),
            [bool(d) for d in listed("scan_output_directions", outs)],
        )

    def length(self, n: NodeContext) -> int | None:
        """The number of iterations where it is known now."""
        first = n.item(self.states)
        if not isinstance(first, Tensor) or first.rank == 0:
            return None
        size = first.shape[n.axis(self.in_axes[0], first.rank, "scan_input_axes")]
        return size if isinstance(size, int) else None

    def unroll(self, tracer: Tracer, frame: Frame, n: NodeContext, body: OnnxGraph, length: int) -> None:
        for i, axis in enumerate(self.in_axes):
            x = n.tensor(self.states + i)
            if x.shape[n.axis(axis, x.rank, "scan_input_axes")] != length:
                raise n.error(f"scanned inputs have different lengths: {x} has not {length} along axis {axis}")
        _ScanIterations(n, body, self, length, list(n.inputs)).start(tracer, frame)


@dataclass(slots=True)
class _ScanIterations:
    """A scan repeated in place."""

    node: NodeContext
    body: OnnxGraph
    plan: _ScanPlan
    times: int
    inputs: list[Item]
    scanned: list[list[Item]] = field(default_factory=list)
    done: int = 0

    @property
    def needs(self) -> Sequence[str]:
        return [v.name for v in self.body.outputs]

    def start(self, tracer: Tracer, frame: Frame) -> None:
        n = _with_region(self.node, tracer)
        values: list[Item] = list(self.inputs[: self.plan.states])
        for x, axis, backwards in zip(self.inputs[self.plan.states :], self.plan.in_axes, self.plan.in_reversed):
            assert isinstance(x, Tensor)
            place = self.times - 1 - self.done if backwards else self.done
            along = axis % x.rank
            cut = n.slice(x, along, place, 1)
            values.append(n.reshape(cut, [d for i, d in enumerate(x.shape) if i != along]))
        names = [v.name for v in self.body.inputs]
        _push_body(tracer, frame, self.node, self.body, dict(zip(names, values)), self)

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        from .tracer import bind

        results = [frame.lookup(v.name) for v in self.body.outputs]
        states = self.plan.states
        self.inputs[:states] = results[:states]
        self.scanned = self.scanned or [[] for _ in results[states:]]
        for entries, item in zip(self.scanned, results[states:]):
            entries.append(item)
        self.done += 1
        caller = tracer.frames[-1]
        if self.done < self.times:
            self.start(tracer, caller)
            return
        stacked = [
            _stack(tracer, self.node, entries[::-1] if backwards else entries, axis)
            for entries, axis, backwards in zip(self.scanned, self.plan.out_axes, self.plan.out_reversed)
        ]
        bind(caller, self.node.output_names, [*self.inputs[:states], *stacked])

    def copy(self, convert: Callable[[Item], Item]) -> _ScanIterations:
        scanned = [[convert(i) for i in entries] for entries in self.scanned]
        return replace(self, inputs=[convert(i) for i in self.inputs], scanned=scanned)


def _with_region(n: NodeContext, tracer: Tracer) -> NodeContext:
    """The node as the region of now sees it."""
    return NodeContext(
        n.op,
        n.domain,
        n.version,
        n.opset,
        n.label,
        n.inputs,
        n.attributes,
        n.output_names,
        n.schema,
        tracer.region,
        tracer,
    )


def _stack(tracer: Tracer, node: NodeContext, entries: Sequence[Item], axis: int) -> Item:
    """Results of iterations side by side along a new axis."""
    n = _with_region(node, tracer)
    rows = []
    for item in entries:
        if not isinstance(item, Tensor):
            raise n.error(f"a scanned output is {item}, expected a tensor")
        along = n.axis(axis, item.rank + 1)
        rows.append(n.reshape(item, (*item.shape[:along], 1, *item.shape[along:])))
    if len(rows) == 1:
        return rows[0]
    return n.emit("concat", *rows, axis=axis % rows[0].rank)


def _keeps_condition(body: OnnxGraph) -> bool:
    """Whether a loop's body always gives the condition that it got, or true."""
    if len(body.inputs) < 2 or not body.outputs:
        return False
    wanted = body.outputs[0].name
    producers = {o: node for node in body.nodes for o in node.outputs}
    while wanted in producers and producers[wanted].op_type == "Identity":
        wanted = producers[wanted].inputs[0]
    if wanted == body.inputs[1].name:
        return True
    made = producers.get(wanted)
    if made is not None and made.op_type == "Constant" and "value" in made.attributes:
        return bool(np.all(made.attributes["value"].value.array()))  # type: ignore[union-attr]
    return any(t.name == wanted and bool(np.all(t.array())) for t in body.initializers)


def _captured(frame: Frame, body: OnnxGraph, n: NodeContext) -> tuple[list[tuple[str, Item]], list[Item]]:
    """What a body reads from around it: all by name, and the values that only a run will know."""
    found = []
    for name in sorted(free_names(body)):
        try:
            found.append((name, frame.lookup(name)))
        except KeyError:
            raise ModelFormatError(f"{n.describe()}: its body reads {name!r}, which nothing gives") from None
    return found, [item for _, item in found if not _is_static(item)]


def _is_static(item: Item) -> bool:
    return item is None or isinstance(item, Absent) or (isinstance(item, Tensor) and item.array is not None)


class _Body:
    """A body as a script of its own, for the host to run."""

    def __init__(
        self, tracer: Tracer, frame: Frame, body: OnnxGraph, captured: Sequence[tuple[str, Item]], n: NodeContext
    ) -> None:
        from .script import Entry, Script
        from .stage import StageOptions
        from .tracer import initial_values

        self.graph = body
        self.label = n.describe()
        self._outputs = [v.name for v in body.outputs]
        options = StageOptions(list(dict.fromkeys(self._outputs)), **tracer.options)
        known = {**initial_values(body), **{name: item for name, item in captured if _is_static(item)}}
        self.dynamic = [name for name, item in captured if not _is_static(item)]
        self.inputs = [v.name for v in body.inputs]
        scope = replace(frame.scope, path=f"{n.label}/")
        names: dict[str, Any] = dict.fromkeys([*self.inputs, *self.dynamic])
        self._script = Script(Entry(scope.nodes(body), scope, known, names, options, concrete_first=2), options)

    def __call__(self, values: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
        """The body's outputs for its inputs and the values around it."""
        given = dict(zip([*self.inputs, *self.dynamic], [*values, *captured]))
        results = self._script.run(given)
        return [results[name] for name in self._outputs]

    def empty(self, place: int) -> np.ndarray:
        """No rows of an output, where no iteration told its shape."""
        declared = self.graph.outputs[place].type
        shape = declared.shape if declared is not None and declared.shape is not None else ()
        dtype = declared.dtype if declared is not None and declared.dtype != "undefined" else "float32"
        return np.empty((0, *[d if isinstance(d, int) else 0 for d in shape]), onnx_dtype(dtype))


class _LoopRunner:
    """The host's Loop."""

    def __init__(self, body: _Body, carried: int, num_outputs: int) -> None:
        self._body, self._carried = body, carried

    def __call__(self, node: HostNode, *values: Any) -> tuple[Any, ...]:
        count, condition, *rest = values
        carried, captured = list(rest[: self._carried]), rest[self._carried :]
        limit = None if count is None else int(np.asarray(count).reshape(-1)[0])
        going = condition is None or bool(np.asarray(condition).reshape(-1)[0])
        scans: list[list[Any]] = [[] for _ in range(len(self._body.graph.outputs) - 1 - self._carried)]
        iteration = 0
        while going and (limit is None or iteration < limit):
            inputs = [np.array(iteration, np.int64), np.array(going), *carried]
            out, *results = self._body(inputs[: len(self._body.inputs)], captured)
            going = bool(np.asarray(out).reshape(-1)[0])
            carried = results[: self._carried]
            for entries, value in zip(scans, results[self._carried :]):
                entries.append(value)
            iteration += 1
        stacked = [
            np.stack(entries) if entries else self._body.empty(1 + self._carried + i) for i, entries in enumerate(scans)
        ]
        return (*carried, *stacked)


class _ScanRunner:
    """The host's Scan, of any version."""

    def __init__(self, body: _Body, n: NodeContext) -> None:
        self._body = body
        self._node = n
        self._first = 1 if n.version == 8 else 0
        self._count = len(n.inputs)

    def __call__(self, node: HostNode, *values: Any) -> tuple[Any, ...]:
        given, captured = values[: self._count], values[self._count :]
        if self._first:
            return self._batched(given, captured)
        plan = _ScanPlan.of(self._node, self._body.graph)
        return self._scan(plan, list(given), captured)

    def _scan(
        self, plan: _ScanPlan, given: list[Any], captured: Sequence[Any], length: int | None = None
    ) -> tuple[Any, ...]:
        states = given[: plan.states]
        scanned = [np.moveaxis(x, axis, 0) for x, axis in zip(given[plan.states :], plan.in_axes)]
        if len({len(x) for x in scanned}) != 1:
            raise self._node.error(f"scanned inputs have lengths {[len(x) for x in scanned]}, expected one")
        length = len(scanned[0]) if length is None else length
        scans: list[list[Any]] = [[] for _ in plan.out_axes]
        for i in range(length):
            rows = [x[length - 1 - i] if back else x[i] for x, back in zip(scanned, plan.in_reversed)]
            results = self._body([*states, *[np.ascontiguousarray(r).reshape(r.shape) for r in rows]], captured)
            states = results[: plan.states]
            for entries, value in zip(scans, results[plan.states :]):
                entries.append(value)
        stacked = []
        for i, (entries, axis, back) in enumerate(zip(scans, plan.out_axes, plan.out_reversed)):
            ordered = entries[::-1] if back else entries
            stacked.append(np.stack(ordered, axis) if ordered else self._body.empty(plan.states + i))
        return (*states, *stacked)

    def _batched(self, given: Sequence[Any], captured: Sequence[Any]) -> tuple[Any, ...]:
        """Version 8: the first axis of everything is the batch, and each entry may have a length of its own."""
        lengths, *rest = given
        scanned = int(self._node.attr("num_scan_inputs"))
        states = len(rest) - scanned
        directions = [bool(d) for d in self._node.attr("directions") or [0] * scanned]
        outs = len(self._body.graph.outputs) - states
        plan = _ScanPlan(states, [0] * scanned, directions, [0] * outs, [False] * outs)
        rows = []
        for b in range(len(rest[0])):
            length = None if lengths is None else int(lengths[b])
            rows.append(self._scan(plan, [x[b] for x in rest], captured, length))
        full = max((x.shape[1] for x in rest[states:]), default=0)
        return tuple(
            np.stack([_padded(np.asarray(row[i]), full) if i >= states else row[i] for row in rows])
            for i in range(states + outs)
        )


def _padded(rows: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate([rows, np.zeros((length - len(rows), *rows.shape[1:]), rows.dtype)])


class _MapRunner:
    """The host's SequenceMap."""

    def __init__(self, body: _Body, count: int) -> None:
        self._body, self._count = body, count

    def __call__(self, node: HostNode, *values: Any) -> tuple[Any, ...]:
        given, captured = values[: self._count], values[self._count :]
        mapped: list[list[Any]] = [[] for _ in self._body.graph.outputs]
        for i in range(len(given[0])):
            row = [v[i] if isinstance(v, list) else v for v in given]
            for entries, value in zip(mapped, self._body(row, captured)):
                entries.append(value)
        return tuple(mapped)
