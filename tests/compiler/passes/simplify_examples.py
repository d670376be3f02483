"""An example of each rewrite of the pass simplify, and of each reason for which it does not apply."""

from __future__ import annotations

import numpy as np

from .examples import Example, Maker, Refusal, Value, i32, number, u8, x32

_PADS_OTHERWISE = "it pads with other elements than zeros, or other axes than height and width"
_PADS_CHANNELS = "it pads other axes than height and width, or not with one number"
_MAY_BE_LARGER = "it pads with what may be larger than elements"
_CASTS_OTHERWISE = "the data type between does not hold every value, or casts on in another way"
_READ_ELSEWHERE = "other nodes read the pad node as well"
_MAY_BE_NEGATIVE = "x may be negative, or a negative zero"
_NO_TRUTH_VALUE = "x may hold other numbers than 0 and 1"
_BROADCAST = "x is broadcast to the result's shape"
_ADDS_OTHERS = "they add different elements"
_CUTS_ELSEWHERE = "it cuts elsewhere than they were joined"
_LARGER = "the joined constant would be larger than either"
_FLOATS = "x holds floats"
_INTEGERS = "x holds integers"


def _conv(m: Maker, x: Value, **options: object) -> Value:
    return m.conv2d(x, m.constant(np.ones((1, 2, 2, 2))), **options)


def _pool(m: Maker, x: Value, value: float, window: tuple[int, int] = (2, 2), **options: object) -> Value:
    padded = m.pad(x, (0, 0, 1, 1), (0, 0, 1, 1), value=value)
    if x.shape[-1] == 1:
        options["layout"] = "nhwc"
    return m.max_pool2d(padded, window_dimensions=window, **options)


def _stretches(m: Maker, *cuts: tuple[tuple[int, ...], ...]) -> Value:
    """Slices of one value (starts, sizes, strides) side by side."""
    x = x32(m, 2, 6)
    return m.concat([m.slice(x, *cut[:2], strides=(cut[2:] or (None,))[0]) for cut in cuts], 1)


