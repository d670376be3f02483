"""DFT, STFT, windows and MelWeightMatrix of ai.onnx."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.errors import BasaltError

from .one_node import run

RNG = np.random.default_rng(3)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def parts(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], -1)


def reference(x: np.ndarray, length: int, axis: int, inverse: bool, onesided: bool) -> np.ndarray:
    z = x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if inverse and onesided:
        return np.fft.irfft(z, length, axis)[..., None]
    y = (np.fft.ifft if inverse else np.fft.fft)(z, length, axis)
    return parts(np.take(y, range(length // 2 + 1), axis) if onesided else y)


def check(result: np.ndarray, expected: np.ndarray, bound: float = 2e-6) -> None:
    assert result.shape == expected.shape
    scale = np.abs(expected).max(initial=1e-9)
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=0, atol=bound * scale)


@settings(max_examples=60)
@given(
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1),
)
def test_any_length(signal: int, length: int, components: int, inverse: bool, onesided: bool, axis: int) -> None:
    """Signals that are cut off or go on with zeros, real and complex, along any axis."""
    shape = (2, signal, components) if axis else (signal, 2, components)
    x = random(*shape)
    how = {"inverse": int(inverse), "onesided": int(onesided), "compiled": False, "known": (1, 2)}
    y = run("DFT", 20, x, np.array(length), np.array(axis), **how)
    check(y, reference(x, length, axis, inverse, onesided))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("length", [600, 1021, 2053])
def test_long_transforms(length: int, onesided: int, compiled: bool) -> None:
    """By two factors, as one product, and as a convolution."""
    x = random(1, length, 1)
    for inverse in (0, 1):
        y = run("DFT", 17, x, axis=1, onesided=onesided, inverse=inverse, compiled=compiled)
        size = 2 * (length - 1) if inverse and onesided else length
        check(y, reference(x, size, 1, bool(inverse), bool(onesided)))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("version", [17, 20])
@pytest.mark.parametrize("length", [10, 12, 24])
def test_complex_signals(length: int, version: int, compiled: bool) -> None:
    x = random(3, length, 2)
    for inverse in (0, 1):
        check(run("DFT", version, x, inverse=inverse, compiled=compiled), reference(x, length, 1, bool(inverse), False))


def test_lengths_and_axes_that_a_run_gives() -> None:
    x = random(2, 6, 3, 1)
    for length, axis in ((6, 1), (8, 1), (2, -2)):
        y = run("DFT", 20, x, np.array(length), np.array(axis), compiled=False, symbolic=True)
        check(y, reference(x, length, axis if axis >= 0 else 2, False, False))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("version", [17, 20])
def test_types(version: int, dtype: Any) -> None:
    x = random(1, 8, 1).astype(dtype)
    y = run("DFT", version, x, onesided=1, compiled=False)
    assert y.dtype == dtype
    bound = {2: 1e-2, 8: 1e-14}[np.dtype(dtype).itemsize]
    check(y, reference(x, 8, 1, False, True), bound)


@pytest.mark.parametrize(
    ("shape", "attributes", "message"),
    [((2, 3, 3), {}, "last dimension"), ((2, 3, 1), {"axis": 2}, "axis"), ((2, 3, 1), {"axis": 4}, "axis")],
)
def test_refused(shape: tuple[int, ...], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(BasaltError, match=message):
        run("DFT", 17, random(*shape), **attributes)


def frames(x: np.ndarray, length: int, step: int) -> np.ndarray:
    count = max((x.shape[1] - length) // step + 1, 0)
    return np.stack([x[:, i * step : i * step + length] for i in range(count)], 1)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("windowed", ["no", "constant", "input"])
@pytest.mark.parametrize(("length", "step"), [(8, 3), (4, 4), (9, 2)])
def test_stft(length: int, step: int, windowed: str, components: int, compiled: bool) -> None:
    x, window = random(2, 20, components), random(length) if windowed != "no" else None
    for onesided in (0, 1):
        known = (1, 2, 3) if windowed == "constant" else (1, 3)
        how = {"onesided": onesided, "compiled": compiled, "known": known, "symbolic": not compiled}
        y = run("STFT", 17, x, np.array(step), window, np.array(length), **how)
        held = frames(x, length, step) * (1 if window is None else window[:, None])
        check(y, reference(held, length, 2, False, bool(onesided)))


def test_stft_defaults() -> None:
    x, window = random(1, 10, 1), random(4)
    y = run("STFT", 17, x, np.array(2), window, compiled=False)
    check(y, reference(frames(x, 4, 2) * window[:, None], 4, 2, False, True))
    check(run("STFT", 17, x, np.array(2), compiled=False), reference(frames(x, 10, 2), 10, 2, False, True))
    with pytest.raises(BasaltError, match="frame_length"):
        run("STFT", 17, x, np.array(2), window, np.array(5), known=(1, 3))


WINDOWS = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0), "BlackmanWindow": (0.42, 0.5, 0.08)}


@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("size", [0, 2, 9])
@pytest.mark.parametrize("op", WINDOWS)
def test_windows(op: str, size: int, periodic: int) -> None:
    """Of a size that is known, and of one that a run gives."""
    a, b, c = WINDOWS[op]
    turns = 2 * np.pi * np.arange(size) / (size if periodic else size - 1) if size else np.zeros(0)
    expected = a - b * np.cos(turns) + c * np.cos(2 * turns)
    for code, dtype in ((1, np.float32), (11, np.float64), (10, np.float16)):
        for known in ((0,), ()):
            y = run(op, 17, np.array(size), known=known, periodic=periodic, output_datatype=code, compiled=False)
            assert y.dtype == dtype
            np.testing.assert_allclose(
                y, expected, rtol=1e-3 if code == 10 else 1e-6, atol=2e-3 if code == 10 else 1e-7
            )


@pytest.mark.parametrize("compiled", [False, True])
def test_window_of_a_symbolic_size(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as an input's first axis."""
    from basalt.compiler.onnx.model import OnnxExecutable
    from basalt.serialization.onnx import OnnxType, OnnxValueInfo

    from ..making import model, node, value

    monkeypatch.setenv("BASALT_DEBUG", "verify" if compiled else "interpret")
    nodes = [node("Size", "x", "n"), node("BlackmanWindow", "n", "w"), node("Mul", "x w", "y")]
    made = model(nodes, [value("x", shape=("n",))], [OnnxValueInfo("y", OnnxType("tensor", "float32"))], opset=17)
    ready = OnnxExecutable(made, eager=False)
    for size in (8, 5):
        turns = 2 * np.pi * np.arange(size) / size
        expected = 0.42 - 0.5 * np.cos(turns) + 0.08 * np.cos(2 * turns)
        np.testing.assert_allclose(ready.run({"x": np.ones(size, np.float32)})["y"], expected, rtol=1e-5, atol=1e-6)


def test_mel_weight_matrix() -> None:
    """Triangles that peak at 1 and overlap by halves; the bins follow from the mel scale."""
    numbers = [np.array(8), np.array(64), np.array(8000), np.array(100.0, np.float32), np.array(3500.0, np.float32)]
    for known in ((0, 1, 2, 3, 4), ()):
        y = run("MelWeightMatrix", 17, *numbers, known=known, compiled=False)
        assert y.shape == (33, 8) and y.dtype == np.float32
        assert np.array_equal(y.max(0), np.ones(8)) and y.min() == 0
    peaks = y.argmax(0)
    mel = np.linspace(2595 * np.log10(1 + 100 / 700), 2595 * np.log10(1 + 3500 / 700), 11)[1:-1]
    hertz = 700 * (10 ** (mel / 2595) - 1)
    assert np.array_equal(peaks, (65 * hertz[:8] // 8000).astype(int))
    assert run("MelWeightMatrix", 17, *numbers, output_datatype=11, compiled=False).dtype == np.float64
    with pytest.raises(BasaltError, match="sample rate"):
        run("MelWeightMatrix", 17, *numbers[:4], np.array(9000.0, np.float32), known=(0, 1, 2, 3, 4))
