"""The memory plan: nothing that is still needed is overwritten, and little memory is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.codegen.kernel import Call
from basalt.compiler.codegen.lowering import Lowering
from basalt.compiler.ir import Constants, Graph, Value
from basalt.compiler.memory import ALIGNMENT, plan_memory
from basalt.compiler.pipeline import lowered_graph
from basalt.compiler.views import Buffer, Storage, View, whole

from .compiled.row_graphs import RowGraph
from .graphs import random_graph
from .making import Maker
from .recipes import RECIPES

seeds = st.integers(0, 2**32 - 1)


def call(reads: Sequence[View], writes: Sequence[View], in_place: Sequence[tuple[View, View]] = ()) -> Call:
    buffers = [tuple(dict.fromkeys(v.buffer for v in views)) for views in (reads, writes)]
    return Call("", (), (*reads, *writes), 1, 1.0, 1, False, buffers[0], buffers[1], tuple(in_place))


def replay(calls: Sequence[Call], arena: int) -> None:
    """Run the calls on a model of arena and outputs that remembers which buffer was written last to each line."""
    lines: dict[int, np.ndarray] = {}
    number: dict[Buffer, int] = {}
    for each in calls:
        for buffer in filter(is_planned, (*each.reads, *each.writes)):
            size = arena if buffer.storage is Storage.ARENA else max(b.nbytes for b in outputs(calls, buffer.index))
            lines.setdefault(place(buffer), np.full(-(-size // ALIGNMENT), -1))
        for buffer in filter(is_planned, each.reads):
            found = lines[place(buffer)][extent(buffer)]
            assert (found == number[buffer]).all(), f"{buffer} was overwritten before {each.label}"
        for buffer in filter(is_planned, each.writes):
            room = arena if buffer.storage is Storage.ARENA else lines[place(buffer)].size * ALIGNMENT
            assert buffer.offset % ALIGNMENT == 0 and buffer.offset + buffer.nbytes <= room
            for other in filter(is_planned, (*each.reads, *each.writes)):
                if other is not buffer and overlap(buffer, other):
                    assert is_in_place(each, other, buffer), f"{each.label} reads what it overwrites"
            number.setdefault(buffer, len(number))
            lines[place(buffer)][extent(buffer)] = number[buffer]


def is_planned(buffer: Buffer) -> bool:
    return buffer.storage in (Storage.ARENA, Storage.OUTPUT)


def place(buffer: Buffer) -> int:
    """Which memory a buffer lies in: the arena (-1) or an output's."""
    return -1 if buffer.storage is Storage.ARENA else buffer.index


def outputs(calls: Sequence[Call], index: int) -> list[Buffer]:
    """The output of a number, and the temporaries that were put into its memory."""
    found = (b for c in calls for b in (*c.reads, *c.writes))
    return [b for b in found if b.storage is Storage.OUTPUT and b.index == index]


