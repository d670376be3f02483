"""Compiled attention, against its NumPy semantics: borders of blocks, masks, infinities, layouts, data types."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from ..compiled.forms import Bench, Tolerance

NEAR = Tolerance(scaled=2e-6, absolute=1e-6, signed_zeros=False)


def _attention(
    bench: Bench,
    rows: int,
    keys: int,
    depth: int = 8,
    width: int = 8,
    batches: tuple[int, ...] = (2,),
    mask: Any = None,
    dtype: str = "float32",
    plain: bool = True,
    **options: Any,
) -> Any:
    make = bench.input if plain else bench.operand
    given = [
        make(bench.numbers.normal(size=(*batches, *shape)), dtype)
        for shape in ((rows, depth), (keys, depth), (keys, width))
    ]
    if mask is not None:
        options["mask"] = make(np.asarray(mask, np.float64), dtype)
    return bench.maker.call("attention", *given, **options)


@pytest.mark.parametrize(
    ("rows", "keys", "depth", "width"),
    [
        (1, 1, 1, 1), (1, 700, 64, 64), (3, 255, 5, 3), (28, 256, 16, 32), (29, 257, 16, 33), (57, 513, 7, 17),
        (100, 40, 64, 200), (5, 1100, 32, 64), (2, 300, 300, 256),
    ],
)  # fmt: skip
def test_borders_of_blocks(rows: int, keys: int, depth: int, width: int) -> None:
    bench = Bench(Random(rows))
    y = _attention(bench, rows, keys, depth, width, scale=depth**-0.5)
    bench.check([y], NEAR)


@pytest.mark.parametrize("shape", [(), (9,), (5, 1), (5, 9), (3, 1, 9), (1, 3, 1, 1), (2, 3, 5, 9)])
def test_masks_are_broadcast(shape: tuple[int, ...]) -> None:
    bench = Bench(Random(1))
    mask = np.random.default_rng(0).normal(size=shape)
    bench.check([_attention(bench, 5, 9, batches=(2, 3), mask=mask, scale=0.5)], NEAR)


@pytest.mark.parametrize("shape", [(9,), (5, 1), (1, 3, 5, 9)])
@pytest.mark.parametrize("mask", [None, np.ones((5, 9))])
def test_scores_that_are_replaced(mask: Any, shape: tuple[int, ...]) -> None:
    bench = Bench(Random(8))
    keep = bench.operand(bench.numbers.random(shape) < 0.6, "uint8")
    options = {"mask": mask, "scale": 0.5, "keep": keep}
    outputs = [_attention(bench, 5, 9, batches=(2, 3), fill=fill, **options) for fill in (-np.inf, -2.0)]
    bench.check(outputs, NEAR)


def test_special_numbers_that_are_replaced() -> None:
    """Neither NaN nor infinities of scores that do not stay are seen, and a row may have no others."""
    bench = Bench(Random(9))
    arrays = [bench.numbers.normal(size=(1, 300, 4)) for _ in range(3)]
    arrays[1][0, ::7] = np.nan
    keep = np.ones((300, 300))
    keep[:, ::7] = keep[5] = 0
    given = [bench.input(a, "float32") for a in arrays]
    y = bench.maker.call("attention", *given, keep=bench.input(keep, "uint8"), fill=-1e9)
    bench.check([y], NEAR)


def test_causal_masks_and_rows_that_see_nothing() -> None:
    mask = np.triu(np.full((600, 600), -np.inf), 1)
    mask[3] = -np.inf
    bench = Bench(Random(2))
    bench.check([_attention(bench, 600, 600, batches=(), mask=mask)], NEAR)


def test_keys_that_are_seen_late() -> None:
    """Whole blocks of minus infinity come before, between and after the others."""
    mask = np.full((4, 1000), -np.inf)
    mask[0, 999], mask[1, 300:310], mask[2, 0] = 0, 1, 2
    mask[3, ::256] = 5
    bench = Bench(Random(3))
    bench.check([_attention(bench, 4, 1000, mask=mask)], NEAR)


@pytest.mark.parametrize("window", [1, 30, 255, 256, 257, 700])
@pytest.mark.parametrize("form", ["mask", "keep", "both"])
def test_windows_of_keys(window: int, form: str) -> None:
    """Blocks that no query of a unit sees are passed over, and the ends of others."""
    places = np.arange(800)
    sees = (places[:700, None] - places >= 0) & (places[:700, None] - places < window)
    bench = Bench(Random(window))
    options: dict[str, Any] = {}
    if form != "mask":
        options["keep"] = bench.input(sees.astype(np.uint8), "uint8")
        options["fill"] = -np.inf
    mask = None if form == "keep" else np.where(sees, 0.5, -np.inf) if form == "mask" else np.where(sees, 0.5, -1e3)
    bench.check([_attention(bench, 700, 800, mask=mask, **options)], NEAR)


@pytest.mark.parametrize("seen", [0, 1, 16, 250, 256, 600])
@pytest.mark.parametrize("shape", [(600,), (2, 1, 600)])
def test_padding_that_all_queries_ignore(seen: int, shape: tuple[int, ...]) -> None:
    mask = np.full(shape, -np.inf)
    mask[..., :seen] = 0
    if len(shape) == 3:
        mask[1] = 0
    bench = Bench(Random(seen))
    bench.check([_attention(bench, 50, 600, mask=mask)], NEAR)


def test_masks_that_are_not_numbers() -> None:
    mask = np.full((3, 600), -np.inf)
    mask[:, 5], mask[1, 400], mask[2, 599] = 0, np.nan, np.nan
    bench = Bench(Random(1))
    bench.check([_attention(bench, 3, 600, mask=mask)], NEAR)


@pytest.mark.parametrize(("keys", "values"), [((2, 1), (2, 1)), ((1, 3), (2, 3)), ((2, 3), (1, 1))])
def test_keys_and_values_that_serve_several_queries(keys: tuple[int, ...], values: tuple[int, ...]) -> None:
    bench = Bench(Random(3))
    shapes = ((2, 3, 40, 8), (*keys, 300, 8), (*values, 300, 7))
    given = [bench.input(bench.numbers.normal(size=shape), "float32") for shape in shapes]
    bench.check([bench.maker.call("attention", *given)], NEAR)


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("place", ["query", "key", "value"])
def test_special_numbers(place: str, wild: float) -> None:
    bench = Bench(Random(4))
    arrays = {n: bench.numbers.normal(size=(1, s, 4)) for n, s in (("query", 6), ("key", 300), ("value", 300))}
    arrays[place][0, 5, 2] = wild
    y = bench.maker.call("attention", *(bench.input(a, "float32") for a in arrays.values()), scale=0.25)
    bench.check([y], NEAR)


@pytest.mark.parametrize("scale", [-2.0, 0.0, 1e-3, 1e3])
def test_any_scale(scale: float) -> None:
    bench = Bench(Random(5))
    bench.check([_attention(bench, 10, 300, scale=scale)], NEAR)


@pytest.mark.parametrize("seed", range(8))
def test_any_layout(seed: int) -> None:
    bench = Bench(Random(seed))
    y = _attention(bench, 7, 20, 5, 6, batches=(2, 3), mask=np.ones((3, 7, 20)), plain=False)
    bench.check(bench.result(y), NEAR)


@pytest.mark.parametrize(("dtype", "scaled"), [("float64", 1e-13), ("float16", 1e-3), ("bfloat16", 8e-3)])
def test_data_types(dtype: str, scaled: float) -> None:
    bench = Bench(Random(6))
    y = _attention(bench, 6, 300, 16, 16, mask=np.zeros((6, 300)), dtype=dtype)
    bench.check([y], Tolerance(scaled=scaled, signed_zeros=False))


def test_no_keys_and_no_rows() -> None:
    bench = Bench(Random(7))
    bench.check([_attention(bench, 3, 0), _attention(bench, 0, 3), _attention(bench, 3, 4, depth=0)], NEAR)
