"""The translators, by family."""

from __future__ import annotations

from . import (
    bayes,
    boosting,
    clusters,
    composition,
    decomposition,
    encoders,
    forests,
    imputation,
    linear,
    neighbours,
    neural,
    scalers,
    selection,
    svm,
)

__all__ = [
    "bayes",
    "boosting",
    "clusters",
    "composition",
    "decomposition",
    "encoders",
    "forests",
    "imputation",
    "linear",
    "neighbours",
    "neural",
    "scalers",
    "selection",
    "svm",
]
