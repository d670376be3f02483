"""scikit-learn estimators: latency of one row, throughput of many.

Data are made by ``make_classification`` with 20 features of which 12 tell the classes apart; 4,000 rows are fitted,
a million others are predicted. What is compared are numbers that each library gives without more work than the others:
probabilities of classifiers, decisions of the SVC, clusters of KMeans.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from ..checking import ROWS
from . import Case, Options

__all__ = ["PEERS", "build", "cases"]

PEERS = ("basalt-f32", "sklearn", "ort", "ort-f64", "treelite", "tl2cgen")
FEATURES = 20
_FITTED, _PREDICTED, _PREDICTED_QUICK = 4_000, 1_000_000, 10_000
_SIZES = (1, 10_000, 1_000_000)
_SIZES_QUICK = (1, 1_000)
_CHECKED = 10_000
_METHODS = {
    "logistic": "predict_proba",
    "forest": "predict_proba",
    "histboosting": "predict_proba",
    "kmeans": "predict",
    "svc": "decision_function",
    "mlp": "predict_proba",
}
# float32 peers round thresholds: a row that lies on one goes the other way there. Of labels: the share of rows.
_TOLERANCES = {"forest": 0.05, "histboosting": 0.05, "kmeans": 1e-3, "svc": 1e-3}


def cases(options: Options) -> list[Case]:
    """An estimator at a number of rows each."""
    found = []
    for name, method in _METHODS.items():
        for rows in _SIZES_QUICK if options.quick else _SIZES:
            params = {"kind": "estimator", "model": name, "method": method, "rows": rows, "quick": options.quick}
            if name == "kmeans":
                params["labels"] = True
            probe = {"rows": _CHECKED} if rows > _CHECKED else None
            tolerance = _TOLERANCES.get(name, 1e-4)
            problem = f"{name}-quick" if options.quick else name
            found.append(Case("sklearn", f"{name}/{rows}", problem, params, tolerance, {"rows": rows}, probe))
    return found


def build(case: Case, folder: Path) -> None:
    """Fit the estimator; write it, the rows to predict, and what it gives for those that are checked."""
    from sklearn.datasets import make_classification

    many = _PREDICTED_QUICK if case.params["quick"] else _PREDICTED
    rows, targets = make_classification(
        n_samples=_FITTED + many, n_features=FEATURES, n_informative=12, n_redundant=4, class_sep=0.8, random_state=7
    )
    # Rows are numbers that float32 holds exactly: what is then left of the difference between types is arithmetic.
    rows = rows.astype(np.float32).astype(np.float64)
    fitted = _estimators()[case.params["model"]].fit(rows[:_FITTED], targets[:_FITTED])
    predicted = np.ascontiguousarray(rows[_FITTED:])
    checked = np.concatenate([np.arange(min(many, _CHECKED)), np.arange(_CHECKED, many, 100)])
    expected = getattr(fitted, case.params["method"])(predicted[checked])
    np.save(folder / "rows.npy", predicted)
    np.savez(folder / "expected.npz", **{ROWS: checked, "y": expected})
    with open(folder / "estimator.pkl", "wb") as file:
        pickle.dump(fitted, file)


def _estimators() -> dict[str, Any]:
    from sklearn.cluster import KMeans
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "forest": RandomForestClassifier(n_estimators=100, random_state=0),
        "histboosting": HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0),
        "kmeans": KMeans(n_clusters=8, n_init=1, random_state=0),
        "svc": SVC(),
        "mlp": MLPClassifier(hidden_layer_sizes=(100, 50), max_iter=60, random_state=0),
    }
