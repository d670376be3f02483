"""``OnnxConverter``: what it writes is equal in ONNX Runtime."""

# ruff: noqa: E402
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_checks import dataset

import basalt

pytest.importorskip("sklearn")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

MODELS: dict[str, Callable[[], Any]] = {
    "standard": StandardScaler,
    "min-max": lambda: MinMaxScaler(clip=True),
    "norm": lambda: Normalizer("l1"),
    "pca": lambda: PCA(2),
    "polynomials": lambda: PolynomialFeatures(2),
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "imputer": SimpleImputer,
    "linear": LinearRegression,
    "linear svm": LinearSVC,
    "pipeline": lambda: make_pipeline(StandardScaler(), PCA(3), LogisticRegression()),
    "forest of classes": lambda: RandomForestClassifier(4, random_state=0),
    "forest": lambda: RandomForestRegressor(4, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=2),
    "histogram boosting": lambda: HistGradientBoostingRegressor(max_iter=2),
    "clusters": lambda: KMeans(3, n_init=1, random_state=0),
    "naive Bayes": GaussianNB,
    "neighbours": KNeighborsClassifier,
    "svm": SVC,
    "network": lambda: MLPClassifier((6,), max_iter=5, random_state=0),
}
OF_TREES = ("forest", "boosting", "histogram boosting")
"""ONNX has trees with float64 weights from opset 21 on, where ONNX Runtime cannot run them."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MODELS)
def test_onnx_runtime_gives_the_same(name: str, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is compiled is compared with scikit-learn elsewhere.
    monkeypatch.setenv("BASALT_DEBUG", "interpret")
    rows, targets = dataset("iris")
    # No two rows are at equal distances from a third.
    rows = rows + 1e-2 * np.random.default_rng(0).normal(size=rows.shape)
    fitted = MODELS[name]().fit(rows, targets)
    path = tmp_path / "model.onnx"
    if name == "forest of classes" and dtype == "float64":
        with pytest.raises(basalt.UnsupportedError, match="float64 weights"):
            basalt.OnnxConverter.export(fitted, 4, path, dtype=dtype)
        return
    opset = 21 if dtype == "float64" and name in OF_TREES else 17
    basalt.OnnxConverter.export(fitted, 4, path, dtype=dtype, opset=opset)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    if opset == 21 and name in OF_TREES:
        found = basalt.OnnxConverter.load(path).run({"input": rows})
    else:
        session = onnxruntime.InferenceSession(path)
        names = [o.name for o in session.get_outputs()]
        found = dict(zip(names, session.run(None, {"input": rows.astype(dtype)})))
    expected = basalt.from_sklearn(fitted, dtype=dtype).run({"X": rows.astype(dtype)})
    assert found.keys() == expected.keys()
    for output, values in expected.items():
        assert found[output].dtype == values.dtype
        tolerance = 1e-4 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(found[output], values, rtol=tolerance, atol=tolerance, err_msg=output)


def test_the_form_of_the_model() -> None:
    rows, targets = dataset("iris")
    names = np.array(["setosa", "versicolor", "virginica"])[targets]
    fitted = make_pipeline(StandardScaler(), PCA(2), LogisticRegression()).fit(rows, names)
    model = basalt.OnnxConverter.to_onnx(fitted, 4, methods=["predict", "predict_proba"])
    assert (model.ir_version, model.opset_imports) == (8, {"": 17})
    written = onnx.load_from_string(model.to_bytes())
    (entry,) = written.graph.input
    assert (entry.name, entry.type.tensor_type.elem_type) == ("input", onnx.TensorProto.FLOAT)
    dims = [d.dim_param or d.dim_value for d in entry.type.tensor_type.shape.dim]
    assert dims == ["rows", 4]
    outputs = {o.name: [d.dim_param or d.dim_value for d in o.type.tensor_type.shape.dim] for o in written.graph.output}
    assert outputs == {"predict": ["rows"], "predict_proba": ["rows", 3]}
    steps = {node.name.split("_")[0] for node in written.graph.node}
    assert {"step0", "step1", "est"} <= steps
    metadata = {p.key: p.value for p in written.metadata_props}
    assert json.loads(metadata["classes"]) == ["setosa", "versicolor", "virginica"]
    assert metadata["estimator"] == "Pipeline"


def test_an_estimator_is_exported_as_it_is(tmp_path: Path) -> None:
    rows, targets = dataset("iris")
    estimator = basalt.from_sklearn(LinearRegression().fit(rows, targets))
    basalt.save(estimator, tmp_path / "model.onnx")
    found = basalt.OnnxConverter.load(tmp_path / "model.onnx").run({"input": rows})
    assert np.array_equal(found["predict"], estimator.predict(rows))
    with pytest.raises(basalt.ValidationError, match="dtype is 'float32', but the estimator computes in float64"):
        basalt.OnnxConverter.to_onnx(estimator, dtype="float32")
    with pytest.raises(basalt.ValidationError, match="n_features is 3, but the estimator takes 4"):
        basalt.OnnxConverter.to_onnx(estimator, 3)


def test_nothing_is_written_where_translation_fails(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    texts = np.array([["a"], ["b"]], object)
    with pytest.raises(basalt.UnsupportedError, match="hold categories that are no numbers"):
        basalt.OnnxConverter.export(OneHotEncoder().fit(texts), 1, path)
    rows, targets = dataset("iris")
    with pytest.raises(basalt.UnsupportedError, match="KNeighborsClassifier: metric is 'correlation'"):
        basalt.OnnxConverter.export(KNeighborsClassifier(metric="correlation").fit(rows, targets), 4, path)
    with pytest.raises(basalt.ValidationError, match="has no transform"):
        basalt.OnnxConverter.export(LinearRegression().fit(rows, targets), 4, path, methods=["transform"])
    assert not path.exists()


def test_modules_and_graphs_are_exported(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    example = torch.randn(2, 4)
    path = tmp_path / "module.onnx"
    batch = ({0: torch.export.Dim("batch")},)
    basalt.OnnxConverter.export(module, (example,), path, dynamic_shapes=batch)
    rows = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    session = onnxruntime.InferenceSession(path)
    (found,) = session.run(None, {session.get_inputs()[0].name: rows})
    np.testing.assert_allclose(found, module(torch.from_numpy(rows)).detach().numpy(), rtol=1e-5, atol=1e-6)
    graph = basalt.from_torch(module, (example,))
    written = basalt.OnnxConverter.to_onnx(graph)
    assert written.to_bytes() == basalt.to_onnx(graph).to_bytes()
