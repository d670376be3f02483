"""Operators that exporters write out in smaller ones: what kernels become of them, and that their results stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import FUSED, Node, Value
from basalt.compiler.pipeline import run_pipeline
from basalt.compiler.verify import verify
from basalt.ops.types import is_float

from .graphs import assert_near
from .making import Maker

Build = Callable[[Maker], Value]
MOVING = ("reshape", "transpose", "slice", "expand")
"""What becomes a view, and no kernel."""


def _x(m: Maker, *shape: int, dtype: str = "float32") -> Value:
    return m.input(f"x{len(m.inputs)}", dtype, shape)


def _w(m: Maker, *shape: int) -> Value:
    return m.constant(np.random.default_rng(len(m.nodes)).uniform(0.5, 1.5, shape))


def _mean(m: Maker, x: Value, axis: int) -> Value:
    return m.reduce_mean(x, axes=(axis,), keep_dimensions=True)


def _layer_norm(
    m: Maker, x: Value, axis: int, *, power: bool = True, affine: bool = True, twice: bool = False
) -> Value:
    mean = _mean(m, x, axis)
    d = m.sub(x, mean)
    e = m.sub(x, mean) if twice else d
    variance = _mean(m, m.pow(e, m.constant(2.0)) if power else m.mul(e, e), axis)
    y = m.div(d, m.sqrt(m.add(variance, m.constant(1e-5))))
    size = x.shape[axis]
    shape = [size if i == axis else 1 for i in range(len(x.shape))]
    return m.add(m.mul(y, _w(m, *shape)), _w(m, *shape)) if affine else y


def _rms_norm(m: Maker, reciprocal: bool) -> Value:
    x = _x(m, 4, 64)
    root = m.sqrt(m.add(_mean(m, m.pow(x, m.constant(2.0)), 1), m.constant(1e-6)))
    y = m.mul(x, m.div(m.constant(1.0), root)) if reciprocal else m.div(x, root)
    return m.mul(_w(m, 64), y)


def _gelu(m: Maker, order: Sequence[str]) -> Value:
    x, c = _x(m, 4, 64), m.constant
    inner = m.div(x, c(2**0.5)) if "div" in order else m.mul(c(0.5**0.5), x)
    outer = m.add(m.erf(inner), c(1.0))
    return m.mul(m.mul(c(0.5), x), outer) if "half first" in order else m.mul(m.mul(x, outer), c(0.5))


def _gelu_tanh(m: Maker, cube: Callable[[Value], Value]) -> Value:
    x, c = _x(m, 4, 64), m.constant
    inner = m.mul(c((2 / np.pi) ** 0.5), m.add(x, m.mul(c(0.044715), cube(x))))
    return m.mul(m.mul(c(0.5), x), m.add(c(1.0), m.tanh(inner)))


def _softmax(m: Maker) -> Value:
    x = _x(m, 4, 64)
    powers = m.exp(m.sub(x, m.reduce_max(x, axes=(1,), keep_dimensions=True)))
    return m.div(powers, m.reduce_sum(powers, axes=(1,), keep_dimensions=True))


def _conv(m: Maker, x: Value, **options: object) -> Value:
    return m.conv2d(x, _w(m, 6, x.shape[1], 3, 3), **options)


def _normal(m: Maker, x: Value) -> Value:
    size = x.shape[1]
    return m.batch_normalization(x, _w(m, size), _w(m, size), scale=_w(m, size), bias=_w(m, size))


def _bytes(m: Maker, x: Value, scale: float = 0.05) -> Value:
    ones = (1,) * len(x.shape)
    numbers = m.constant(np.full(ones, scale)), m.constant(np.full(ones, 3), "int8")
    return m.dequantize_linear(m.quantize_linear(x, *numbers), *numbers)


def _byte_weights(m: Maker, *shape: int) -> Value:
    table = m.constant(np.arange(np.prod(shape)).reshape(shape) % 251 - 125, "int8")
    return m.dequantize_linear(table, m.constant(np.full((1, 1), 0.01)), m.constant(np.zeros((1, 1)), "int8"))


def _attention(m: Maker, change: Callable[[Value], Value], query: Callable[[Value], Value] = lambda q: q) -> Value:
    q, k, v = (m.reshape(_x(m, 1, 1024, 16), (1, 1024, 2, 8)) for _ in range(3))
    q, v = (m.transpose(t, permutation=(0, 2, 1, 3)) for t in (q, v))
    scores = change(m.matmul(query(q), m.transpose(k, permutation=(0, 2, 3, 1))))
    return m.reshape(m.transpose(m.matmul(m.softmax(scores, 3), v), permutation=(0, 2, 1, 3)), (1, 1024, 16))


def _reshaped_twice(m: Maker) -> Value:
    return m.reshape(m.reshape(_x(m, 24), (4, 6)), (6, 4))


FORMS: dict[str, tuple[Build, list[str]]] = {
    "layer normalization": (lambda m: _layer_norm(m, _x(m, 4, 64), 1), ["rows"]),
    "by products": (lambda m: _layer_norm(m, _x(m, 4, 64), 1, power=False), ["rows"]),
    "without affine": (lambda m: _layer_norm(m, _x(m, 4, 64), 1, affine=False), ["rows"]),
    "with two differences": (lambda m: _layer_norm(m, _x(m, 4, 64), 1, twice=True), ["rows"]),
    "of channels": (lambda m: _layer_norm(m, _x(m, 1, 8, 5, 5), 1), ["rows"]),
    "of a sum": (lambda m: _layer_norm(m, m.add(_x(m, 4, 64), _x(m, 4, 64)), 1), ["rows"]),
    "rms normalization": (lambda m: _rms_norm(m, True), ["rows"]),
    "rms normalization by a quotient": (lambda m: _rms_norm(m, False), ["rows"]),
    "softmax": (_softmax, ["rows"]),
    "gelu": (lambda m: _gelu(m, ("div",)), ["elementwise"]),
    "gelu by factors": (lambda m: _gelu(m, ("half first",)), ["elementwise"]),
    "gelu by tanh": (lambda m: _gelu_tanh(m, lambda x: m.pow(x, m.constant(3.0))), ["elementwise"]),
    "gelu by tanh and products": (lambda m: _gelu_tanh(m, lambda x: m.mul(m.mul(x, x), x)), ["elementwise"]),
    "silu": (lambda m: m.mul(x := _x(m, 4, 64), m.sigmoid(x)), ["elementwise"]),
    "hard swish": (
        lambda m: m.div(
            m.mul(x := _x(m, 4), m.clamp(m.add(x, m.constant(3.0)), min_value=0, max_value=6)), m.constant(6.0)
        ),
        ["elementwise"],
    ),
    "mish": (lambda m: m.mul(x := _x(m, 4), m.tanh(m.softplus(x))), ["elementwise"]),
    "limits": (lambda m: m.min(m.max(_x(m, 4), m.constant(0.0)), m.constant(6.0)), ["elementwise"]),
    "convolution, normalization, relu": (lambda m: m.relu(_normal(m, _conv(m, _x(m, 1, 4, 6, 6)))), ["conv2d"]),
    "normalization before a convolution": (lambda m: _conv(m, _normal(m, _x(m, 1, 4, 6, 6))), ["conv2d"]),
    "a divided image": (lambda m: _conv(m, m.div(_x(m, 1, 3, 6, 6), m.constant(255.0))), ["conv2d"]),
    "convolution, factors, addends": (
        lambda m: m.add(m.mul(_conv(m, _x(m, 1, 4, 6, 6)), _w(m, 6, 1, 1)), _w(m, 6, 1, 1)),
        ["conv2d"],
    ),
    "transposed convolution, normalization": (
        lambda m: _normal(m, m.conv_transpose2d(_x(m, 1, 4, 6, 6), _w(m, 4, 6, 2, 2))),
        ["conv_transpose2d"],
    ),
    "padded convolution": (lambda m: _conv(m, m.pad(_x(m, 1, 4, 6, 6), (0, 0, 1, 1), (0, 0, 1, 1))), ["conv2d"]),
    "padded pool": (
        lambda m: m.max_pool2d(
            m.pad(m.relu(_x(m, 1, 4, 6, 6)), (0, 0, 1, 1), (0, 0, 1, 1)), window_dimensions=(3, 3), strides=(2, 2)
        ),
        ["relu", "max_pool2d"],
    ),
    "products of transposes": (
        lambda m: m.matmul(m.transpose(_x(m, 8, 4)), m.transpose(_x(m, 5, 8))),
        ["matmul"],
    ),
    "transposes there and back": (
        lambda m: m.relu(m.transpose(m.transpose(_x(m, 2, 3, 4), permutation=(0, 2, 1)), permutation=(0, 2, 1))),
        ["relu"],
    ),
    "reshapes and slices": (
        lambda m: m.relu(m.slice(m.slice(_reshaped_twice(m), (1, 0), (5, 4)), (1, 1), (2, 2))),
        ["relu"],
    ),
    "slices put together": (
        lambda m: m.relu(m.concat([m.slice(x := _x(m, 2, 6), (0, 0), (2, 3)), m.slice(x, (0, 3), (2, 3))], 1)),
        ["relu"],
    ),
    "casts there and back": (lambda m: m.relu(m.cast(m.cast(m.identity(_x(m, 4)), "float64"), "float32")), ["relu"]),
    "product, addend, relu": (lambda m: m.relu(m.add(m.matmul(_x(m, 4, 8), _w(m, 8, 5)), _w(m, 5))), ["matmul"]),
    "bytes between products": (
        lambda m: m.matmul(_bytes(m, m.relu(m.matmul(_bytes(m, _x(m, 4, 32)), w := _byte_weights(m, 32, 32)))), w),
        ["quantize_linear", "matmul_integer", "matmul_integer"],
    ),
    "bytes that are moved": (
        lambda m: m.matmul(
            m.reshape(m.transpose(_bytes(m, _x(m, 8, 4, 8)), permutation=(1, 0, 2)), (8, 32)), _byte_weights(m, 32, 4)
        ),
        ["quantize_linear", "matmul_integer"],
    ),
    "transposed weights of bytes": (
        lambda m: m.matmul(_bytes(m, _x(m, 4, 32)), m.transpose(_byte_weights(m, 8, 32))),
        ["quantize_linear", "matmul_integer"],
    ),
    "a table of bytes": (
        lambda m: m.gather(_byte_weights(m, 40, 8), m.constant([3, 1, 3], "int64"), axis=0),
        [],
    ),
    "attention": (lambda m: _attention(m, lambda s: m.div(s, m.constant(8**0.5))), ["attention"]),
    "attention of scaled queries": (
        lambda m: _attention(m, lambda s: s, lambda q: m.mul(q, m.constant(8**-0.5))),
        ["attention"],
    ),
    "attention with a mask": (lambda m: _attention(m, lambda s: m.add(s, _x(m, 1024, 1024))), ["attention"]),
    "attention with two masks": (
        lambda m: _attention(m, lambda s: m.add(m.add(s, _x(m, 1, 1, 1, 1024)), _x(m, 1024, 1024))),
        ["add", "attention"],
    ),
    "attention with a mask of truth": (
        lambda m: _attention(m, lambda s: m.where(m.constant(np.tri(1024), "bool"), s, m.constant(-1e9))),
        ["attention"],
    ),
}  # fmt: skip


def _kernel(node: Node) -> str:
    return str(node.attrs["root"]) if node.op == FUSED else node.op


@pytest.mark.parametrize("name", FORMS)
def test_kernels_and_results(name: str) -> None:
    build, kernels = FORMS[name]
    m = Maker()
    graph = m.graph(y=build(m))
    result = run_pipeline(graph, m.constants)
    verify(result.graph, result.constants)
    found = [_kernel(node) for node in result.graph.nodes]
    assert [kernel for kernel in found if kernel not in (*MOVING, "identity")] == kernels
    numbers = np.random.default_rng(1)
    feeds = {
        v.name: numbers.normal(size=v.shape).astype(v.dtype) if is_float(v.dtype) else numbers.integers(0, 9, v.shape)
        for v in graph.inputs
    }
    assert_near(*(interpret(g, result.constants, feeds) for g in (graph, result.graph)), 1e-5)