NO_OPS = [
    Example("identity", lambda m: m.relu(m.identity(x32(m, 2), label="copy"))),
    Example("movement_to_same_type", lambda m: m.cast(x32(m, 2), "float32")),
    Example("movement_to_same_type", lambda m: m.reshape(x32(m, 2, 3), (2, 3))),
    Example("movement_to_same_type", lambda m: m.expand(x32(m, 2, 3), (2, 3))),
    Example("movement_to_same_type", lambda m: m.tile(x32(m, 2, 3), (1, 1))),
    Example("movement_to_same_type", lambda m: m.slice(x32(m, 2, 3), (0, 0), (2, 3))),
    Example("movement_to_same_type", lambda m: m.pad(x32(m, 2, 3), (0, 0), (0, 0))),
    Refusal("movement_to_same_type", lambda m: m.slice(x32(m, 2, 3), (0, 1), (2, 2))),
    Example("resample_to_same_size", lambda m: m.resample2d(x32(m, 1, 1, 2, 2), scales=(1.2, 1.0))),
    Refusal(
        "resample_to_same_size",
        lambda m: m.resample2d(x32(m, 1, 1, 2, 2), mode="linear"),
        "linear interpolation of an infinity with itself is NaN",
    ),
    Refusal("resample_to_same_size", lambda m: m.resample2d(x32(m, 1, 1, 2, 2), scales=(2.0, 1.0))),
    Example("transpose_of_unit_axes", lambda m: m.transpose(x32(m, 2, 3), permutation=(0, 1))),
    Example("transpose_of_unit_axes", lambda m: m.transpose(x32(m, 2, 1, 3), permutation=(1, 0, 2))),
    Refusal("transpose_of_unit_axes", lambda m: m.transpose(x32(m, 2, 3))),
    Example("reverse_of_unit_axes", lambda m: m.reverse(x32(m, 1, 3), axes=(0,))),
    Refusal("reverse_of_unit_axes", lambda m: m.reverse(x32(m, 1, 3), axes=(0, 1))),
    Example("concat_of_one", lambda m: m.concat([x32(m, 2)], 0)),
    Refusal("concat_of_one", lambda m: m.concat([x := x32(m, 2), x], 0)),
    Example("split_into_one", lambda m: m.split(x32(m, 2, 3), 1, axis=1)),
    Refusal("split_into_one", lambda m: m.split(x32(m, 2, 3), 3, axis=1)),
    Example("cumulative_sum_of_one", lambda m: m.cumulative_sum(x32(m, 1, 3), 0)),
    Refusal("cumulative_sum_of_one", lambda m: m.cumulative_sum(x32(m, 1, 3), 0, exclusive=True)),
    Example("reduce_of_one", lambda m: m.reduce_max(x32(m, 2, 1, 3), axes=(1,))),
    Example("reduce_of_one", lambda m: m.reduce_min(x32(m, 2, 3), axes=())),
    Refusal("reduce_of_one", lambda m: m.reduce_max(x32(m, 2, 1, 3), axes=(1, 2))),
    Example("reduce_sum_of_one", lambda m: m.reduce_sum(x32(m, 2, 1), axes=(1,))),
    Example("reduce_sum_of_one", lambda m: m.reduce_mean(x32(m), axes=())),
    Refusal("reduce_sum_of_one", lambda m: m.reduce_sum(x32(m, 2, 1))),
    Example("max_pool_of_one", lambda m: m.max_pool2d(x32(m, 1, 1, 3, 3), window_dimensions=(1, 1))),
    Refusal("max_pool_of_one", lambda m: m.max_pool2d(x32(m, 1, 1, 3, 3), window_dimensions=(1, 1), strides=(2, 1))),
    Example("average_pool_of_one", lambda m: m.average_pool2d(x32(m, 1, 1, 1, 1))),
    Refusal(
        "average_pool_of_one",
        lambda m: m.average_pool2d(x32(m, 1, 1, 3, 3), window_dimensions=(3, 3), padding=(1, 1, 1, 1)),
    ),
    Example("triangular_of_all", lambda m: m.triangular(x32(m, 2, 3), diagonal=-1)),
    Example("triangular_of_all", lambda m: m.triangular(x32(m, 2, 3), upper=False, diagonal=2)),
    Refusal("triangular_of_all", lambda m: m.triangular(x32(m, 2, 3), upper=False, diagonal=1)),
    Refusal("triangular_of_all", lambda m: m.triangular(x32(m, 2, 3), diagonal=0)),
]

