"""Operators of ai.onnx.ml against ONNX Runtime: compiled, and by the host where labels are strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt

from .ml_models import FLOAT, INT64, LABELLED, POST, STRING, X, check, helper


@pytest.mark.parametrize("post", POST)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_linear_classifier_of_several_classes(post: str, dtype: Any) -> None:
    x = (0.1 * X + 0.4).astype(dtype) if post == "PROBIT" else X.astype(dtype)
    coefficients = [0.1, 0.2, -0.1, -0.3, 0.05, 0.1, 0.2, 0.1, 0.05]
    attributes = {"coefficients": coefficients, "intercepts": [0.4, 0.5, 0.3], "post_transform": post}
    check("LinearClassifier", {**attributes, "classlabels_ints": [10, 20, 30]}, {"X": x}, LABELLED)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("labels", [[], [10, 20]])
def test_linear_classifier_of_one_score(post: str, labels: list[int]) -> None:
    attributes: dict[str, Any] = {"coefficients": [1.0, 0.5, 0.25], "intercepts": [0.1], "post_transform": post}
    if labels:
        attributes["classlabels_ints"] = labels
    elif post == "LOGISTIC":
        pytest.skip("ONNX Runtime does not transform a single score")
    check("LinearClassifier", attributes, {"X": X}, LABELLED)


def test_labels_that_are_strings() -> None:
    attributes = {
        "coefficients": [1.0, 0.5, 0.25, -1, 0, 0.5],
        "intercepts": [0.1, 0],
        "classlabels_strings": ["a", "b"],
    }
    results = check("LinearClassifier", attributes, {"X": X}, (("labels", STRING), ("scores", FLOAT)))
    assert set(results["labels"]) <= {"a", "b"}


@pytest.mark.parametrize("post", ["NONE"])
def test_linear_regressor(post: str) -> None:
    attributes = {"coefficients": [1.0, 0.5, 0.25, -1, 0, 0.5], "intercepts": [0.1, 0], "targets": 2}
    check("LinearRegressor", {**attributes, "post_transform": post}, {"X": X}, (("Y", FLOAT),))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32])
@pytest.mark.parametrize("size", [1, 3])
def test_scaler(dtype: Any, size: int) -> None:
    attributes = {"offset": [0.5, 1, -1][:size], "scale": [2.0, 0.5, 3][:size]}
    check("Scaler", attributes, {"X": X.astype(dtype)}, (("Y", FLOAT),))


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm: str) -> None:
    x = np.abs(X) if norm == "MAX" else X
    check("Normalizer", {"norm": norm}, {"X": x}, (("Y", FLOAT),))


@pytest.mark.parametrize("missing", [float("nan"), 0.5])
@pytest.mark.parametrize("values", [[7.0], [7.0, 8, 9]])
def test_imputer(missing: float, values: list[float]) -> None:
    x = X.copy()
    x[0, 1] = missing
    check("Imputer", {"imputed_value_floats": values, "replaced_value_float": missing}, {"X": x}, (("Y", FLOAT),))


def test_imputer_of_integers() -> None:
    x = np.array([[1, -1, 3], [-1, 5, 6]], np.int64)
    attributes = {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": -1}
    check("Imputer", attributes, {"X": x}, (("Y", INT64),))


def test_binarizer() -> None:
    check("Binarizer", {"threshold": 0.3}, {"X": X}, (("Y", FLOAT),))


def test_array_feature_extractor() -> None:
    x, y = X, np.array([2, 0], np.int64)
    check("ArrayFeatureExtractor", {}, {"X": x, "Y": y}, (("Z", FLOAT),))


def test_feature_vectorizer() -> None:
    inputs = {"a": X, "b": X[:, :2].copy()}
    check("FeatureVectorizer", {"inputdimensions": [3, 2]}, inputs, (("Y", FLOAT),))


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_one_hot_encoder(dtype: Any) -> None:
    x = np.array([[1, 5], [3, 2]], dtype)
    check("OneHotEncoder", {"cats_int64s": [1, 2, 3], "zeros": 1}, {"X": x}, (("Y", FLOAT),))


@pytest.mark.parametrize("count", [3, 30])
def test_label_encoder(count: int) -> None:
    attributes = {
        "keys_int64s": list(range(count)),
        "values_floats": [i / 2 for i in range(count)],
        "default_float": -9.0,
    }
    check("LabelEncoder", attributes, {"X": np.array([0, 2, 77, -1], np.int64)}, (("Y", FLOAT),), 2)


def test_zip_map_follows_compiled_code() -> None:
    nodes = [
        helper.make_node("Normalizer", ["X"], ["n"], domain="ai.onnx.ml", norm="L1"),
        helper.make_node("ZipMap", ["n"], ["Z"], domain="ai.onnx.ml", classlabels_strings=["a", "b", "c"]),
    ]
    graph = helper.make_graph(
        nodes,
        "zip",
        [helper.make_tensor_value_info("X", FLOAT, ["n", 3])],
        [
            helper.make_value_info(
                "Z", helper.make_sequence_type_proto(helper.make_map_type_proto(STRING, _float_type()))
            )
        ],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    content = helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    rows = basalt.load(content, eager_first_run=False).run({"X": X[:1]})["Z"]
    assert [sorted(row) for row in rows] == [["a", "b", "c"]]
    np.testing.assert_allclose([row[k] for row in rows for k in "abc"], X[0] / np.abs(X[0]).sum(), rtol=1e-6)


def _float_type() -> Any:
    return helper.make_tensor_type_proto(FLOAT, None)
