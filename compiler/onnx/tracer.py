"""Translates ONNX nodes one after another into a region, until the end or a step that the host must take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from basalt.errors import BasaltError, ModelFormatError, UnsupportedError
from basalt.ops.schema import MAX_RANK
from basalt.serialization.onnx import OnnxGraph, OnnxNode

from . import registry
from .attributes import decode_attributes
from .control import CONTROL
from .errors import NeedValueError, OnHostError, UnresolvedError
from .host import registry as host
from .node import NodeContext
from .region import Region
from .schemas import Schema, schema_for
from .state import Frame, Scope, tensors_in
from .steps import Bake, HostCall, Return
from .tensor import Absent, HostItem, Item, ListItem, Tensor, known_tensor

__all__ = ["Trace", "Tracer", "initial_values"]

RANDOM = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"}) | {
    "Multinomial",
    "Dropout",
}
"""Host operators whose results may differ from run to run, so that none is computed ahead."""
FOLD_ON_HOST = 1 << 20
"""Operands up to this many bytes are given to a host operator at once where all are known."""


@dataclass(slots=True)
class Trace:
    """What a translation came to: a region, and the step after it with the stack that goes on then."""

    region: Region
    step: Return | Bake | HostCall
    frames: list[Frame]


class Tracer:
    """One translation, from a stack of frames on.

    Args:
        frames: the stack, changed by the translation.
        outputs: the names that the bottom frame gives.
        region: where core nodes go.
        options: threads and eager of what runs, for the bodies of loops.
    """

    def __init__(
        self, frames: list[Frame], outputs: Sequence[str], region: Region, options: Mapping[str, Any] | None = None
    ) -> None:
        self.frames = frames
        self.region = region
        self.options = dict(options or {})
        self._outputs = outputs
        self._given: Sequence[Item] = ()
        self._asked = 0

    def run(self) -> Trace:
        """Translate as far as it goes.

        Raises:
            ValidationError: for a node that the standard does not allow.
            UnsupportedError: for a node that nothing computes.
            UnresolvedError: where symbolic sizes do not suffice.
        """
        bottom = self.frames[0]
        while True:
            frame = self.frames[-1]
            if frame.index < len(frame.nodes):
                step = self._step(frame, frame.nodes[frame.index])
                if step is not None:
                    return Trace(self.region, step, self.frames)
            elif frame is bottom:
                items = [(name, _output(frame, name)) for name in self._outputs]
                return Trace(self.region, Return(items), self.frames)
            else:
                self.frames.pop()
                assert frame.finish is not None
                frame.finish(self, frame)

    def _step(self, frame: Frame, node: OnnxNode) -> Bake | HostCall | None:
        """Translate a node; the step that must be taken if it needs one."""
        try:
            outcome = self._translate(frame, node)
        except NeedValueError as error:
            return Bake([error.item], error.key)
        frame.index += 1
        if isinstance(outcome, HostCall):
            return outcome
        if outcome is not None:
            bind(frame, node.outputs, outcome)
        return None

    def _translate(self, frame: Frame, node: OnnxNode) -> HostCall | tuple[Item, ...] | None:
        inputs = [_input(frame, node, name) for name in node.inputs]
        self._given, self._asked = inputs, 0
        attributes = decode_attributes(node, frame.scope.attributes)
        domain = "" if node.domain == "ai.onnx" else node.domain
        function = frame.scope.functions.get((domain, node.op_type, node.overload))
        if function is not None:
            self._push_function(frame, node, function, inputs, attributes)
            return None
        expander = registry.find_expander(node.op_type, domain)
        if expander is not None:
            nodes = expander(node, attributes, frame.scope.opsets.get(domain, 1))
            if nodes is not None:
                self.push(Frame(nodes, frame.scope, {}, frame, BindOutputs(node.outputs, node.outputs)))
                return None
        n = self._context(frame.scope, node, domain, inputs, attributes)
        check_types(n)
        control = CONTROL.get((domain, node.op_type))
        if control is not None:
            return control(self, frame, n)
        return self._apply(n)

    def _context(
        self, scope: Scope, node: OnnxNode, domain: str, inputs: Sequence[Item], attributes: Mapping[str, Any]
    ) -> NodeContext:
        opset = scope.opsets.get(domain, 1)
        schema = schema_for(domain, node.op_type, opset)
        version = schema.since if schema else _newest(node.op_type, opset, domain)
        label = scope.path + (node.name or next((o for o in node.outputs if o), node.op_type))
        return NodeContext(
            node.op_type, domain, version, opset, label, inputs, attributes, node.outputs, schema, self.region, self
        )

    def _apply(self, n: NodeContext) -> HostCall | tuple[Item, ...]:
        """The outputs of an operator, compiled if it can be."""
        translator = registry.find(n.op, n.version, n.domain)
        if translator is not None:
            try:
                results = translator(n)
            except OnHostError:
                pass
            except (NeedValueError, UnresolvedError):
                raise
            except UnsupportedError as error:
                if host.find(n.op, n.version, n.domain) is None:
                    raise _labelled(n, error) from None
            except BasaltError as error:
                raise _labelled(n, error) from None
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                # What a translator did not foresee must name its node all the same.
                raise n.error(f"{type(error).__name__}: {error}") from error
            else:
                return results if isinstance(results, tuple) else (results,)
        return self._on_host(n)

    def _on_host(self, n: NodeContext) -> HostCall | tuple[Item, ...]:
        function = host.find(n.op, n.version, n.domain)
        if function is None:
            many = any(isinstance(i, Tensor) and i.rank > MAX_RANK for i in n.inputs)
            reason = f"tensors of more than {MAX_RANK} dimensions are not supported here"
            raise n.unsupported(reason if many else "this is not implemented")
        node = host.HostNode(n.op, n.version, n.domain, n.label, n.with_defaults(), n.num_outputs)
        step = HostCall(node, function, list(n.inputs), n.output_names)
        if n.op not in RANDOM and all(_is_known(i) for i in n.inputs):
            if sum(_bytes(i) for i in n.inputs) <= FOLD_ON_HOST:
                return tuple(from_python(v) for v in step.call([_python(i) for i in n.inputs]))
        elif n.op not in RANDOM and all(_is_sized(i) for i in n.inputs):
            raise UnresolvedError(f"{n.describe()}: depends on sizes")
        return step

    def call(
        self,
        n: NodeContext,
        op: str,
        inputs: Sequence[Item],
        attributes: Mapping[str, Any],
        version: int,
        domain: str,
        outputs: int,
    ) -> Any:
        """The output (a tuple for several) of another operator in a node's place (see :meth:`NodeContext.call`)."""
        schema: Schema | None = schema_for(domain, op, version or 1 << 30)
        since = schema.since if schema else _newest(op, version or 1 << 30, domain)
        names = tuple(f"{n.label}.{i}" for i in range(outputs))
        inner = NodeContext(
            op, domain, since, version or since, n.label, inputs, attributes, names, schema, self.region, self
        )
        results = self._apply(inner)
        if isinstance(results, HostCall):
            raise OnHostError
        return results[0] if outputs == 1 else results

    def elements(self, tensor: Tensor) -> np.ndarray:
        """What a tensor holds that the node being translated reads or has computed itself.

        The latter is another tensor when the node is translated again, and therefore known by how many the node asked
        for before.

        Raises:
            NeedValueError: until a run has told.
        """
        if any(tensor is t for item in self._given for t in tensors_in(item)):
            raise NeedValueError(tensor)
        frame = self.frames[-1]
        key = ("elements", frame.index, self._asked)
        self._asked += 1
        if key not in frame.decisions:
            raise NeedValueError(tensor, key)
        return frame.decisions[key]

    def push(self, frame: Frame) -> None:
        """Go on with a frame's nodes before those of the frame on top."""
        self.frames.append(frame)

    def _push_function(
        self, frame: Frame, node: OnnxNode, function: Any, inputs: Sequence[Item], attributes: Mapping[str, Any]
    ) -> None:
        if len(self.frames) > MAX_DEPTH:
            raise ModelFormatError(f"function {function.name!r} calls itself, or calls nest deeper than {MAX_DEPTH}")
        defaults = OnnxNode(function.name, attributes=dict(function.attribute_protos))
        known = {**decode_attributes(defaults, {}), **attributes}
        env = dict(zip(function.inputs, [*inputs, *[None] * (len(function.inputs) - len(inputs))]))
        label = node.name or function.name
        opsets = {"" if d == "ai.onnx" else d: v for d, v in function.opset_imports.items()} or frame.scope.opsets
        scope = replace(frame.scope, opsets=opsets, attributes=known, path=f"{frame.scope.path}{label}/")
        self.push(Frame(function.nodes, scope, env, None, BindOutputs(function.outputs, node.outputs)))


