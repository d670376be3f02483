"""Convolutions by tiles of bfloat16 pieces: every kind of window, layouts, numbers that cannot be split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.interpret import Interpreter
from basalt.compiler.ir import Value
from basalt.compiler.kernels.target import matrix_products
from basalt.compiler.lower import lower_graph
from basalt.compiler.passes.fuse import fuse
from basalt.compiler.templates import split_conv

from .harness import Maker, check, compiled, numbers

pytestmark = pytest.mark.skipif(
    "bfloat16" not in matrix_products(), reason="this CPU does not multiply tiles of bfloat16"
)


@pytest.fixture(autouse=True)
def whatever_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other kernels would be faster for some of these sizes."""
    monkeypatch.setattr(split_conv, "_gains", lambda *_: True)


def convolution(
    m: Maker, image: tuple[int, ...], outputs: int, taps: tuple[int, int], **options: Any
) -> tuple[Value, Value, np.ndarray]:
    """The image, the result and the filter of a convolution that keeps channels last."""
    x = m.input("x", "float32", image)
    weights = numbers(2, (outputs, image[3], *taps))
    bias = m.constant(numbers(3, (outputs,)))
    return x, m.conv2d(x, m.constant(weights), bias=bias, input_layout="nhwc", **options), weights


def is_split(m: Maker, **outputs: Value) -> bool:
    spec = lower_graph(fuse(m.graph(**outputs)), m.constants)
    return any("amx_window_32" in kernel.names for kernel in spec.kernels)


@pytest.mark.parametrize(
    ("image", "outputs", "taps", "options"),
    [
        ((1, 20, 30, 64), 64, (3, 3), {"padding": (1, 1, 1, 1)}),
        ((2, 7, 7, 128), 96, (3, 3), {"padding": (1, 1, 1, 1)}),
        ((1, 21, 70, 64), 64, (3, 3), {"strides": (2, 2), "padding": (0, 1, 1, 0)}),
        ((2, 24, 40, 48), 72, (3, 2), {"dilations": (2, 3), "padding": (3, 1, 2, 4)}),
        ((1, 33, 30, 128), 130, (1, 1), {}),
        ((1, 1, 150, 96), 64, (1, 5), {"padding": (0, 0, 2, 2)}),
        ((1, 20, 33, 100), 64, (3, 3), {"strides": (1, 2)}),
    ],
)
def test_windows(image: tuple[int, ...], outputs: int, taps: tuple[int, int], options: dict[str, Any]) -> None:
    m = Maker()
    _, y, _ = convolution(m, image, outputs, taps, **options)
    assert is_split(m, y=y)
    check(m, {"x": numbers(1, image)}, y=y)


def test_fused_operators_and_an_image_with_channels_first() -> None:
    m, shape = Maker(), (2, 64, 20, 18)
    x = m.transpose(m.input("x", "float32", shape), permutation=(0, 2, 3, 1))
    f = m.constant(numbers(2, (64, 64, 3, 3)))
    y = m.conv2d(x, f, padding=(1, 1, 1, 1), input_layout="nhwc")
    r = m.input("r", "float32", y.shape)
    z = m.relu(m.add(y, r))
    assert is_split(m, z=z, y=y)
    check(m, {"x": numbers(1, shape), "r": numbers(4, y.shape)}, z=z, y=y)


@pytest.mark.parametrize("number", [np.inf, np.nan, -3.4e38])
@pytest.mark.parametrize("options", [{"padding": (1, 1, 1, 1)}, {"strides": (2, 2), "padding": (1, 0, 0, 1)}])
def test_images_with_numbers_that_cannot_be_split(number: float, options: dict[str, Any]) -> None:
    m, image = Maker(), (2, 33, 65, 48)
    _, y, _ = convolution(m, image, 64, (3, 3), **options)
    assert is_split(m, y=y)
    x = numbers(1, image)
    x[1, 5, 7, 40] = number
    graph = m.graph(y=y)
    with np.errstate(all="ignore"):
        expected = Interpreter(graph, m.constants).run({"x": x})["y"]
    result = compiled(graph, m.constants, {"x": x})["y"]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    assert np.isfinite(result[0]).all() and not (np.abs(result[1]) < 1e30).all()


def test_images_are_split_once_for_all_that_read_them_alike() -> None:
    m, image = Maker(), (1, 20, 30, 64)
    x = m.input("x", "float32", image)
    outputs = {
        f"y{i}": m.conv2d(x, m.constant(numbers(i, (64, 64, 3, 3))), padding=(1, 1, 1, 1), input_layout="nhwc")
        for i in range(2)
    }
    spec = lower_graph(fuse(m.graph(**outputs)), m.constants)
    labels = [spec.kernels[row.kernel].label for row in spec.rows]
    assert labels.count("split image") == 1
    check(m, {"x": numbers(1, image)}, **outputs)
