"""Pipelines, column transformers and unions; DataFrames."""

# ruff: noqa: E402
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from estimator_checks import check, dataset

import basalt

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler


def frame() -> Any:
    rows, _ = dataset("iris")
    table = pd.DataFrame(rows, columns=["a", "b", "c", "d"])
    table["colour"] = np.array(["red", "green", np.nan, "blue"], object)[np.arange(len(rows)) % 4]
    table["size"] = np.array(["S", "M", "L"])[np.arange(len(rows)) % 3]
    return table


def mixed() -> ColumnTransformer:
    """Numbers and categories, with gaps in both."""
    texts = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(handle_unknown="ignore"))
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "c"]),
        (texts, ["colour"]),
        (OrdinalEncoder(), ["size"]),
        ("passthrough", ["d"]),
    )


def test_nested_pipelines() -> None:
    rows, targets = dataset("iris")
    inner = Pipeline([("scale", StandardScaler()), ("nothing", "passthrough"), ("reduce", PCA(2))])
    check(inner.fit(rows), rows)
    check(make_pipeline(inner, LogisticRegression()).fit(rows, targets), rows)


def test_unions() -> None:
    rows, _ = dataset("iris")
    parts = [("scale", StandardScaler()), ("reduce", PCA(2)), ("off", "drop"), ("same", "passthrough")]
    check(FeatureUnion(parts, transformer_weights={"reduce": 2.0}).fit(rows), rows)


@pytest.mark.parametrize("columns", [[0, 2], slice(1, 3), [True, False, False, True], 1])
def test_columns_by_place(columns: Any) -> None:
    rows, _ = dataset("iris")
    wanted = [columns] if isinstance(columns, int) else columns
    check(ColumnTransformer([("scale", StandardScaler(), wanted)], remainder="passthrough").fit(rows), rows)


def test_mixed_columns_of_a_data_frame() -> None:
    table, (_, targets) = frame(), dataset("iris")
    names = np.array(["setosa", "versicolor", "virginica"])[targets]
    estimator = check(make_pipeline(mixed(), LogisticRegression(max_iter=500)).fit(table, names), table)
    assert list(estimator.feature_names_in_) == list(table.columns)
    unseen = table[:3].assign(colour=["pink", "red", None])
    fitted = mixed().fit(table)
    check(fitted, unseen)
    check(fitted, table[:1])


def test_columns_in_another_order_are_put_in_theirs() -> None:
    table = frame()
    estimator = basalt.from_sklearn(mixed().fit(table))
    shuffled = table[["size", "d", "colour", "c", "b", "a"]]
    assert np.array_equal(estimator.transform(shuffled), estimator.transform(table))


def test_columns_of_other_names_are_refused() -> None:
    table = frame()[["a", "b"]]
    estimator = basalt.from_sklearn(StandardScaler().fit(table))
    with pytest.raises(basalt.ValidationError, match="its columns lack 'b' and have 'x' in excess"):
        estimator.transform(table.rename(columns={"b": "x"}))
    with pytest.raises(basalt.ValidationError, match="its columns have 'c' in excess"):
        estimator.transform(frame()[["a", "b", "c"]])


def test_codes_never_leave_as_numbers() -> None:
    rows = np.array([["a", "x"], ["b", "y"]], object)
    for step in (
        ColumnTransformer([("hot", OneHotEncoder(), [0])], remainder="passthrough"),
        SimpleImputer(strategy="most_frequent"),
    ):
        if isinstance(step, ColumnTransformer):
            step = ColumnTransformer([("hot", OneHotEncoder(), [0, 1]), ("same", "passthrough", [0])])
        with pytest.raises(basalt.UnsupportedError, match="categories that are no numbers"):
            basalt.from_sklearn(step.fit(rows))


class Doubling(TransformerMixin, BaseEstimator):
    """A transformer of one's own."""

    def fit(self, rows: Any, targets: Any = None) -> Doubling:
        self.n_features_in_ = rows.shape[1]
        return self

    def transform(self, rows: Any) -> Any:
        return 2 * rows


@pytest.mark.parametrize("step", [Doubling(), FunctionTransformer(np.flip)], ids=["own", "function"])
def test_what_has_no_translation_is_named_by_its_path(step: Any) -> None:
    rows, targets = dataset("iris")
    inner = Pipeline([("scale", StandardScaler()), ("strange", step)])
    fitted = Pipeline([("first", inner), ("last", LinearRegression())]).fit(rows, targets)
    with pytest.raises(basalt.UnsupportedError, match=rf"Pipeline\.first\.Pipeline\.strange\.{type(step).__name__}: "):
        basalt.from_sklearn(fitted)


def test_what_each_step_takes_is_checked() -> None:
    """NaN may enter where an imputer follows, and not where it would reach a step that refuses it."""
    rows, targets = dataset("iris")
    gap = rows[:2].copy()
    gap[0, 0] = np.nan
    filling = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=500)).fit(rows, targets)
    check(filling, gap)
    scaling = basalt.from_sklearn(make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, targets))
    with pytest.raises(basalt.ValidationError, match="NaN or infinity"):
        scaling.predict(gap)
    gap[0, 0] = np.inf
    with pytest.raises(basalt.ValidationError, match="NaN or infinity"):
        basalt.from_sklearn(filling).predict(gap)
    huge = np.full((1, 4), 1e200)
    assert scaling.predict(huge).shape == (1,)


def test_missing_values_of_pandas_are_nan() -> None:
    table = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": [True, False, True], "c": [1.5, None, 2.5]})
    check(make_pipeline(SimpleImputer(), StandardScaler()).fit(table), table)
    mixed_table = table.assign(kind=["x", "y", "x"])
    parts = make_column_transformer((SimpleImputer(), ["a", "b", "c"]), (OrdinalEncoder(), ["kind"]))
    check(parts.fit(mixed_table), mixed_table)