MOVEMENT = [
    Example(
        "transpose_of_transpose",
        lambda m: m.transpose(m.transpose(x32(m, 2, 3, 4), permutation=(1, 2, 0)), permutation=(0, 2, 1)),
    ),
    Example("reshape_of_reshape", lambda m: m.reshape(m.reshape(x32(m, 2, 6), (3, 4)), (12,))),
    Example("reshape_of_reshape", lambda m: m.reshape(m.reshape(x32(m, 2, 6), (3, 4)), (2, 6))),
    Example("expand_of_expand", lambda m: m.expand(m.expand(x32(m, 1), (3, 1)), (2, 3, 4))),
    Example("expand_to_same_size", lambda m: m.expand(x32(m, 3), (1, 3))),
    Refusal("expand_to_same_size", lambda m: m.expand(x32(m, 1), (3,))),
    Example("reverse_of_reverse", lambda m: m.reverse(m.reverse(x32(m, 2, 3, 4), axes=(0, 1)), axes=(2, 1))),
    Example("reverse_of_reverse", lambda m: m.reverse(m.reverse(x32(m, 2, 3)))),
    Example(
        "slice_of_slice",
        lambda m: m.slice(m.slice(x32(m, 12, 3), (1, 0), (10, 2), strides=(2, 1)), (1, 1), (4, 1), strides=(3, 1)),
    ),
    Example("tile_of_tile", lambda m: m.tile(m.tile(x32(m, 2, 3), (1, 2)), (3, 2))),
    Example("tile_of_units", lambda m: m.tile(x32(m, 1, 3), (4, 1))),
    Refusal("tile_of_units", lambda m: m.tile(x32(m, 1, 3), (4, 2))),
    Example("pad_of_pad", lambda m: m.pad(m.pad(x32(m, 2, 3), (1, 0), (0, 0), value=1), (0, 2), (1, 0), value=1)),
    Example("pad_of_pad", lambda m: m.pad(m.pad(x32(m, 2), (1,), (0,), mode="edge"), (2,), (1,), mode="edge")),
    Refusal(
        "pad_of_pad", lambda m: m.pad(m.pad(x32(m, 2), (1,), (0,), value=0.0), (2,), (1,), value=-0.0), _ADDS_OTHERS
    ),
    Refusal(
        "pad_of_pad",
        lambda m: m.pad(m.pad(x32(m, 3), (1,), (0,), mode="reflection"), (2,), (1,), mode="reflection"),
        _ADDS_OTHERS,
    ),
    Example("concat_of_concat", lambda m: m.concat([a := x32(m, 2), m.concat([a, x32(m, 3, name="z")], 0), a], 0)),
    Refusal("concat_of_concat", lambda m: (c := m.concat([x32(m, 2), x32(m, 3, name="z")], 0), m.concat([c, c], 0))),
    Refusal("concat_of_concat", lambda m: m.concat([m.concat([a := x32(m, 2, 2), a], 0), x32(m, 4, 1, name="z")], 1)),
    Example("concat_of_split", lambda m: m.concat(m.split(x32(m, 2, 3), 3, axis=1), 1)),
    Refusal("concat_of_split", lambda m: m.concat(m.split(x32(m, 2, 3), 3, axis=1)[::-1], 1)),
    Refusal("concat_of_split", lambda m: m.concat(m.split(x32(m, 2, 3), 3, axis=1)[:2], 1)),
    Refusal("concat_of_split", lambda m: m.concat(m.split(x32(m, 2, 2), 2, axis=1), 0)),
    Example("concat_of_slices", lambda m: _stretches(m, ((0, 1), (1, 2)), ((0, 3), (1, 1)))),
    Refusal("concat_of_slices", lambda m: _stretches(m, ((0, 0), (1, 2)), ((0, 3), (1, 2)))),
    Refusal("concat_of_slices", lambda m: _stretches(m, ((0, 0), (1, 2)), ((1, 2), (1, 2)))),
    Refusal("concat_of_slices", lambda m: _stretches(m, ((0, 0), (2, 1)))),
    Refusal("concat_of_slices", lambda m: _stretches(m, ((0, 0), (1, 2)), ((0, 2), (1, 1)), ((0, 3), (1, 2), (1, 2)))),
    Refusal(
        "concat_of_slices",
        lambda m: m.concat([m.slice(x32(m, 4), (0,), (2,)), m.slice(x32(m, 4, name="z"), (2,), (2,))], 0),
    ),
    Example("split_of_concat", lambda m: m.split(m.concat([x32(m, 2), x32(m, 3, name="z")], 0), (2, 3))),
    Refusal(
        "split_of_concat", lambda m: m.split(m.concat([x32(m, 2), x32(m, 3, name="z")], 0), (3, 2)), _CUTS_ELSEWHERE
    ),
    Refusal("split_of_concat", lambda m: m.split(m.concat([x := x32(m, 2, 2), x], 0), (1, 1), axis=1), _CUTS_ELSEWHERE),
    Example("gather_of_one", lambda m: m.gather(x32(m, 2, 3, 4), m.constant(1, "int32"), axis=1)),
    Example("gather_of_one", lambda m: m.gather(x32(m, 2, 3), m.constant([[-1]], "int64"), axis=0)),
    Example("gather_of_one", lambda m: m.gather(x32(m, 2, 3), m.constant([9], "int32"), axis=1)),
    Refusal("gather_of_one", lambda m: m.gather(x32(m, 2, 3), m.constant([1, 1], "int32"))),
    Example("transpose_into_gemm_a", lambda m: m.gemm(m.transpose(x32(m, 2, 3)), x32(m, 2, 4, name="z"), alpha=0.5)),
    Example(
        "transpose_into_gemm_b",
        lambda m: m.gemm(x32(m, 2, 3), m.transpose(x32(m, 3, 4, name="z")), c=number(m, 1), b_transpose=True),
    ),
    Refusal(
        "transpose_into_gemm_a",
        lambda m: m.gemm(m.transpose(x32(m, 2, 3), permutation=(0, 1)), x32(m, 3, 4, name="z")),
    ),
    Refusal(
        "transpose_into_gemm_b", lambda m: m.gemm(x32(m, 2, 3), m.transpose(x32(m, 3, 4, name="z"), permutation=(0, 1)))
    ),
    Example("expand_into_operand", lambda m: m.sub(m.expand(x32(m, 1, 3), (2, 3)), x32(m, 2, 1, name="z"))),
    Example("expand_into_operand", lambda m: m.sub(x32(m, 2, 3), m.expand(x32(m, 3, name="z"), (2, 3)))),
    Example("expand_into_operand", lambda m: m.mul(m.expand(x32(m), (2,)), m.expand(x32(m, 1, name="z"), (2,)))),
    Example(
        "expand_into_operand",
        lambda m: m.where(m.expand(u8(m), (2, 3)), m.expand(x32(m, 3), (2, 3)), x32(m, 2, 1, name="z")),
    ),
    Refusal("expand_into_operand", lambda m: m.sub(m.expand(x32(m, 1, 3), (2, 3)), x32(m, 3, name="z"))),
    Example(
        "pad_into_convolution",
        lambda m: _conv(m, m.pad(x32(m, 1, 2, 3, 4), (0, 0, 1, 2), (0, 0, 3, 4)), padding=(1, 0, 0, 1)),
    ),
    Example(
        "pad_into_convolution",
        lambda m: _conv(m, m.pad(x32(m, 1, 3, 4, 2), (0, 1, 2, 0), (0, 3, 4, 0)), input_layout="nhwc"),
    ),
    Refusal(
        "pad_into_convolution",
        lambda m: _conv(m, m.pad(x32(m, 1, 2, 3, 4), (0, 0, 1, 1), (0, 0, 1, 1), value=1)),
        _PADS_OTHERWISE,
    ),
    Refusal(
        "pad_into_convolution",
        lambda m: _conv(m, m.pad(x32(m, 1, 1, 3, 4), (0, 1, 1, 1), (0, 0, 1, 1))),
        _PADS_OTHERWISE,
    ),
    Refusal(
        "pad_into_convolution",
        lambda m: (p := m.pad(x32(m, 1, 2, 3, 4), (0, 0, 1, 1), (0, 0, 1, 1)), _conv(m, p)),
        _READ_ELSEWHERE,
    ),
    Example("pad_into_max_pool", lambda m: _pool(m, x32(m, 1, 1, 3, 4), -np.inf, padding=(1, 0, 0, 1))),
    Example("pad_into_max_pool", lambda m: _pool(m, m.input("x", "int8", (1, 1, 3, 4)), -128, window=(1, 1))),
    Example("pad_into_max_pool", lambda m: _pool(m, m.relu(x32(m, 1, 1, 3, 4)), 0)),
    Example("pad_into_max_pool", lambda m: _pool(m, m.clamp(x32(m, 1, 1, 3, 4), min_value=0, max_value=6), 0)),
    Example("pad_into_max_pool", lambda m: _pool(m, m.exp(x32(m, 1, 1, 3, 4)), 0)),
    Refusal("pad_into_max_pool", lambda m: _pool(m, x32(m, 1, 1, 3, 4), 0), _MAY_BE_LARGER),
    Refusal("pad_into_max_pool", lambda m: _pool(m, m.relu(x32(m, 1, 1, 3, 4)), 1), _MAY_BE_LARGER),
    Refusal("pad_into_max_pool", lambda m: _pool(m, m.relu(x32(m, 1, 1, 3, 4)), 0, window=(2, 1)), _MAY_BE_LARGER),
    Refusal("pad_into_max_pool", lambda m: _pool(m, m.relu(x32(m, 1, 1, 5, 6)), 0, dilations=(2, 2)), _MAY_BE_LARGER),
    Refusal("pad_into_max_pool", lambda m: _pool(m, x32(m, 1, 3, 4, 1), -np.inf), _PADS_CHANNELS),
    Refusal(
        "pad_into_max_pool",
        lambda m: m.max_pool2d(m.pad(x32(m, 1, 1, 3, 4), (0, 0, 1, 1), (0, 0, 1, 1), mode="edge")),
        _PADS_CHANNELS,
    ),
    Refusal(
        "pad_into_max_pool",
        lambda m: (
            p := m.pad(x32(m, 1, 1, 3, 4), (0, 0, 1, 1), (0, 0, 1, 1), value=-np.inf),
            m.max_pool2d(p, window_dimensions=(2, 2)),
        ),
        _READ_ELSEWHERE,
    ),
]