def extent(buffer: Buffer) -> slice:
    return slice(buffer.offset // ALIGNMENT, -(-(buffer.offset + max(buffer.nbytes, 1)) // ALIGNMENT))


def overlap(a: Buffer, b: Buffer) -> bool:
    return place(a) == place(b) and a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes


def is_in_place(each: Call, source: Buffer, target: Buffer) -> bool:
    """Whether the call says that it may overwrite the operand, and reads it nowhere else."""
    views = [s for s in each.slots if isinstance(s, View) and s.buffer is source]
    return source.offset == target.offset and any(
        [s] == views and t.buffer is target and (s.offset, s.itemsize) == (t.offset, t.itemsize)
        for s, t in each.in_place
    )


def random_calls(random: Random) -> list[Call]:
    """Calls that read some of what was written before; some write twice, some may work in place."""
    made: list[View] = []
    calls = []
    for _ in range(random.randint(1, 25)):
        size = random.choice((1, 15, 16, 17, 64, 1000))
        reads = random.sample(made[-6:], min(len(made), random.randint(0, 3)))
        if made and random.random() < 0.2:
            reads.append(random.choice(made))
        target = whole(Buffer(Storage.ARENA, 4 * size), "float32", (size,))
        if made and random.random() < 0.1:
            target = replace(random.choice(made[-3:]), shape=(1,), strides=(1,))
        reads = [v for v in reads if v.buffer is not target.buffer]
        in_place = [(v, target) for v in reads if v.size == target.size and random.random() < 0.7]
        calls.append(call(reads, [target], in_place))
        made.append(target)
    return calls


@settings(max_examples=300)
@given(seed=seeds)
def test_nothing_needed_is_overwritten(seed: int) -> None:
    calls = random_calls(Random(seed))
    arena = plan_memory(calls)
    replay(calls, arena)
    buffers = {b for each in calls for b in (*each.reads, *each.writes)}
    assert arena <= sum(-(-b.nbytes // ALIGNMENT) * ALIGNMENT for b in buffers)


@settings(max_examples=100)
@given(seed=seeds)
def test_plan_is_near_what_lives_at_once(seed: int) -> None:
    calls = random_calls(Random(seed))
    arena = plan_memory(calls)
    assert arena <= 1.6 * live_bytes(calls) + 64 * ALIGNMENT


def live_bytes(calls: Sequence[Call]) -> int:
    """The most bytes of buffers between their first and last use, in-place sharing aside."""
    uses: dict[Buffer, list[int]] = {}
    for i, each in enumerate(calls):
        for buffer in (*each.reads, *each.writes):
            uses.setdefault(buffer, []).append(i)
    live = [sum(b.nbytes for b, at in uses.items() if at[0] <= i <= at[-1]) for i in range(len(calls))]
    return max(live, default=0)


def lowered(graph: Graph, constants: Constants, *, optimise: bool = True) -> tuple[list[Call], int]:
    lowering = Lowering(lowered_graph(graph, constants, optimise=optimise), constants)
    lowering.run()
    return lowering.calls, plan_memory(lowering.calls)


@pytest.mark.parametrize("optimise", [True, False])
@settings(max_examples=60)
@given(seed=seeds)
def test_programs_of_random_graphs(optimise: bool, seed: int) -> None:
    sample = random_graph(seed, only=list(RECIPES))
    calls, arena = lowered(sample.graph, sample.constants, optimise=optimise)
    replay(calls, arena)
    for each in calls:
        for slot in each.slots:
            if isinstance(slot, View):
                assert inside_buffer(slot), f"{each.label}: {slot} reaches outside its buffer"


@settings(max_examples=60)
@given(seed=seeds)
def test_programs_of_random_reductions(seed: int) -> None:
    sample = RowGraph(seed).sample(20)
    calls, arena = lowered(sample.graph, sample.constants)
    replay(calls, arena)
    assert all(inside_buffer(s) for each in calls for s in each.slots if isinstance(s, View))


def inside_buffer(view: View) -> bool:
    """Whether every element lies in the buffer."""
    if view.size == 0:
        return True
    ends = [(size - 1) * stride for size, stride in zip(view.shape, view.strides)]
    low = view.offset + sum(e for e in ends if e < 0)
    high = view.offset + sum(e for e in ends if e > 0)
    return low >= 0 and (high + 1) * view.itemsize <= view.buffer.nbytes


SIZE = 4096
BYTES = 4 * SIZE


def chain(step: object, length: int = 100) -> int:
    """The arena of a program that repeats a step, in tensors of the chain."""
    maker = Maker()
    x: Value = maker.input("x", "float32", (64, SIZE // 64))
    for _ in range(length):
        x = step(maker, x)  # type: ignore[operator]
    _, arena = lowered(maker.graph(y=x), maker.constants)
    return arena // BYTES


def test_a_chain_takes_one_tensor_beside_its_output() -> None:
    assert chain(lambda m, x: m.cumulative_sum(x, 0)) == 1


def test_element_wise_operators_between_work_in_place() -> None:
    assert chain(lambda m, x: m.relu(m.cumulative_sum(x, 0))) == 1


def test_a_residual_chain_takes_two_tensors_beside_its_output() -> None:
    assert chain(lambda m, x: m.add(x, m.cumulative_sum(m.cumulative_sum(x, 0), 1))) == 2


def test_matrix_products_take_one_tensor_beside_their_output() -> None:
    weight = np.full((64, 64), 0.01, np.float32)
    assert chain(lambda m, x: m.matmul(x, m.constant(weight))) <= 2


def test_a_temporary_that_outlives_the_first_touch_of_an_output_stays_in_the_arena() -> None:
    large = [whole(Buffer(Storage.ARENA, BYTES, itemsize=4), "float32", (SIZE,)) for _ in range(2)]
    y = whole(Buffer(Storage.OUTPUT, BYTES, 0, itemsize=4), "float32", (SIZE,))
    calls = [call([], [large[0]]), call([], [large[1]]), call([large[1]], [y]), call([large[0]], [y])]
    replay(calls, plan_memory(calls))
    assert all(v.buffer.storage is Storage.ARENA for v in large)


@pytest.mark.parametrize("host", [Buffer(Storage.OUTPUT, BYTES // 2, 0, itemsize=4), Buffer(Storage.OUTPUT, BYTES, 0)])
def test_an_output_that_is_smaller_or_less_aligned_holds_no_temporary(host: Buffer) -> None:
    x = whole(Buffer(Storage.ARENA, BYTES, itemsize=4), "float32", (SIZE,))
    between = whole(Buffer(Storage.ARENA, 64, itemsize=4), "float32", (16,))
    y = whole(host, "uint8", (host.nbytes,))
    calls = [call([], [x]), call([x], [between]), call([between], [y])]
    replay(calls, plan_memory(calls))
    assert x.buffer.storage is Storage.ARENA


def test_views_keep_their_buffer_alive() -> None:
    """A transposed tensor is read long after its producer, and nothing takes its place."""
    maker = Maker()
    x = maker.input("x", "float32", (64, 64))
    early = maker.transpose(maker.cumulative_sum(x, 0))
    late = x
    for _ in range(5):
        late = maker.cumulative_sum(late, 1)
    calls, arena = lowered(maker.graph(y=maker.add(early, late)), maker.constants)
    replay(calls, arena)
    assert arena == 2 * BYTES


def test_an_operand_that_is_read_again_is_not_overwritten() -> None:
    x, y, z = (whole(Buffer(Storage.ARENA, 256), "float32", (64,)) for _ in range(3))
    calls = [call([], [x]), call([x], [y], [(x, y)]), call([x, y], [z], [(x, z), (y, z)])]
    arena = plan_memory(calls)
    replay(calls, arena)
    assert arena == 512 and y.buffer.offset != x.buffer.offset


def test_an_operand_that_is_read_twice_is_not_overwritten() -> None:
    """A second view of the operand may read an element after it was overwritten."""
    x, y = (whole(Buffer(Storage.ARENA, 256), "float32", (64,)) for _ in range(2))
    calls = [call([], [x]), call([x, x.reversed([0])], [y], [(x, y)])]
    replay(calls, plan_memory(calls))
    assert y.buffer.offset != x.buffer.offset


def test_a_later_part_of_an_operand_is_not_taken_over() -> None:
    """The result's elements would lie where others of the operand's do."""
    x = whole(Buffer(Storage.ARENA, 512), "float32", (128,))
    y = whole(Buffer(Storage.ARENA, 256), "float32", (64,))
    calls = [call([], [x]), call([x.sliced([64], [64], [1])], [y], [(x.sliced([64], [64], [1]), y)])]
    replay(calls, plan_memory(calls))
    assert y.buffer.offset != x.buffer.offset


def test_a_larger_result_takes_over_nothing() -> None:
    x = whole(Buffer(Storage.ARENA, 256), "float32", (64,))
    y = whole(Buffer(Storage.ARENA, 512), "float32", (128,))
    calls = [call([], [x]), call([x], [y], [(x, y.sliced([0], [64], [1]))]), call([y], [])]
    arena = plan_memory(calls)
    replay(calls, arena)
    assert arena == 768


def test_inputs_and_constants_are_not_taken_over() -> None:
    for storage in (Storage.INPUT, Storage.CONSTANT, Storage.OUTPUT):
        x = whole(Buffer(storage, 256, 0), "float32", (64,))
        y = whole(Buffer(Storage.ARENA, 256), "float32", (64,))
        assert plan_memory([call([x], [y], [(x, y)])]) == 256
        assert x.buffer.offset == 0


def test_nothing_to_plan() -> None:
    assert plan_memory([]) == 0
