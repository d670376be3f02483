"""Between graphs and the plain data that a ``.bsl`` file holds.

Names, data types, shapes and attributes of a file are believed only after the operators' own rules have checked them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from basalt import ops
from basalt.errors import ModelFormatError, UnsupportedError, ValidationError
from basalt.ops import Dim, Operator, SymDim, TensorType, parse_dim
from basalt.ops.convert import data_type
from basalt.ops.dims import MAX_DIMENSION
from basalt.ops.schema import REQUIRED, Option, RuleError
from basalt.ops.shapes import same_shape
from basalt.serialization import AttrValue, GraphData, NodeData, TensorSpec

from .builder_inputs import clean_label
from .ir import Constants, Graph, Node, Value

__all__ = ["from_data", "to_data"]

_MAX_DIM_TEXT = 2000
_MAX_TERMS = 1000
_BEYOND_STANDARD = ("float64", "bfloat16", "int16", "uint16", "bool")
"""Data types of casts in graphs that did not come from a builder of standard operators."""


def to_data(graph: Graph, constants: Constants, metadata: Mapping[str, str] | None = None) -> GraphData:
    """The plain data of a graph; arrays are shared, not copied.

    Raises:
        UnsupportedError: for a node or an attribute that no file can hold (a fused node, for one).
    """
    names = _names(graph)
    keys = {v.constant: names[v] for v in graph.constants()}
    arrays = {keys[v.constant]: constants.array(v) for v in graph.constants()}
    return GraphData(
        name=graph.name,
        inputs=tuple(_spec(v, names) for v in graph.inputs),
        constants=arrays,
        outputs=tuple((name, keys[v.constant] if v.is_constant else names[v]) for name, v in graph.outputs),
        nodes=tuple(_node_data(node, names, keys) for node in graph.nodes),
        metadata=dict(metadata or {}),
    )


def from_data(data: GraphData) -> tuple[Graph, Constants]:
    """The graph in plain data, which need not be trusted.

    Raises:
        ModelFormatError: for names that are not defined or defined twice, and for a node whose operands, attributes or
            output types its operator does not allow; names the node.
        UnsupportedError: for an operator that does not exist; names the node.
    """
    constants = Constants()
    values: dict[str, Value] = {}
    inputs = []
    for spec in data.inputs:
        inputs.append(_define(values, spec.name, Value(_type(spec), spec.name), "an input"))
    for name, array in data.constants.items():
        _define(values, name, constants.add(array), "a constant")
    nodes = tuple(_node(index, node, values) for index, node in enumerate(data.nodes))
    outputs = tuple((name, _lookup(values, value, f"output {name!r}")) for name, value in data.outputs)
    if not outputs or len({name for name, _ in outputs}) != len(outputs):
        raise ModelFormatError(f"the graph's outputs are {[n for n, _ in outputs]}, expected names that differ")
    return Graph(tuple(inputs), outputs, nodes, data.name), constants


def _names(graph: Graph) -> dict[Value, str]:
    """A name for each value, its own where that is free; a constant's key has one name, whatever stands for it."""
    names = {v: v.name for v in graph.inputs}
    taken = set(names.values())
    numbers = iter(range(len(taken), 1 << 62))
    by_key: dict[int | None, str] = {}
    for v in (*graph.constants(), *(v for node in graph.nodes for v in node.outputs)):
        if v.is_constant and v.constant in by_key:
            names[v] = by_key[v.constant]
            continue
        names[v] = by_key[v.constant] = _free(v, taken, numbers)
        taken.add(names[v])
    return names


def _free(value: Value, taken: set[str], numbers: Iterator[int]) -> str:
    if value.name and value.name not in taken:
        return value.name
    prefix = "c" if value.is_constant else "v"
    return next(name for number in numbers if (name := f"{prefix}{number}") not in taken)


def _spec(value: Value, names: Mapping[Value, str]) -> TensorSpec:
    return TensorSpec(names[value], value.dtype, tuple(d if isinstance(d, int) else str(d) for d in value.shape))


def _node_data(node: Node, names: Mapping[Value, str], keys: Mapping[int | None, str]) -> NodeData:
    try:
        operator = ops.get(node.op)
    except KeyError:
        raise UnsupportedError(f"{node!r} cannot be saved: {node.op!r} is no operator of the graph language") from None
    inputs = [None if v is None else keys[v.constant] if v.is_constant else names[v] for v in node.inputs]
    while inputs and inputs[-1] is None:
        inputs.pop()
    # In the operator's own order, so that a graph that was loaded is written as it was.
    stored = [o.name for o in operator.arguments + operator.options if o.name in node.attrs]
    return NodeData(
        op=node.op,
        inputs=tuple(inputs),
        outputs=tuple(_spec(v, names) for v in node.outputs),
        attrs={name: _encode(node.attrs[name], node) for name in stored},
        label=node.label,
    )


