"""The optimisers, against the recurrences written out for one number."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.onnx.host.registry import PREVIEW_TRAINING
from basalt.errors import ValidationError

from .nodes import close, run

R, T = np.array(0.1), np.array(3)


def one(value: float) -> np.ndarray:
    return np.array([value])


def test_adam() -> None:
    x, g, v, h = 2.0, 0.5, 0.3, 0.2
    attributes = {"alpha": 0.9, "beta": 0.99, "epsilon": 1e-3, "norm_coefficient": 0.1, "norm_coefficient_post": 0.01}
    regularized = 0.1 * x + g
    new_v, new_h = 0.9 * v + 0.1 * regularized, 0.99 * h + 0.01 * regularized**2
    rate = 0.1 * (1 - 0.99**3) ** 0.5 / (1 - 0.9**3)
    expected = (1 - 0.01) * (x - rate * new_v / (new_h**0.5 + 1e-3))
    got = run("Adam", 1, R, T, one(x), one(g), one(v), one(h), domain=PREVIEW_TRAINING, **attributes)
    close(got, (one(expected), one(new_v), one(new_h)))


def test_adagrad_of_two_tensors() -> None:
    inputs = [one(2.0), one(3.0), one(0.5), one(0.4), one(0.3), one(0.2)]
    got = run(
        "Adagrad", 1, R, T, *inputs, domain=PREVIEW_TRAINING, decay_factor=0.5, epsilon=1e-3, norm_coefficient=0.1
    )
    wanted = []
    for x, g, h in ((2.0, 0.5, 0.3), (3.0, 0.4, 0.2)):
        regularized = 0.1 * x + g
        squares = h + regularized**2
        wanted.append((x - 0.1 / 2.5 * regularized / (squares**0.5 + 1e-3), squares))
    close(got, (one(wanted[0][0]), one(wanted[1][0]), one(wanted[0][1]), one(wanted[1][1])))


@pytest.mark.parametrize("mode", ["standard", "nesterov"])
@pytest.mark.parametrize("count", [0, 3])
def test_momentum(mode: str, count: int) -> None:
    attributes = {"alpha": 0.9, "beta": 0.5, "norm_coefficient": 0.1, "mode": mode}
    got = run("Momentum", 1, R, np.array(count), one(2.0), one(0.5), one(0.3), domain=PREVIEW_TRAINING, **attributes)
    regularized = 0.1 * 2 + 0.5
    moved = 0.9 * 0.3 + (0.5 if count else 1) * regularized
    direction = moved if mode == "standard" else regularized + 0.9 * moved
    close(got, (one(2 - 0.1 * direction), one(moved)))


def test_wrong_inputs() -> None:
    with pytest.raises(ValidationError, match="as many each"):
        run("Adagrad", 1, R, T, one(1), one(1), domain=PREVIEW_TRAINING)
    with pytest.raises(ValidationError, match="alike"):
        run("Adagrad", 1, R, T, one(1), np.zeros(2), one(1), domain=PREVIEW_TRAINING)
    with pytest.raises(ValidationError, match="mode"):
        run(
            "Momentum",
            1,
            R,
            T,
            one(1),
            one(1),
            one(1),
            domain=PREVIEW_TRAINING,
            alpha=1.0,
            beta=1.0,
            norm_coefficient=0.0,
            mode="x",
        )
