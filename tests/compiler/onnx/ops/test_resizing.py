"""Resize and Upsample at all versions, against the onnx package's evaluator and ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

import ml_dtypes
import onnx
from onnx import helper

from basalt.errors import ValidationError
from basalt.onnx_backend import Backend

from .single import BOTH, check, interpreted, model_of, ort, reference, run, same

X = np.random.default_rng(0).standard_normal((1, 2, 5, 6)).astype(np.float32)
MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
ROI = np.float32([0, 0, 0.1, 0.2, 1, 1, 0.9, 1.1])
NO_FLOATS = np.zeros(0, np.float32)
ROUNDING = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize("coordinates", [*MODES, "half_pixel_symmetric"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("factors", [(2, 3), (0.6, 1.7)])
def test_coordinates(coordinates: str, mode: str, factors: tuple[float, float]) -> None:
    roi = ROI if coordinates == "tf_crop_and_resize" else NO_FLOATS
    inputs = [X, roi, floats(1, 1, *factors)]
    options: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates, "extrapolation_value": 9.0}
    versions = (11, 13, 18, 19)
    for rounding in ROUNDING if mode == "nearest" else ROUNDING[:1]:
        (expected,) = reference("Resize", 19, inputs, nearest_mode=rounding, **options)
        check("Resize", versions, inputs, expected, nearest_mode=rounding, **options, rtol=1e-4, atol=1e-5)
    if coordinates in ("half_pixel", "align_corners") and factors[0] < 1:
        check(
            "Resize", (19,), inputs, expected, nearest_mode=rounding, **options, compiled=(True,), rtol=1e-4, atol=1e-5
        )


def test_coordinates_of_versions_11_and_13() -> None:
    for mode in ("nearest", "linear"):
        options = {"mode": mode, "coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}
        for factors in ((2, 3), (0.5, 1.5)):
            inputs = [X, NO_FLOATS, floats(1, 1, *factors)]
            check("Resize", (11, 13), inputs, ort("Resize", 11, inputs, **options), **options, compiled=BOTH)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_sizes(mode: str) -> None:
    sizes = np.array([1, 2, 7, 3])
    for coordinates in MODES[:4]:
        options = {"mode": mode, "coordinate_transformation_mode": coordinates}
        (expected,) = reference("Resize", 19, [X, None, None, sizes], **options)
        check("Resize", (11,), [X, NO_FLOATS, NO_FLOATS, sizes], expected, **options, rtol=1e-4)
        check("Resize", (11,), [X, NO_FLOATS, NO_FLOATS, sizes], expected, **options, rtol=1e-4, symbolic=True)
        check("Resize", (13, 18, 19), [X, None, None, sizes], expected, **options, rtol=1e-4)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("factors", [(0.3, 0.7), (0.45, 2)])
def test_filters(mode: str, outside: int, factors: tuple[float, float]) -> None:
    inputs = [X, None, floats(1, 1, *factors)]
    for antialias in (0, 1):
        options = {"mode": mode, "antialias": antialias, "exclude_outside": outside, "cubic_coeff_a": -0.5}
        (expected,) = reference("Resize", 19, inputs, **options)
        check("Resize", (18, 19), inputs, expected, **options, rtol=1e-4, atol=1e-5)
    check("Resize", (19,), inputs, expected, **options, compiled=(True,), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_aspect_ratio_and_axes(policy: str) -> None:
    for axes, sizes in (([2, 3], [7, 3]), ([3, 2], [9, 9]), ([1, 2, 3], [4, 4, 4])):
        options = {"axes": axes, "keep_aspect_ratio_policy": policy, "mode": "linear"}
        inputs = [X, None, None, np.array(sizes)]
        (expected,) = reference("Resize", 18, inputs, **options)
        check("Resize", (18, 19), inputs, expected, **options)
    negative = {**options, "axes": [-3, -2, -1]}
    check("Resize", (18, 19), inputs, expected, **negative)
    roi = floats(0.2, 0.1, 0.8, 0.7)
    options = {"axes": [3, 2], "coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    (expected,) = reference("Resize", 19, [X, roi, floats(1.5, 2)], **options)
    check("Resize", (18, 19), [X, roi, floats(1.5, 2)], expected, **options)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    ("shape", "factors"),
    [
        ((6,), (2.5,)),
        ((4, 6), (0.5, 1.5)),
        ((2, 3, 4), (1, 2, 0.7)),
        ((1, 2, 3, 4, 5), (1, 1, 2, 1.5, 0.8)),
        ((3, 4, 2), (2, 1, 2)),
    ],
)
def test_ranks(mode: str, shape: tuple[int, ...], factors: tuple[float, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    inputs = [x, None, floats(*factors)]
    (expected,) = reference("Resize", 19, inputs, mode=mode)
    check("Resize", (13, 19), inputs, expected, mode=mode, rtol=1e-4, atol=1e-5)
    check(
        "Resize",
        (19,),
        inputs,
        expected,
        mode=mode,
        compiled=(True,),
        constant=(2,),
        symbolic=True,
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint64", "float16", "float64", "bfloat16"])
def test_data_types(mode: str, dtype: str) -> None:
    x = (np.random.default_rng(2).random((1, 1, 5, 6)) * 100).astype(getattr(ml_dtypes, dtype, dtype))
    inputs = [x, None, floats(1, 1, 1.6, 2.3)]
    (expected,) = reference("Resize", 19, inputs, mode=mode)
    # The evaluator has the coefficients of the cubic filter in float32.
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-4)
    check(
        "Resize", (13, 19), inputs, expected, mode=mode, rtol=tolerance, compiled=BOTH if mode == "linear" else (False,)
    )


def test_truth_values_strings_and_complex_numbers() -> None:
    mask = np.array([[True, False]])
    check("Resize", (11,), [mask, NO_FLOATS, floats(1, 2), np.zeros(0, np.int64)], np.repeat(mask, 2, 1), symbolic=True)
    check("Resize", (10,), [mask, floats(1, 2)], np.repeat(mask, 2, 1))
    check("Resize", (11, 19), [mask, NO_FLOATS, floats(1, 2)], np.repeat(mask, 2, 1), compiled=BOTH)
    words = np.array([["a", "b"]], dtype=object)
    check("Upsample", (7,), [words], np.repeat(words, 2, 1), scales=[1.0, 2.0])
    check("Resize", (10,), [words, floats(1, 2)], np.repeat(words, 2, 1))
    check("Resize", (11, 13, 18, 19), [words, NO_FLOATS, floats(1, 1.5)], words[:, [0, 0, 1]])
    x = np.array([1 + 2j, 3 - 2j], np.complex64)
    for version in (11, 19):
        (result,) = run("Resize", version, [x, NO_FLOATS, floats(2)], mode="linear")
        np.testing.assert_allclose(result, [1 + 2j, 1.5 + 1j, 2.5 - 1j, 3 - 2j], rtol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("factors", [(2, 2), (2.5, 1.7), (1.3, 3), (1, 1)])
def test_upsample(mode: str, factors: tuple[float, float]) -> None:
    scales = [1.0, 1.0, *map(float, factors)]
    expected = ort("Upsample", 9, [X, floats(*scales)], mode=mode)
    check("Upsample", (7,), [X], expected, mode=mode, scales=scales)
    check("Upsample", (9,), [X, floats(*scales)], expected, mode=mode, compiled=BOTH)
    check("Upsample", (10,), [X, floats(*scales)], expected, mode=mode)
    check("Resize", (10,), [X, floats(*scales)], expected, mode=mode)
    named = "bilinear" if mode == "linear" else mode
    check("Upsample", (1,), [X], expected, mode=named, height_scale=scales[2], width_scale=scales[3], compiled=BOTH)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("factors", [(0.6, 0.5), (0.6, 2)])
def test_smaller_before_version_11(mode: str, factors: tuple[float, float]) -> None:
    inputs = [X, floats(1, 1, *factors)]
    check("Resize", (10,), inputs, ort("Resize", 10, inputs, mode=mode), mode=mode, compiled=BOTH)


def test_sizes_that_stay_symbolic() -> None:
    (expected,) = reference("Resize", 13, [X, None, floats(1, 1, 2, 3)], mode="linear")
    options = {"symbolic": True, "constant": (2,)}
    check("Resize", (13,), [X, None, floats(1, 1, 2, 3)], expected, mode="linear", **options, compiled=BOTH)
    check("Resize", (13,), [X, None, floats(1, 1, 2, 3)], X.repeat(2, 2).repeat(3, 3), **options, compiled=BOTH)


@pytest.mark.parametrize("coordinates", [*MODES[:4], "half_pixel_symmetric"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_coordinates_computed_at_run_time(coordinates: str, mode: str) -> None:
    options = {"mode": mode, "coordinate_transformation_mode": coordinates}
    model = model_of("Resize", 19, [X, None, floats(1, 1, 1.5, 0.6)], constant=(2,), symbolic=True, **options)
    with interpreted():
        prepared = Backend.prepare(model)
        for height, width in ((5, 6), (1, 2), (7, 10), (2, 5)):
            x = np.random.default_rng(height).standard_normal((1, 2, height, width)).astype(np.float32)
            (expected,) = reference("Resize", 19, [x, None, floats(1, 1, 1.5, 0.6)], **options)
            same(prepared.run([x])[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("way", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    ],
)
def test_sizes_of_another_tensor(way: bool, dtype: str, options: dict[str, Any]) -> None:
    nodes = [
        helper.make_node("Shape", ["like"], ["sizes"]),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **options),
    ]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [helper.make_tensor_value_info(n, kind, [1, 2, f"{n}_h", f"{n}_w"]) for n in ("x", "like")]
    graph = helper.make_graph(nodes, "like", inputs, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    with interpreted(way):
        prepared = Backend.prepare(model)
        for given_size, wanted in (((3, 4), (7, 5)), ((5, 4), (2, 9)), ((1, 3), (1, 1))):
            x = np.random.default_rng(0).standard_normal((1, 2, *given_size)).astype(dtype)
            (expected,) = reference("Resize", 13, [x, None, None, np.array([1, 2, *wanted])], **options)
            got = prepared.run([x, np.zeros((1, 2, *wanted), dtype)])[0]
            assert prepared.model._script.entry._symbolic
            same(got, expected, rtol=2e-3 if dtype == "float16" else 1e-4, atol=1e-3 if dtype == "float16" else 1e-5)


def test_empty_results() -> None:
    check("Resize", (13,), [X, None, floats(1, 1, 0.1, 1)], X[:, :, :0], mode="linear")
    check("Resize", (13,), [X[:0], None, floats(1, 1, 2, 2)], np.zeros((0, 2, 10, 12), np.float32))
    with pytest.raises(ValidationError, match="empty"):
        run("Resize", 13, [X[:, :, :0], None, None, np.array([1, 2, 3, 6])])


def test_refuses() -> None:
    scales = floats(1, 1, 2, 2)
    for inputs, options in (
        ([X, None, scales, np.array([1, 2, 3, 4])], {}),
        ([X], {}),
        ([X, None, scales[:3]], {}),
        ([X, None, -scales], {}),
        ([X, None, scales], {"mode": "bilinear"}),
        ([X, None, scales], {"nearest_mode": "round"}),
        ([X, None, scales], {"coordinate_transformation_mode": "pixel"}),
        ([X, None, scales], {"antialias": 1}),
        ([X, None, scales], {"axes": [2, 2, 3, 3]}),
        ([X, None, scales], {"coordinate_transformation_mode": "tf_crop_and_resize"}),
        ([X, None, None, np.array([1, 2, -3, 4])], {}),
        ([X, None, None, np.array([1, 2, 3, 4])], {"keep_aspect_ratio_policy": "keep"}),
    ):
        with pytest.raises(ValidationError):
            run("Resize", 18, inputs, **options)
    for large in (1e12, 3e38):
        with pytest.raises(ValidationError, match="elements"):
            run("Resize", 18, [X, None, floats(1, 1, 1, large)])
    with pytest.raises(ValidationError, match="elements"):
        run("Resize", 18, [X, None, None, np.array([1, 2, 2**62, 3])], mode="cubic")
    with pytest.raises(ValidationError, match="rank 4"):
        run("Upsample", 1, [X[0]], height_scale=2.0, width_scale=2.0)
    with pytest.raises(ValidationError, match="mode"):
        run("Upsample", 9, [X, scales], mode="cubic")


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 12),
    st.sampled_from(MODES[:4]),
    st.sampled_from(["nearest", "linear", "cubic"]),
    st.booleans(),
    st.booleans(),
)
def test_like_the_evaluator(size: int, count: int, coordinates: str, mode: str, antialias: bool, outside: bool) -> None:
    x = np.random.default_rng(size).standard_normal((2, size)).astype(np.float32)
    options: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode != "nearest":
        options |= {"antialias": int(antialias), "exclude_outside": int(outside)}
    inputs = [x, None, None, np.array([2, count])]
    (expected,) = reference("Resize", 19, inputs, **options)
    check("Resize", (19,), inputs, expected, **options, rtol=1e-3, atol=1e-4)
