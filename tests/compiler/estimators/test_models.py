"""Trees, boosting, neighbours, clusters, naive Bayes, kernels and neural networks against scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_checks import check, dataset
from hypothesis import given, settings
from hypothesis import strategies as st

import basalt

pytest.importorskip("sklearn")

from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(5, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=4, random_state=0),
    "boosting from zero": lambda: GradientBoostingClassifier(n_estimators=2, init="zero", random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=4),
    "naive Bayes": GaussianNB,
    "neighbours": KNeighborsClassifier,
    "weighted neighbours": lambda: KNeighborsClassifier(3, weights="distance", p=1),
    "svm of pairs": lambda: SVC(decision_function_shape="ovo"),
    "svm with ties broken": lambda: SVC(kernel="poly", break_ties=True),
    "network": lambda: MLPClassifier((8, 5), max_iter=20, random_state=0),
    "network of tanh": lambda: MLPClassifier((4,), "tanh", max_iter=20, random_state=0),
}


def jittered(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which no two are at equal distances from a third."""
    rows, targets = dataset(name)
    return rows[:, :6] + 1e-3 * np.random.default_rng(1).normal(size=rows[:, :6].shape), targets


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("data", ["wine", "breast_cancer"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifies(name: str, data: str) -> None:
    rows, targets = jittered(data)
    rows = rows / rows.max(axis=0)
    labels = np.array(["one", "two", "three"])[targets]
    check(CLASSIFIERS[name]().fit(rows[:110], labels[:110]), rows)


REGRESSORS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeRegressor(max_depth=5, random_state=0),
    "forest": lambda: RandomForestRegressor(5, max_depth=5, random_state=0),
    "extra trees": lambda: ExtraTreesRegressor(5, max_depth=5, random_state=0),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=4, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingRegressor(max_iter=4),
    "histogram boosting of counts": lambda: HistGradientBoostingRegressor(max_iter=4, loss="poisson"),
    "neighbours": KNeighborsRegressor,
    "weighted neighbours": lambda: KNeighborsRegressor(weights="distance", metric="chebyshev"),
    "svm": lambda: SVR(C=100),
    "svm of polynomials": lambda: SVR(kernel="poly", degree=2),
    "network": lambda: MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=0),
    "network of counts": lambda: MLPRegressor("poisson", (4,), "logistic", max_iter=20, random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", REGRESSORS)
def test_regresses(name: str) -> None:
    rows, targets = jittered("diabetes")
    check(REGRESSORS[name]().fit(rows[:110], targets[:110]), rows)


@pytest.mark.parametrize(
    "model",
    [RandomForestRegressor(3, random_state=0), KNeighborsRegressor(), MLPRegressor(max_iter=2, random_state=0)],
    ids=["forest", "neighbours", "network"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_regresses_several_targets(model: Any) -> None:
    rows, targets = jittered("diabetes")
    check(model.fit(rows, np.stack([targets, -targets], axis=1)), rows)


@pytest.mark.parametrize("model", [KMeans(4, n_init=1, random_state=0), MiniBatchKMeans(3, n_init=1, random_state=0)])
@pytest.mark.parametrize("name", ["iris", "digits"])
def test_clusters(name: str, model: Any) -> None:
    rows, _ = dataset(name)
    check(model.fit(rows), rows)


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities_of_support_vectors(name: str, tmp_path: Path) -> None:
    rows, targets = jittered(name)
    rows = rows / rows.max(axis=0)
    fitted = make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)).fit(rows, targets)
    estimator = check(fitted, rows)
    basalt.save(estimator, tmp_path / "model.bsl")
    assert np.array_equal(basalt.load(tmp_path / "model.bsl").predict_proba(rows), estimator.predict_proba(rows))
    names = [o.name for o in basalt.OnnxConverter.to_onnx(fitted).graph.outputs]
    assert names == ["predict", "decision_function"]
    with pytest.raises(basalt.UnsupportedError, match=r"Pipeline\.predict_proba iterates"):
        basalt.OnnxConverter.to_onnx(fitted, methods=["predict_proba"])


def test_kernels_of_rows_far_from_zero() -> None:
    rows, targets = dataset("iris")
    check(SVR(gamma=2.0).fit(rows + 1e5, targets), rows + 1e5, 1e-7)


def test_one_class() -> None:
    rows, _ = dataset("iris")
    check(OneClassSVM(gamma=0.1).fit(rows), rows)


def test_a_kernel_of_degree_zero() -> None:
    rows, targets = dataset("iris")
    check(SVR(kernel="poly", degree=0).fit(rows, targets), rows[:5])


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(3, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
    ],
    ids=["tree", "forest", "histogram boosting"],
)
def test_trees_take_missing_values(model: Any) -> None:
    rows, targets = dataset("iris")
    rows = rows.copy()
    rows[::3, 2] = np.nan
    rows[::7, 0] = np.nan
    check(model.fit(rows, targets), rows)


def test_trees_compare_in_float32() -> None:
    """Rows between the float32 numbers about a threshold go where scikit-learn sends them."""
    values = np.array([1.0, 1.0 + 2**-23, 1.0 + 2**-22])
    tree = DecisionTreeRegressor().fit(values[:, None], [0.0, 1.0, 2.0])
    near = np.linspace(1.0 - 2**-24, 1.0 + 2**-21, 50)[:, None]
    check(tree, near)


def test_a_tree_that_is_one_leaf() -> None:
    rows, _ = dataset("diabetes")
    check(DecisionTreeRegressor().fit(rows, np.full(len(rows), 3.5)), rows[:3])
    check(RandomForestRegressor(2).fit(rows, np.full(len(rows), 3.5)), rows[:3])


def categories() -> tuple[np.ndarray, np.ndarray]:
    rows, targets = dataset("iris")
    return np.column_stack([rows, np.arange(len(rows)) % 7, (targets * 3 + np.arange(len(rows)) % 4) % 5]), targets


def test_histogram_boosting_of_categories() -> None:
    """Unknown, negative and missing categories too; the categorical columns stand in any order."""
    rows, targets = categories()
    strange = rows[:6].copy()
    strange[:, 5] = [99, -1, np.nan, 0, 4, 200]
    strange[:, 4] = [np.nan, 9, 250, -3, 1, 2]
    for columns in ([5], [4, 5], [5, 1]):
        given = rows.copy()
        given[:, 1] = np.round(given[:, 1])
        model = HistGradientBoostingClassifier(max_iter=4, categorical_features=columns, min_samples_leaf=3)
        check(model.fit(given, targets), np.concatenate([given, strange]))
    gaps = np.where(np.arange(len(rows)) % 6 == 0, np.nan, rows[:, 5])
    given = np.column_stack([rows[:, 0], gaps])
    model = HistGradientBoostingRegressor(max_iter=4, categorical_features=[1], min_samples_leaf=3)
    check(model.fit(given, targets), np.concatenate([given, strange[:, [0, 5]]]))


def test_histogram_boosting_of_a_data_frame() -> None:
    pd = pytest.importorskip("pandas")
    rows, targets = categories()
    table = pd.DataFrame({"x": rows[:, 0], "kind": pd.Categorical(np.array(list("abcdefg"))[rows[:, 4].astype(int)])})
    check(HistGradientBoostingRegressor(max_iter=3).fit(table, targets), table)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KNeighborsClassifier(metric="correlation"), "metric is 'correlation'"),
        (KNeighborsClassifier(weights=lambda distances: distances), "weights is <function"),
        (SVC(kernel=lambda a, b: a @ b.T), "kernel is <function"),
    ],
)
def test_parameters_without_translation_are_refused(model: Any, message: str) -> None:
    rows, targets = dataset("iris")
    with pytest.raises(basalt.UnsupportedError, match=f"{type(model).__name__}: {message}"):
        basalt.from_sklearn(model.fit(rows, targets), 4)


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1))
def test_any_rows(seed: int) -> None:
    """One feature, often constant, equal rows; then one row, far from all."""
    random = np.random.default_rng(seed)
    rows, columns = 6, 1
    given_rows = random.choice(random.choice([0.0, -1.5, 2.0, 1e3], 2), (rows, columns))
    labels = np.arange(rows) % 2
    numbers = random.normal(size=rows)
    far = np.full((1, columns), 1e5)
    for classifier in (DecisionTreeClassifier(random_state=0), GaussianNB()):
        fitted = classifier.fit(given_rows, labels)
        for some in (given_rows, far):
            check(fitted, some)
    for regressor in (DecisionTreeRegressor(random_state=0), HistGradientBoostingRegressor(max_iter=2)):
        fitted = regressor.fit(given_rows, numbers)
        for some in (given_rows, far):
            check(fitted, some)