ARITHMETIC = [
    Example("add_zero", lambda m: m.add(number(m, -0.0, shape=(1, 3)), x32(m, 2, 3))),
    Example("add_zero", lambda m: m.add(i32(m, 2, 3), number(m, 0, "int32"))),
    Refusal(
        "add_zero", lambda m: m.add(x32(m, 2, 3), number(m, 0.0)), "the float constant is 0, which turns -0 into 0"
    ),
    Refusal("add_zero", lambda m: m.add(i32(m, 3), number(m, 0, "int32", (2, 3))), _BROADCAST),
    Example("sub_zero", lambda m: m.sub(x32(m, 2), number(m, 0.0))),
    Refusal("sub_zero", lambda m: m.sub(x32(m, 2), number(m, -0.0)), "the float constant is -0, which turns -0 into 0"),
    Refusal("sub_zero", lambda m: m.sub(x32(m), number(m, 0.0, shape=(2,))), _BROADCAST),
    Example("mul_one", lambda m: m.mul(number(m, 1, shape=(3,)), x32(m, 2, 3))),
    Refusal("mul_one", lambda m: m.mul(x32(m), number(m, 1, shape=(3,))), _BROADCAST),
    Example("div_or_pow_one", lambda m: m.div(i32(m, 2), number(m, 1, "int32"))),
    Example("div_or_pow_one", lambda m: m.pow(x32(m, 2), number(m, 1))),
    Refusal("div_or_pow_one", lambda m: m.div(x32(m), number(m, 1, shape=(3,))), _BROADCAST),
    Example("mul_minus_one", lambda m: m.mul(x32(m, 2), number(m, -1))),
    Refusal("mul_minus_one", lambda m: m.mul(x32(m), number(m, -1, shape=(2,))), _BROADCAST),
    Example("div_by_power_of_two", lambda m: m.div(x32(m, 2), number(m, -4))),
    Refusal("div_by_power_of_two", lambda m: m.div(x32(m, 2), number(m, 3)), "the divisor is no power of two"),
    Refusal("div_by_power_of_two", lambda m: m.div(x32(m, 2), number(m, 2.0**127)), "the divisor is no power of two"),
    Example("one_over_x", lambda m: m.div(number(m, 1), x32(m, 2))),
    Refusal("one_over_x", lambda m: m.div(number(m, 1, "int32"), i32(m, 2)), _INTEGERS),
    Refusal("one_over_x", lambda m: m.div(number(m, 1, shape=(2,)), x32(m)), _BROADCAST),
    Example("pow_two", lambda m: m.pow(x32(m, 2), number(m, 2))),
    Example("pow_two", lambda m: m.pow(i32(m, 2), number(m, 2, "int32"))),
    Refusal("pow_two", lambda m: m.pow(x32(m), number(m, 2, shape=(3,))), _BROADCAST),
    Example("pow_three", lambda m: m.pow(x32(m, 2), number(m, 3))),
    Refusal(
        "pow_three",
        lambda m: m.pow(m.input("x", "float16", (2,)), number(m, 3, "float16")),
        "a narrow float would be rounded between the products",
    ),
    Refusal("pow_three", lambda m: m.pow(x32(m), number(m, 3, shape=(2,))), _BROADCAST),
    Example(
        "pow_half",
        lambda m: m.pow(m.add(m.reduce_mean(m.mul(x := x32(m, 2, 3), x), axes=(1,)), number(m, 1e-5)), number(m, 0.5)),
    ),
    Refusal("pow_half", lambda m: m.pow(x32(m, 2), number(m, 0.5)), _MAY_BE_NEGATIVE),
    Refusal("pow_half", lambda m: m.pow(m.add(m.exp(x := x32(m, 2)), x), number(m, 0.5)), _MAY_BE_NEGATIVE),
    Refusal("pow_half", lambda m: m.pow(m.exp(x32(m)), number(m, 0.5, shape=(2,))), _BROADCAST),
    Example("pow_of_roots", lambda m: m.pow(m.exp(x32(m, 2)), number(m, 0.25))),
    Example("pow_of_roots", lambda m: m.pow(m.abs(x32(m, 2)), number(m, 1.5))),
    Refusal("pow_of_roots", lambda m: m.pow(x32(m, 2), number(m, 0.25)), _MAY_BE_NEGATIVE),
    Refusal("pow_of_roots", lambda m: m.pow(m.exp(x32(m)), number(m, 0.25, shape=(2,))), _BROADCAST),
    Refusal(
        "pow_of_roots",
        lambda m: m.pow(m.exp(m.input("x", "float16", (2,))), number(m, 0.25, "float16")),
        "a narrow float would be rounded between",
    ),
    Example("pow_four", lambda m: m.pow(x32(m, 2), number(m, 4))),
    Refusal("pow_four", lambda m: m.pow(x32(m), number(m, 4, shape=(2,))), _BROADCAST),
    Refusal(
        "pow_four",
        lambda m: m.pow(m.input("x", "float16", (2,)), number(m, 4, "float16")),
        "a narrow float would be rounded between",
    ),
    Example("pow_minus_one", lambda m: m.pow(x32(m, 2), number(m, -1))),
    Refusal("pow_minus_one", lambda m: m.pow(i32(m, 2), number(m, -1, "int32")), _INTEGERS),
    Refusal("pow_minus_one", lambda m: m.pow(x32(m), number(m, -1, shape=(2,))), _BROADCAST),
    Example("neg_of_neg", lambda m: m.neg(m.neg(i32(m, 2)))),
    Example("abs_of_neg", lambda m: m.abs(m.neg(i32(m, 2)))),
    Example("abs_of_neg", lambda m: m.abs(m.abs(x32(m, 2)))),
    Example("add_neg", lambda m: m.add(m.neg(x32(m, 2)), x32(m, 2, name="z"))),
    Example("sub_neg", lambda m: m.sub(x32(m, 2), m.neg(x32(m, 2, name="z")))),
    Example("product_of_negs", lambda m: m.div(m.neg(x32(m, 2)), m.neg(x32(m, 2, name="z")))),
    Refusal("product_of_negs", lambda m: m.div(m.neg(i32(m, 2)), m.neg(i32(m, 2, name="z"))), _INTEGERS),
    Example("sub_itself", lambda m: m.sub(x := i32(m, 2), x)),
    Refusal("sub_itself", lambda m: m.sub(x := x32(m, 2), x), _FLOATS),
    Example("mul_zero", lambda m: m.mul(i32(m, 2), number(m, 0, "int32"))),
    Refusal("mul_zero", lambda m: m.mul(x32(m, 2), number(m, 0)), _FLOATS),
    Example("add_chain", lambda m: m.add(m.constant([2**31 - 1], "int32"), m.add(i32(m, 2), number(m, 5, "int32")))),
    Refusal("add_chain", lambda m: m.add(m.add(x32(m, 2), number(m, 5)), number(m, 6)), _FLOATS),
    Refusal(
        "add_chain",
        lambda m: m.add(m.add(i32(m, 2, 3), number(m, 5, "int32", (3,))), number(m, 5, "int32", (2, 1))),
        _LARGER,
    ),
    Example("mul_chain", lambda m: m.mul(m.mul(i32(m, 2), number(m, 65536, "int32")), number(m, 98304, "int32"))),
    Refusal("mul_chain", lambda m: m.mul(m.mul(x32(m, 2), number(m, 5)), number(m, 6)), _FLOATS),
    Refusal(
        "mul_chain",
        lambda m: m.mul(m.mul(i32(m, 2, 3), number(m, 5, "int32", (3,))), number(m, 5, "int32", (2, 1))),
        _LARGER,
    ),
]

