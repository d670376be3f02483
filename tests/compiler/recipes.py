"""How a random graph grows: for each operator, a function that draws operands and options from the pool."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from basalt import ops
from basalt.compiler.ir import Value
from basalt.ops.schema import Operand
from basalt.ops.types import widened

from .graphs import Pool, Recipe

FLOATS = frozenset({"float64", "float32", "float16", "bfloat16"})
INDICES = ("int32", "int64")

UNARY = (
    *("abs", "ceil", "cos", "erf", "exp", "floor", "identity", "log", "neg", "reciprocal", "round_even", "sign", "sin"),
    *("sqrt", "tan", "elu", "gelu", "hard_sigmoid", "hard_swish", "leaky_relu", "linear", "relu", "sigmoid"),
    *("softplus", "softsign", "tanh", "is_nan", "is_infinite", "logical_not"),
)
BINARY = (
    *("add", "sub", "mul", "div", "max", "min", "pow", "prelu"),
    *("equal", "not_equal", "greater", "greater_or_equal", "lesser", "lesser_or_equal"),
    *("logical_and", "logical_or", "logical_xor"),
)
REDUCTIONS = (
    *("reduce_l1", "reduce_l2", "reduce_log_sum", "reduce_log_sum_exp", "reduce_max", "reduce_mean", "reduce_min"),
    *("reduce_product", "reduce_sum", "reduce_sum_square"),
)
POOLS = ("average_pool2d", "l2_pool2d", "max_pool2d")
DISCONTINUOUS = frozenset(
    {
        *("ceil", "floor", "round_even", "sign", "arg_min", "arg_max", "cast", "quantize_linear", "is_nan"),
        *("equal", "not_equal", "greater", "greater_or_equal", "lesser", "lesser_or_equal", "is_infinite"),
        *("pow", "tan", "reduce_log_sum"),
    }
)
"""Recipes whose results may jump where operands differ by rounding."""

FAMILIES: tuple[tuple[str, ...], ...] = (
    ("transpose", "reshape", "expand", "reverse", "slice", "tile", "add"),
    ("concat", "split", "slice", "pad", "gather", "transpose", "conv2d", "gemm"),
    ("add", "sub", "mul", "div", "pow", "neg", "abs", "reciprocal", "exp", "expand"),
    ("relu", "clamp", "cast", "round_even", "floor", "sign", "max", "min"),
    ("logical_not", "logical_and", "logical_or", "equal", "greater", "not_equal", "where", "is_nan"),
)
"""Operators that rewrites are about together."""

RECIPES: dict[str, Recipe] = {}


def recipe(function: Recipe) -> Recipe:
    RECIPES[function.__name__] = function
    return function


def _allowed(operand: Operand) -> frozenset[str]:
    assert isinstance(operand.dtypes, frozenset)
    return widened(operand.dtypes)


def _first(op: str) -> frozenset[str]:
    return _allowed(ops.get(op).operands[0])


def _unary(op: str) -> Recipe:
    def grow(p: Pool) -> Any:
        dtypes = _first(op)
        if dtypes == widened(frozenset({"uint8"})):
            return p.make(op, p.any(("uint8",)))
        parameters = {o.name: p.random.choice((0.0, 0.5, 1.0, 2.0)) for o in ops.get(op).options}
        return p.make(op, p.any(dtypes), **parameters)

    return grow


def _binary(op: str) -> Recipe:
    def grow(p: Pool) -> Any:
        logical = op.startswith("logical")
        x = p.any(("uint8",) if logical else _first(op))
        pair = (x, p.beside(x))
        return p.make(op, *(pair if p.chance(0.7) else pair[::-1]))

    return grow


def _reduction(op: str) -> Recipe:
    def grow(p: Pool) -> Any:
        x = p.any(_first(op))
        axes: Any = [i for i in range(x.type.rank) if p.chance(0.5)]
        p.random.shuffle(axes)
        return p.make(op, x, axes=p.random.choice((axes, None)), keep_dimensions=p.chance(0.5))

    return grow


def _arg(op: str) -> Recipe:
    def grow(p: Pool) -> Any:
        x = p.any(_first(op), (1, 4))
        axis = p.random.randrange(x.type.rank)
        return p.make(op, x, axis, keep_dimensions=p.chance(0.5), output_data_type=p.random.choice(INDICES))

    return grow


def _pool(op: str) -> Recipe:
    def grow(p: Pool) -> Any:
        x = p.any(_first(op), (4, 4))
        options: dict[str, Any] = {"layout": p.random.choice(("nchw", "nhwc"))}
        if p.chance(0.8):
            options["window_dimensions"] = (p.random.choice((1, 2)), p.random.choice((1, 2)))
            options["strides"] = (p.random.choice((1, 2)), p.random.choice((1, 1, 2)))
            options["padding"] = p.random.choice(((0, 0, 0, 0), (0, 1, 0, 1) if op == "max_pool2d" else (0, 0, 0, 0)))
        return p.make(op, x, **options)

    return grow


for _op in UNARY:
    RECIPES[_op] = _unary(_op)
for _op in BINARY:
    RECIPES[_op] = _binary(_op)
for _op in REDUCTIONS:
    RECIPES[_op] = _reduction(_op)
for _op in ("arg_min", "arg_max"):
    RECIPES[_op] = _arg(_op)
for _op in POOLS:
    RECIPES[_op] = _pool(_op)


@recipe
def clamp(p: Pool) -> Any:
    low, high = sorted(p.random.choice((-2, -1, 0, 1, 2, 6)) for _ in range(2))
    limits = p.random.choice(({}, {"min_value": low}, {"max_value": high}, {"min_value": low, "max_value": high}))
    return p.make("clamp", p.any(_first("clamp")), **limits)


@recipe
def cast(p: Pool) -> Any:
    return p.make("cast", p.any(p.floats + p.ints), p.random.choice(p.floats + p.ints))


@recipe
def where(p: Pool) -> Any:
    x = p.any(p.floats + p.ints)
    pair = (x, p.beside(x))
    return p.make("where", p.condition(x), *(pair if p.chance(0.5) else pair[::-1]))


def _factored(p: Pool, count: int) -> tuple[int, ...]:
    """A shape of a number of elements."""
    shape: list[int] = []
    for factor in (2, 2, 3, 2, 3):
        if count % factor == 0 and p.chance(0.7):
            shape.append(factor)
            count //= factor
    shape.append(count)
    p.random.shuffle(shape)
    return tuple(shape + [1] * p.random.choice((0, 0, 1)))


@recipe
def reshape(p: Pool) -> Any:
    x = p.any(p.floats + p.ints)
    return p.make("reshape", x, p.random.choice((x.shape, _factored(p, prod(x.shape)), (prod(x.shape),))))


@recipe
def transpose(p: Pool) -> Any:
    x = p.any(p.floats + p.ints)
    order = p.random.sample(range(x.type.rank), x.type.rank)
    return p.make("transpose", x, permutation=p.random.choice((None, order, sorted(order))))


@recipe
def expand(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (0, 3))
    grown = tuple(p.random.choice((1, 2, 3)) if d == 1 else d for d in x.shape)
    return p.make("expand", x, p.random.choice((x.shape, grown, (2, *grown), (1, *x.shape))))


@recipe
def reverse(p: Pool) -> Any:
    x = p.any(p.floats + p.ints)
    return p.make("reverse", x, axes=p.random.choice((None, [i for i in range(x.type.rank) if p.chance(0.5)])))


@recipe
def slice(p: Pool) -> Any:
    x = p.any(p.floats + p.ints)
    if p.chance(0.15):
        return p.make("slice", x, (0,) * x.type.rank, x.shape)
    starts = [p.random.choice((0, 0, d - 1, d // 2)) for d in x.shape]
    sizes = [p.random.choice((d - s, 1)) for d, s in zip(x.shape, starts)]
    return p.make(
        "slice", x, starts, sizes, strides=p.random.choice((None, [p.random.choice((1, 2)) for _ in x.shape]))
    )


@recipe
def split(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (1, 4))
    axis = p.random.randrange(x.type.rank)
    size = x.shape[axis]
    return p.make("split", x, p.random.choice((1, size, (1, size - 1) if size > 1 else 1)), axis=axis)


@recipe
def concat(p: Pool) -> Any:
    if p.chance(0.2) and (parts := split(p)):
        return p.make("concat", parts, p.maker.nodes[-1].attrs["axis"])
    x = p.any(p.floats + p.ints, (1, 4))
    axis = p.random.randrange(x.type.rank)
    others = [p.of(x.dtype, [p.random.choice((1, 2)) if i == axis else d for i, d in enumerate(x.shape)])]
    return p.make("concat", [x] + p.random.choice((others, [], others + [x])), axis)


@recipe
def pad(p: Pool) -> Any:
    x = p.any(p.floats + p.ints)
    mode = p.random.choice(("constant", "edge", "reflection"))
    ends = [[p.random.choice((0, 0, 1)) for _ in x.shape] for _ in range(2)]
    return p.make("pad", x, *ends, mode=mode, value=p.random.choice((0, 1.5)))


@recipe
def tile(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (0, 3))
    return p.make("tile", x, p.random.choice(([1] * x.type.rank, [p.random.choice((1, 2)) for _ in x.shape])))


@recipe
def triangular(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (2, 4))
    return p.make("triangular", x, upper=p.chance(0.5), diagonal=p.random.choice((-4, -1, 0, 1, 4)))


def _indices(p: Pool, shape: Any, size: int) -> Value:
    drawn = p.numbers.integers(-size, size, tuple(shape))
    if p.chance(0.3):
        drawn = np.full(tuple(shape), drawn.reshape(-1)[0])
    return p.known(drawn, p.random.choice(INDICES))


@recipe
def gather(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (1, 3))
    axis = p.random.randrange(x.type.rank)
    return p.make("gather", x, _indices(p, p.shape(0, 2), x.shape[axis]), axis=axis)


@recipe
def gather_elements(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (1, 3))
    axis = p.random.randrange(x.type.rank)
    shape = [p.random.choice((1, 2)) if i == axis else d for i, d in enumerate(x.shape)]
    return p.make("gather_elements", x, _indices(p, shape, x.shape[axis]), axis=axis)


@recipe
def scatter_elements(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (1, 3))
    axis = p.random.randrange(x.type.rank)
    shape = [1 if i == axis else d for i, d in enumerate(x.shape)]
    return p.make("scatter_elements", x, _indices(p, shape, x.shape[axis]), p.of(x.dtype, shape), axis=axis)


@recipe
def gather_nd(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (1, 3))
    depth = p.random.randint(1, x.type.rank)
    return p.make("gather_nd", x, _indices(p, (2, depth), min(x.shape[:depth])))


@recipe
def scatter_nd(p: Pool) -> Any:
    x = p.any(p.floats + p.ints, (1, 3))
    depth = p.random.randint(1, x.type.rank)
    updates = p.of(x.dtype, (2, *x.shape[depth:]))
    return p.make("scatter_nd", x, _indices(p, (2, depth), min(x.shape[:depth])), updates)


@recipe
def cumulative_sum(p: Pool) -> Any:
    x = p.any(_first("cumulative_sum"), (1, 4))
    axis = p.random.randrange(x.type.rank)
    return p.make("cumulative_sum", x, axis, exclusive=p.chance(0.3), reversed=p.chance(0.3))


@recipe
def softmax(p: Pool) -> Any:
    x = p.any(FLOATS, (1, 4))
    return p.make("softmax", x, p.random.randrange(x.type.rank))


def _affine_options(p: Pool, x: Value, shape: Any) -> dict[str, Any]:
    return {name: p.parameter(x.dtype, shape) for name in ("scale", "bias") if p.chance(0.6)}


def _normalise_by_known(p: Pool, x: Value, axis: int) -> Any:
    shape = (x.shape[axis],)
    variance = p.known(np.abs(p.numbers.normal(size=shape)) + 0.1, x.dtype)
    options = _affine_options(p, x, shape)
    return p.make("batch_normalization", x, p.parameter(x.dtype, shape), variance, axis=axis, **options)


@recipe
def batch_normalization(p: Pool) -> Any:
    x = p.any(FLOATS, (1, 4))
    return _normalise_by_known(p, x, p.random.randrange(x.type.rank))


@recipe
def instance_normalization(p: Pool) -> Any:
    x = p.any(FLOATS, (4, 4))
    layout = p.random.choice(("nchw", "nhwc"))
    options = _affine_options(p, x, (x.shape[layout.index("c")],))
    return p.make("instance_normalization", x, layout=layout, epsilon=0.1, **options)


@recipe
def layer_normalization(p: Pool) -> Any:
    x = p.any(FLOATS)
    axes = [i for i in range(x.type.rank) if p.chance(0.6)]
    p.random.shuffle(axes)
    options = _affine_options(p, x, [x.shape[a] for a in axes])
    return p.make("layer_normalization", x, axes=axes, epsilon=0.1, **options)


@recipe
def conv2d(p: Pool) -> Any:
    groups, depth, window = p.random.choice((1, 1, 2)), p.random.choice((1, 2)), (p.random.choice((1, 2)), 1)
    sizes = {"n": 2, "c": groups * depth, "h": 3, "w": 4}
    layout, filters = p.random.choice(("nchw", "nhwc")), p.random.choice(("oihw", "hwio", "ohwi", "ihwo"))
    x = p.of(p.dtype(FLOATS), [sizes[k] for k in layout])
    channels = groups * p.random.choice((1, 3))
    weights = p.parameter(x.dtype, [{"o": channels, "i": depth, "h": window[0], "w": window[1]}[k] for k in filters])
    return _with_channel_factors(p, "conv2d", x, weights, channels, layout, filters, groups)


@recipe
def conv_transpose2d(p: Pool) -> Any:
    groups, depth, width = p.random.choice((1, 1, 2)), p.random.choice((1, 2)), p.random.choice((1, 3))
    sizes = {"n": 2, "c": groups * depth, "h": 2, "w": 3}
    layout, filters = p.random.choice(("nchw", "nhwc")), p.random.choice(("iohw", "hwoi", "ohwi"))
    x = p.of(p.dtype(FLOATS), [sizes[k] for k in layout])
    weights = p.parameter(x.dtype, [{"i": groups * depth, "o": width, "h": 2, "w": 1}[k] for k in filters])
    return _with_channel_factors(p, "conv_transpose2d", x, weights, groups * width, layout, filters, groups)


def _with_channel_factors(
    p: Pool, op: str, x: Value, weights: Value, channels: int, layout: str, filters: str, groups: int
) -> Any:
    """A convolution, often with a pad before and normalizations and arithmetic along channels behind."""
    if p.chance(0.3):
        ends = [[p.random.choice((0, 1)) if letter in "hw" else 0 for letter in layout] for _ in range(2)]
        x = p.make("pad", x, *ends) or x
    bias = {"bias": p.parameter(x.dtype, (channels,))} if p.chance(0.5) else {}
    options = {"input_layout": layout, "filter_layout": filters, "groups": groups, **bias}
    y = p.make(op, x, weights, strides=(1, p.random.choice((1, 2))), padding=(0, 1, 0, 0), **options)
    return y and _followed_by_channel_factors(p, y, layout.index("c"))


def _followed_by_channel_factors(p: Pool, y: Value, axis: int) -> Any:
    shape = [d if i == axis else 1 for i, d in enumerate(y.shape)]
    for _ in range(p.random.choice((0, 1, 2))):
        if p.chance(0.4):
            y = _normalise_by_known(p, y, axis) or y
        else:
            pair = (y, p.parameter(y.dtype, p.random.choice((shape, ()))))
            op = p.random.choice(("add", "sub", "mul", "div"))
            y = p.make(op, *(pair if p.chance(0.7) else pair[::-1])) or y
    return y


@recipe
def gemm(p: Pool) -> Any:
    x = p.any(FLOATS, (2, 2))
    flags = {"a_transpose": p.chance(0.4), "b_transpose": p.chance(0.4)}
    depth = x.shape[0 if flags["a_transpose"] else 1]
    if p.chance(0.3):
        x = p.make("transpose", x) or x
        flags["a_transpose"] = not flags["a_transpose"]
    b = p.parameter(x.dtype, (3, depth) if flags["b_transpose"] else (depth, 3))
    if p.chance(0.3):
        b = p.make("transpose", p.of(x.dtype, b.shape[::-1])) or b
    c = {"c": p.parameter(x.dtype, p.random.choice(((), (3,), (1, 3))))} if p.chance(0.5) else {}
    scales = {"alpha": p.random.choice((1.0, 0.5)), "beta": p.random.choice((1.0, 2.0))}
    y = p.make("gemm", x, b, **c, **flags, **scales)
    return y and _followed_by_channel_factors(p, y, 1)


@recipe
def matmul(p: Pool) -> Any:
    x = p.any(FLOATS, (2, 4))
    return p.make("matmul", x, p.of(x.dtype, (x.shape[-1], 2)))


@recipe
def resample2d(p: Pool) -> Any:
    x = p.any(FLOATS, (4, 4))
    mode, scales = (
        p.random.choice(("nearest-neighbor", "linear")),
        p.random.choice(((1.0, 1.0), (2.0, 1.0), (2.0, 1.5))),
    )
    return p.make("resample2d", x, mode=mode, scales=scales, axes=p.random.choice(((1, 2), (2, 3))))


@recipe
def dequantize_linear(p: Pool) -> Any:
    x = p.any(("uint8", "int8", "int32"), (1, 3))
    scale = p.known(np.full((1,) * x.type.rank, 0.25), p.dtype(FLOATS))
    return p.make("dequantize_linear", x, scale, p.known(np.full((1,) * x.type.rank, 2), x.dtype))


@recipe
def quantize_linear(p: Pool) -> Any:
    x = p.any(("float32", "float16"), (1, 3))
    scale = p.known(np.full((1,) * x.type.rank, 0.25), x.dtype)
    zero = p.known(np.full((1,) * x.type.rank, 3), p.random.choice(("uint8", "int8")))
    return p.make("quantize_linear", x, scale, zero)


def _recurrent(op: str, gates: int, states: tuple[str, ...]) -> Recipe:
    cell = op.endswith("cell")

    def grow(p: Pool) -> Any:
        dtype, hidden, steps, batch, features = p.dtype(FLOATS), p.random.choice((1, 2)), 2, 2, 3
        direction = p.random.choice(("forward", "backward", "both"))
        lead = () if cell else (2 if direction == "both" else 1,)
        x = p.of(dtype, (batch, features) if cell else (steps, batch, features))
        weight = p.parameter(dtype, (*lead, gates * hidden, features))
        recurrent = p.parameter(dtype, (*lead, gates * hidden, hidden))
        given = {name: p.of(dtype, (*lead, batch, hidden)) for name in states if cell or p.chance(0.5)}
        biases = {n: p.parameter(dtype, (*lead, gates * hidden)) for n in ("bias", "recurrent_bias") if p.chance(0.5)}
        if op.startswith("lstm") and p.chance(0.5):
            biases["peephole_weight"] = p.parameter(dtype, (*lead, 3 * hidden))
        if op.startswith("gru"):
            biases["reset_after"] = p.chance(0.5)
        layout = p.random.choice(("zrn", "rzn") if op.startswith("gru") else ("iofg", "ifgo"))
        if cell:
            return p.make(op, x, weight, recurrent, *given.values(), hidden, layout=layout, **biases)
        options = {"direction": direction, "return_sequence": p.chance(0.5), "layout": layout}
        return p.make(op, x, weight, recurrent, steps, hidden, **options, **given, **biases)

    return grow


_SEQUENCES: dict[str, Callable[[Pool], Any]] = {
    "gru": _recurrent("gru", 3, ("initial_hidden_state",)),
    "gru_cell": _recurrent("gru_cell", 3, ("hidden_state",)),
    "lstm": _recurrent("lstm", 4, ("initial_hidden_state", "initial_cell_state")),
    "lstm_cell": _recurrent("lstm_cell", 4, ("hidden_state", "cell_state")),
}
RECIPES.update(_SEQUENCES)
