"""Normalizations in all versions and types, against their equations in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import BasaltError

from .one_node import allowed, close, executable, run, sample, tolerance, versions

EPSILON = float(np.float32(1e-5))


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def cases(op: str) -> list[tuple[int, str]]:
    return [(version, dtype) for version in versions(op) for dtype in allowed(op, version)]


def normalized(x: np.ndarray, axes: tuple[int, ...], epsilon: float = EPSILON) -> np.ndarray:
    x = wide(x)
    return np.asarray((x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon))


def along(v: np.ndarray, rank: int) -> np.ndarray:
    return wide(v).reshape(-1, *[1] * (rank - 2))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 2), (1, 3, 2, 3, 2)])
@pytest.mark.parametrize(("version", "dtype"), cases("InstanceNormalization"))
def test_instances(version: int, dtype: str, shape: tuple[int, ...]) -> None:
    x, scale, bias = sample(dtype, shape), sample(dtype, (3,), seed=1), sample(dtype, (3,), seed=2)
    y = run("InstanceNormalization", version, x, scale, bias, compiled=shape == (2, 3, 4), epsilon=0.5)
    rank = len(shape)
    wanted = normalized(x, tuple(range(2, rank)), 0.5) * along(scale, rank) + along(bias, rank)
    close(y, wanted, dtype, 8)


@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 5), (1, 6, 2, 3)])
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize(("version", "dtype"), cases("GroupNormalization"))
def test_groups(version: int, dtype: str, groups: int, shape: tuple[int, ...]) -> None:
    count = groups if version == 18 else 6
    x, scale, bias = sample(dtype, shape), sample(dtype, (count,), seed=1), sample(dtype, (count,), seed=2)
    y = run("GroupNormalization", version, x, scale, bias, compiled=groups == 2, num_groups=groups, epsilon=0.25)
    whole = normalized(x.reshape(shape[0], groups, -1), (2,), 0.25).reshape(shape)
    each = [np.repeat(v, 6 // count) for v in (scale, bias)]
    close(y, whole * along(each[0], len(shape)) + along(each[1], len(shape)), dtype, 16)


@given(
    st.sampled_from([c for c in cases("LayerNormalization") if c[0] == 17]),
    st.integers(-3, 2),
    st.booleans(),
    st.sampled_from(["whole", "last", "one", "full"]),
    st.integers(1, 3),
    st.booleans(),
)
def test_layers(case: Any, axis: int, biased: bool, parameters: str, outputs: int, symbolic: bool) -> None:
    version, dtype = case
    shape = (2, 3, 4)
    x = sample(dtype, shape)
    size = {"whole": shape[axis:], "last": (4,), "one": (1,), "full": shape}[parameters]
    scale, bias = sample(dtype, size, seed=1), sample(dtype, size, seed=2)
    inputs = [x, scale, bias] if biased else [x, scale]
    found = run("LayerNormalization", version, *inputs, outputs=outputs, compiled=False, symbolic=symbolic, axis=axis)
    axes = tuple(range(axis % 3, 3))
    wanted = normalized(x, axes) * wide(scale) + (wide(bias) if biased else 0)
    found = found if outputs > 1 else [found]
    close(found[0], wanted, dtype, 16)
    if outputs > 1:
        close(found[1], wide(x).mean(axes, keepdims=True), "float32", 4)
    if outputs > 2:
        close(found[2], 1 / np.sqrt(wide(x).var(axes, keepdims=True) + EPSILON), "float32", 4)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_layers_compiled(dtype: str, outputs: int) -> None:
    x, scale, bias = sample(dtype, (3, 8)), sample(dtype, (8,), seed=1), sample(dtype, (8,), seed=2)
    found = run("LayerNormalization", 17, x, scale, bias, outputs=outputs)
    y = found if outputs == 1 else found[0]
    close(y, normalized(x, (1,)) * wide(scale) + wide(bias), dtype, 16)


def test_statistics_in_bfloat16() -> None:
    x = sample("float32", (3, 8))
    _, mean, inverse = run("LayerNormalization", 17, x, x[0], outputs=3, compiled=False, stash_type=16)
    close(mean, wide(x).mean(1, keepdims=True), "bfloat16", 2)
    close(inverse, 1 / np.sqrt(wide(x).var(1, keepdims=True) + EPSILON), "bfloat16", 2)


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
@pytest.mark.parametrize("dtype", allowed("RMSNormalization", 23))
@pytest.mark.parametrize("scale_dtype", allowed("RMSNormalization", 23, 1))
def test_root_mean_squares(dtype: str, scale_dtype: str, axis: int) -> None:
    x, scale = sample(dtype, (2, 3, 4)), sample(scale_dtype, (4,), seed=1)
    y = run("RMSNormalization", 23, x, scale, compiled=axis == -1 and dtype == "float32", axis=axis)
    axes = tuple(range(axis % 3, 3))
    wanted = wide(x) / np.sqrt((wide(x) ** 2).mean(axes, keepdims=True) + EPSILON) * wide(scale)
    # All but float64 is computed in float32.
    computed = max(tolerance(scale_dtype), tolerance("float64" if dtype == "float64" else "float32"))
    close(y, wanted, scale_dtype, 16 * computed / tolerance(scale_dtype))


@pytest.mark.parametrize("axes", [None, [1], [0, -1], [0, 1, 2, 3]])
@pytest.mark.parametrize(("version", "dtype"), cases("MeanVarianceNormalization"))
def test_mean_and_variance(version: int, dtype: str, axes: list[int] | None) -> None:
    x = sample(dtype, (2, 3, 4, 2))
    stated = {} if axes is None else {"axes": axes}
    y = run("MeanVarianceNormalization", version, x, compiled=axes is None, **stated)
    chosen = tuple(axes or (0, 2, 3))
    spread = np.sqrt(wide(x).var(chosen, keepdims=True)) + 1e-9
    close(y, (wide(x) - wide(x).mean(chosen, keepdims=True)) / spread, dtype, 16)


def test_a_constant_has_no_variance() -> None:
    y = run("MeanVarianceNormalization", 13, np.full((2, 1, 2, 2), 0.1, np.float32), compiled=False)
    assert np.isfinite(y).all()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize(("version", "dtype"), cases("LpNormalization"))
def test_norms(version: int, dtype: str, axis: int, p: int) -> None:
    x = sample(dtype, (3, 4, 2))
    x[:, 1] = 0
    y = run("LpNormalization", version, x, compiled=dtype == "float32", axis=axis, p=p)
    norm = (np.abs(wide(x)) ** p).sum(axis, keepdims=True) ** (1 / p)
    close(y, np.divide(wide(x), norm, out=np.zeros(x.shape), where=norm != 0), dtype, 4)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("shape", [(2, 5), (2, 5, 3), (1, 5, 2, 3)])
@pytest.mark.parametrize(("version", "dtype"), cases("LRN"))
def test_local_responses(version: int, dtype: str, shape: tuple[int, ...], size: int) -> None:
    x = sample(dtype, shape)
    compiled = dtype == "float32" and size in (3, 12)
    beta = 0.6 if size == 2 else 0.75
    y = run("LRN", version, x, compiled=compiled, size=size, alpha=0.5, beta=beta, bias=1.5)
    square = wide(x) ** 2
    total = np.zeros(shape)
    for c in range(5):
        total[:, c] = square[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1].sum(1)
    close(y, wide(x) / (1.5 + 0.5 / size * total) ** beta, dtype, 8)


@pytest.mark.parametrize(
    ("op", "version", "shapes", "attributes", "message"),
    [
        ("InstanceNormalization", 22, [(3,), (3,), (3,)], {}, "rank 1"),
        ("InstanceNormalization", 22, [(2, 3, 4), (2,), (3,)], {}, "scale"),
        ("GroupNormalization", 21, [(2, 6, 4), (6,), (6,)], {"num_groups": 4}, "4 groups"),
        ("GroupNormalization", 18, [(2, 6, 4), (6,), (6,)], {"num_groups": 0}, "0 groups"),
        ("LayerNormalization", 17, [(2, 3), (3,)], {"axis": 2}, "axis is 2"),
        ("RMSNormalization", 23, [(2, 3), (4,)], {}, "broadcast"),
        ("LpNormalization", 22, [(2, 3)], {"p": 3}, "p is 3"),
        ("LRN", 13, [(2, 3)], {"size": 0}, "size is 0"),
        ("MeanVarianceNormalization", 13, [(2, 3)], {}, "axes is 2"),
    ],
)
def test_what_the_standard_does_not_allow_is_refused(
    op: str, version: int, shapes: Any, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BasaltError, match=message):
        run(op, version, *[np.ones(s, np.float32) for s in shapes], compiled=False, **attributes)


def test_layers_of_symbolic_sizes() -> None:
    x, scale = sample("float32", (2, 3, 8)), sample("float32", (8,), seed=1)
    loaded = executable("LayerNormalization", 17, [x, scale], known=[1], symbolic=True)
    for shape in ((2, 3, 8), (1, 1, 8), (0, 3, 8)):
        x = sample("float32", shape).astype(onnx_dtype("float32"))
        close(loaded.run({"x0": x})["y0"], normalized(x, (2,)) * wide(scale), "float32", 16)
