"""Programs: what rows compute, errors, threads, memory."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from runtime_programs import chain, program, ramp, tensors

from basalt.errors import BasaltError, ValidationError
from basalt.runtime import frame_pool
from basalt.runtime import program as program_module
from basalt.runtime.frame import Frame
from basalt.runtime.program import Program
from basalt.runtime.spec import ProgramSpec, Row, Slot, TensorSpec

PARALLEL = 1e6
"""A cost that makes the executor split a row."""


def test_rows_run_in_order_through_the_arena() -> None:
    result = chain(7, 16, 10.0).run({"x": ramp()})
    assert list(result) == ["y"]
    np.testing.assert_array_equal(result["y"], ramp() + 7)


def test_slots_give_offsets_constants_and_parameters() -> None:
    weights = np.arange(32, dtype=np.float32)
    rows = (
        Row(4, (Slot.const(0, 8), Slot.arena(16), Slot.integer(3)), 0, 4, 1.0),  # arena[4 + i] = weights[2 + i + 3]
        Row(1, (Slot.arena(16), Slot.output(0, 32), Slot.real(0.5)), 0, 4, 1.0),  # y[8 + i] = arena[4 + i] + 0.5
        Row(0, (Slot.input(0, 4), Slot.output(0)), 0, 8, 1.0),  # y[i] = x[1 + i]
        Row(0, (Slot.input(0), Slot.output(0)), 12, 16, 1.0),
    )
    y = program(*rows, constants=(weights,)).run({"x": ramp()})["y"]
    np.testing.assert_array_equal(y[:8], ramp()[1:9])
    np.testing.assert_array_equal(y[8:12], weights[5:9] + 0.5)
    np.testing.assert_array_equal(y[12:], ramp()[12:])


def test_constants_that_kernels_cannot_read_in_place_are_copied() -> None:
    swapped = np.arange(32, dtype=np.float32).reshape(16, 2)[:, 1].astype(">f4")
    y = program(Row(0, (Slot.const(0), Slot.output(0)), 0, 16, 1.0), constants=(swapped,)).run({"x": ramp()})["y"]
    np.testing.assert_array_equal(y, swapped)


def test_several_inputs_and_outputs_keep_their_names() -> None:
    rows = (
        Row(0, (Slot.input(1), Slot.output(0)), 0, 16, 1.0),
        Row(1, (Slot.input(0), Slot.output(1), Slot.real(2.0)), 0, 16, 1.0),
    )
    run = program(*rows, inputs=tensors("a", "b"), outputs=tensors("p", "q")).run
    for feeds in ({"a": ramp(), "b": -ramp()}, {"b": -ramp(), "a": ramp()}):
        result = run(feeds)
        assert list(result) == ["p", "q"]
        np.testing.assert_array_equal(result["p"], -ramp())
        np.testing.assert_array_equal(result["q"], ramp() + 2)


def test_a_program_without_inputs_runs() -> None:
    row = Row(0, (Slot.const(0), Slot.output(0)), 0, 16, 1.0)
    assert program(row, inputs=(), constants=(ramp(),)).run({})["y"][3] == 3


def test_scalars_and_empty_tensors() -> None:
    scalar = program(
        Row(1, (Slot.input(0), Slot.output(0), Slot.real(1.0)), 0, 1, 1.0),
        inputs=(TensorSpec("x", "float32", ()),),
        outputs=(TensorSpec("y", "float32", ()),),
    )
    result = scalar.run({"x": np.array(2, np.float32)})["y"]
    assert result.shape == () and result == 3
    assert scalar.run({"x": 2.0})["y"] == 3
    empty = program(Row(0, (Slot.input(0), Slot.output(0)), 0, 0, 0.0), size=0)
    assert empty.run({"x": np.empty(0, np.float32)})["y"].shape == (0,)


def test_outputs_are_fresh_memory() -> None:
    identity = program(Row(0, (Slot.input(0), Slot.output(0)), 0, 16, 1.0))
    x = ramp()
    first, second = identity.run({"x": x})["y"], identity.run({"x": x + 1})["y"]
    np.testing.assert_array_equal(first, x)
    assert not np.may_share_memory(first, second) and not np.may_share_memory(first, x)
    assert first.flags.owndata and first.flags.writeable


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("size", [1, 5, 1000, 4097])
def test_every_unit_is_computed_once_whatever_the_threads(threads: int, size: int) -> None:
    row = Row(2, (Slot.input(0), Slot.output(0)), 0, size, PARALLEL)
    counted = program(row, row, size=size, threads=threads)
    for _ in range(20):
        y = np.zeros(size, np.float32)
        counted.run({"x": np.ones(size, np.float32)}, out={"y": y})
        np.testing.assert_array_equal(y, 2)


@pytest.mark.parametrize("threads", [2, 4])
def test_parallel_rows_see_what_earlier_rows_wrote(threads: int) -> None:
    long = chain(40, 5000, PARALLEL, threads=threads)
    for _ in range(30):
        np.testing.assert_array_equal(long.run({"x": ramp(5000)})["y"], ramp(5000) + 40)


def test_serial_rows_between_parallel_ones() -> None:
    rows = []
    for index in range(30):
        source, target = (Slot.arena(0), Slot.arena(4000)) if index % 2 else (Slot.arena(4000), Slot.arena(0))
        source = Slot.input(0) if index == 0 else source
        target = Slot.output(0) if index == 29 else target
        cost = PARALLEL if index % 3 else 100.0
        rows.append(Row(1, (source, target, Slot.real(1.0)), 0, 1000, cost, serial=index % 5 == 0))
    mixed = program(*rows, size=1000, threads=2)
    for _ in range(30):
        np.testing.assert_array_equal(mixed.run({"x": ramp(1000)})["y"], ramp(1000) + 30)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failing_kernel_names_the_operator(threads: int) -> None:
    rows = (
        Row(0, (Slot.input(0), Slot.arena(0)), 0, 64, PARALLEL, label="first"),
        Row(3, (Slot.arena(0), Slot.output(0)), 0, 64, PARALLEL, label="my square root"),
        Row(0, (Slot.arena(0), Slot.output(0)), 0, 64, PARALLEL, label="last"),
    )
    checked = program(*rows, size=64, threads=threads)
    bad = ramp(64)
    bad[40] = -1
    for _ in range(10):
        with pytest.raises(BasaltError, match=r"operator 'my square root' \(kernel 'checked'\) failed with status 1"):
            checked.run({"x": bad})
        np.testing.assert_array_equal(checked.run({"x": ramp(64)})["y"], ramp(64))


def test_several_python_threads_run_one_program() -> None:
    long = chain(20, 3000, PARALLEL, threads=2)
    wrong: list[object] = []

    def work(offset: int) -> None:
        try:
            for _ in range(50):
                y = long.run({"x": ramp(3000) + offset})["y"]
                if not np.array_equal(y, ramp(3000) + offset + 20):
                    wrong.append(y)
        except Exception as error:
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_idle_frames_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_pool, "_cores", lambda: 2)
    together = threading.Barrier(3)

    def frame(*args: Any) -> Frame:
        together.wait()
        return Frame(*args)

    monkeypatch.setattr(program_module, "Frame", frame)
    short = chain(2, 16, 10.0)
    workers = [threading.Thread(target=lambda: short.run({"x": ramp()})) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(short._idle) == 2


def test_the_gil_is_free_while_a_program_runs() -> None:
    slow = chain(2000, 20_000, 10.0)
    ticks, running = 0, threading.Event()

    def work() -> None:
        running.set()
        slow.run({"x": ramp(20_000)})

    worker = threading.Thread(target=work)
    worker.start()
    running.wait()
    while worker.is_alive():
        ticks += 1
    # With the GIL held this thread would get at most a look in before and after the run.
    assert ticks > 1000


def test_memory_counts_weights_arena_and_code() -> None:
    weights = np.zeros(100, np.float32)
    row = Row(0, (Slot.const(0), Slot.output(0)), 0, 16, 1.0)
    memory = program(row, constants=(weights, weights)).memory()
    assert memory["weights"] == 400 and memory["arena"] == 128 and memory["code"] > 0
    assert memory["arenas"] == memory["idle"] == 0


def test_memory_counts_the_arenas_that_are_held() -> None:
    short = chain(2, 16, 10.0)
    short.run({"x": ramp()})
    assert short.memory()["arenas"] == short.memory()["idle"] == 128
    with short.frame(), short.frame():
        assert (short.memory()["arenas"], short.memory()["idle"]) == (256, 0)
    assert short.memory()["arenas"] == short.memory()["idle"] == min(frame_pool._cores(), 2) * 128


def test_a_program_is_freed_with_its_memory() -> None:
    short = chain(3, 16, 10.0)
    short.run({"x": ramp()})
    frame = weakref.ref(short._idle[0])
    assert frame() is not None
    del short
    gc.collect()
    assert frame() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": tensors("x", "x")}, "two inputs of one name"),
        ({"outputs": (TensorSpec("y", "float32", (-1,)),)}, "output 'y' has shape"),
        ({"arena_bytes": -1}, "arena of -1 bytes"),
        ({"rows": (Row(9, (), 0, 1, 1.0, label="conv"),)}, r"row 0 \(conv\): kernel 9 of 5"),
        ({"rows": (Row(0, (), 2, 1, 1.0),)}, r"row 0 \(no label\): units 2 to 1"),
        ({"rows": (Row(0, (), 0, 1, 1.0, min_chunk=0),)}, "at least 0 a chunk"),
        ({"rows": (Row(0, (), 0, 1, float("nan")),)}, "cost nan"),
        ({"rows": (Row(0, (Slot.input(1),), 0, 1, 1.0),)}, "names one of 1 buffers"),
        ({"rows": (Row(0, (Slot.output(-1),), 0, 1, 1.0),)}, "names one of 1 buffers"),
        ({"rows": (Row(0, (Slot.const(0),), 0, 1, 1.0),)}, "names one of 0 buffers"),
        ({"rows": (Row(0, (Slot.input(0, 65),), 0, 1, 1.0),)}, "outside a buffer of 64 bytes"),
        ({"rows": (Row(0, (Slot.arena(-8),), 0, 1, 1.0),)}, "outside a buffer of 128 bytes"),
        ({"rows": (Row(0, (Slot.integer(1 << 63),), 0, 1, 1.0),)}, "no 64-bit number"),
        ({"rows": (Row(0, (Slot.arena(1.5),), 0, 1, 1.0),)}, "needs a whole number"),  # type: ignore[arg-type]
    ],
)
def test_contradictions_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        program(**changes)


def test_the_number_of_kernels_must_agree() -> None:
    good = chain(1, 16, 1.0)
    spec = good.spec
    fewer = ProgramSpec(spec.inputs, spec.outputs, (), spec.kernels[:2], (), 0)
    with pytest.raises(BasaltError, match="5 kernels loaded, the program has 2"):
        Program(fewer, good.code)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("serial", [False, True])
def test_rows_of_a_group_are_all_done_before_the_next_row(threads: int, serial: bool) -> None:
    size, count = 4096, 6
    cost = 1e6
    spread = [
        Row(1, (Slot.input(0), Slot.arena(4 * size * i), Slot.real(float(i))), 0, size, cost, serial=serial, free=i)
        for i in range(count)
    ]
    sums = [Row(2, (Slot.arena(4 * size * i), Slot.output(0)), 0, size, cost) for i in range(count)]
    start = Row(0, (Slot.input(0), Slot.output(0)), 0, size, cost, free=count)
    made = program(*spread, start, *sums, size=size, threads=threads, arena_bytes=4 * size * count)
    for shift in range(20):
        x = ramp(size) + np.float32(shift)
        np.testing.assert_array_equal(made.run({"x": x})["y"], x + count * x + sum(range(count)))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failing_row_of_a_group_is_named(threads: int) -> None:
    rows = [
        Row(3, (Slot.input(0), Slot.arena(64 * i)), 0, 16, 1e6, label=f"row {i}", serial=True, free=i) for i in range(3)
    ]
    last = Row(0, (Slot.arena(0), Slot.output(0)), 0, 16, 1e6)
    made = program(*rows, last, threads=threads, arena_bytes=64 * 3)
    with pytest.raises(BasaltError, match=r"operator 'row \d'"):
        made.run({"x": -ramp()})
    np.testing.assert_array_equal(made.run({"x": ramp()})["y"], ramp())
