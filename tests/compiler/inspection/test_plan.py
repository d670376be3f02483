"""Rows, kernels and the plan of the memory, as they are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import basalt
from basalt.compiler.inspection.region import code_of, record, region_of
from basalt.compiler.memory import ALIGNMENT
from basalt.runtime.layout import KERNEL_SYMBOL

from ..graphs import random_graph

seeds = st.integers(0, 2**32 - 1)


def roots(buffers: list[dict[str, Any]]) -> list[int]:
    """For each buffer the first of those whose place it has taken over."""
    found = []
    for i, buffer in enumerate(buffers):
        while "over" in buffer:
            i = buffer["over"]
            buffer = buffers[i]
        found.append(i)
    return found


@given(seeds)
@settings(max_examples=8)
def test_buffers_that_live_at_once_do_not_overlap(seed: int) -> None:
    sample = random_graph(seed)
    memory = record(sample.graph, sample.constants, {})[0]["memory"]
    buffers = memory["buffers"]
    root = roots(buffers)
    for i, a in enumerate(buffers):
        assert 0 <= a["first"] <= a["last"]
        if a["at"] == "arena":
            assert a["offset"] + a["bytes"] <= memory["arena"]
        if "over" in a:
            old = buffers[a["over"]]
            assert [old[key] for key in ("at", "index", "offset")] == [a[key] for key in ("at", "index", "offset")]
            assert old["last"] == a["first"]
        for j, b in enumerate(buffers[:i]):
            if a["at"] == b["at"] == "arena" and a["first"] <= b["last"] and b["first"] <= a["last"]:
                apart = a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
                assert apart or root[i] == root[j]


@given(seeds)
@settings(max_examples=8)
def test_what_is_live_fits_the_arena(seed: int) -> None:
    sample = random_graph(seed)
    region, spec = record(sample.graph, sample.constants, {})
    memory = region["memory"]
    assert len(memory["live"]) == len(spec.rows)
    assert all(0 <= live <= memory["arena"] for live in memory["live"])
    if memory["peak"] is not None:
        assert memory["live"][memory["peak"]] == max(memory["live"])
    for row, live in enumerate(memory["live"]):
        here = [b for b in memory["buffers"] if b["at"] == "arena" and b["first"] <= row <= b["last"]]
        places: dict[int, int] = {}
        for b in here:
            rounded = -(-max(b["bytes"], 1) // ALIGNMENT) * ALIGNMENT
            places[b["offset"]] = max(rounded, places.get(b["offset"], 0))
        assert live <= sum(places.values())
        assert bool(live) == bool(here)


@given(seeds)
@settings(max_examples=8)
def test_rows_are_those_of_the_program(seed: int) -> None:
    sample = random_graph(seed)
    region, spec = record(sample.graph, sample.constants, {})
    for shown, row in zip(region["rows"], spec.rows, strict=True):
        assert (shown["kernel"], shown["label"], shown["units"]) == (row.kernel, row.label, row.stop - row.start)
        assert (shown["operations"], shown["bytes"], shown["dtype"]) == (row.operations, row.nbytes, row.dtype)
        assert len(shown["slots"]) + shown["more"] == len(row.slots)
        for slot in shown["slots"]:
            if "buffer" in slot:
                assert region["memory"]["buffers"][slot["buffer"]]["at"] == slot["at"]


def model() -> basalt.MLGraph:
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", (64, 64))
    for i in range(3):
        x = b.relu(b.matmul(x, b.constant(np.full((64, 64), 1 / 64, np.float32)), label=f"dense{i}"), label=f"act{i}")
    return b.build({"y": b.softmax(x, 1, label="soft")})


def test_kernels_come_with_source_and_assembly() -> None:
    graph = model()
    told: list[tuple[int, int]] = []
    region = region_of(graph.graph, graph.constants, {}, lambda done, total: told.append((done, total)))
    assert told == [(i + 1, len(region["kernels"])) for i in range(len(region["kernels"]))]
    source = graph.source()
    for kernel in region["kernels"]:
        text, assembly = code_of(kernel["code"])
        assert text.startswith("def kernel(table, start, stop):") and text.rstrip() in source
        assert f"{KERNEL_SYMBOL}:" in assembly
    assert [row["label"] for row in region["rows"]] == [row.labels for row in graph.explain()]


def test_temporaries_in_the_output_are_shown_there() -> None:
    memory = record(model().graph, model().constants, {})[0]["memory"]
    assert {b["at"] for b in memory["buffers"]} >= {"input", "output"}
    guests = [b for b in memory["buffers"] if b["at"] == "output"]
    assert len(guests) > 1 and all(b["index"] == 0 for b in guests)
    assert memory["outputs"] == [{"name": "y", "bytes": 64 * 64 * 4}]
