"""A small fitted estimator of each family, and the golden files that were made of them.

``python tests/compiler/estimators/family_samples.py`` writes the golden files that are missing. It never writes over
one: what stands in ``golden/kinds`` must load for good.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import basalt
from basalt.serialization import Kind

GOLDEN = Path(__file__).parent / "golden" / "kinds"
COLOURS = np.array([["red", "S"], ["green", "M"], ["red", "L"], ["blue", "S"]], object)


def rows() -> np.ndarray:
    """Twelve rows of three features."""
    return np.random.default_rng(0).normal(size=(12, 3)).round(3)


def _targets() -> np.ndarray:
    return (rows() @ [1.0, -2.0, 0.5]).round(3)


def _labels() -> np.ndarray:
    return np.array(["low", "middle", "high"])[np.digitize(_targets(), [-0.5, 0.5])]


def samples() -> dict[Kind, Callable[[], Any]]:
    """What fits an estimator of each kind; all but the ENCODER's take :func:`rows`."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.feature_selection import VarianceThreshold
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.mixture import GaussianMixture
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    x, y, c = rows(), _targets(), _labels()
    boosting = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2, max_leaf_nodes=3)
    return {
        Kind.SCALER: lambda: StandardScaler().fit(x),
        Kind.FEATURE_EXPANSION: lambda: PolynomialFeatures(2).fit(x),
        Kind.ENCODER: lambda: OneHotEncoder(handle_unknown="ignore").fit(COLOURS),
        Kind.IMPUTER: lambda: SimpleImputer().fit(x),
        Kind.SELECTOR: lambda: VarianceThreshold(np.var(x, axis=0).min()).fit(x),
        Kind.DECOMPOSITION: lambda: PCA(2).fit(x),
        Kind.LINEAR_REGRESSOR: lambda: Ridge().fit(x, y),
        Kind.LINEAR_CLASSIFIER: lambda: LogisticRegression().fit(x, c),
        Kind.KERNEL_MACHINE: lambda: SVC().fit(x, c),
        Kind.DECISION_TREE: lambda: DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, c),
        Kind.FOREST: lambda: RandomForestClassifier(2, max_depth=2, random_state=0).fit(x, c),
        Kind.GRADIENT_BOOSTING: lambda: boosting.fit(x, c),
        Kind.CLUSTERS: lambda: KMeans(2, n_init=1, random_state=0).fit(x),
        Kind.NEIGHBOURS: lambda: KNeighborsClassifier(2).fit(x, c),
        Kind.NAIVE_BAYES: lambda: GaussianNB().fit(x, c),
        Kind.NEURAL_NETWORK: lambda: MLPClassifier((3,), max_iter=20, random_state=0).fit(x, c),
        Kind.COMPOSITION: lambda: make_pipeline(StandardScaler(), PCA(2), Ridge()).fit(x, y),
        Kind.DISCRIMINANT_ANALYSIS: lambda: QuadraticDiscriminantAnalysis(reg_param=0.1).fit(x, c),
        Kind.MIXTURE: lambda: GaussianMixture(2, reg_covar=0.1, random_state=0).fit(x),
        Kind.BASELINE: lambda: DummyClassifier(strategy="prior").fit(x, c),
    }


def input_of(kind: Kind) -> np.ndarray:
    """Rows for the sample of ``kind``."""
    return COLOURS if kind is Kind.ENCODER else rows()


def results(estimator: basalt.Estimator, given: np.ndarray) -> dict[str, np.ndarray]:
    """What each method gives for rows; pairs as two arrays."""
    found = {}
    for name in estimator.methods:
        argument = estimator.transform(given) if name == "inverse_transform" else given
        result = getattr(estimator, name)(argument)
        parts = {f"{name}.{i}": p for i, p in enumerate(result)} if isinstance(result, tuple) else {name: result}
        found.update(parts)
    return found


def main() -> None:
    """Write the files that are missing, each with rows and results beside it."""
    GOLDEN.mkdir(exist_ok=True)
    for kind, fitted in samples().items():
        target = GOLDEN / f"{kind.name.lower()}.bsl"
        if target.exists():
            continue
        estimator = basalt.from_sklearn(fitted())
        given = input_of(kind)
        arrays = {n: a.astype(str) if a.dtype == object else a for n, a in results(estimator, given).items()}
        basalt.save(estimator, target)
        np.savez_compressed(
            target.with_suffix(".npz"), rows=given.astype(str) if given.dtype == object else given, **arrays
        )


if __name__ == "__main__":
    main()
