"""Transformers against scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from estimator_checks import check, dataset
from hypothesis import given, settings
from hypothesis import strategies as st

import basalt

pytest.importorskip("sklearn")

from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectFromModel, SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "standard": StandardScaler,
    "standard without mean": lambda: StandardScaler(with_mean=False),
    "standard without scale": lambda: StandardScaler(with_std=False),
    "min-max": lambda: MinMaxScaler((-1, 2)),
    "min-max clipped": lambda: MinMaxScaler(clip=True),
    "max-abs": MaxAbsScaler,
    "robust": RobustScaler,
    "robust centre": lambda: RobustScaler(with_scaling=False),
    "l1": lambda: Normalizer("l1"),
    "l2": Normalizer,
    "max": lambda: Normalizer("max"),
    "pca": lambda: PCA(3),
    "pca whitened": lambda: PCA(2, whiten=True),
    "svd": lambda: TruncatedSVD(3, random_state=0),
    "polynomials": lambda: PolynomialFeatures(3),
    "interactions": lambda: PolynomialFeatures((2, 2), interaction_only=True, include_bias=False),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transforms_as_scikit_learn(name: str) -> None:
    rows, _ = dataset("iris")
    check(TRANSFORMERS[name]().fit(rows[:100]), rows)


@settings(max_examples=12)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_scales_any_rows(rows: int, columns: int, seed: int) -> None:
    """One row, one feature and constant columns are no special cases."""
    random = np.random.default_rng(seed)
    given_rows = random.choice([0.0, -1.5, 2.0, 1e6, 3e-5], (rows, columns))
    for scaler in (StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), Normalizer("l1")):
        check(scaler.fit(given_rows), given_rows)


def gaps() -> np.ndarray:
    rows = dataset("iris")[0][:40].copy()
    rows[::5, 1] = np.nan
    rows[3, :] = np.nan
    return rows


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_imputes_numbers(strategy: str) -> None:
    check(SimpleImputer(strategy=strategy).fit(gaps()), gaps())


@pytest.mark.filterwarnings("ignore:Skipping features")
def test_imputes_another_mark_and_leaves_out_empty_columns() -> None:
    rows = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 0.0]])
    check(SimpleImputer(missing_values=0).fit(rows), rows)
    empty = np.array([[np.nan, 1.0, np.nan], [np.nan, np.nan, 2.0]])
    check(SimpleImputer().fit(empty), empty)


def test_scalers_pass_nan_through() -> None:
    check(StandardScaler().fit(gaps()), gaps())


NUMBERS = np.array([[1, 5], [2, 5], [4, 7], [1, 9]], float)
TEXTS = np.array([["a", "x"], ["b", "y"], ["a", "z"], ["c", "x"]], object)


@pytest.mark.parametrize("rows", [NUMBERS, TEXTS], ids=["numbers", "texts"])
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(drop="first", dtype=np.int32),
        OneHotEncoder(drop="if_binary", sparse_output=False),
        OrdinalEncoder(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-7, dtype=np.int64),
    ],
    ids=["one-hot", "dropping", "binary", "ordinal", "ordinal with unknown"],
)
def test_encodes(encoder: Any, rows: np.ndarray) -> None:
    fitted = encoder.fit(rows)
    check(fitted, rows)
    check(fitted, rows[2:3])


def test_unknown_categories() -> None:
    unseen_number, unseen_text = np.array([[3.0, 7.0]]), np.array([["d", None]], object)
    for rows, unseen in ((NUMBERS, unseen_number), (TEXTS, unseen_text)):
        check(OneHotEncoder(handle_unknown="ignore").fit(rows), unseen)
        check(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan).fit(rows), unseen)
        for encoder in (OneHotEncoder(), OrdinalEncoder()):
            fitted = encoder.fit(rows)
            with pytest.raises(ValueError, match="Found unknown categories"):
                fitted.transform(unseen)
            with pytest.raises(basalt.ValidationError, match="a category that"):
                basalt.from_sklearn(fitted).transform(unseen)


def test_missing_categories() -> None:
    numbers = np.array([[1.0], [np.nan], [2.0]])
    texts = np.array([["a"], [np.nan], ["b"]], object)
    nothing = np.array([["a"], [None], ["b"]], object)
    for rows in (numbers, texts, nothing):
        check(OneHotEncoder().fit(rows), rows)
        check(OrdinalEncoder(encoded_missing_value=-1).fit(rows), rows)


@pytest.mark.parametrize(
    "selector",
    [SelectKBest(k=2), SelectPercentile(percentile=50), SelectFromModel(Lasso(0.1)), VarianceThreshold(0.6)],
    ids=lambda selector: type(selector).__name__,
)
def test_selects(selector: Any) -> None:
    rows, targets = dataset("iris")
    check(selector.fit(rows, targets), rows)


def test_selecting_nothing_is_refused() -> None:
    rows, targets = dataset("iris")
    with pytest.raises(basalt.UnsupportedError, match="it selects no feature"):
        basalt.from_sklearn(SelectFromModel(Lasso(100)).fit(rows, targets))