MAX_DEPTH = 100
"""Nested bodies and function calls; the standard forbids recursion."""


@dataclass(frozen=True, slots=True)
class BindOutputs:
    """At the end of a function or a branch, its outputs become those of the node that called it."""

    inside: Sequence[str]
    outside: Sequence[str]

    @property
    def needs(self) -> Sequence[str]:
        return self.inside

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        bind(tracer.frames[-1], self.outside, [_output(frame, name) for name in self.inside])

    def copy(self, convert: Any) -> BindOutputs:
        return self


def bind(frame: Frame, names: Sequence[str], items: Sequence[Item]) -> None:
    """Make outputs known by name."""
    for name, item in zip(names, items):
        if name:
            frame.env[name] = item
    if len(items) < len([n for n in names if n]):
        raise UnsupportedError(f"outputs {list(names[len(items) :])} are not computed")


def initial_values(graph: OnnxGraph) -> dict[str, Item]:
    """The initialisers of a graph by name, read when they are first needed by nobody but the file's own decoder."""
    values: dict[str, Item] = {t.name: known_tensor(t.array()) for t in graph.initializers}
    values.update((t.values.name, known_tensor(t.array())) for t in graph.sparse_initializers)
    return values


def check_types(n: NodeContext) -> None:
    """Refuse inputs of data types that the operator's version does not have, and too few or too many inputs.

    Raises:
        ValidationError: names the node, the input, its type and what is expected.
    """
    if n.schema is None:
        return
    formals = n.schema.inputs
    if len(n.inputs) > len(formals) and not (formals and formals[-1].variadic):
        raise n.error(f"has {len(n.inputs)} inputs, expected at most {len(formals)}")
    for place, formal in enumerate(formals):
        if not formal.option and n.item(place) is None:
            raise n.error(f"input {formal.name} is missing")
    bound: dict[str, str] = {}
    for place, item in enumerate(n.inputs):
        formal = n.schema.input(place)  # type: ignore[assignment]
        if not isinstance(item, Tensor) or formal is None:
            continue
        # An optional that has a tensor is that tensor.
        if item.dtype not in formal.types and f"optional(tensor({item.dtype}))" not in formal.types:
            raise n.error(f"input {formal.name} is {item.dtype}, expected {_listed(formal.types)}")
        first = bound.setdefault(formal.type_variable, item.dtype)
        if first != item.dtype and formal.homogeneous:
            raise n.error(f"input {formal.name} is {item.dtype}, expected {first} like the inputs before it")


