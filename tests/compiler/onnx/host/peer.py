"""One node run by ONNX Runtime, for comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def _value_info(name: str, value: Any) -> Any:
    from onnx import TensorProto, helper

    if isinstance(value, dict):
        key, item = next(iter(value.items()))
        kinds = {str: TensorProto.STRING, int: TensorProto.INT64, float: TensorProto.FLOAT}
        tensor = helper.make_tensor_type_proto(kinds[type(item)], None)
        return helper.make_value_info(name, helper.make_map_type_proto(kinds[type(key)], tensor))
    kind = TensorProto.STRING if value.dtype == object else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, [None] * value.ndim)


def onnxruntime_run(
    op_type: str, version: int, *inputs: Any, domain: str = "", outputs: int = 1, **attributes: Any
) -> list[Any]:
    """The node's outputs; the test is skipped without onnx and onnxruntime."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    names = [f"i{k}" for k in range(len(inputs))]
    results = [f"o{k}" for k in range(outputs)]
    node = onnx.helper.make_node(op_type, names, results, domain=domain, **attributes)
    infos = [_value_info(name, value) for name, value in zip(names, inputs, strict=True)]
    graph = onnx.helper.make_graph([node], "one", infos, [onnx.ValueInfoProto(name=r) for r in results])
    opsets = [onnx.helper.make_opsetid("", version if not domain else 18)]
    if domain:
        opsets.append(onnx.helper.make_opsetid(domain, version))
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, inputs, strict=True)))


def stump(prefix: str, ids: list[tuple[int, int]], weights: list[float], **more: Any) -> dict[str, Any]:
    """Attributes of one tree: feature 0 <= 0 leads to leaf 1, else to leaf 2, whose (leaf, target) have the weights."""
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        f"{prefix}_treeids": [0] * len(ids),
        f"{prefix}_nodeids": [leaf for leaf, _ in ids],
        f"{prefix}_ids": [target for _, target in ids],
        f"{prefix}_weights": weights,
        **more,
    }


def forest(seed: int, trees: int, depth: int, features: int, prefix: str, targets: int, **more: Any) -> dict[str, Any]:
    """Attributes of complete random trees, each leaf with a weight for one target.

    No BRANCH_NEQ: ONNX Runtime follows its true branch for NaN, whatever nodes_missing_value_tracks_true says.
    """
    rng = np.random.default_rng(seed)
    modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ"]
    columns: dict[str, list[Any]] = {name: [] for name in ("tree", "node", "feature", "value", "mode", "yes", "no")}
    leaves: list[tuple[int, int, int, float]] = []
    inner, total = 2**depth - 1, 2 ** (depth + 1) - 1
    for tree in range(trees):
        kind = modes[int(rng.integers(len(modes)))]
        for node in range(total):
            leaf = node >= inner
            row = (tree, node, int(rng.integers(features)), float(np.float32(rng.integers(-3, 4))))
            for name, value in zip(("tree", "node", "feature", "value"), row, strict=True):
                columns[name].append(value)
            columns["mode"].append("LEAF" if leaf else kind)
            columns["yes"].append(0 if leaf else 2 * node + 1)
            columns["no"].append(0 if leaf else 2 * node + 2)
            if leaf:
                leaves.append((tree, node, int(rng.integers(targets)), float(np.float32(rng.normal()))))
    tree_ids, node_ids, ids, weights = (list(part) for part in zip(*leaves, strict=True))
    return {
        "nodes_treeids": columns["tree"],
        "nodes_nodeids": columns["node"],
        "nodes_featureids": columns["feature"],
        "nodes_values": columns["value"],
        "nodes_modes": columns["mode"],
        "nodes_truenodeids": columns["yes"],
        "nodes_falsenodeids": columns["no"],
        "nodes_missing_value_tracks_true": [int(v) for v in rng.integers(2, size=len(columns["mode"]))],
        f"{prefix}_treeids": tree_ids,
        f"{prefix}_nodeids": node_ids,
        f"{prefix}_ids": ids,
        f"{prefix}_weights": weights,
        **more,
    }
