"""Tree ensembles of ai.onnx.ml against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.onnx.host.registry import ML, HostNode, find

from .ml_models import FLOAT, LABELLED, STRING, check, helper, model

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(40, 4)).astype(np.float32)
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def trees(
    prefix: str, targets: list[int], count: int = 5, depth: int = 3, modes: list[str] | None = None
) -> dict[str, Any]:
    """Random complete trees whose leaves give weights to random ones of the targets."""
    rng = np.random.default_rng(count * 10 + depth)
    nodes: dict[str, list[Any]] = {
        f"nodes_{part}": []
        for part in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    leaves: dict[str, list[Any]] = {f"{prefix}_{part}": [] for part in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        inner = 2**depth - 1
        for i in range(2 * inner + 1):
            leaf = i >= inner
            row = (tree, i, int(rng.integers(0, 4)), float(np.float32(rng.normal() / 2)))
            mode = "LEAF" if leaf else str(rng.choice(modes or MODES[:1]))
            children = (0, 0) if leaf else (2 * i + 1, 2 * i + 2)
            for key, value in zip(nodes, (*row, mode, *children)):
                nodes[key].append(value)
            if leaf:
                for target in rng.choice(targets, size=min(2, len(targets)), replace=False):
                    weight = float(np.float32(rng.random()))
                    for key, value in zip(leaves, (tree, i, int(target), weight)):
                        leaves[key].append(value)
    return {**nodes, **leaves}


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_classifier_of_several_classes(post: str) -> None:
    attributes = {**trees("class", [0, 1, 2]), "classlabels_int64s": [7, 8, 9], "post_transform": post}
    check("TreeEnsembleClassifier", attributes, {"X": ROWS}, LABELLED)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("sign", [1, -1])
def test_classifier_of_two_classes(post: str, sign: int) -> None:
    attributes = {**trees("class", [0], depth=2), "classlabels_int64s": [3, 4], "post_transform": post}
    attributes["class_weights"] = [w if i % 3 else sign * w for i, w in enumerate(attributes["class_weights"])]
    check("TreeEnsembleClassifier", attributes, {"X": ROWS}, LABELLED)


@pytest.mark.parametrize("version", [1, 3])
def test_labels_that_are_strings(version: int) -> None:
    attributes = {**trees("class", [0, 1, 2]), "classlabels_strings": ["a", "b", "c"]}
    check("TreeEnsembleClassifier", attributes, {"X": ROWS}, (("labels", STRING), ("scores", FLOAT)), version)


@pytest.mark.parametrize("mode", MODES)
def test_comparisons(mode: str) -> None:
    attributes = {**trees("target", [0], modes=[mode]), "n_targets": 1}
    rows = ROWS.copy()
    rows[:20, attributes["nodes_featureids"][0]] = attributes["nodes_values"][0]
    check("TreeEnsembleRegressor", attributes, {"X": rows}, (("Y", FLOAT),))


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("rows", [1, 40])
def test_regressor(how: str, rows: int) -> None:
    attributes = {**trees("target", [0, 1], modes=MODES[:4]), "n_targets": 2, "aggregate_function": how}
    attributes["base_values"] = [0.5, -0.25]
    check("TreeEnsembleRegressor", attributes, {"X": ROWS[:rows]}, (("Y", FLOAT),))


def test_missing_values_go_where_the_nodes_say() -> None:
    attributes = {**trees("target", [0]), "n_targets": 1}
    count = len(attributes["nodes_modes"])
    attributes["nodes_missing_value_tracks_true"] = [i % 2 for i in range(count)]
    rows = ROWS.copy()
    rows[::3] = np.nan
    check("TreeEnsembleRegressor", attributes, {"X": rows}, (("Y", FLOAT),))


def test_doubles_are_compared_as_doubles() -> None:
    attributes = {**trees("target", [0]), "n_targets": 1}
    values = np.array(attributes.pop("nodes_values")) + 1e-12
    attributes["nodes_values_as_tensor"] = helper.make_tensor("v", 11, values.shape, values)
    weights = np.array(attributes.pop("target_weights"))
    attributes["target_weights_as_tensor"] = helper.make_tensor("w", 11, weights.shape, weights)
    rows = ROWS.astype(np.float64)
    rows[:20, attributes["nodes_featureids"][0]] = values[0] - 1e-13
    check("TreeEnsembleRegressor", attributes, {"X": rows}, (("Y", FLOAT),), 3)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
def test_other_inputs(dtype: Any) -> None:
    attributes = {**trees("class", [0, 1, 2]), "classlabels_int64s": [7, 8, 9]}
    check("TreeEnsembleClassifier", attributes, {"X": (3 * ROWS).astype(dtype)}, LABELLED)


@pytest.mark.parametrize("mode", MODES)
def test_missing_values_by_the_host_and_compiled(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attributes = {**trees("target", [0], modes=[mode]), "n_targets": 1}
    attributes["nodes_missing_value_tracks_true"] = [i % 2 for i in range(len(attributes["nodes_modes"]))]
    rows = ROWS.copy()
    rows[::3] = np.nan
    content = model("TreeEnsembleRegressor", attributes, {"X": rows}, (("Y", FLOAT),))
    compiled = basalt.load(content, eager_first_run=False).run({"X": rows})["Y"]
    node = HostNode("TreeEnsembleRegressor", 1, ML, attributes=attributes)
    hosted = find("TreeEnsembleRegressor", 1, ML)(node, rows)  # type: ignore[misc]
    np.testing.assert_allclose(compiled, hosted, rtol=1e-6)
