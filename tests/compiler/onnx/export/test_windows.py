"""Convolutions, pools and resampling: layouts, padding, dilations, roundings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from .one_operator import FLOATS, INTS, check, numbers

NARROW = {"float16": 0.1, "bfloat16": 0.5}
"""Tolerances of sums of products."""
INPUTS = {"nchw": (2, 4, 5, 6), "nhwc": (2, 5, 6, 4)}
POOLS = ("average_pool2d", "l2_pool2d", "max_pool2d")
WINDOWS: tuple[Mapping[str, Any], ...] = (
    {},
    {"layout": "nhwc"},
    {"window_dimensions": (2, 3), "padding": (1, 0, 1, 2), "strides": (2, 1)},
    {"window_dimensions": (2, 2), "dilations": (2, 1)},
    {"window_dimensions": (2, 2), "strides": (2, 2), "output_shape_rounding": "ceil"},
    {"window_dimensions": (2, 2), "padding": (3, 0, 1, 2)},
    {"window_dimensions": (2, 2), "strides": (2, 3), "output_sizes": (2, 2)},
    {"window_dimensions": (1, 2), "layout": "nhwc", "dilations": (1, 2), "padding": (0, 0, 1, 0)},
)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("filters", ["oihw", "hwio", "ohwi", "ihwo"])
@pytest.mark.parametrize("constant", [(), ("filter",)])
def test_conv2d_layouts(layout: str, filters: str, constant: tuple[str, ...]) -> None:
    sizes = {"o": 6, "i": 2, "h": 3, "w": 2}
    operands = {
        "input": numbers("float32", *INPUTS[layout]),
        "filter": numbers("float32", *(sizes[k] for k in filters)),
        "bias": numbers("float32", 6),
    }
    options = {"groups": 2, "padding": (1, 2, 0, 1), "strides": (2, 1), "dilations": (1, 2)}
    check("conv2d", operands, input_layout=layout, filter_layout=filters, constant=constant, **options)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("filters", ["iohw", "hwoi", "ohwi"])
@pytest.mark.parametrize("size", [{"output_padding": (1, 2)}, {"output_sizes": (11, 18)}])
def test_conv_transpose2d_layouts(layout: str, filters: str, size: dict[str, tuple[int, int]]) -> None:
    sizes = {"o": 3, "i": 4, "h": 3, "w": 2}
    operands = {
        "input": numbers("float32", *INPUTS[layout]),
        "filter": numbers("float32", *(sizes[k] for k in filters)),
        "bias": numbers("float32", 6),
    }
    options = {"groups": 2, "padding": (1, 0, 0, 1), "strides": (2, 3), "dilations": (1, 2), **size}
    check("conv_transpose2d", operands, input_layout=layout, filter_layout=filters, **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["conv2d", "conv_transpose2d"])
def test_convolutions_of_every_type(op: str, dtype: str) -> None:
    operands = [numbers(dtype, 1, 2, 4, 4), numbers(dtype, 2, 2, 2, 2)]
    check(op, operands, tolerance=NARROW.get(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("options", WINDOWS, ids=str)
@pytest.mark.parametrize("op", POOLS)
def test_pools(op: str, options: Mapping[str, Any], dtype: str) -> None:
    check(op, [numbers(dtype, 2, 3, 5, 6)], again=dtype == "float32", **options)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("options", [WINDOWS[i] for i in (0, 2, 3, 5)], ids=str)
def test_maxima_of_integers(options: Mapping[str, Any], dtype: str) -> None:
    check("max_pool2d", [numbers(dtype, 2, 3, 5, 6)], **options)


def test_dilated_averages_from_19_on_need_no_composition() -> None:
    model = check(
        "average_pool2d", [numbers("float32", 1, 1, 5, 6)], window_dimensions=(2, 2), dilations=(2, 1), opset=19
    )
    assert [node.op_type for node in model.nodes] == ["AveragePool"]


@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32"])
def test_positions_of_maxima(dtype: str, column_major: bool) -> None:
    x = np.random.default_rng(0).permutation(120).reshape(1, 2, 6, 10).astype(numbers(dtype).dtype)
    check("max_pool_indices", [x], (2, 2), padding=(1, 0, 0, 1), column_major=column_major, again=False)


SIZES = (
    {"sizes": (7, 3)},
    {"scales": (2.0, 1.5)},
    {"sizes": (9, 2), "axes": (1, 2)},
    {"sizes": (9, 2), "axes": (3, 1)},
    {"scales": (0.7, 0.3), "axes": (0, 3)},
)


@pytest.mark.parametrize("mode", ["nearest-neighbor", "linear"])
@pytest.mark.parametrize("options", SIZES, ids=str)
@pytest.mark.parametrize("dtype", (*FLOATS, "int8", "uint8"))
def test_resample2d(dtype: str, options: dict[str, Any], mode: str) -> None:
    check("resample2d", [numbers(dtype, 4, 5, 6, 7)], mode=mode, again=mode == "linear", **options)


@pytest.mark.parametrize("count", range(1, 40, 3))
def test_nearest_elements_are_found_exactly(count: int) -> None:
    x = np.arange(23, dtype=np.float32).reshape(1, 1, 1, 23)
    check("resample2d", [x], sizes=(1, count), again=False)


LINES = {
    "half_pixel": ((5 / 7 / 2 - 0.5, 6 / 9 / 2 - 0.5), (5 / 7, 6 / 9)),
    "align_corners": ((0.0, 0.0), (4 / 6, 5 / 8)),
    "asymmetric": ((0.0, 0.0), (5 / 7, 6 / 9)),
    None: ((0.3, -2.0), (0.9, 1.4)),
}


@pytest.mark.parametrize("dtype", (*FLOATS, "int8", "uint16", "int64"))
@pytest.mark.parametrize("mode", LINES)
def test_interpolation_along_lines(mode: str | None, dtype: str) -> None:
    model = check("interpolate2d", [numbers(dtype, 1, 2, 5, 6)], (7, 9), *LINES[mode], again=dtype == "float32")
    modes = [
        node.attributes["coordinate_transformation_mode"].value for node in model.nodes if node.op_type == "Resize"
    ]
    assert modes == ([mode.encode()] if mode and dtype in ("float32", "float16", "bfloat16") else [])


def test_interpolation_along_other_axes_and_of_unknown_sizes() -> None:
    x, line = numbers("float32", 2, 5, 6, 3), LINES["half_pixel"]
    check("interpolate2d", [x], (7, 9), *line, axes=(1, 2))
    check("interpolate2d", [x], (7, 9), *line, axes=(2, 1), dims={"input": ("b", "h", "w", 3)}, again=False)
