"""GridSample and AffineGrid at all versions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

pytest.importorskip("onnx")

import ml_dtypes

from basalt.errors import ValidationError

from .single import BOTH, check, ort, reference, run

RNG = np.random.default_rng(0)
PADDING = ("zeros", "border", "reflection")
FORMS = {3: (2, 3, 6), 4: (2, 3, 4, 5), 5: (1, 2, 3, 4, 5), 6: (1, 1, 2, 3, 2, 3)}


def images(rank: int) -> tuple[np.ndarray, np.ndarray]:
    """An image and a grid."""
    x = RNG.standard_normal(FORMS[rank]).astype(np.float32)
    places = (2, 3, 2, 2)[: rank - 2]
    return x, RNG.uniform(-1.6, 1.6, (x.shape[0], *places, rank - 2)).astype(np.float32)


@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images(mode: str, padding: str) -> None:
    inputs = images(4)
    for align in (0, 1):
        options = {"padding_mode": padding, "align_corners": align}
        newer = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
        if mode == "bicubic" and padding == "border":
            # The evaluator moves places inside first, ONNX Runtime and PyTorch the elements of each.
            expected = ort("GridSample", 16, inputs, mode=mode, **options)
        else:
            (expected,) = reference("GridSample", 20, inputs, mode=newer, **options)
        check("GridSample", (16,), inputs, expected, mode=mode, **options, rtol=1e-4, atol=1e-5)
        check("GridSample", (20, 22), inputs, expected, mode=newer, **options, rtol=1e-4, atol=1e-5)
    check("GridSample", (22,), inputs, expected, mode=newer, **options, compiled=(True,), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("rank", "mode"),
    [
        (3, "linear"),
        (3, "nearest"),
        (3, "cubic"),
        (5, "linear"),
        (5, "nearest"),
        (5, "cubic"),
        (6, "linear"),
        (6, "nearest"),
    ],
)
def test_other_ranks(rank: int, mode: str) -> None:
    inputs = images(rank)
    for padding, align in product(PADDING, (0, 1)):
        options = {"mode": mode, "padding_mode": padding, "align_corners": align}
        if mode == "cubic" and padding == "border":
            continue
        (expected,) = reference("GridSample", 20, inputs, **options)
        check("GridSample", (20, 22), inputs, expected, **options, rtol=1e-4, atol=1e-5)


def test_images_of_any_rank_agree_with_those_of_two_axes() -> None:
    x, grid = images(5)
    flat = grid.copy()
    flat[..., 2] = 0.0
    volume, places = x[:, :, :1], flat[:, :1]
    for padding, align in product(PADDING, (0, 1)):
        options = {"mode": "cubic", "padding_mode": padding, "align_corners": align}
        (expected,) = run("GridSample", 22, [volume[:, :, 0], places[:, 0, ..., :2].copy()], **options)
        check("GridSample", (22,), [volume, places], expected[:, :, None], **options, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_volumes_compiled(mode: str) -> None:
    inputs = images(5)
    options = {"mode": mode, "padding_mode": "reflection"}
    (expected,) = reference("GridSample", 20, inputs, **options)
    for symbolic in (False, True):
        check("GridSample", (22,), inputs, expected, **options, symbolic=symbolic, compiled=BOTH, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16", "int64", "uint8", "bool"])
def test_data_types(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x, grid = images(4)
    x = (x * 9).astype(kind)
    version = 22 if dtype == "bfloat16" else 16
    for padding in PADDING:
        options = {"mode": "nearest", "padding_mode": padding}
        (expected,) = reference("GridSample", 20, [x.astype(np.float64), grid], **options)
        check("GridSample", (version,), [x, grid], expected.astype(kind), **options, compiled=BOTH)
    (smooth,) = reference("GridSample", 20, [x.astype(np.float64), grid])
    if kind.kind in "iu":
        smooth = np.rint(smooth)
    check(
        "GridSample", (22,), [x, grid], (smooth != 0) if dtype == "bool" else smooth.astype(kind), rtol=1e-2, atol=1e-2
    )


def test_strings_and_complex_numbers() -> None:
    words = np.array([["a", "b"]], dtype=object).reshape(1, 1, 1, 2)
    grid = np.float32([[-0.9, 0], [0.4, 0], [5, 0]]).reshape(1, 1, 3, 2)
    check(
        "GridSample",
        (16, 22),
        [words, grid],
        np.array(["a", "b", ""], dtype=object).reshape(1, 1, 1, 3),
        mode="nearest",
    )
    x = np.array([1 + 2j, 3 - 2j], np.complex64).reshape(1, 1, 1, 2)
    (result,) = run("GridSample", 20, [x, grid[:, :, 1:2]], align_corners=1)
    np.testing.assert_allclose(result.reshape(-1), [2.4 - 0.8j], rtol=1e-6)
    with pytest.raises(ValidationError, match="strings"):
        run("GridSample", 20, [words, grid], mode="linear")


def test_empty_grids() -> None:
    x, grid = images(4)
    check("GridSample", (16, 22), [x, grid[:, :0]], np.zeros((2, 3, 0, 3), np.float32))


def test_refused_samples() -> None:
    x, grid = images(4)
    for version, inputs, options in (
        (16, [x, grid], {"mode": "linear"}),
        (20, [x, grid], {"mode": "bilinear"}),
        (20, [x, grid], {"padding_mode": "wrap"}),
        (20, [x, grid[..., :1]], {}),
        (20, [x[:1], grid], {}),
        (16, images(5), {}),
    ):
        with pytest.raises(ValidationError):
            run("GridSample", version, list(inputs), **options)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (1, 1, 2, 3, 4), (2, 1, 1, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_affine_grid(sizes: tuple[int, ...], align: int, dtype: str) -> None:
    rank = len(sizes) - 2
    theta = RNG.standard_normal((sizes[0], rank, rank + 1)).astype(getattr(ml_dtypes, dtype, dtype))
    axes = [
        (np.linspace(-1, 1, s) if s > 1 else np.array([-1.0])) if align else (2 * np.arange(s) + 1) / s - 1
        for s in sizes[2:]
    ]
    points = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(sizes[2:])], -1)
    expected = np.einsum("...j,nij->n...i", points, theta.astype(np.float64)).astype(theta.dtype)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)
    options = {"align_corners": align, "rtol": tolerance, "atol": tolerance}
    check("AffineGrid", (20,), [theta, np.array(sizes)], expected, **options)
    if dtype == "float32":
        check("AffineGrid", (20,), [theta, np.array(sizes)], expected, **options, compiled=BOTH, constant=(1,))
        if min(sizes[2:]) > 1:
            np.testing.assert_allclose(reference("AffineGrid", 20, [theta, np.array(sizes)], align_corners=align)[0],
                                       expected, rtol=1e-5, atol=1e-5)  # fmt: skip


def test_refused_affine_grids() -> None:
    for theta, sizes in (
        (np.zeros((1, 2, 3)), [1, 1, 2]),
        (np.zeros((1, 3, 4)), [1, 1, 2, 2]),
        (np.zeros((1, 2, 3)), [1, 1, 2**40, 2**40]),
        (np.zeros((1, 2, 3)), [1, 1, -1, -1]),
    ):
        with pytest.raises(ValidationError, match="size"):
            run("AffineGrid", 20, [theta.astype(np.float32), np.array(sizes)])
