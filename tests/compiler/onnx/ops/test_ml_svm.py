"""Support vector machines of ai.onnx.ml against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ml_models import FLOAT, LABELLED, STRING, check

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(12, 3)).astype(np.float32)


def numbers(*shape: int) -> list[float]:
    return [float(v) for v in RNG.normal(size=shape).astype(np.float32).reshape(-1)]


def machine(kind: str, per_class: list[int]) -> dict[str, Any]:
    classes, count = len(per_class), sum(per_class)
    return {
        "kernel_type": kind,
        "kernel_params": [0.5, 0.25, 2.0],
        "support_vectors": numbers(count, 3),
        "vectors_per_class": per_class,
        "coefficients": numbers(classes - 1, count),
        "rho": numbers(classes * (classes - 1) // 2),
    }


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_classifier(kind: str) -> None:
    check("SVMClassifier", {**machine(kind, [3, 2, 4]), "classlabels_ints": [5, 6, 7]}, {"X": ROWS}, LABELLED)


def test_classifier_of_two_classes() -> None:
    attributes = {**machine("RBF", [3, 4]), "classlabels_ints": [5, 6]}
    check("SVMClassifier", attributes, {"X": ROWS}, LABELLED)


def test_probabilities() -> None:
    attributes = {**machine("RBF", [3, 2, 4]), "prob_a": [-1.0, -2.0, -1.5], "prob_b": [0.1, 0.2, -0.1]}
    check("SVMClassifier", {**attributes, "classlabels_ints": [5, 6, 7]}, {"X": ROWS}, LABELLED)


def test_labels_that_are_strings() -> None:
    attributes = {**machine("LINEAR", [3, 2, 4]), "classlabels_strings": ["a", "b", "c"]}
    check("SVMClassifier", attributes, {"X": ROWS}, (("labels", STRING), ("scores", FLOAT)))


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("one_class", [0, 1])
def test_regressor(kind: str, one_class: int) -> None:
    attributes = {
        "kernel_type": kind,
        "kernel_params": [0.5, 0.25, 3.0],
        "support_vectors": numbers(5, 3),
        "n_supports": 5,
        "coefficients": numbers(5),
        "rho": [0.125],
        "one_class": one_class,
    }
    check("SVMRegressor", attributes, {"X": ROWS}, (("Y", FLOAT),))


def test_linear_regressor_without_vectors() -> None:
    attributes = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0], "n_supports": 0, "rho": [0.5]}
    attributes["coefficients"] = numbers(3)
    check("SVMRegressor", attributes, {"X": ROWS}, (("Y", FLOAT),))
