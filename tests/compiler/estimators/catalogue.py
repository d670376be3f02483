"""A small fitted estimator of every class that is translated, in the variants that compute something else."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .estimator_checks import dataset


@dataclass(frozen=True)
class Case:
    """How an estimator is made, and the names of what it is fitted to (see ``data``)."""

    make: Callable[[], Any]
    rows: str
    targets: str


@functools.cache
def data(name: str) -> Any:
    """Rows or targets of iris (three classes), breast cancer (two) or diabetes (numbers), of 90 rows and 4 features."""
    iris, classes = dataset("iris")
    cancer, binary = dataset("breast_cancer")
    diabetes, numbers = dataset("diabetes")
    # No two rows are at equal distances from a third.
    noise = 1e-2 * np.random.default_rng(0).normal(size=(90, 4))
    gaps = iris[:90] + noise
    gaps[::5, 1] = np.nan
    found = {
        "iris": iris[:90] + noise + 0.1,
        "cancer": cancer[:90, :4] / cancer[:, :4].max(axis=0) + 0.1 * noise,
        "diabetes": diabetes[:90, :4] * 10 + 0.1 * noise,
        "gaps": gaps,
        "kinds": np.round(iris[:90]),
        "classes": np.array(["setosa", "versicolor", "virginica"])[classes[:90]],
        "binary": binary[:90],
        "numbers": numbers[:90],
        "two numbers": np.stack([numbers[:90], 10 - 2 * numbers[:90]], axis=1),
        "two classes": np.stack([classes[:90], binary[:90]], axis=1),
        "bits": np.stack([binary[:90], classes[:90] > 0], axis=1).astype(int),
        "none": None,
    }
    return found[name]


def _cases() -> dict[str, Case]:
    from . import catalogue_models, catalogue_transformers

    groups = {
        ("iris", "none"): catalogue_transformers.transformers() + catalogue_models.unsupervised(),
        ("gaps", "none"): catalogue_transformers.imputers(),
        ("kinds", "none"): catalogue_transformers.encoders(),
        ("iris", "classes"): catalogue_transformers.selectors() + catalogue_models.classifiers(),
        ("cancer", "binary"): catalogue_models.classifiers() + catalogue_models.binary_classifiers(),
        ("diabetes", "numbers"): catalogue_models.regressors(),
        ("diabetes", "two numbers"): catalogue_models.regressors_of_several(),
        ("cancer", "two classes"): catalogue_models.classifiers_of_several(),
        ("cancer", "bits"): catalogue_models.classifiers_of_labels(),
    }
    found = {}
    for (rows, targets), models in groups.items():
        for model in models:
            name = f"{' '.join(str(model).split())} of {rows} and {targets}"
            assert name not in found, name
            found[name] = Case(functools.partial(_clone, model), rows, targets)
    return found


def _clone(model: Any) -> Any:
    from sklearn.base import clone

    return clone(model)


@functools.cache
def cases() -> dict[str, Case]:
    """The cases by name; none without scikit-learn."""
    try:
        import sklearn
    except ModuleNotFoundError:
        return {}
    with sklearn.config_context(print_changed_only=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _cases()


@functools.cache
def fitted(name: str) -> Any:
    """The fitted estimator of a case."""
    case = cases()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.make().fit(data(case.rows), data(case.targets))
