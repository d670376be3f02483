"""Every class that is translated, in its variants, against scikit-learn: rows of all forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.estimators.families import __all__ as families
from basalt.compiler.estimators.registry import class_name, known_classes

from .catalogue import cases, data, fitted
from .estimator_checks import METHODS, compare

pytest.importorskip("sklearn")

IN_DATA_FRAMES_AND_THE_LIKE = {"ColumnTransformer", "HalvingGridSearchCV", "HalvingRandomSearchCV"}
"""Halving searches are experimental, and other searches but for how they fit."""


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled is compared with the operators' semantics elsewhere; here is what is emitted."""
    monkeypatch.setenv("BASALT_DEBUG", "interpret")


def forms(rows: np.ndarray) -> list[Any]:
    """Rows as callers have them: few, one, in Fortran order, lists, and some that are far."""
    return [rows[:40], rows[:1], np.asfortranarray(rows[:6]), rows[:3].tolist(), rows[:4] * 100]


def results(model: Any, method: str, rows: Any) -> Any:
    """The results of a method; None where it refuses the rows with a ValueError."""
    try:
        with np.errstate(all="ignore"):
            return getattr(model, method)(rows)
    except ValueError:
        return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases(), ids=list(cases()))
def test_gives_what_scikit_learn_gives(name: str) -> None:
    model, rows = fitted(name), data(cases()[name].rows)
    # What boosting starts from was fitted to float32 rows, and computes in float32 there.
    tolerance = 1e-6 if "init=L" in name else 1e-8
    estimator = basalt.from_sklearn(model)
    require_names(model, estimator)
    own = {m for m in METHODS if hasattr(model, m)}
    assert own - set(estimator.methods) <= lacking(model)
    assert set(estimator.methods) <= own | {"inverse_transform"}
    for method in set(estimator.methods) - {"inverse_transform"}:
        for given in forms(rows):
            expected, found = results(model, method, np.array(given)), results(estimator, method, given)
            assert (expected is None) == (found is None), (method, given)
            if expected is not None:
                compare(expected, found, tolerance, method)
    if "inverse_transform" in estimator.methods:
        given = model.transform(rows[:20])
        compare(model.inverse_transform(given), estimator.inverse_transform(given), 1e-8, "inverse_transform")


def lacking(model: Any) -> set[str]:
    """Methods that scikit-learn has, but that raise whatever they are given."""
    if class_name(model) == "ClassifierChain" and not hasattr(model.estimators_[0], "predict_proba"):
        return {"predict_log_proba", "decision_function"}
    return set()


def require_names(model: Any, estimator: basalt.Estimator) -> None:
    """Require the same attributes that name features and classes."""
    assert estimator.n_features_in_ == model.n_features_in_
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list) and class_name(model) != "ClassifierChain":
        assert all(np.array_equal(a, b) for a, b in zip(estimator.classes_, classes, strict=True))
    elif classes is not None and hasattr(estimator, "classes_"):
        assert np.array_equal(estimator.classes_, classes)
    try:
        expected = model.get_feature_names_out()
    except (AttributeError, NotImplementedError, ValueError):
        assert not hasattr(estimator, "get_feature_names_out")
        return
    assert estimator.get_feature_names_out().tolist() == list(expected)
    with pytest.raises(basalt.ValidationError, match="input_features differ"):
        estimator.get_feature_names_out(["other"])


def test_every_class_is_in_the_catalogue() -> None:
    assert families
    held = {class_name(fitted(name)) for name in cases()}
    assert known_classes().keys() - held <= IN_DATA_FRAMES_AND_THE_LIKE
