"""Transformers of the catalogue."""

from __future__ import annotations

from typing import Any

import numpy as np


def transformers() -> list[Any]:
    """Those that take any numbers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, KernelPCA, TruncatedSVD
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.pipeline import FeatureUnion, Pipeline
    from sklearn.preprocessing import (
        Binarizer,
        FunctionTransformer,
        KBinsDiscretizer,
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        PolynomialFeatures,
        PowerTransformer,
        QuantileTransformer,
        RobustScaler,
        SplineTransformer,
        StandardScaler,
    )
    from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

    quantiles = {"n_quantiles": 20}
    bins = {"quantile_method": "averaged_inverted_cdf"}
    functions = [FunctionTransformer(f) for f in (None, np.log1p, np.sqrt, np.square, np.log10, np.exp, np.arctan)]
    return [
        *functions,
        FunctionTransformer(np.log1p, inverse_func=np.expm1, check_inverse=False),
        StandardScaler(),
        StandardScaler(with_mean=False),
        MinMaxScaler((-1, 2), clip=True),
        MaxAbsScaler(),
        RobustScaler(quantile_range=(10, 90), unit_variance=True),
        *(Normalizer(norm) for norm in ("l1", "l2", "max")),
        QuantileTransformer(**quantiles),
        QuantileTransformer(**quantiles, output_distribution="normal"),
        PowerTransformer(),
        PowerTransformer(method="box-cox", standardize=False),
        KBinsDiscretizer(3, **bins),
        KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
        Binarizer(threshold=1.5),
        PolynomialFeatures(3),
        PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
        SplineTransformer(),
        SplineTransformer(4, degree=2, extrapolation="linear", include_bias=False),
        SplineTransformer(extrapolation="periodic", knots="quantile"),
        SplineTransformer(extrapolation="continue", degree=1),
        PCA(2),
        PCA(0.9, whiten=True, svd_solver="full"),
        IncrementalPCA(2, whiten=True),
        TruncatedSVD(2, random_state=0),
        FastICA(2, random_state=0),
        FactorAnalysis(2),
        KernelPCA(3, kernel="rbf", gamma=0.2),
        KernelPCA(2, kernel="poly", degree=2),
        GaussianRandomProjection(3, random_state=0),
        SparseRandomProjection(3, random_state=0),
        Nystroem(n_components=6, random_state=0),
        RBFSampler(n_components=6, random_state=0),
        FeatureUnion([("a", PCA(2)), ("b", "passthrough"), ("c", "drop")], transformer_weights={"b": 2.0}),
        Pipeline([("a", StandardScaler()), ("b", "passthrough"), ("c", Pipeline([("d", PCA(2))]))]),
        ColumnTransformer([("a", StandardScaler(), [2, 0]), ("b", "drop", [1])], remainder=MinMaxScaler()),
    ]


def imputers() -> list[Any]:
    """Those that take NaN."""
    from sklearn.impute import SimpleImputer

    strategies = ("mean", "median", "most_frequent", "constant")
    return [*(SimpleImputer(strategy=s) for s in strategies), SimpleImputer(add_indicator=True)]


def encoders() -> list[Any]:
    """Those of few different numbers."""
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -7}
    return [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(drop="first"),
        OneHotEncoder(drop="if_binary", sparse_output=False),
        OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(max_categories=3, drop="first", handle_unknown="ignore"),
        OneHotEncoder(min_frequency=0.2),
        OrdinalEncoder(),
        OrdinalEncoder(**unknown),
        OrdinalEncoder(max_categories=3, **unknown),
    ]


def selectors() -> list[Any]:
    """Those that choose columns by classes."""
    from sklearn.feature_selection import (
        RFE,
        RFECV,
        GenericUnivariateSelect,
        SelectFdr,
        SelectFpr,
        SelectFromModel,
        SelectFwe,
        SelectKBest,
        SelectPercentile,
        SequentialFeatureSelector,
        VarianceThreshold,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    return [
        SelectKBest(k=2),
        SelectPercentile(percentile=50),
        SelectFpr(),
        SelectFdr(),
        SelectFwe(),
        GenericUnivariateSelect(mode="k_best", param=2),
        SelectFromModel(tree),
        SequentialFeatureSelector(tree, n_features_to_select=2, cv=2),
        VarianceThreshold(0.3),
        RFE(LogisticRegression(max_iter=300), n_features_to_select=2),
        RFECV(tree, cv=2),
    ]
