"""Sampling at the places of a grid: against SciPy's interpolation, sums by hand, and symmetries."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, output

IMAGE = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)


def _grid(y: np.ndarray, x: np.ndarray, *, align: bool, height: int = 3, width: int = 4) -> np.ndarray:
    """The grid [1, 1, n, 2] of places given in elements."""
    if align:
        pair = [2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1]
    else:
        pair = [(2 * x + 1) / width - 1, (2 * y + 1) / height - 1]
    return np.stack(pair, -1)[None, None]


@pytest.mark.parametrize("align", [False, True])
def test_linear_inside(align: bool) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    image = np.random.default_rng(0).normal(size=(1, 2, 3, 4))
    y, x = np.random.default_rng(1).uniform(0, [[2], [3]], (2, 9))
    got = output_of(image, _grid(y, x, align=align), align_corners=align)
    for c in range(2):
        np.testing.assert_allclose(got[0, c, 0], ndimage.map_coordinates(image[0, c], [y, x], order=1), atol=1e-9)


def output_of(image: np.ndarray, grid: np.ndarray, **options: object) -> np.ndarray:
    from basalt import ops

    operator = ops.get("grid_sample")
    attrs = operator.attributes([], options)
    types = [ops.TensorType(ops.dtype_name(v.dtype), v.shape) for v in (image, grid)]
    out, attrs = operator.check(types, attrs, extended=True)
    return np.asarray(operator.evaluate(operator.bind([image, grid]), attrs, out)[0])


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize(
    ("padding", "expected"),
    [("zeros", [0, 0, 0, 0]), ("border", [0, 3, 8, 11])],
)
def test_far_outside(align: bool, padding: str, expected: list[int]) -> None:
    y, x = np.array([-9.0, -9, 99, 99], np.float32), np.array([-9.0, 99, -9, 99], np.float32)
    grid = _grid(y, x, align=align).astype(np.float32)
    for mode in ("nearest", "linear", "cubic"):
        got = output("grid_sample", IMAGE, grid, mode=mode, padding_mode=padding, align_corners=align)
        np.testing.assert_allclose(got[0, 0, 0], expected, atol=1e-5)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_reflection_is_the_image_between_mirrors(align: bool, mode: str) -> None:
    steps = np.arange(-8.0, 12.0)
    mirror = "reflect" if align else "symmetric"
    wide = np.pad(IMAGE[0, 0, 0], (12, 12), mode=mirror)  # type: ignore[call-overload]
    grid = _grid(np.zeros_like(steps), steps, align=align).astype(np.float32)
    got = output("grid_sample", IMAGE, grid, mode=mode, padding_mode="reflection", align_corners=align)
    np.testing.assert_allclose(got[0, 0, 0], wide[(steps + 12).astype(int)], atol=1e-4)


def test_cubic_convolution_weighs_sixteen_elements() -> None:
    def kernel(u: float) -> float:
        u, a = abs(u), -0.75
        return (a + 2) * u**3 - (a + 3) * u**2 + 1 if u <= 1 else a * u**3 - 5 * a * u**2 + 8 * a * u - 4 * a

    image = np.random.default_rng(0).normal(size=(1, 1, 4, 4))
    y, x = 1.3, 1.75
    wanted = sum(kernel(y - i) * kernel(x - j) * image[0, 0, i, j] for i in range(4) for j in range(4))
    grid = _grid(np.array([y]), np.array([x]), align=True, height=4)
    got = output_of(image, grid, mode="cubic", align_corners=True)
    np.testing.assert_allclose(got.item(), wanted)


def test_three_dimensions_and_what_is_no_place() -> None:
    image = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 2, 2)
    grid = np.array([[1, -1, -1], [-1, 1, -1], [0, 0, 0], [np.nan, 0, 0], [np.inf, 0, 0]], np.float32)
    got = output("grid_sample", image, grid.reshape(1, 1, 1, 5, 3), align_corners=True)
    assert got.reshape(-1).tolist() == [1.0, 2.0, 3.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("types", "options", "message"),
    [
        (("float32[2, 3, 4, 5]", "float32[1, 4, 4, 2]"), {}, "the grid has 1 batches"),
        (("float32[2, 3, 4, 5]", "float32[2, 4, 4, 3]"), {}, "last dimension is 3, expected 2"),
        (("float32[2, 3, 4, 5, 6]", "float32[2, 4, 4, 4, 3]"), {"mode": "cubic"}, "mode is cubic"),
        (("float32[2, 3, 0, 5]", "float32[2, 4, 4, 2]"), {}, "the input is empty"),
    ],
)
def test_what_is_refused(types: tuple[str, ...], options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        infer("grid_sample", *types, **options)
    assert infer("grid_sample", "float16[n, 3, h, w]", "float32[n, 5, p, 2]") == ["float16[n, 3, 5, p]"]