def from_python(value: Any) -> Item:
    """A known run-time value at translation time."""
    if value is None:
        return Absent()
    if isinstance(value, list):
        return ListItem([from_python(v) for v in value])
    if isinstance(value, (np.ndarray, np.generic)):
        return known_tensor(np.asarray(value))
    return HostItem("", "map", {"value": value})


def _python(item: Item) -> Any:
    if isinstance(item, Tensor):
        return item.array
    if isinstance(item, ListItem):
        return [_python(i) for i in item.items]
    return item.details["value"] if isinstance(item, HostItem) else None


def _is_known(item: Item) -> bool:
    if isinstance(item, Tensor):
        return item.array is not None
    if isinstance(item, ListItem):
        return all(_is_known(i) for i in item.items)
    return "value" in item.details if isinstance(item, HostItem) else True


def _is_sized(item: Item) -> bool:
    if isinstance(item, Tensor):
        return item.sized
    if isinstance(item, ListItem):
        return all(_is_sized(i) for i in item.items)
    return _is_known(item)


def _bytes(item: Item) -> int:
    if isinstance(item, Tensor):
        return 0 if item.array is None else item.array.nbytes
    return sum(_bytes(i) for i in item.items) if isinstance(item, ListItem) else 0


def _input(frame: Frame, node: OnnxNode, name: str) -> Item:
    if not name:
        return None
    try:
        return frame.lookup(name)
    except KeyError:
        raise ModelFormatError(
            f"node {node.name or node.op_type!r} reads {name!r}, which no input, initialiser or earlier node gives"
        ) from None


def _output(frame: Frame, name: str) -> Item:
    if not name:
        return None
    try:
        return frame.lookup(name)
    except KeyError:
        raise ModelFormatError(f"output {name!r} is given by no input, initialiser or node") from None


def _newest(op: str, opset: int, domain: str) -> int:
    found = registry.find_newest(op, opset, domain)
    return found[0] if found else opset


def _labelled(n: NodeContext, error: BasaltError) -> BasaltError:
    text = str(error)
    return error if n.label in text else type(error)(f"{n.describe()}: {text}")


def _listed(types: frozenset[str]) -> str:
    return ", ".join(sorted(types))
