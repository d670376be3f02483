"""Compiled Fourier transforms: against NumPy's in float64, by the rounding errors that their passes may make."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.templates.fourier_plan import convolved, plan_of, radices, roots

from ..compiled.forms import Bench, Tolerance
from ..compiled.running import run_compiled

LENGTHS = [
    *(("float32", n) for n in (1, 2, 3, 16, 49, 72, 135, 250, 1009, 1024, 3 << 11)),
    *(("float64", n) for n in (30, 48, 128)),
]
"""Every radix and form of pass, whole blocks and ends that overlap; by convolution; on the stack and in the arena."""
KINDS: list[tuple[int, dict[str, Any]]] = [
    (1, {}), (1, {"onesided": True}), (2, {}), (2, {"inverse": True}), (2, {"inverse": True, "onesided": True}),
]  # fmt: skip


def transformed(x: np.ndarray, length: int, inverse: bool = False, onesided: bool = False) -> np.ndarray:
    """By NumPy, in float64."""
    z = x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if inverse and onesided:
        return np.fft.irfft(z, length)[..., None]
    y = (np.fft.ifft if inverse else np.fft.fft)(z, length)
    y = y[..., : length // 2 + 1] if onesided else y
    return np.stack([y.real, y.imag], -1)


def check(got: np.ndarray, expected: np.ndarray, length: int) -> None:
    """Errors grow as the root of the number of passes, beside the size of the whole result."""
    assert got.shape == expected.shape
    scale = math.sqrt((expected**2).mean()) or 1.0
    bound = 3 * np.finfo(got.dtype).eps * (2 + math.log2(length))
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=0, atol=bound * scale)


@pytest.mark.parametrize(("dtype", "length"), LENGTHS)
def test_lengths(dtype: str, length: int) -> None:
    bench = Bench(Random(length))
    signals = []
    for parts, options in KINDS:
        back = options.get("inverse") and options.get("onesided")
        x = bench.numbers.normal(size=(2, length // 2 + 1 if back else length, parts)).astype(dtype)
        signals.append((bench.maker.call("dft", bench.input(x, dtype), length, **options), x, options))
    graph = bench.maker.graph(**{f"y{i}": y for i, (y, *_) in enumerate(signals)})
    got = run_compiled(graph, bench.maker.constants, bench.feeds, optimise=False, split=True, threads=3)
    for i, (_, x, options) in enumerate(signals):
        check(got[f"y{i}"], transformed(x, length, **options), length)


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_forms_of_operands(data: st.DataObject) -> None:
    """Operands and results that lie anyhow in memory; signals that are cut off or go on with zeros."""
    bench = Bench(Random(data.draw(st.integers(0, 2**20))))
    length = data.draw(st.sampled_from([7, 80]))
    parts, options = data.draw(st.sampled_from(KINDS))
    signal = data.draw(st.sampled_from([1, length - 1, length, length + 3]))
    shape = (*data.draw(st.sampled_from([(), (3,), (2, 3)])), signal, parts)
    x = bench.numbers.normal(size=shape)
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    y = bench.maker.call("dft", bench.operand(x, dtype), length, **options)
    bench.check(bench.result(y), Tolerance(scaled=1e-5, absolute=1e-5, signed_zeros=False))


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("length", "step"), [(80, 30), (7, 7), (37, 50)])
def test_stretches(length: int, step: int, parts: int, windowed: bool) -> None:
    bench = Bench(Random(step))
    signal = bench.operand(bench.numbers.normal(size=(2, 200, parts)), "float32")
    given_ = {"window": bench.operand(bench.numbers.normal(size=length), "float32")} if windowed else {}
    for onesided in (False, True):
        y = bench.maker.call("stft", signal, length, step, onesided=onesided, **given_)
        bench.check(bench.result(y), Tolerance(scaled=1e-5, absolute=2e-5, signed_zeros=False))


def test_a_transform_does_not_depend_on_those_beside_it() -> None:
    """Not on how many there are, nor on what they hold."""
    x = np.random.default_rng(0).normal(size=(9, 144, 1)).astype(np.float32)
    alone = _run(x[4:5])
    x[3], x[5, 7] = np.nan, np.inf
    assert np.array_equal(_run(x)[4:5], alone)


def _run(x: np.ndarray) -> np.ndarray:
    bench = Bench(Random(1))
    graph = bench.maker.graph(y=bench.maker.call("dft", bench.input(x, "float32"), x.shape[1], onesided=True))
    result: np.ndarray = run_compiled(graph, bench.maker.constants, bench.feeds, optimise=False, split=True, threads=3)[
        "y"
    ]
    return result


@given(st.integers(1, 5000))
def test_plans(length: int) -> None:
    found = radices(length)
    if found is None:
        size = convolved(length)
        assert size >= 2 * length - 1 and radices(size) is not None
        return
    assert math.prod(found) == length
    plan = plan_of(length, "float32")
    assert [p.radix for p in plan.passes] == found
    for step in plan.passes:
        assert step.s * step.m * step.radix == length and step.lanes <= max(step.s * step.m, 1)


@given(st.integers(0, 10**6), st.integers(1, 10**5))
def test_roots_of_unity(turns: int, size: int) -> None:
    """Exact at eighths of a turn, mirrored exactly, and on the circle."""
    (root,) = roots(np.array([turns]), size)
    (mirrored,) = roots(np.array([-turns]), size)
    assert root == mirrored.conj() and abs(abs(root) - 1) < 3e-16
    np.testing.assert_allclose(root, np.exp(-2j * np.pi * (turns % size) / size), rtol=0, atol=1e-15)
    assert roots(np.array([1, 2]), 4).tolist() == [-1j, -1]
