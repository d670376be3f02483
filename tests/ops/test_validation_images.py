"""Rules of convolution, pooling and resampling: for each a call that keeps it and one that breaks it."""

from __future__ import annotations

import pytest

from basalt.errors import ValidationError

from .harness import Call, Rules, check_rule, each_rule, infer

CONV: Call = {"input": "f32[1, 4, 5, 5]", "filter": "f32[2, 4, 3, 3]"}
UP: Call = {"input": "f32[1, 4, 5, 5]", "filter": "f32[4, 2, 3, 3]"}
POOL: Call = {"input": "f32[1, 2, 5, 5]"}
HALVING: Call = {"input": "f32[1, 2, 5, 5]", "window_dimensions": (2, 2), "strides": (2, 2)}
IMAGE: Call = {"input": "f32[1, 2, 5, 5]"}

RULES: list[Rules] = [
    (
        "conv2d",
        CONV,
        [
            ({}, {"input": "i32[1, 4, 5, 5]"}, "input is int32, expected one of float16, float32"),
            ({}, {"input": "f32[4, 5, 5]"}, "input has rank 3, expected 4"),
            ({}, {"filter": "f32[2, 4, 3]"}, "filter has rank 3, expected 4"),
            ({}, {"filter": "f16[2, 4, 3, 3]"}, "filter is float16, but must have the data type of input, float32"),
            ({}, {"filter": None}, "operand filter is missing"),
            ({"padding": (0, 1, 2, 3)}, {"padding": (0, 1)}, "padding: expected 4 values, got 2"),
            ({"padding": (0, 0, 0, 0)}, {"padding": (0, 0, 0, -1)}, "padding: expected an integer from 0"),
            ({"strides": (1, 2)}, {"strides": (1,)}, "strides: expected 2 values, got 1"),
            ({"strides": (1, 2)}, {"strides": (1, 0)}, "strides: expected an integer from 1 to 4294967295, got 0"),
            ({"dilations": (2, 1)}, {"dilations": (1, 1, 1)}, "dilations: expected 2 values, got 3"),
            ({"dilations": (2, 1)}, {"dilations": (0, 1)}, "dilations: expected an integer from 1"),
            ({"groups": 1}, {"groups": 0}, "groups: expected an integer from 1"),
            ({"input_layout": "nchw"}, {"input_layout": "chwn"}, "input_layout: expected one of nchw, nhwc"),
            ({"filter_layout": "oihw"}, {"filter_layout": "iohw"}, "filter_layout: expected one of oihw, hwio"),
            ({"groups": 2, "filter": "f32[2, 2, 3, 3]"}, {"groups": 3}, "4 input channels cannot be divided"),
            ({}, {"filter": "f32[2, 3, 3, 3]"}, "3 input channels, but the input has 4 in 1 groups"),
            ({}, {"input_layout": "nhwc"}, "4 input channels, but the input has 5 in 1 groups"),
            (
                {"groups": 2, "filter": "f32[4, 2, 3, 3]"},
                {"groups": 2, "filter": "f32[3, 2, 3, 3]"},
                "3 output channels cannot",
            ),
            ({"bias": "f32[2]"}, {"bias": "f32[4]"}, "bias has shape [4], expected [2]"),
            ({"bias": "f32[2]"}, {"bias": "f32[1, 2]"}, "bias has rank 2, expected 1"),
            ({"bias": "f32[2]"}, {"bias": "f16[2]"}, "bias is float16, but must have the data type of input"),
            (
                {"dilations": (2, 2)},
                {"dilations": (3, 1)},
                "height 3 and dilation 3 exceeds the input's height, 5 with",
            ),
            ({"input": "f32[1, 4, h, w]"}, {"input": "f32[1, 4, h, 2]"}, "width 3 and dilation 1 exceeds"),
            ({"padding": (2**27, 0, 0, 0)}, {"padding": (2**31, 0, 0, 0)}, "dimension 2147483651, expected 0 to"),
            ({}, {"stride": (1, 1)}, "has no option stride; its options are"),
        ],
    ),
    (
        "conv_transpose2d",
        UP,
        [
            ({}, {"input": "u8[1, 4, 5, 5]"}, "input is uint8, expected one of float16, float32"),
            ({}, {"input": "f32[5, 5]"}, "input has rank 2, expected 4"),
            ({}, {"filter": "f32[4, 2, 3, 3, 1]"}, "filter has rank 5, expected 4"),
            ({}, {"filter": "f16[4, 2, 3, 3]"}, "filter is float16, but must have"),
            ({"padding": (1, 1, 1, 1)}, {"padding": (1, 1, 1, 1, 1)}, "padding: expected 4 values, got 5"),
            ({"strides": (2, 2)}, {"strides": (0, 2)}, "strides: expected an integer from 1"),
            ({"dilations": (2, 2)}, {"dilations": (0, 2)}, "dilations: expected an integer from 1"),
            ({"output_padding": (0, 0)}, {"output_padding": (0,)}, "output_padding: expected 2 values"),
            (
                {"output_padding": (1, 0), "strides": (2, 1)},
                {"output_padding": (0, 1)},
                "output_padding 1 of the width must be below the stride, 1",
            ),
            (
                {"output_padding": (9, 9), "output_sizes": (7, 7)},
                {"output_sizes": (7, 8)},
                "output_sizes give width 8, expected 7 to 7",
            ),
            (
                {"strides": (2, 2), "output_sizes": (12, 11)},
                {"strides": (2, 2), "output_sizes": (10, 11)},
                "output_sizes give height 10, expected 11 to 12",
            ),
            ({"output_sizes": (7, 7)}, {"output_sizes": (7, 7, 7)}, "output_sizes: expected 2 values"),
            ({"groups": 2}, {"groups": 0}, "groups: expected an integer from 1"),
            ({"groups": 4}, {"groups": 3}, "4 input channels cannot be divided into 3 groups"),
            ({}, {"filter": "f32[3, 2, 3, 3]"}, "the filter has 3 input channels, expected 4"),
            ({}, {"filter_layout": "oihw"}, "filter_layout: expected one of iohw, hwoi, ohwi"),
            ({"groups": 2, "bias": "f32[4]"}, {"groups": 2, "bias": "f32[2]"}, "bias has shape [2], expected [4]"),
            (
                {"padding": (3, 3, 0, 0)},
                {"padding": (4, 3, 0, 0)},
                "the output's height is 0: padding 4 + 3 leaves nothing",
            ),
        ],
    ),
    (
        "average_pool2d",
        POOL,
        [
            ({}, {"input": "i8[1, 2, 5, 5]"}, "input is int8, expected one of float16, float32"),
        ],
    ),
    (
        "l2_pool2d",
        POOL,
        [
            ({}, {"input": "i8[1, 2, 5, 5]"}, "input is int8, expected one of float16, float32"),
        ],
    ),
    (
        "max_pool2d",
        POOL,
        [
            ({"input": "u8[1, 2, 5, 5]"}, {"input": "int4[1, 2, 5, 5]"}, "input is int4, expected one of"),
            ({}, {"input": "f32[2, 5, 5]"}, "input has rank 3, expected 4"),
            ({"window_dimensions": (5, 5)}, {"window_dimensions": (6, 5)}, "window of height 6 and dilation 1 exceeds"),
            ({"window_dimensions": (5, 5)}, {"window_dimensions": (5,)}, "window_dimensions: expected 2 values"),
            (
                {"window_dimensions": (1, 1)},
                {"window_dimensions": (0, 1)},
                "window_dimensions: expected an integer from 1",
            ),
            ({"padding": (1, 1, 1, 1)}, {"padding": (1, 1, 1)}, "padding: expected 4 values"),
            ({"strides": (2, 2)}, {"strides": (2,)}, "strides: expected 2 values"),
            ({"strides": (2, 2)}, {"strides": (2, 0)}, "strides: expected an integer from 1"),
            ({"layout": "nhwc"}, {"layout": "oihw"}, "layout: expected one of nchw, nhwc, got 'oihw'"),
        ],
    ),
    (
        "max_pool2d",
        HALVING,
        [
            ({"dilations": (2, 2)}, {"dilations": (2, 0)}, "dilations: expected an integer from 1"),
            ({"dilations": (2, 2)}, {"dilations": (2,)}, "dilations: expected 2 values"),
            (
                {"output_shape_rounding": "ceil"},
                {"output_shape_rounding": "round"},
                "output_shape_rounding: expected one of floor, ceil",
            ),
            (
                {"output_sizes": (3, 3)},
                {"output_sizes": (2, 3)},
                "output_sizes are [2, 3], expected [2, 2] (rounded down) or [3, 3]",
            ),
            ({"output_sizes": (2, 2)}, {"output_sizes": (4, 4)}, "output_sizes are [4, 4], expected [2, 2]"),
            ({"output_sizes": (2, 2)}, {"output_sizes": (2, 2, 2)}, "output_sizes: expected 2 values"),
        ],
    ),
    (
        "resample2d",
        POOL,
        [
            ({"input": "u8[1, 2, 5, 5]"}, {"input": "i32[1, 2, 5, 5]"}, "input is int32, expected one of float16"),
            ({}, {"input": "f32[2, 5, 5]"}, "input has rank 3, expected 4"),
            ({"mode": "linear"}, {"mode": "cubic"}, "mode: expected one of nearest-neighbor, linear"),
            ({"scales": (2, 0.5)}, {"scales": (2, 0)}, "scales: expected a finite number above 0, got 0"),
            ({"scales": (2, 0.5)}, {"scales": (2, -0.5)}, "scales: expected a finite number above 0, got -0.5"),
            ({"scales": (2, 0.5)}, {"scales": (1e39, 1)}, "scales: expected a finite number above 0, got 1e+39"),
            ({"scales": (2, 0.5)}, {"scales": (2,)}, "scales: expected 2 values"),
            ({"sizes": (1, 9)}, {"sizes": (1, 9, 1)}, "sizes: expected 2 values"),
            ({"sizes": (1, 9)}, {"sizes": (0, 9)}, "sizes: expected an integer from 1"),
            ({"axes": (1, 2)}, {"axes": (2, 2)}, "axes [2, 2] name an axis twice"),
            ({"axes": (0, 3)}, {"axes": (3, 4)}, "axes is 4, expected 0 to 3"),
            ({"scales": (0.2, 1)}, {"scales": (0.1, 1)}, "the output's size of axis 2 is 0, expected at least 1"),
            (
                {"scales": (10000000.0, 1)},
                {"scales": (1000000000.0, 1)},
                "dimension 5000000000, expected 0 to 2147483647",
            ),
        ],
    ),
]


@pytest.mark.parametrize(("name", "kept", "broken", "message"), each_rule(RULES))
def test_rule(name: str, kept: Call, broken: Call, message: str) -> None:
    check_rule(name, kept, broken, message)


def test_messages_show_the_operands() -> None:
    with pytest.raises(ValidationError) as error:
        infer("conv2d", input="f32[1, n, 5, 5]", filter="f32[2, 4, 7, 3]")
    assert str(error.value) == (
        'conv2d "probe" (input: float32[1, n, 5, 5], filter: float32[2, 4, 7, 3]): the window of height 7 and '
        "dilation 1 exceeds the input's height, 5 with padding 0 + 0"
    )
