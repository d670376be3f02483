"""Linear models, support vector machines and trees of ai.onnx.ml, by hand and against ONNX Runtime and scikit-learn."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.host.ml_scores import transform
from basalt.compiler.onnx.host.registry import ML
from basalt.errors import ValidationError

from .nodes import close, run, same, strings
from .peer import forest, onnxruntime_run, stump

X = np.float32([[1, -2], [0.5, 0.25], [-3, 1], [0, 0]])
TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


def ml(op_type: str, x: np.ndarray, version: int = 1, **attributes: Any) -> Any:
    return run(op_type, version, x, domain=ML, **attributes)


def like_onnxruntime(op_type: str, x: np.ndarray, version: int = 1, outputs: int = 1, **attributes: Any) -> None:
    expected = onnxruntime_run(op_type, version, x, domain=ML, outputs=outputs, **attributes)
    actual = ml(op_type, x, version, **attributes)
    close(list(actual) if isinstance(actual, tuple) else [actual], expected, rtol=1e-4, atol=1e-5)


def test_transforms() -> None:
    x = np.array([[0.1, 0.7, 0.0]])
    e = np.exp(x)
    np.testing.assert_allclose(transform("SOFTMAX", x), e / e.sum())
    np.testing.assert_allclose(
        transform("LOGISTIC", np.array([[-800.0, 0, 2]])), [[0, 0.5, 1 / (1 + np.exp(-2))]], atol=1e-300
    )
    np.testing.assert_allclose(transform("SOFTMAX_ZERO", x), [[e[0, 0], e[0, 1], 0]] / (e[0, 0] + e[0, 1]))
    np.testing.assert_allclose(transform("SOFTMAX_ZERO", np.zeros((1, 2))), [[0.5, 0.5]])
    chances = np.linspace(0.01, 0.99, 50)
    quantiles = [NormalDist().inv_cdf(p) for p in chances]
    np.testing.assert_allclose(transform("PROBIT", chances), quantiles, atol=3e-3)


@pytest.mark.parametrize("name", [*TRANSFORMS, "PROBIT"])
def test_linear_models_of_several_scores(name: str) -> None:
    weights = {"coefficients": [0.3, -0.2, 0.0, 0.5], "intercepts": [0.1, 0.0], "post_transform": name}
    like_onnxruntime("LinearRegressor", X, targets=2, **weights)
    like_onnxruntime("LinearClassifier", X, outputs=2, classlabels_strings=["a", "b"], **weights)
    like_onnxruntime("LinearClassifier", X.astype(np.int64), outputs=2, classlabels_ints=[4, 2], **weights)
    like_onnxruntime("LinearClassifier", X[0], outputs=2, classlabels_ints=[4, 2], **weights)


def test_linear_models_of_one_score() -> None:
    weights = {"coefficients": [0.3, -0.2], "intercepts": [0.1]}
    like_onnxruntime("LinearRegressor", X, **weights)
    for name in ("NONE", "LOGISTIC"):
        like_onnxruntime("LinearClassifier", X, outputs=2, classlabels_ints=[4, 9], post_transform=name, **weights)
    score = X @ np.float32([0.3, -0.2]) + np.float32(0.1)
    close(
        ml("LinearRegressor", X, post_transform="LOGISTIC", **weights),
        (1 / (1 + np.exp(-score)))[:, None].astype(np.float32),
    )
    close(ml("LinearRegressor", X, coefficients=[0.3, -0.2])[:, 0], (score - np.float32(0.1)))
    labels, scores = ml("LinearClassifier", X, post_transform="SOFTMAX", classlabels_strings=("n", "y"), **weights)
    same(labels, strings("y", "y", "n", "y"))
    close(scores[:, 1], (1 / (1 + np.exp(-2 * score))).astype(np.float32))


def test_wrong_linear_models() -> None:
    for attributes in (
        {"coefficients": (1.0,)},
        {"coefficients": (1.0, 2.0), "intercepts": (1.0, 2.0)},
        {"coefficients": (1.0, 2.0), "post_transform": "X"},
        {"coefficients": (1.0, 2.0), "targets": 0},
    ):
        with pytest.raises(ValidationError):
            ml("LinearRegressor", X, **attributes)
    for attributes in (
        {"coefficients": (1.0,) * 4, "classlabels_ints": (1,)},
        {"coefficients": (1.0, 2.0), "classlabels_ints": (1,)},
    ):
        with pytest.raises(ValidationError):
            ml("LinearClassifier", X, **attributes)
    with pytest.raises(ValidationError, match="expected numbers"):
        ml("LinearRegressor", strings("a"), coefficients=(1.0,))


KERNELS = [
    ("LINEAR", [0.0, 0.0, 0.0]),
    ("POLY", [0.5, 1.0, 2.0]),
    ("RBF", [0.5, 0.0, 0.0]),
    ("SIGMOID", [0.5, 1.0, 0.0]),
]
VECTORS = [1.0, 0.0, 0.0, 1.0, 0.5, 0.5]


@pytest.mark.parametrize(("kernel", "params"), KERNELS)
def test_support_vectors(kernel: str, params: list[float]) -> None:
    machine = {"support_vectors": VECTORS, "kernel_type": kernel, "kernel_params": params}
    like_onnxruntime("SVMRegressor", X, coefficients=[0.3, -0.2, 0.7], rho=[0.1], n_supports=3, **machine)
    like_onnxruntime("SVMRegressor", X, coefficients=[0.3, -0.2, 0.7], rho=[-0.4], n_supports=3, one_class=1, **machine)
    two = {"coefficients": [0.3, -0.2, 0.7], "vectors_per_class": [1, 2], "classlabels_ints": [4, 9], **machine}
    three = {
        "coefficients": [0.3, -0.2, 0.7, 0.1, 0.9, -0.4],
        "vectors_per_class": [1, 1, 1],
        "rho": [0.1, 0.2, -0.3],
        "classlabels_strings": ["a", "b", "c"],
        **machine,
    }
    for rho in (0.1, -0.6):
        for name in ("NONE", "LOGISTIC"):
            like_onnxruntime("SVMClassifier", X, outputs=2, rho=[rho], post_transform=name, **two)
        for name in TRANSFORMS:
            like_onnxruntime(
                "SVMClassifier", X, outputs=2, rho=[rho], prob_a=[-1.2], prob_b=[0.1], post_transform=name, **two
            )
    for name in TRANSFORMS:
        like_onnxruntime("SVMClassifier", X, outputs=2, post_transform=name, **three)
    chances = {"prob_a": [-1.0, -1.0, -2.0], "prob_b": [0.0, 0.1, 0.2]}
    labels, scores = ml("SVMClassifier", X, **chances, **three)
    wanted = onnxruntime_run("SVMClassifier", 1, X, domain=ML, outputs=2, **chances, **three)
    assert labels.tolist() == wanted[0].tolist()
    # The iteration that couples the pairs stops at an error of 0.005 / classes.
    np.testing.assert_allclose(scores, wanted[1], atol=2e-3)


def test_linear_support_vectors() -> None:
    linear = {"rho": [0.1], "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    like_onnxruntime("SVMRegressor", X, coefficients=[0.3, -0.2], **linear)
    for name in TRANSFORMS:
        like_onnxruntime(
            "SVMClassifier",
            X,
            outputs=2,
            coefficients=[0.3, -0.2, 0.4, 0.1, 1.0, 1.0],
            classlabels_ints=[4, 9, 7],
            post_transform=name,
            **linear,
        )


def test_a_classifier_that_scikit_learn_trained() -> None:
    svm = pytest.importorskip("sklearn.svm")
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(60, 3)).astype(np.float32), rng.integers(0, 3, 60)
    model = svm.SVC(kernel="rbf", gamma=0.4).fit(x, y)
    labels, scores = ml(
        "SVMClassifier",
        x,
        classlabels_ints=tuple(model.classes_.tolist()),
        kernel_type="RBF",
        kernel_params=(0.4, 0.0, 0.0),
        coefficients=tuple(model.dual_coef_.ravel()),
        support_vectors=tuple(model.support_vectors_.ravel()),
        vectors_per_class=tuple(model.n_support_.tolist()),
        rho=tuple(model.intercept_),
    )
    assert labels.tolist() == model.predict(x).tolist()
    model.decision_function_shape = "ovo"
    np.testing.assert_allclose(scores, model.decision_function(x), rtol=1e-3, atol=1e-4)


def test_wrong_support_vectors() -> None:
    good = {"coefficients": (1.0, 1.0), "support_vectors": (1.0,) * 4, "vectors_per_class": (1, 1), "rho": (0.0,)}
    for change in (
        {"coefficients": (1.0,)},
        {"support_vectors": (1.0,)},
        {"rho": ()},
        {"vectors_per_class": (2,)},
        {"vectors_per_class": (3, -1)},
        {"kernel_type": "X"},
        {"kernel_params": (1.0,)},
        {"classlabels_ints": (1, 2, 3)},
        {"prob_a": (1.0,)},
    ):
        with pytest.raises(ValidationError):
            ml("SVMClassifier", X, **(good | change))
    with pytest.raises(ValidationError):
        ml("SVMRegressor", X, coefficients=(1.0,), rho=(0.0,))


GRID = np.random.default_rng(5).integers(-4, 5, (40, 5)).astype(np.float32)
GRID[::7, 2] = np.nan


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("version", [1, 3])
def test_random_forests(seed: int, version: int) -> None:
    how = ["SUM", "AVERAGE", "MIN", "MAX"][seed % 4]
    trees = forest(seed, trees=12, depth=4, features=5, prefix="target", targets=1, n_targets=1)
    like_onnxruntime("TreeEnsembleRegressor", GRID, version, aggregate_function=how, base_values=[0.5], **trees)
    trees = forest(seed, trees=12, depth=3, features=5, prefix="class", targets=3, classlabels_int64s=[5, 3, 8])
    for name in TRANSFORMS:
        like_onnxruntime(
            "TreeEnsembleClassifier",
            GRID,
            version,
            outputs=2,
            post_transform=name,
            base_values=[0.1, 0.2, 0.3],
            **trees,
        )
    trees = forest(seed, trees=9, depth=3, features=5, prefix="class", targets=1, classlabels_strings=["no", "yes"])
    for name in ("NONE", "LOGISTIC"):
        like_onnxruntime("TreeEnsembleClassifier", GRID, version, outputs=2, post_transform=name, **trees)
        like_onnxruntime(
            "TreeEnsembleClassifier",
            GRID.astype(np.float64),
            version,
            outputs=2,
            post_transform=name,
            base_values=[0.3],
            **trees,
        )


def test_double_tensors() -> None:
    trees = forest(3, trees=5, depth=3, features=5, prefix="target", targets=1, n_targets=1)
    trees["nodes_values_as_tensor"] = np.array(trees.pop("nodes_values")) + 1e-12
    trees["target_weights_as_tensor"] = np.array(trees.pop("target_weights"))
    got = ml("TreeEnsembleRegressor", GRID.astype(np.float64), 3, **trees)
    trees["nodes_values"] = trees.pop("nodes_values_as_tensor").tolist()
    trees["target_weights"] = trees.pop("target_weights_as_tensor").tolist()
    close(got, ml("TreeEnsembleRegressor", GRID, 3, **trees))


BOTH = [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_two_classes() -> None:
    labels = {"classlabels_int64s": (10, 11)}
    votes = ml("TreeEnsembleClassifier", X, **stump("class", BOTH, [0.8, 0.2, 0.4, 0.6]), **labels)
    same(votes, (np.array([11, 11, 10, 10]), np.float32([[0.4, 0.6]] * 2 + [[0.8, 0.2]] * 2)))
    single = stump("class", [(1, 0), (2, 0)], [0.2, 0.7])
    got, scores = ml("TreeEnsembleClassifier", X, **single, **labels)
    same(got, np.array([11, 11, 10, 10]))
    close(scores, np.float32([[0.3, 0.7]] * 2 + [[0.8, 0.2]] * 2))
    got, scores = ml("TreeEnsembleClassifier", X, **stump("class", [(1, 0), (2, 0)], [-0.2, 0.7]), **labels)
    close(scores, np.float32([[-0.7, 0.7]] * 2 + [[0.2, -0.2]] * 2))
    # A positive sum is a probability above a half after LOGISTIC, whatever signs the weights have.
    got, scores = ml("TreeEnsembleClassifier", X, **single, **labels, post_transform="LOGISTIC")
    same(got, np.array([11] * 4))
    assert (scores[:, 1] > 0.5).all()
    got, scores = ml("TreeEnsembleClassifier", X, **single, **labels, base_values=(0.0, 0.5))
    same(got, np.array([10, 10, 11, 11]))
    close(scores, np.float32([[0.7, 0.5]] * 2 + [[0.2, 0.5]] * 2))
    got, scores = ml("TreeEnsembleClassifier", X, **single, classlabels_strings=("only",))
    same(got, strings(*["only"] * 4))


def test_targets_that_no_leaf_reaches_have_their_base_value() -> None:
    trees = stump("target", [(1, 0), (1, 1), (2, 1)], [0.3, 0.6, 0.4], n_targets=2, base_values=(0.1, 0.2))
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        got = ml("TreeEnsembleRegressor", X, **trees, aggregate_function=how)
        close(got, np.float32([[0.1, 0.6]] * 2 + [[0.4, 0.8]] * 2))


@pytest.mark.parametrize(
    "change",
    [
        {"nodes_modes": ["BRANCH_XX", "LEAF", "LEAF"]},
        {"nodes_modes": ["LEAF"]},
        {"nodes_featureids": [2, 0, 0]},
        {"nodes_featureids": [-1, 0, 0]},
        {"nodes_truenodeids": [7, 0, 0]},
        {"nodes_truenodeids": [0, 0, 0]},
        {"nodes_nodeids": [0, 1, 1]},
        {"nodes_values": [0.0]},
        {"target_nodeids": [9, 2]},
        {"target_ids": [0, 1]},
        {"target_ids": [0]},
        {"target_weights": None},
        {"nodes_treeids": []},
        {"base_values": [1.0, 2.0, 3.0]},
        {"aggregate_function": "MEDIAN"},
        {"n_targets": 0},
    ],
)
def test_wrong_trees(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="the node"):
        ml("TreeEnsembleRegressor", X, **(stump("target", [(1, 0), (2, 0)], [0.3, 0.6], n_targets=1) | change))


ENSEMBLE = {
    "nodes_modes": np.array([0, 6, 6], np.uint8),
    "nodes_splits": np.float32([0.5, 0, 0]),
    "nodes_featureids": (0, 1, 1),
    "nodes_truenodeids": (1, 0, 2),
    "nodes_trueleafs": (0, 1, 1),
    "nodes_falsenodeids": (2, 1, 3),
    "nodes_falseleafs": (0, 1, 1),
    "leaf_weights": np.float32([1, 2, 4, 8]),
    "leaf_targetids": (0, 1, 0, 1),
    "membership_values": np.float32([1, 2, np.nan, 3, np.nan]),
    "tree_roots": (0,),
    "n_targets": 2,
}


def test_tree_ensemble_with_sets() -> None:
    x = np.float32([[0, 2], [0, 3], [1, 3], [1, 2], [np.nan, 3]])
    expected = np.float32([[1, 0], [0, 2], [4, 0], [0, 8], [4, 0]])
    same(ml("TreeEnsemble", x, 5, **ENSEMBLE), expected)
    same(ml("TreeEnsemble", x.astype(np.float16), 5, **ENSEMBLE), expected.astype(np.float16))
    same(ml("TreeEnsemble", x.astype(np.float64), 5, **ENSEMBLE, aggregate_function=0), expected.astype(np.float64))
    got = ml("TreeEnsemble", x[-1:], 5, **ENSEMBLE, nodes_missing_value_tracks_true=(1, 0, 0))
    same(got, np.float32([[0, 2]]))
    close(ml("TreeEnsemble", x[:1], 5, **ENSEMBLE, post_transform=1), transform("SOFTMAX", expected[:1]))
    both = ENSEMBLE | {"tree_roots": (0, 2)}
    same(ml("TreeEnsemble", x[:1], 5, **both), np.float32([[1, 8]]))
    same(ml("TreeEnsemble", x[1:2], 5, **both, aggregate_function=3), np.float32([[4, 2]]))


@pytest.mark.parametrize(
    "change",
    [
        {"membership_values": np.float32([1])},
        {"tree_roots": (3,)},
        {"tree_roots": ()},
        {"nodes_modes": np.array([0, 7, 6], np.uint8)},
        {"nodes_truenodeids": (1, 0, 4)},
        {"nodes_truenodeids": (0, 0, 2)},
        {"nodes_falsenodeids": (3, 1, 3)},
        {"nodes_featureids": (0, 1, 2)},
        {"nodes_splits": np.float32([1])},
        {"leaf_targetids": (0, 1, 0, 2)},
        {"leaf_targetids": (0,)},
        {"aggregate_function": 4},
        {"post_transform": 5},
        {"n_targets": 0},
    ],
)
def test_wrong_tree_ensembles(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="the node"):
        ml("TreeEnsemble", X, 5, **(ENSEMBLE | change))


def test_a_forest_that_scikit_learn_trained() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(4)
    x = rng.normal(size=(80, 4)).astype(np.float32)
    model = ensemble.RandomForestRegressor(5, max_depth=4, random_state=0).fit(x, x[:, 0] * x[:, 1])
    columns: dict[str, list[Any]] = {
        name: [] for name in ("tree", "node", "feature", "value", "mode", "yes", "no", "weight")
    }
    for number, estimator in enumerate(model.estimators_):
        tree = estimator.tree_
        for node in range(tree.node_count):
            leaf = tree.children_left[node] < 0
            row = (
                number,
                node,
                max(int(tree.feature[node]), 0),
                float(tree.threshold[node]),
                "LEAF" if leaf else "BRANCH_LEQ",
                max(int(tree.children_left[node]), 0),
                max(int(tree.children_right[node]), 0),
                float(tree.value[node, 0, 0]),
            )
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    leaves = [i for i, mode in enumerate(columns["mode"]) if mode == "LEAF"]
    got = ml(
        "TreeEnsembleRegressor",
        x,
        nodes_treeids=columns["tree"],
        nodes_nodeids=columns["node"],
        nodes_featureids=columns["feature"],
        nodes_values=columns["value"],
        nodes_modes=columns["mode"],
        nodes_truenodeids=columns["yes"],
        nodes_falsenodeids=columns["no"],
        target_treeids=[columns["tree"][i] for i in leaves],
        target_nodeids=[columns["node"][i] for i in leaves],
        target_ids=[0] * len(leaves),
        target_weights=[columns["weight"][i] for i in leaves],
        n_targets=1,
        aggregate_function="AVERAGE",
    )
    np.testing.assert_allclose(got[:, 0], model.predict(x), rtol=1e-5, atol=1e-6)
