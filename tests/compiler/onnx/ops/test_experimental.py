"""Experimental operators that the standard has dropped."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.errors import ValidationError

from .one_node import close, run, sample

X = sample("float32", (2, 3, 5, 4))


@pytest.mark.parametrize("compiled", [False, True])
def test_activations(compiled: bool) -> None:
    how = {"compiled": compiled}
    close(run("Affine", 1, X, alpha=2.0, beta=0.5, **how), 2 * X + 0.5, "float32")
    close(run("Scale", 6, X, scale=3.0, **how), 3 * X, "float32")
    close(run("ScaledTanh", 1, X, alpha=2.0, beta=0.5, **how), 2 * np.tanh(0.5 * X), "float32")
    softplus = run("ParametricSoftplus", 1, X, alpha=2.0, beta=0.5, **how)
    close(softplus, 2 * np.log1p(np.exp(0.5 * X)), "float32")
    close(run("ThresholdedRelu", 7, X, alpha=0.5, **how), np.where(X > 0.5, X, 0), "float32")
    close(run("ThresholdedRelu", 1, X, **how), np.where(X > 1, X, 0), "float32")


def test_images() -> None:
    scaled = run("ImageScaler", 1, X, scale=0.5, bias=[1.0, 2.0, 3.0])
    close(scaled, 0.5 * X + np.array([1, 2, 3], np.float32).reshape(3, 1, 1), "float32")
    close(run("ImageScaler", 1, X, scale=0.5), 0.5 * X, "float32")
    close(run("Crop", 1, X, border=[1, 2, 0, 1]), X[:, :, 2:4, 1:], "float32")
    close(run("Crop", 1, X, border=[1, 2, 0, 0], scale=[2, 3], symbolic=True), X[:, :, 2:4, 1:4], "float32")
    with pytest.raises(ValidationError, match="rank 4"):
        run("Crop", 1, X[0], border=[1, 2, 0, 1])


def test_slices() -> None:
    starts, ends, axes = np.array([1]), np.array([3]), np.array([2])
    close(run("DynamicSlice", 9, X, starts, ends, axes, known=(1, 2, 3)), X[:, :, 1:3], "float32")


def test_fills() -> None:
    close(run("ConstantFill", 1, shape=[2, 3], value=2.0), np.full((2, 3), 2), "float32")
    found = run("ConstantFill", 1, np.array([2, 3]), value=2.0, dtype=7, input_as_shape=1, extra_shape=[4], known=(0,))
    close(found, np.full((2, 3, 4), 2), "int64")
    close(run("ConstantFill", 1, X, value=2.0), np.full(X.shape, 2), "float32")
    close(run("GivenTensorFill", 1, shape=[2, 2], values=[1.0, 2.0, 3.0, 4.0]), [[1, 2], [3, 4]], "float32")
