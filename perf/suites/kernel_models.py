"""The ONNX models of the suite ``kernels``, and what they give by ONNX's own reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["build_model", "expected_outputs"]

Built: TypeAlias = tuple[onnx.ModelProto, dict[str, np.ndarray]]
_MICROSOFT = "com.microsoft"
_BLOCK = 32
_TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.uint8): TensorProto.UINT8}


def build_model(params: Mapping[str, Any], rng: np.random.Generator) -> Built:
    """The model of a case and its inputs."""
    return _BUILDERS[params["op"]](params, rng)


def expected_outputs(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the model gives: by ONNX's reference evaluator, for operators of Microsoft's domain by NumPy in float64."""
    if any(node.domain == _MICROSOFT for node in model.graph.node):
        return {"y": _nbits_product(model, feeds["x"])}
    from onnx.reference import ReferenceEvaluator

    names = [output.name for output in model.graph.output]
    return dict(zip(names, ReferenceEvaluator(model).run(None, dict(feeds)), strict=True))


def _model(
    nodes: Sequence[onnx.NodeProto],
    feeds: Mapping[str, np.ndarray],
    weights: Mapping[str, np.ndarray],
    out: int = TensorProto.FLOAT,
    opset: int = 17,
    domains: Mapping[str, int] | None = None,
) -> Built:
    inputs = [helper.make_tensor_value_info(n, _TYPES[a.dtype], a.shape) for n, a in feeds.items()]
    outputs = [helper.make_tensor_value_info("y", out, None)]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(list(nodes), "kernel", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in (domains or {}).items()]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 20 else 10)
    if not domains:
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    return model, dict(feeds)


