"""Small graphs whose kernels take every kind of micro-kernel, and programs of them for a level of x86-64."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from basalt.compiler.backend import program_spec
from basalt.compiler.codegen.compile import compile_objects, executor_object
from basalt.compiler.ir import Constants, Graph
from basalt.compiler.kernels.target import compiling_for
from basalt.runtime.code import LoadedCode
from basalt.runtime.program import Program
from basalt.runtime.spec import ProgramSpec

from .making import Maker

Feeds = dict[str, np.ndarray]
Sample = tuple[Graph, Constants, Feeds]


def spec_for(level: str, sample: Sample) -> ProgramSpec:
    with compiling_for(level):
        return program_spec(sample[0], sample[1])


def run_for(level: str, sample: Sample) -> Feeds:
    """The outputs of a sample's program for a level, which this machine must have."""
    spec = spec_for(level, sample)
    code = LoadedCode.from_objects(executor_object(), compile_objects(spec.kernels, level))
    return Program(spec, code, threads=1).run(sample[2])


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def images() -> Sample:
    """Convolutions by Winograd's filtering, of single pixels and of each channel alone, and pooling."""
    m = Maker()
    x = m.input("x", "float32", (1, 16, 20, 20))
    y = m.relu(m.conv2d(x, m.constant(_numbers(32, 16, 3, 3, seed=1) / 9), padding=(1, 1, 1, 1)))
    y = m.add(m.conv2d(y, m.constant(_numbers(32, 1, 3, 3, seed=2)), groups=32), m.constant(0.5))
    y = m.conv2d(m.max_pool2d(y, window_dimensions=(2, 2), strides=(2, 2)), m.constant(_numbers(24, 32, 1, 1, seed=3)))
    return m.graph(y=y), m.constants, {"x": _numbers(1, 16, 20, 20)}


def rows() -> Sample:
    """Products of float32, and rows whose ends are masked."""
    m = Maker()
    x = m.input("x", "float32", (35, 61))
    y = m.gelu(m.matmul(x, m.constant(_numbers(61, 67, seed=1) / 8)))
    y = m.layer_normalization(m.softmax(m.matmul(y, m.constant(_numbers(67, 37, seed=2))), 1))
    return m.graph(y=y, z=m.transpose(y)), m.constants, {"x": _numbers(35, 61)}


def functions() -> Sample:
    """Elementary functions of both widths, and remainders."""
    m = Maker()
    x = m.input("x", "float32", (3, 67))
    wide = m.tanh(m.exp(m.cast(x, "float64")))
    y = m.add(m.erf(x), m.mul(m.sin(x), m.pow(m.abs(x), m.constant(1.7))))
    return (
        m.graph(y=m.add(y, m.cast(wide, "float32")), z=m.round_even(m.mul(x, x))),
        m.constants,
        {"x": _numbers(3, 67)},
    )


def halves() -> Sample:
    """float16 and bfloat16 in memory."""
    m = Maker()
    x = m.input("x", "float16", (9, 45))
    y = m.sqrt(m.abs(m.mul(x, m.constant(_numbers(9, 45, seed=1), "float16"))))
    brain = m.cast(m.add(m.cast(m.cast(y, "float32"), "bfloat16"), m.constant(1, "bfloat16")), "float32")
    product = m.matmul(x, m.constant(_numbers(45, 33, seed=2), "float16"))
    return m.graph(y=y, z=brain, p=product), m.constants, {"x": _numbers(9, 45).astype(np.float16)}


def integers() -> Sample:
    """Products of bytes, and what quantises for them."""
    m = Maker()
    rng = np.random.default_rng(0)
    x = m.input("x", "float32", (21, 70))
    scale, zero, none = m.constant([[0.05]]), m.constant([[3]], "int8"), m.constant([[0]], "int8")
    q = m.quantize_linear(x, scale, zero)
    weights = m.constant(rng.integers(-127, 128, (70, 40)), "int8")
    y = m.matmul(m.dequantize_linear(q, scale, zero), m.dequantize_linear(weights, scale, none))
    return m.graph(y=y, q=q), m.constants, {"x": _numbers(21, 70)}


def states() -> Sample:
    """A recurrent network."""
    m = Maker()
    x = m.input("x", "float32", (5, 2, 12))
    weights = m.constant(_numbers(1, 60, 12, seed=1) / 4), m.constant(_numbers(1, 60, 15, seed=2) / 4)
    (y,) = m.lstm(x, *weights, 5, 15)[:1]
    return m.graph(y=y), m.constants, {"x": _numbers(5, 2, 12)}


SAMPLES: Mapping[str, Callable[[], Sample]] = {
    f.__name__: f for f in (images, rows, functions, halves, integers, states)
}