def _encode(value: Any, node: Node) -> AttrValue:
    """An attribute as a file holds it: bytes stand for the text of a symbolic dimension."""
    if isinstance(value, SymDim):
        return str(value).encode()
    if isinstance(value, (tuple, list)):
        return tuple(_encode(item, node) for item in value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UnsupportedError(f"{node!r} cannot be saved: an attribute is a {type(value).__name__}")


def _decode(value: AttrValue) -> Any:
    if isinstance(value, bytes):
        return _dim(value.decode())
    return tuple(_decode(item) for item in value) if isinstance(value, tuple) else value


def _dim(text: str) -> Dim:
    """A symbolic dimension's text, which a malicious file could make one of astronomically many terms."""
    try:
        terms = _term_count(ast.parse(text, mode="eval").body) if len(text) <= _MAX_DIM_TEXT else _MAX_TERMS + 1
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        terms = 1
    if terms > _MAX_TERMS:
        raise ModelFormatError(f"a dimension's expression is too large: {text[:60]!r}...")
    return parse_dim(text)


def _term_count(node: ast.expr) -> int:
    """A bound of how many terms an expression has once its products are multiplied out."""
    if isinstance(node, ast.BinOp):
        left, right = _term_count(node.left), _term_count(node.right)
        return left * right if isinstance(node.op, ast.Mult) else left + right
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return max(1, sum(_term_count(child) for child in children))


def _define(values: dict[str, Value], name: str, value: Value, what: str) -> Value:
    if not name or name in values:
        raise ModelFormatError(f"{what} is named {name!r}, {'which is taken' if name else 'expected a name'}")
    values[name] = value
    return value


def _lookup(values: Mapping[str, Value], name: str, what: str) -> Value:
    if name not in values:
        raise ModelFormatError(f"{what}: nothing before it defines {name!r}")
    return values[name]


def _type(spec: TensorSpec) -> TensorType:
    dims = tuple(d if isinstance(d, int) else _dim(d) for d in spec.shape)
    for d in dims:
        if isinstance(d, int) and not 0 <= d <= MAX_DIMENSION:
            raise ModelFormatError(f"{spec.name!r}: shape {list(spec.shape)} has dimension {d}")
    return TensorType(spec.dtype, dims)


def _node(index: int, data: NodeData, values: dict[str, Value]) -> Node:
    label = clean_label(data.label, data.op)
    what = f"node {index}, {data.op}" + (f' "{label}"' if label else "")
    try:
        operator = ops.get(data.op)
    except KeyError:
        raise UnsupportedError(f"{what}: there is no operator {data.op!r} in this version of Basalt") from None
    inputs = tuple(None if name is None else _lookup(values, name, what) for name in data.inputs)
    if not operator.variadic:
        if len(inputs) > len(operator.operands):
            raise ModelFormatError(f"{what}: has {len(inputs)} operands, expected at most {len(operator.operands)}")
        inputs += (None,) * (len(operator.operands) - len(inputs))
    types, attrs = _check(operator, data, inputs, label, what)
    given = [_type(spec) for spec in data.outputs]
    if not _alike(types, given):
        raise ModelFormatError(f"{what}: has outputs {_listed(given)}, but its operator gives {_listed(types)}")
    outputs = tuple(
        _define(values, spec.name, Value(t, spec.name), f"{what}: an output") for spec, t in zip(data.outputs, types)
    )
    return Node(data.op, inputs, outputs, attrs, label)


def _check(
    operator: Operator, data: NodeData, inputs: tuple[Value | None, ...], label: str, what: str
) -> tuple[tuple[TensorType, ...], dict[str, Any]]:
    types = [None if v is None else v.type for v in inputs]
    try:
        attrs = _attributes(operator, data)
        return operator.check(types, attrs, label, extended=True)
    except ModelFormatError as error:
        raise ModelFormatError(f"{what}: {error}") from None
    except ValidationError as error:
        raise ModelFormatError(f"{what}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # Rules are written for attributes that a builder's call converted; a file may hold any.
        raise ModelFormatError(f"{what}: its attributes are not valid: {error}") from error


def _attributes(operator: Operator, data: NodeData) -> dict[str, Any]:
    declared = {option.name: option for option in operator.arguments + operator.options}
    unknown = [name for name in data.attrs if name not in declared]
    if unknown:
        raise ModelFormatError(f"has no attribute {unknown[0]!r}; its attributes are {', '.join(declared) or 'none'}")
    attrs = {}
    for name, option in declared.items():
        if name not in data.attrs and option.default is REQUIRED:
            raise ModelFormatError(f"lacks the attribute {name!r}")
        attrs[name] = _convert(option, _decode(data.attrs[name])) if name in data.attrs else option.default
    return attrs


def _convert(option: Option, value: Any) -> Any:
    if value == option.default and type(value) is type(option.default):
        return value
    try:
        return option.convert(value)
    except RuleError as error:
        if option.convert is data_type and value in _BEYOND_STANDARD:
            return value
        sizes = _convert_empty(option, value)
        if sizes is None:
            raise ModelFormatError(f"attribute {option.name!r}: {error}") from None
        return sizes


def _convert_empty(option: Option, value: Any) -> Any:
    """Sizes with zeros among them, which graphs from other formats have and only a builder's caller may not state."""
    if not isinstance(value, tuple) or not any(type(item) is int and item == 0 for item in value):
        return None
    try:
        converted = option.convert(tuple(1 if type(item) is int and item == 0 else item for item in value))
    except RuleError:
        return None
    return tuple(0 if type(old) is int and old == 0 else new for old, new in zip(value, converted))


def _alike(a: Iterable[TensorType], b: Iterable[TensorType]) -> bool:
    a, b = tuple(a), tuple(b)
    return len(a) == len(b) and all(x.dtype == y.dtype and same_shape(x.shape, y.shape) for x, y in zip(a, b))


def _listed(types: Iterable[TensorType]) -> str:
    return ", ".join(map(str, types)) or "none"
