"""Graphs that are not well-formed are refused on saving, with the path of the field."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bsl_samples import constants_only

from basalt.errors import ValidationError
from basalt.serialization import GraphData, NodeData, TensorSpec, save

X = TensorSpec("x", "float32", (2,))
Y = TensorSpec("y", "float32", (2,))
GOOD = GraphData("g", (X,), {"w": np.zeros(2)}, (("out", "y"),), (NodeData("f", ("x", "w"), (Y,)),))


def with_node(**fields: Any) -> GraphData:
    return replace(GOOD, nodes=(replace(GOOD.nodes[0], **fields),))


def with_attr(value: Any) -> GraphData:
    return with_node(attrs={"a": value})


def with_input(**fields: Any) -> GraphData:
    return replace(GOOD, inputs=(replace(X, **fields),))


def nested(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = (value,)
    return value


ATTRIBUTE = "nodes[0].attrs['a']: an attribute must be None, bool, int, float, str, bytes or a tuple, not "
UNDEFINED = "no graph input, constant or earlier node defines a value named "

CASES: dict[str, tuple[Any, str]] = {
    "name": (replace(GOOD, name=None), "name: a str was expected, not NoneType"),
    "name's Unicode": (
        replace(GOOD, name="a\ud800"),
        r"name: 'a\ud800' is not valid Unicode: surrogates not allowed at index 1",
    ),
    "metadata": (replace(GOOD, metadata=[("a", "b")]), "metadata: a mapping was expected, not list"),
    "metadata's value": (replace(GOOD, metadata={"a": 3}), "metadata['a']: a str was expected, not int"),
    "metadata's key": (replace(GOOD, metadata={3: "a"}), "metadata: a str was expected, not int"),
    "inputs": (replace(GOOD, inputs="x"), "inputs: a tuple was expected, not str"),
    "input": (replace(GOOD, inputs=("x",)), "inputs[0]: a TensorSpec was expected, not str"),
    "empty name": (with_input(name=""), "inputs[0].name: a value must have a name"),
    "input twice": (replace(GOOD, inputs=(X, X)), "inputs[1].name: the name 'x' is taken by an earlier value"),
    "data type": (
        with_input(dtype="float31"),
        "inputs[0].dtype: 'float31' is no data type of the format; known: float32, ",
    ),
    "data type's type": (with_input(dtype=np.float32), "inputs[0].dtype: <class 'numpy.float32'> is no data type"),
    "shape": (with_input(shape=3), "inputs[0].shape: a tuple was expected, not int"),
    "rank": (with_input(shape=(1,) * 65), "inputs[0]: the shape has 65 dimensions, more than 64"),
    "empty symbol": (
        with_input(shape=("",)),
        "inputs[0].shape[0]: a symbolic dimension must have a name or expression",
    ),
    "negative": (
        with_input(shape=(1, -1)),
        "inputs[0].shape[1]: a dimension must be a str or an int in [0, 2**63), not -1",
    ),
    "too large": (
        with_input(shape=(1 << 63,)),
        "inputs[0].shape[0]: a dimension must be a str or an int in [0, 2**63), not",
    ),
    "bool as dimension": (with_input(shape=(True,)), "inputs[0].shape[0]: a dimension must be a str or an int"),
    "constants": (replace(GOOD, constants=[]), "constants: a mapping was expected, not list"),
    "constant": (replace(GOOD, constants={"w": [1]}), "constants['w']: a NumPy array was expected, not list"),
    "object array": (
        replace(GOOD, constants={"w": np.array([None])}),
        "constants['w']: arrays of data type object cannot be stored",
    ),
    "string array": (
        replace(GOOD, constants={"w": np.array(["a"])}),
        "constants['w']: arrays of data type <U1 cannot be stored",
    ),
    "constant named as an input": (
        replace(GOOD, constants={"x": np.zeros(1)}),
        "constants: the name 'x' is taken by an earlier value",
    ),
    "nodes": (replace(GOOD, nodes=None), "nodes: a tuple was expected, not NoneType"),
    "node": (replace(GOOD, nodes=("f",)), "nodes[0]: a NodeData was expected, not str"),
    "operator": (with_node(op=""), "nodes[0].op: a node must name its operator"),
    "label": (with_node(label=None), "nodes[0].label: a str was expected, not NoneType"),
    "operands": (with_node(inputs="xw"), "nodes[0].inputs: a tuple was expected, not str"),
    "undefined operand": (with_node(inputs=(None, "z")), f"nodes[0].inputs[1]: {UNDEFINED}'z'"),
    "operand's type": (with_node(inputs=(3,)), f"nodes[0].inputs[0]: {UNDEFINED}3"),
    "cycle": (with_node(inputs=("y",)), f"nodes[0].inputs[0]: {UNDEFINED}'y'"),
    "order": (
        replace(GOOD, nodes=(NodeData("g", ("y",), ()), *GOOD.nodes)),
        f"nodes[0].inputs[0]: {UNDEFINED}'y'",
    ),
    "node's output twice": (
        with_node(outputs=(Y, Y)),
        "nodes[0].outputs[1].name: the name 'y' is taken by an earlier value",
    ),
    "attributes": (with_node(attrs=()), "nodes[0].attrs: a mapping was expected, not tuple"),
    "list": (with_attr([1]), f"{ATTRIBUTE}list"),
    "NumPy integer": (with_attr(np.int64(1)), f"{ATTRIBUTE}int64"),
    "array": (with_attr(np.zeros(1)), f"{ATTRIBUTE}ndarray"),
    "in a tuple": (with_attr((1, (2, {}))), f"{ATTRIBUTE.replace(':', '[1][1]:', 1)}dict"),
    "large integer": (
        with_attr(1 << 64),
        "nodes[0].attrs['a']: 18446744073709551616 does not fit an unsigned 64-bit integer",
    ),
    "low integer": (
        with_attr(-(1 << 63) - 1),
        "nodes[0].attrs['a']: -9223372036854775809 does not fit a signed 64-bit integer",
    ),
    "low integer in a tuple": (
        with_attr((1, -(1 << 63) - 1)),
        "nodes[0].attrs['a'][1]: -9223372036854775809 does not fit a signed 64-bit integer",
    ),
    "nesting": (with_attr(nested(17)), f"nodes[0].attrs['a']{'[0]' * 16}: tuples are nested more than 16 levels deep"),
    "outputs": (replace(GOOD, outputs={"out": "y"}), "outputs: a tuple was expected, not dict"),
    "output": (replace(GOOD, outputs=("out",)), "outputs[0]: a pair (output name, value name) was expected, not str"),
    "output's name": (replace(GOOD, outputs=((3, "y"),)), "outputs[0]: a str was expected, not int"),
    "unnamed output": (replace(GOOD, outputs=(("", "y"),)), "outputs[0]: the output name '' is empty"),
    "output twice": (
        replace(GOOD, outputs=(("o", "y"), ("o", "x"))),
        "outputs[1]: the output name 'o' is taken by an earlier output",
    ),
    "undefined output": (replace(GOOD, outputs=(("o", "z"),)), f"outputs[0]: {UNDEFINED}'z'"),
    "other data": ({"w": 1}, "no kind of .bsl file stores dict; known: GraphData"),
}


@pytest.mark.parametrize("case", CASES)
def test_faulty_graphs_are_not_saved(tmp_path: Path, case: str) -> None:
    graph, message = CASES[case]
    with pytest.raises(ValidationError, match="^" + re.escape(message)):
        save(tmp_path / "bad.bsl", graph)
    assert list(tmp_path.iterdir()) == []


def test_the_faultless_form_is_saved(tmp_path: Path) -> None:
    for graph in (GOOD, with_attr(nested(16)), with_attr((1 << 64) - 1), with_input(shape=(1,) * 64), constants_only()):
        save(tmp_path / "good.bsl", graph)
