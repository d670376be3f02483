"""Single classes, rows that repeat, constant columns, columns that nothing takes, and what steps make of rows."""

# ruff: noqa: E402
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt

from .estimator_checks import check, dataset

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, HistGradientBoostingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled is compared with the operators' semantics elsewhere."""
    monkeypatch.setenv("BASALT_DEBUG", "interpret")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        BernoulliNB(),
        MultinomialNB(),
        ComplementNB(),
        DecisionTreeClassifier(),
        AdaBoostClassifier(n_estimators=2),
        BaggingClassifier(n_estimators=2),
        VotingClassifier([("a", DecisionTreeClassifier())]),
        HistGradientBoostingClassifier(max_iter=2),
        MLPClassifier((3,), max_iter=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_of_a_single_class(model: Any) -> None:
    rows, _ = dataset("iris")
    check(model.fit(rows, np.full(len(rows), "only")), rows[:5])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", ["repeating", "constant", "one column", "one row", "huge", "tiny"])
@pytest.mark.parametrize(
    "transformer",
    [
        QuantileTransformer(n_quantiles=10),
        QuantileTransformer(n_quantiles=10, output_distribution="normal"),
        PowerTransformer(),
        KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
        StandardScaler(),
        RobustScaler(),
        MinMaxScaler(clip=True),
    ],
    ids=lambda t: f"{type(t).__name__} {getattr(t, 'output_distribution', '')}",
)
def test_rows_of_few_values(transformer: Any, shape: str) -> None:
    repeating = np.repeat(dataset("iris")[0][:5], 6, axis=0)
    rows = {
        "repeating": repeating,
        "constant": np.column_stack([np.ones(30), repeating[:, 0]]),
        "one column": repeating[:, :1],
        "one row": repeating[:1],
        "huge": repeating * 1e9,
        "tiny": repeating * 1e-9,
    }[shape]
    if isinstance(transformer, (PowerTransformer, KBinsDiscretizer)) and shape in ("huge", "tiny", "one row"):
        pytest.skip("scikit-learn's own fit of such rows fails, or finds a power beyond float64")
    fitted = transformer.fit(rows)
    for given in (rows, rows[:1], rows + 0.1, rows - 3.0):
        found = basalt.from_sklearn(fitted).transform(given)
        expected = fitted.transform(given)
        expected = expected.toarray() if hasattr(expected, "toarray") else expected
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_splines_whose_knots_coincide_are_refused() -> None:
    rows = np.column_stack([np.arange(20.0), np.ones(20)])
    with pytest.raises(basalt.UnsupportedError, match="SplineTransformer: knots of column 1 coincide"):
        basalt.from_sklearn(SplineTransformer().fit(rows))


def test_kernels_whose_decisions_are_zero() -> None:
    """In the shape of one versus the rest 0 is a vote for the first of a pair, in the prediction for the second."""
    rows = np.array([[-1.0], [-1.0], [0.0], [0.0], [1.0], [1.0]])
    check(SVC(kernel="linear").fit(rows, [0, 0, 1, 1, 2, 2]), np.array([[-0.5], [0.5], [0.0], [3.0]]))


def test_what_a_step_makes_of_finite_rows_is_refused_as_in_scikit_learn() -> None:
    rows, targets = dataset("iris")
    rows = np.abs(rows) + 1
    fitted = make_pipeline(FunctionTransformer(np.log), StandardScaler(), LogisticRegression()).fit(rows, targets)
    estimator = check(fitted, rows)
    zero = rows[:2].copy()
    zero[0, 0] = 0
    for given in (zero, -rows[:1], np.full((1, 4), np.nan)):
        for model in (fitted, estimator):
            with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"NaN|infinity"):
                model.predict(given)
    filling = make_pipeline(FunctionTransformer(np.log), SimpleImputer(), LogisticRegression()).fit(rows, targets)
    with np.errstate(invalid="ignore"):
        check(filling, -rows[:2])


def test_columns_that_are_dropped_may_hold_anything(tmp_path: Any) -> None:
    table = pd.DataFrame(
        {
            "count": pd.array([1, 2, None, 4] * 5, "Int64"),
            "size": pd.array([1.5, None, 2.5, 3.0] * 5, "Float64"),
            "name": ["a", None, "b", "c"] * 5,
            "kind": pd.Categorical(["x", "y", "x", "z"] * 5),
        }
    )
    numbers = (make_pipeline(SimpleImputer(), StandardScaler()), ["count", "size"])
    for parts in ((numbers,), (numbers, (OneHotEncoder(handle_unknown="ignore"), ["kind"]))):
        estimator = check(make_column_transformer(*parts).fit(table), table)
        basalt.save(estimator, tmp_path / "model.bsl")
        assert np.array_equal(basalt.load(tmp_path / "model.bsl").transform(table), estimator.transform(table))
        whole = table.dropna()
        assert np.array_equal(estimator.transform(whole.to_numpy(object)), estimator.transform(whole))


def test_weights_of_a_column_transformer() -> None:
    rows, _ = dataset("iris")
    parts = [("a", "passthrough", [0]), ("b", StandardScaler(), [1, 2]), ("c", "drop", [3])]
    check(ColumnTransformer(parts, transformer_weights={"a": 3.0, "b": 0.5}).fit(rows), rows)


def test_columns_chosen_by_a_function() -> None:
    rows, _ = dataset("iris")
    table = pd.DataFrame(rows, columns=list("abcd"))
    check(
        ColumnTransformer([("a", StandardScaler(), lambda frame: ["d", "b"])], remainder="passthrough").fit(table),
        table,
    )