def _normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def _gemm(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    m, k, n = p["m"], p["k"], p["n"]
    weights = {"w": _normal(rng, k, n, scale=k**-0.5), "b": _normal(rng, n)}
    return _model([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], {"x": _normal(rng, m, k)}, weights)


def _conv(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    kernel, inner, groups, layers = p["kernel"], p["inner"], p["groups"], p["layers"]
    pad = kernel // 2
    nodes, weights, entry = [], {}, "x"
    for i in range(layers):
        scale = (2 / (inner // groups * kernel * kernel)) ** 0.5
        weights[f"w{i}"] = _normal(rng, p["outer"], inner // groups, kernel, kernel, scale=scale)
        weights[f"b{i}"] = _normal(rng, p["outer"], scale=0.1)
        out = "y" if i == layers - 1 else f"v{i}"
        attributes = {"pads": [pad] * 4, "strides": [p["stride"]] * 2, "group": groups}
        nodes.append(helper.make_node("Conv", [entry, f"w{i}", f"b{i}"], [f"c{i}"], **attributes))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [out]))
        entry = out
    return _model(nodes, {"x": _normal(rng, 1, inner, p["side"], p["side"])}, weights)


def _row_operator(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    rows, width = p["rows"], p["width"]
    feeds, weights = {"x": _normal(rng, rows, width)}, {}
    opset = 17
    match p["op"]:
        case "softmax":
            node = helper.make_node("Softmax", ["x"], ["y"], axis=-1)
        case "layernorm":
            weights = {"s": _normal(rng, width), "b": _normal(rng, width)}
            node = helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"], axis=-1, epsilon=1e-5)
        case "sum":
            weights = {"axes": np.array([-1])}
            node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=1)
        case "gelu":
            node, opset = helper.make_node("Gelu", ["x"], ["y"]), 20
        case "tanh":
            node = helper.make_node("Tanh", ["x"], ["y"])
        case _:
            feeds["z"] = _normal(rng, rows, width)
            node = helper.make_node("Add", ["x", "z"], ["y"])
    return _model([node], feeds, weights, opset=opset)


def _queries(p: Mapping[str, Any], rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {name: _normal(rng, 1, p["heads"], p["length"], p["width"]) for name in "qkv"}


def _attention(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    """As exporters write it: two products around a softmax."""
    nodes = [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["qk"]),
        helper.make_node("Mul", ["qk", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    return _model(nodes, _queries(p, rng), {"scale": np.array(p["width"] ** -0.5, np.float32)})


def _attention_op(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    return _model([helper.make_node("Attention", ["q", "k", "v"], ["y"])], _queries(p, rng), {}, opset=23)


def _lstm(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    steps, hidden = p["steps"], p["hidden"]
    weights = {
        "w": _normal(rng, 1, 4 * hidden, hidden, scale=hidden**-0.5),
        "r": _normal(rng, 1, 4 * hidden, hidden, scale=hidden**-0.5),
        "b": _normal(rng, 1, 8 * hidden, scale=0.1),
    }
    node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=hidden)
    return _model([node], {"x": _normal(rng, steps, 1, hidden)}, weights)


def _resize(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    attributes = {"mode": p["mode"], "coordinate_transformation_mode": "half_pixel"}
    if p["mode"] == "nearest":
        attributes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    weights = {"scales": np.array([1, 1, 2, 2], np.float32)}
    return _model([node], {"x": _normal(rng, 1, p["channels"], p["side"], p["side"])}, weights)


def _transpose(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    return _model([helper.make_node("Transpose", ["x"], ["y"], perm=p["order"])], {"x": _normal(rng, *p["shape"])}, {})


def _integers(rng: np.random.Generator, p: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    x = rng.integers(0, 256, (p["m"], p["k"])).astype(np.uint8)
    return x, rng.integers(-127, 128, (p["k"], p["n"])).astype(np.int8)


def _qlinear_matmul(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    x, w = _integers(rng, p)
    weights = {
        "w": w,
        "xs": np.array(0.02, np.float32),
        "xz": np.array(128, np.uint8),
        "ws": np.array(0.01, np.float32),
        "wz": np.array(0, np.int8),
        "ys": np.array(0.02 * 0.01 * 73 * 74 * p["k"] ** 0.5 / 40, np.float32),
        "yz": np.array(128, np.uint8),
    }
    node = helper.make_node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])
    return _model([node], {"x": x}, weights, TensorProto.UINT8)


def _matmul_integer(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    x, w = _integers(rng, p)
    node = helper.make_node("MatMulInteger", ["x", "w", "xz"], ["y"])
    return _model([node], {"x": x}, {"w": w, "xz": np.array(128, np.uint8)}, TensorProto.INT32)


def _qdq_conv(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    """A convolution between QuantizeLinear and DequantizeLinear, as quantisers write it."""
    side, channels = p["side"], p["channels"]
    weights = {
        "w": rng.integers(-127, 128, (channels, channels, 3, 3)).astype(np.int8),
        "ws": np.full(channels, 0.004, np.float32),
        "wz": np.zeros(channels, np.int8),
        "b": rng.integers(-500, 500, channels).astype(np.int32),
        "bs": np.full(channels, 0.004 * 0.02, np.float32),
        "bz": np.zeros(channels, np.int32),
        "s": np.array(0.02, np.float32),
        "z": np.array(128, np.uint8),
        "ys": np.array(0.15, np.float32),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bf"], axis=0),
        helper.make_node("Conv", ["xf", "wf", "bf"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("QuantizeLinear", ["c", "ys", "z"], ["y"]),
    ]
    x = rng.integers(0, 256, (1, channels, side, side)).astype(np.uint8)
    return _model(nodes, {"x": x}, weights, TensorProto.UINT8, opset=19)


def _nbits(p: Mapping[str, Any], rng: np.random.Generator) -> Built:
    k, n = p["k"], p["n"]
    weights = {
        "w": rng.integers(0, 256, (n, k // _BLOCK, _BLOCK // 2)).astype(np.uint8),
        "s": rng.uniform(0.5, 1.5, n * k // _BLOCK).astype(np.float32) / np.float32(8 * k**0.5),
    }
    node = helper.make_node(
        "MatMulNBits",
        ["x", "w", "s"],
        ["y"],
        domain=_MICROSOFT,
        K=k,
        N=n,
        bits=4,
        block_size=_BLOCK,
        accuracy_level=p["level"],
    )
    model, feeds = _model([node], {"x": _normal(rng, 1, k)}, weights, domains={_MICROSOFT: 1})
    model.graph.output[0].type.tensor_type.shape.CopyFrom(
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, n]).type.tensor_type.shape
    )
    return model, feeds


def _nbits_product(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    """The product with weights of 4 bits whose zero point is 8; the low half of a byte comes first."""
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    packed, scales = arrays["w"], arrays["s"]
    n, blocks, _ = packed.shape
    values = np.stack([packed & 15, packed >> 4], axis=-1).reshape(n, blocks, _BLOCK).astype(np.float64) - 8
    weights = (values * scales.reshape(n, blocks, 1)).reshape(n, -1)
    return (x.astype(np.float64) @ weights.T).astype(np.float32)


_BUILDERS = {
    "gemm": _gemm,
    "conv": _conv,
    "attention": _attention,
    "attention_op": _attention_op,
    "lstm": _lstm,
    "resize": _resize,
    "transpose": _transpose,
    "qlinear_matmul": _qlinear_matmul,
    "matmul_integer": _matmul_integer,
    "qdq_conv": _qdq_conv,
    "nbits": _nbits,
} | dict.fromkeys(("softmax", "layernorm", "sum", "gelu", "tanh", "add"), _row_operator)
