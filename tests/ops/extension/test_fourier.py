"""dft and stft: against sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, output


def sums(x: np.ndarray, length: int, sign: int) -> np.ndarray:
    """The transform of [..., signal, 1 or 2] by its definition, as complex numbers."""
    z = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    z = z[..., :length]
    waves = np.exp(sign * 2j * np.pi * np.outer(np.arange(z.shape[-1]), np.arange(length)) / length)
    return z @ waves


def pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], -1)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("signal", "length"), [(6, 6), (5, 8), (9, 4), (1, 1), (3, 7)])
def test_transforms(signal: int, length: int, parts: int) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, signal, parts))
    forward, back = pairs(sums(x, length, -1)), pairs(sums(x, length, 1)) / length
    np.testing.assert_allclose(output("dft", x, length), forward, atol=1e-12)
    np.testing.assert_allclose(output("dft", x, length, onesided=True), forward[..., : length // 2 + 1, :], atol=1e-12)
    np.testing.assert_allclose(output("dft", x, length, inverse=True), back, atol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 7, 8])
def test_real_signals_come_back(length: int) -> None:
    x = np.random.default_rng(1).normal(size=(2, length, 1))
    half = output("dft", x, length, onesided=True)
    half[:, 0, 1] = 5  # imaginary parts that no real signal has
    np.testing.assert_allclose(output("dft", half, length, inverse=True, onesided=True), x, atol=1e-12)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("windowed", [False, True])
def test_stretches(parts: int, windowed: bool) -> None:
    random = np.random.default_rng(2)
    x, window = random.normal(size=(2, 11, parts)), random.normal(size=4)
    frames = np.stack([x[:, i : i + 4] for i in (0, 3, 6)], 1)
    given = {"window": window} if windowed else {}
    expected = pairs(sums(frames * (window[:, None] if windowed else 1), 4, -1))
    np.testing.assert_allclose(output("stft", x, 4, 3, **given), expected, atol=1e-12)
    np.testing.assert_allclose(output("stft", x, 4, 3, onesided=True, **given), expected[..., :3, :], atol=1e-12)


def test_types() -> None:
    assert infer("dft", "float32[b, 2, t, 1]", positional=(6,)) == ["float32[b, 2, 6, 2]"]
    assert infer("dft", "float64[b, 2, t, 2]", positional=(6,), onesided=True) == ["float64[b, 2, 4, 2]"]
    assert infer("dft", "float32[4, 2]", positional=(6,), onesided=True, inverse=True) == ["float32[6, 1]"]
    assert infer("stft", "float32[2, 11, 1]", None, positional=(4, 3)) == ["float32[2, 3, 4, 2]"]
    assert infer("stft", "float32[2, 3, 1]", None, positional=(4, 3)) == ["float32[2, 0, 4, 2]"]


@pytest.mark.parametrize(
    ("op", "types", "positional", "message"),
    [
        ("dft", ["float32[2, 4, 3]"], (4,), "the last dimension is 3"),
        ("dft", ["int32[2, 4, 1]"], (4,), "input is int32"),
        ("dft", ["float32[2, 4, 1]"], (0,), "length"),
        ("stft", ["float32[2, 4, 3]", None], (4, 1), "the last dimension is 3"),
        ("stft", ["float32[2, 4, 1]", "float32[3]"], (4, 1), "window"),
        ("stft", ["float32[2, 4, 1]", "float64[4]"], (4, 1), "window is float64"),
        ("stft", ["float32[2, 4, 1]", None], (4, 0), "step"),
    ],
)
def test_refused(op: str, types: list[str | None], positional: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        infer(op, *types, positional=positional)
