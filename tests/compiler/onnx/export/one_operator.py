"""Graphs of one operator, written as ONNX and run three ways: in the core, elsewhere, and imported again.

Elsewhere is ONNX Runtime, or ONNX's reference where that lacks a kernel.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from basalt import ops
from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Constants, Graph, Node, Value
from basalt.compiler.model import Model
from basalt.compiler.onnx.export import to_onnx
from basalt.compiler.onnx.model import OnnxExecutable
from basalt.ops import TensorType, numpy_dtype, symbol
from basalt.serialization.onnx import OnnxModel

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
onnxruntime.set_default_logger_severity(4)
_OPTIONS = onnxruntime.SessionOptions()
_OPTIONS.intra_op_num_threads = 1

FLOATS = ("float32", "float16", "float64", "bfloat16")
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TOLERANCES = {"float32": 2e-5, "float64": 1e-11, "float16": 2e-2, "bfloat16": 1e-1}
"""Of results, relative and (a fifth of it) absolute."""

Dims = Mapping[str, Sequence[Any]]


def numbers(dtype: str, *shape: int, seed: int = 0, low: float = -4, high: float = 4) -> np.ndarray:
    """Random elements of a data type: floats in a range, integers from -9 (0 if unsigned) to 9."""
    random = np.random.default_rng([seed, *shape])
    if dtype in FLOATS:
        return np.asarray(random.uniform(low, high, shape)).astype(numpy_dtype(dtype))
    bottom, top = {"int4": (-8, 8), "uint4": (0, 16)}.get(dtype, (0 if dtype[0] == "u" else -9, 10))
    return np.asarray(random.integers(bottom, top, shape)).astype(numpy_dtype(dtype))


def extremes(dtype: str) -> np.ndarray:
    """Numbers at which operators' meanings part."""
    if dtype in FLOATS:
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 2.5, 0.5, -0.5, 1e-3, -20, 30, -1e-4]
        return np.asarray(special).astype(numpy_dtype(dtype))
    info = np.iinfo(dtype)
    return np.array([info.min, info.max, 0, 1, 2, 3, info.max - 1, info.min + 1, 7, 5, 4, 6, 100, 9], dtype)


def graph_of(
    op: str,
    operands: Mapping[str, np.ndarray | None] | Sequence[np.ndarray],
    arguments: Sequence[Any] = (),
    *,
    constant: Sequence[str] = (),
    dims: Dims | None = None,
    label: str = "",
    **options: Any,
) -> tuple[Graph, Constants, dict[str, np.ndarray]]:
    """A graph of one node, and what to feed it.

    Args:
        op: the operator.
        operands: arrays by operand name, or in order.
        arguments: the positional arguments after the operands.
        constant: operands that are constants; all others are inputs.
        dims: shapes of inputs with names for symbolic dimensions.
        label: the node's.
        options: the keyword options.
    """
    operator = ops.get(op)
    names = [f"x{i}" for i in range(len(operands))] if operator.variadic else [o.name for o in operator.operands]
    arrays = dict(operands) if isinstance(operands, Mapping) else dict(zip(names, operands))
    constants, values = Constants(), []
    feeds: dict[str, np.ndarray] = {}
    for name in names:
        array = arrays.get(name)
        if array is None:
            values.append(None)
        elif name in constant:
            values.append(constants.add(np.array(array)))
        else:
            feeds[name] = np.asarray(array)
            values.append(_input(name, feeds[name], (dims or {}).get(name, feeds[name].shape)))
    attrs = operator.attributes(arguments, options, label)
    types, attrs = operator.check([None if v is None else v.type for v in values], attrs, label, extended=True)
    outputs = tuple(Value(t) for t in types)
    node = Node(op, tuple(values), outputs, attrs, label)
    inputs = tuple(v for v in values if v is not None and not v.is_constant)
    return Graph(inputs, tuple((f"out{i}", v) for i, v in enumerate(outputs)), (node,)), constants, feeds


def _input(name: str, array: np.ndarray, shape: Sequence[Any]) -> Value:
    sizes = tuple(symbol(d) if isinstance(d, str) else d for d in shape)
    return Value(TensorType(ops.dtype_name(array.dtype), sizes), name)


def check(
    op: str,
    operands: Mapping[str, np.ndarray | None] | Sequence[np.ndarray],
    *arguments: Any,
    opset: int = 17,
    tolerance: float | None = None,
    again: bool = True,
    **options: Any,
) -> OnnxModel:
    """Check that the operator's results stay equal, in another runtime and once imported again; return the model."""
    graph, constants, feeds = graph_of(op, operands, arguments, **options)
    return check_graph(graph, constants, feeds, opset=opset, tolerance=tolerance, again=again)


