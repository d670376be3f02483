"""The digits example: its layers' gradients, its split, and the model it ships."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "digits"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import one of the example's scripts as the example itself does."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for module in ("layers", "train"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return importlib.import_module(name)


@pytest.mark.parametrize("name", ["Conv3x3", "Relu", "MaxPool2x2", "Dense"])
def test_gradients_agree_with_finite_differences(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = load("layers", monkeypatch)
    rng = np.random.default_rng(7)
    arguments = {"Conv3x3": (rng, 3, 4), "Dense": (rng, 3 * 16, 5)}.get(name, ())
    layer = getattr(layers, name)(*arguments)
    layer.parameters = {key: value.astype(np.float64) for key, value in layer.parameters.items()}
    x = rng.standard_normal((2, 3, 4, 4))
    upstream = rng.standard_normal(layer.forward(x).shape)
    dx = layer.backward(upstream)
    gradients = dict(layer.gradients)
    for key, array in {"x": x, **layer.parameters}.items():
        analytic = dx if key == "x" else gradients[key]
        for index in rng.choice(array.size, size=min(array.size, 20), replace=False):
            numeric = directional_derivative(layer, x, upstream, array, int(index))
            assert analytic.flat[index] == pytest.approx(numeric, rel=1e-5, abs=1e-7)


def directional_derivative(layer: object, x: np.ndarray, upstream: np.ndarray, array: np.ndarray, index: int) -> float:
    """Central difference of sum(upstream * forward(x)) by one element of ``array``."""
    step, kept, values = 1e-6, array.flat[index], []
    for sign in (1, -1):
        array.flat[index] = kept + sign * step
        values.append(float((layer.forward(x) * upstream).sum()))  # type: ignore[attr-defined]
    array.flat[index] = kept
    return (values[0] - values[1]) / (2 * step)


def test_cross_entropy_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = load("layers", monkeypatch)
    logits = np.random.default_rng(3).standard_normal((4, 10))
    labels = np.array([1, 9, 0, 4])
    _, gradient = layers.cross_entropy(logits, labels)
    for row, column in [(0, 1), (1, 2), (3, 4)]:
        nudged = [logits.copy(), logits.copy()]
        nudged[0][row, column] += 1e-6
        nudged[1][row, column] -= 1e-6
        numeric = (layers.cross_entropy(nudged[0], labels)[0] - layers.cross_entropy(nudged[1], labels)[0]) / 2e-6
        assert gradient[row, column] == pytest.approx(numeric, rel=1e-3, abs=1e-6)


def test_shipped_test_images_are_the_stratified_held_back_set(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    train_x, _, test_x, test_y = load("train", monkeypatch).load_split()
    with np.load(FOLDER / "test_images.npz") as shipped:
        np.testing.assert_array_equal(shipped["images"], test_x)
        np.testing.assert_array_equal(shipped["labels"], test_y)
    assert len(test_x) == 360
    assert len(train_x) + len(test_x) == 1797
    assert np.bincount(test_y).min() >= 34
    seen = {image.tobytes() for image in train_x}
    assert not any(image.tobytes() in seen for image in test_x)