VALUES = [
    Example("extreme_of_itself", lambda m: m.max(x := x32(m, 2), x)),
    Example("extreme_of_unbounded", lambda m: m.min(number(m, np.inf), x32(m, 2))),
    Example("extreme_of_unbounded", lambda m: m.max(i32(m, 2), number(m, -(2**31), "int32"))),
    Refusal("extreme_of_unbounded", lambda m: m.max(x32(m, 2), number(m, np.inf))),
    Refusal("extreme_of_unbounded", lambda m: m.min(i32(m, 2), number(m, 2**31 - 2, "int32"))),
    Refusal("extreme_of_unbounded", lambda m: m.min(x32(m), number(m, np.inf, shape=(2,))), _BROADCAST),
    Example("rounding_of_rounding", lambda m: m.ceil(m.round_even(x32(m, 2)))),
    Example("sign_of_sign", lambda m: m.sign(m.sign(x32(m, 2)))),
    Example("clamp_of_clamp", lambda m: m.relu(m.relu(i32(m, 2)))),
    Example("clamp_of_clamp", lambda m: m.clamp(m.relu(x32(m, 2)), max_value=6)),
    Example("clamp_of_clamp", lambda m: m.clamp(m.clamp(x32(m, 2), min_value=-1, max_value=2), min_value=3)),
    Example("clamp_of_clamp", lambda m: m.relu(m.clamp(i32(m, 2), min_value=-4, max_value=-2))),
    Example("clamp_without_bounds", lambda m: m.clamp(x32(m, 2))),
    Example("clamp_without_bounds", lambda m: m.clamp(i32(m, 2), min_value=-(2**40))),
    Refusal("clamp_without_bounds", lambda m: m.clamp(i32(m, 2), min_value=-(2**31) + 1)),
    Example("cast_of_cast", lambda m: m.cast(m.cast(m.input("x", "float16", (2,)), "float32"), "float16")),
    Example("cast_of_cast", lambda m: m.cast(m.cast(m.input("x", "int8", (2,)), "int32"), "uint8")),
    Example("cast_of_cast", lambda m: m.cast(m.cast(m.input("x", "uint8", (2,)), "float32"), "float16")),
    Refusal("cast_of_cast", lambda m: m.cast(m.cast(x32(m, 2), "float16"), "float32"), _CASTS_OTHERWISE),
    Refusal("cast_of_cast", lambda m: m.cast(m.cast(i32(m, 2), "float32"), "int32"), _CASTS_OTHERWISE),
    Refusal("cast_of_cast", lambda m: m.cast(m.cast(i32(m, 2), "float64"), "int8"), _CASTS_OTHERWISE),
    Refusal("cast_of_cast", lambda m: m.cast(m.cast(i32(m, 2), "float64"), "float16"), _CASTS_OTHERWISE),
    Example("not_of_not", lambda m: m.logical_not(m.logical_not(m.is_nan(x32(m, 2))))),
    Example("not_of_not", lambda m: m.logical_not(m.logical_not(m.input("x", "bool", (2,))))),
    Refusal("not_of_not", lambda m: m.logical_not(m.logical_not(u8(m, 2))), _NO_TRUTH_VALUE),
    Example("not_of_comparison", lambda m: m.logical_not(m.equal(x32(m, 2), x32(m, 2, name="z")))),
    Example("not_of_comparison", lambda m: m.logical_not(m.lesser(i32(m, 2), i32(m, 2, name="z")))),
    Refusal(
        "not_of_comparison",
        lambda m: m.logical_not(m.lesser(x32(m, 2), x32(m, 2, name="z"))),
        "with NaN neither an order nor its opposite holds",
    ),
    Example("compare_with_itself", lambda m: m.greater_or_equal(x := i32(m, 2), x)),
    Example("compare_with_itself", lambda m: m.not_equal(x := i32(m, 2), x)),
    Refusal("compare_with_itself", lambda m: m.equal(x := x32(m, 2), x), _FLOATS),
    Example("not_equal_zero", lambda m: m.not_equal(m.equal(x := x32(m, 2), m.neg(x)), number(m, 0, "uint8"))),
    Refusal("not_equal_zero", lambda m: m.not_equal(u8(m, 2), number(m, 0, "uint8")), _NO_TRUTH_VALUE),
    Refusal("not_equal_zero", lambda m: m.not_equal(i32(m, 2), number(m, 0, "int32")), _BROADCAST),
    Example("and_true", lambda m: m.logical_and(number(m, 7, "uint8"), m.is_nan(x32(m, 2)))),
    Refusal("and_true", lambda m: m.logical_and(number(m, 7, "uint8"), u8(m, 2)), _NO_TRUTH_VALUE),
    Refusal("and_true", lambda m: m.logical_and(number(m, 7, "uint8", (2,)), u8(m)), _BROADCAST),
    Refusal("and_true", lambda m: m.logical_and(number(m, 7, "uint8", (2,)), m.is_nan(x32(m))), _BROADCAST),
    Example(
        "and_true", lambda m: m.logical_and(m.transpose(m.cast(m.is_nan(x32(m, 2, 3)), "uint8")), number(m, 1, "uint8"))
    ),
    Example("or_false", lambda m: m.logical_or(m.is_nan(x32(m, 2)), number(m, 0, "uint8"))),
    Refusal("or_false", lambda m: m.logical_or(u8(m, 2), number(m, 0, "uint8")), _NO_TRUTH_VALUE),
    Refusal("or_false", lambda m: m.logical_or(u8(m), number(m, 0, "uint8", (2,))), _BROADCAST),
    Refusal("or_false", lambda m: m.logical_or(m.is_nan(x32(m)), number(m, 0, "uint8", (2,))), _BROADCAST),
    Refusal("not_equal_zero", lambda m: m.not_equal(m.is_nan(x32(m)), number(m, 0, "uint8", (2,))), _BROADCAST),
    Example("where_constant", lambda m: m.where(number(m, 3, "uint8"), x32(m, 2, 3), x32(m, 3, name="z"))),
    Example("where_constant", lambda m: m.where(number(m, 0, "uint8"), x32(m, 2, 3), x32(m, 3, name="z"))),
    Example("where_alike", lambda m: m.where(u8(m, 2, 1), x := x32(m, 3), x)),
    Example("where_not", lambda m: m.where(m.logical_not(u8(m, 2)), x32(m, 2), number(m, 1))),
]

EXAMPLES = NO_OPS + MOVEMENT + ARITHMETIC + VALUES