def check_graph(
    graph: Graph,
    constants: Constants,
    feeds: Mapping[str, np.ndarray],
    *,
    opset: int = 17,
    tolerance: float | None = None,
    again: bool = True,
) -> OnnxModel:
    """As :func:`check`, for any graph."""
    wanted = interpret(graph, constants, feeds)
    model = to_onnx(Model(graph, constants), opset=opset)
    encoded = model.to_bytes()
    results, is_reference = run_elsewhere(encoded, feeds)
    if results is not None:
        # The reference computes some functions of float64 in float32, and some by approximation.
        compare(results, wanted, max(tolerance or 0, 1e-4) if is_reference else tolerance)
    if again or results is None:
        with interpreting():
            compare(OnnxExecutable(OnnxModel.load(encoded)).run(feeds), wanted, tolerance)
    return model


def compare(given: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray], tolerance: float | None) -> None:
    """Equal data types and shapes; integers equal, floats within the tolerance."""
    assert set(given) == set(wanted)
    for name, right in wanted.items():
        result = given[name]
        assert (result.dtype, result.shape) == (right.dtype, right.shape), name
        if right.dtype.name in TOLERANCES:
            near = TOLERANCES[right.dtype.name] if tolerance is None else tolerance
            pair = result.astype(np.float64), right.astype(np.float64)
            np.testing.assert_allclose(*pair, rtol=near, atol=near / 5, err_msg=name)
        else:
            np.testing.assert_array_equal(result, right, err_msg=name)


@contextmanager
def interpreting() -> Iterator[None]:
    """Imported models run through NumPy, uncompiled."""
    before = os.environ.get("BASALT_DEBUG")
    os.environ["BASALT_DEBUG"] = "interpret"
    try:
        yield
    finally:
        if before is None:
            del os.environ["BASALT_DEBUG"]
        else:
            os.environ["BASALT_DEBUG"] = before


def run_elsewhere(encoded: bytes, feeds: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray] | None, bool]:
    """The outputs of a model that the onnx package has checked, and whether they are the reference's; None if neither
    has the operator."""
    proto = onnx.load_from_string(encoded)
    onnx.checker.check_model(proto, full_check=True)
    plain, narrowed = _with_plain_borders(proto, feeds)
    is_reference = False
    try:
        session = onnxruntime.InferenceSession(proto.SerializeToString(), _OPTIONS, ["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        results = session.run(None, plain)
    except (
        onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
        onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
    ) as error:
        assert "NOT_IMPLEMENTED" in str(error) or "not support" in str(error), error
        from onnx.reference import ReferenceEvaluator
        from onnx.reference.op_run import RuntimeImplementationError

        is_reference = True
        try:
            evaluator = ReferenceEvaluator(proto)
        except RuntimeImplementationError:
            return None, True
        names, results = evaluator.output_names, evaluator.run(None, plain)
    outputs = dict(zip(names, map(np.asarray, results)))
    own = {name.removesuffix("__plain"): x.astype(narrowed.get(name, x.dtype)) for name, x in outputs.items()}
    return own, is_reference


_PLAIN: dict[int, tuple[int, Any, Any]] = {
    16: (1, np.float32, ml_dtypes.bfloat16),
    21: (2, np.uint8, ml_dtypes.uint4),
    22: (3, np.int8, ml_dtypes.int4),
}
"""By TensorProto.DataType: a type that NumPy has and that holds its values, as TensorProto.DataType and in NumPy."""


def _with_plain_borders(proto: Any, feeds: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Casts at inputs and outputs of types that cannot be fed: the new feeds, and the outputs' own types."""
    plain, narrowed = dict(feeds), {}
    for values, is_input in ((proto.graph.input, True), (proto.graph.output, False)):
        for value in values:
            code = value.type.tensor_type.elem_type
            if code not in _PLAIN:
                continue
            wide, array_type, own = _PLAIN[code]
            old, new = value.name, f"{value.name}__plain"
            value.name, value.type.tensor_type.elem_type = new, wide
            if is_input:
                plain[new] = plain.pop(old).astype(array_type)
                proto.graph.node.insert(0, onnx.helper.make_node("Cast", [new], [old], to=code))
            else:
                narrowed[new] = own
                proto.graph.node.append(onnx.helper.make_node("Cast", [old], [new], to=wide))
    return plain, narrowed
