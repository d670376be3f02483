"""Random tensors, and Bernoulli and Multinomial samples.

A node with a ``seed`` draws from ``numpy.random.RandomState`` (Mersenne Twister), whose stream NumPy keeps the same in
all versions (NEP 19): every run of the node gives the same values, those of ONNX's reference for a whole-numbered seed.
One without a seed draws from the generator that its :class:`HostNode` carries, or from a new one.
"""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import check_size, real_tensor, tensor
from basalt.compiler.onnx.host.conversion import convert, exact_float64
from basalt.compiler.onnx.host.element_types import IEEE_FLOATS, dtype_of_code, is_string, type_name
from basalt.compiler.onnx.host.registry import HostNode, host_op

__all__ = ["Source", "source"]

Source = np.random.Generator | np.random.RandomState


def source(n: HostNode) -> Source:
    """The generator to draw the node's numbers from."""
    seed = n.attr("seed")
    if seed is None or np.isnan(seed):
        return np.random.default_rng() if n.rng is None else n.rng
    if isinstance(seed, int):
        return np.random.RandomState(seed % 2**32)
    whole = float(seed).is_integer() and abs(seed) < 2.0**53
    return np.random.RandomState(int(seed) % 2**32 if whole else int(np.float32(seed).view(np.uint32)))


def _float_type(n: HostNode, like: np.ndarray | None) -> np.dtype:
    """The result's type: ``dtype``, else that of the input, else float32; a float in any case."""
    code = n.attr("dtype")
    default = np.dtype(np.float32) if like is None else like.dtype
    dtype = default if code is None else dtype_of_code(n, code, "dtype")
    if dtype not in IEEE_FLOATS:
        raise n.error(f"the result would be of type {type_name(dtype)}, expected a floating-point type")
    return dtype


def _normal(n: HostNode, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    scale = float(n.attr("scale", 1.0))
    if not scale >= 0:
        raise n.error(f"attribute 'scale' is {scale}, expected 0 or more")
    return convert(np.asarray(source(n).normal(float(n.attr("mean", 0.0)), scale, shape)), dtype)


def _uniform(n: HostNode, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    low, high = float(n.attr("low", 0.0)), float(n.attr("high", 1.0))
    if not (np.isfinite(high - low) and low <= high):
        raise n.error(f"attributes 'low' and 'high' are {low} and {high}, expected finite numbers, low not above high")
    values = convert(np.asarray(source(n).uniform(low, high, shape)), dtype)
    # Rounding to few digits must not reach the upper end, which the interval leaves out.
    top = convert(np.asarray(high), dtype)
    below = np.nextafter(top, convert(np.asarray(-np.inf), dtype))
    return np.where(values >= top, below, values) if low < exact_float64(below) else values


def _shape(n: HostNode) -> tuple[int, ...]:
    return check_size(n, n.required("shape"))


@host_op("RandomNormal", 1, 22)
def random_normal(n: HostNode) -> np.ndarray:
    """Normally distributed values of mean ``mean`` and deviation ``scale``, of ``shape`` and ``dtype`` (float32)."""
    return _normal(n, _shape(n), _float_type(n, None))


@host_op("RandomUniform", 1, 22)
def random_uniform(n: HostNode) -> np.ndarray:
    """Values spread evenly from ``low`` up to (not including) ``high``, of ``shape`` and ``dtype`` (float32)."""
    return _uniform(n, _shape(n), _float_type(n, None))


@host_op("RandomNormalLike", 1, 22)
def random_normal_like(n: HostNode, x: np.ndarray) -> np.ndarray:
    """As RandomNormal, of the shape of ``x`` and of ``dtype`` or else its type."""
    x = tensor(n, "input", x)
    return _normal(n, x.shape, _float_type(n, x))


@host_op("RandomUniformLike", 1, 22)
def random_uniform_like(n: HostNode, x: np.ndarray) -> np.ndarray:
    """As RandomUniform, of the shape of ``x`` and of ``dtype`` or else its type."""
    x = tensor(n, "input", x)
    return _uniform(n, x.shape, _float_type(n, x))


@host_op("Bernoulli", 15, 22)
def bernoulli(n: HostNode, x: np.ndarray) -> np.ndarray:
    """1 with the probability that the element of ``x`` (0 to 1) is, else 0, of ``dtype`` or else the type of ``x``."""
    x = real_tensor(n, "input", x)
    probabilities = exact_float64(x)
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise n.error(f"input 'input' holds {probabilities.min()} to {probabilities.max()}, expected 0 to 1")
    code = n.attr("dtype")
    dtype = x.dtype if code is None else dtype_of_code(n, code, "dtype")
    if is_string(dtype):
        raise n.error("the result would be of type string, expected a numeric type or bool")
    return convert(np.asarray(source(n).uniform(size=x.shape) < probabilities), dtype)


@host_op("Multinomial", 7, 22)
def multinomial(n: HostNode, x: np.ndarray) -> np.ndarray:
    """[batch, sample_size] class numbers, drawn with the unnormalised log-probabilities [batch, classes]."""
    x = real_tensor(n, "input", x, (2,))
    count = int(n.attr("sample_size", 1))
    dtype = dtype_of_code(n, n.attr("dtype", 6), "dtype")
    if dtype not in (np.int32, np.int64):
        raise n.error(f"attribute 'dtype' is {type_name(dtype)}, expected int32 or int64")
    check_size(n, (x.shape[0], count))
    logits = exact_float64(x)
    largest = logits.max(axis=1, initial=-np.inf)
    if not np.isfinite(largest).all():
        raise n.error("input 'input' has a row without a finite largest log-probability")
    sums = np.cumsum(np.exp(logits - largest[:, None]), axis=1)
    drawn = source(n).uniform(size=(x.shape[0], count))
    rows = [np.searchsorted(s, u * s[-1], side="right") for s, u in zip(sums, drawn, strict=True)]
    # A product that rounds up to the whole sum would be beyond the last class.
    last = [len(s) - 1 - int(np.argmax(np.diff(s[::-1], append=0) != 0)) for s in sums]
    result = [np.minimum(row, end) for row, end in zip(rows, last, strict=True)]
    return np.array(result, dtype=dtype).reshape(x.shape[0], count)
