"""Which rows of a program may run at the same time: only those of which none touches what another writes."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import basalt
from basalt.compiler.backend import program_spec
from basalt.compiler.codegen.kernel import Call
from basalt.compiler.hazards import MOST, independence
from basalt.compiler.views import Buffer, Storage

SIZE = 64
places = st.builds(
    Buffer,
    storage=st.sampled_from([Storage.INPUT, Storage.OUTPUT, Storage.ARENA, Storage.CONSTANT]),
    nbytes=st.integers(0, SIZE),
    index=st.integers(0, 1),
    offset=st.integers(0, SIZE),
)
buffers = st.lists(places, max_size=3)
written = st.lists(places.filter(lambda b: b.storage in (Storage.OUTPUT, Storage.ARENA)), max_size=2)
calls = st.builds(
    lambda reads, writes: Call("", (), (), 1, 1.0, 1, False, tuple(reads), tuple(writes)), buffers, written
)


def touched(each: tuple[Buffer, ...]) -> set[tuple[object, ...]]:
    return {
        (b.storage, -1 if b.storage is Storage.ARENA else b.index, byte)
        for b in each
        for byte in range(b.offset, b.offset + b.nbytes)
    }


@given(st.lists(calls, max_size=8))
def test_rows_that_may_run_together_touch_nothing_that_another_writes(program: list[Call]) -> None:
    for index, free in enumerate(independence(program)):
        assert 0 <= free <= min(index, MOST)
        for other in program[index - free : index]:
            mine, theirs = program[index], other
            assert not touched(mine.writes) & (touched(theirs.writes) | touched(theirs.reads))
            assert not touched(mine.reads) & touched(theirs.writes)


def test_projections_of_one_input_are_independent_and_what_follows_them_is_not() -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext(eager_first_run=False))
    x = builder.input("x", "float32", (64, 96))
    rng = Random(0)
    weights = [
        builder.constant(np.array([rng.gauss(0, 1) for _ in range(96 * 32)], np.float32).reshape(96, 32))
        for _ in range(3)
    ]
    q, k, v = (builder.matmul(x, w, label=name) for w, name in zip(weights, "qkv"))
    graph = builder.build({"y": builder.add(builder.mul(q, k), v)})
    rows = program_spec(graph.graph, graph.constants).rows
    assert [row.free for row in rows] == [0, 1, 0]
    feeds = {"x": np.array([rng.gauss(0, 1) for _ in range(64 * 96)], np.float32).reshape(64, 96)}
    before = basalt.get_num_threads()
    basalt.set_num_threads(2)
    try:
        results = [graph.run(feeds)["y"] for _ in range(10)]
    finally:
        basalt.set_num_threads(before)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
