"""GroupQueryAttention of ONNX Runtime: prompts, single tokens, and caches that grow or are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from basalt.onnx_backend import Backend

from .comparison import interpreted, node_model, ort_results

RNG = np.random.default_rng(4)
HEADS, SHARED, SIZE = 4, 2, 16
BASE = {"num_heads": HEADS, "kv_num_heads": SHARED}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"local_window_size": 3},
    {"softcap": 2.0, "scale": 0.5},
    {"smooth_softmax": 1},
    {"do_rotary": 1},
    {"do_rotary": 1, "rotary_interleaved": 1},
]


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def step(
    batch: int, new: int, room: int, lengths: list[int], total: int, attributes: dict[str, Any], packed: bool = False
) -> list[Any]:
    """The operator's inputs for ``new`` tokens, after which the sequences have ``lengths``."""
    caches = [random(32, SIZE // 2), random(32, SIZE // 2)] if attributes.get("do_rotary") else [None, None]
    past = [random(batch, SHARED, room, SIZE) for _ in range(2)]
    if packed:
        heads = [random(batch, new, (HEADS + 2 * SHARED) * SIZE), None, None]
    else:
        heads = [random(batch, new, HEADS * SIZE), *[random(batch, new, SHARED * SIZE) for _ in range(2)]]
    return [*heads, *past, np.array(lengths, np.int32) - 1, np.array([total], np.int32), *caches]


def check(inputs: list[Any], attributes: dict[str, Any], lengths: list[int], compiled: bool = False) -> None:
    model = node_model("GroupQueryAttention", inputs, 3, {**BASE, **attributes}, symbolic=True)
    expected = ort_results(model, inputs)
    with interpreted(not compiled):
        feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
        found = Backend.prepare(model).run(feeds)
    new = inputs[0].shape[1]
    total = int(inputs[6][0])
    for b, length in enumerate(lengths):
        start = 0 if new == total else length - new
        rows = length - start
        np.testing.assert_allclose(found[0][b, :rows], expected[0][b, :rows], rtol=1e-4, atol=1e-5)
        for result, wanted in zip(found[1:], expected[1:]):
            assert result.shape == wanted.shape
            np.testing.assert_allclose(result[b, :, :length], wanted[b, :, :length], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("attributes", OPTIONS, ids=str)
@pytest.mark.parametrize("packed", [False, True])
def test_prompt(packed: bool, attributes: dict[str, Any]) -> None:
    check(step(2, 5, 0, [5, 5], 5, attributes, packed), attributes, [5, 5])


@pytest.mark.parametrize("attributes", OPTIONS, ids=str)
def test_prompt_with_padding_into_a_shared_cache(attributes: dict[str, Any]) -> None:
    check(step(2, 5, 9, [5, 3], 5, attributes), attributes, [5, 3])


@pytest.mark.parametrize("attributes", OPTIONS, ids=str)
def test_one_token_in_a_growing_cache(attributes: dict[str, Any]) -> None:
    check(step(2, 1, 6, [7, 7], 7, attributes), attributes, [7, 7])


@pytest.mark.parametrize("attributes", OPTIONS, ids=str)
def test_one_token_in_a_shared_cache(attributes: dict[str, Any]) -> None:
    check(step(2, 1, 9, [7, 4], 7, attributes), attributes, [7, 4])


@pytest.mark.parametrize("attributes", OPTIONS[:3], ids=str)
def test_several_tokens_after_others(attributes: dict[str, Any]) -> None:
    check(step(1, 3, 4, [7], 7, attributes), attributes, [7])


@pytest.mark.parametrize("room", [0, 9])
def test_compiled(room: int) -> None:
    attributes = {"do_rotary": 1}
    check(step(2, 5, room, [5, 5], 5, attributes), attributes, [5, 5], compiled=True)


def test_head_sink() -> None:
    inputs = [*step(2, 1, 6, [7, 7], 7, {}), None, None, random(HEADS)]
    check(inputs, {}, [7, 7])


def test_generation_reuses_its_translation() -> None:
    """Token after token grows the cache; the stages that are translated stay few."""
    inputs = step(1, 1, 4, [5], 5, {})
    row, cache = ["b", "s", SHARED * SIZE], ["b", SHARED, "p", SIZE]
    shapes = [["b", "s", HEADS * SIZE], row, row, cache, cache, ["b"], [1]]
    model = node_model("GroupQueryAttention", inputs, 3, BASE, shapes=shapes)
    with interpreted():
        ready = Backend.prepare(model)
        for length in range(4, 12):
            step_inputs = step(1, 1, length, [length + 1], length + 1, {})
            feeds = {f"x{i}": x for i, x in enumerate(step_inputs) if x is not None}
            expected = ort_results(model, step_inputs)
            np.testing.assert_allclose(ready.run(feeds)[0], expected[0], rtol=1e-4, atol=1e-5)
    entry = ready.model._script.entry
    (stage,) = [s for key, s in entry._stages.items() if key[0] == "symbolic"]
    assert len(stage.point._stages) <= 3


@pytest.mark.parametrize("lengths", [[7, 4], [5, 5]])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_one_token_into_the_callers_cache(lengths: list[int], dtype: str) -> None:
    """The caches are inputs and outputs at once, as callers of ONNX Runtime bind them."""
    inputs = step(2, 1, 9, lengths, max(lengths), {})
    inputs = [x.astype(dtype) if x is not None and x.dtype == np.float32 else x for x in inputs]
    tolerance = 1 if dtype == "float32" else 50
    model = node_model("GroupQueryAttention", inputs, 3, BASE, symbolic=True)
    expected = ort_results(model, inputs)
    ready = Backend.prepare(model).model
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    names = [output.name for output in model.graph.output]
    with interpreted(False):
        found = ready.run(feeds, out={names[1]: feeds["x3"], names[2]: feeds["x4"]})
    assert found[names[1]] is feeds["x3"] and found[names[2]] is feeds["x4"]
    for name, wanted in zip(names, expected):
        if name == names[0]:
            np.testing.assert_allclose(found[name], wanted, rtol=1e-4 * tolerance, atol=1e-5 * tolerance)
            continue
        for b, length in enumerate(lengths):
            np.testing.assert_allclose(found[name][b, :, :length], wanted[b, :, :length], rtol=1e-5, atol=1e-6)
