"""Contexts and tensors: creation, reading, writing, dispatching, destroying; every refusal and its words."""

from __future__ import annotations

import gc
import resource
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.errors import InvalidStateError, ValidationError

ONES = np.ones((2, 3), np.float32)


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "interpret")


@pytest.fixture
def context() -> basalt.MLContext:
    return basalt.MLContext()


def doubling(context: basalt.MLContext, shape: tuple[Any, ...] = (2, 3)) -> basalt.MLGraph:
    builder = basalt.MLGraphBuilder(context)
    x = builder.input("x", "float32", shape)
    return builder.build({"y": builder.add(x, x)})


def pair(context: basalt.MLContext) -> tuple[basalt.MLTensor, basalt.MLTensor]:
    return (
        context.create_tensor("float32", (2, 3), writable=True),
        context.create_tensor("float32", (2, 3), readable=True),
    )


def test_settings() -> None:
    assert basalt.MLContext().threads is None
    assert basalt.MLContext(threads=np.int64(3)).threads == 3
    assert basalt.MLContext(power_preference="low-power").threads == 1
    assert basalt.MLContext(2, "low-power").threads == 2
    context = basalt.MLContext(power_preference="high-performance", eager_first_run=False)
    assert (context.power_preference, context.threads, context.eager_first_run) == ("high-performance", None, False)
    assert context.accelerated is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads is 0, expected a positive integer"),
        ({"threads": -2}, "threads is -2"),
        ({"threads": 1.5}, "threads is 1.5"),
        ({"threads": True}, "threads is True"),
        ({"threads": "2"}, "threads is '2'"),
        (
            {"power_preference": "fast"},
            "power_preference is 'fast', expected one of default, high-performance, low-power",
        ),
        ({"eager_first_run": "yes"}, "eager_first_run is 'yes', expected True, False or None"),
    ],
)
def test_settings_that_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        basalt.MLContext(**options)


def test_a_tensor_starts_as_zeros(context: basalt.MLContext) -> None:
    tensor = context.create_tensor("int8", [2, 3], readable=True)
    assert (tensor.data_type, tensor.shape, tensor.readable, tensor.writable) == ("int8", (2, 3), True, False)
    assert (tensor.constant, tensor.destroyed, tensor.context) == (False, False, context)
    assert repr(tensor) == "<MLTensor int8[2, 3]>"
    assert context.read_tensor(tensor).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_tensor_from_a_descriptor(context: basalt.MLContext) -> None:
    tensor = context.create_tensor({"dataType": "float16", "shape": [2], "readable": True, "writable": True})
    assert (tensor.data_type, tensor.shape, tensor.readable, tensor.writable) == ("float16", (2,), True, True)
    assert not context.create_tensor({"dataType": "float16", "shape": []}).readable
    assert context.create_tensor({"dataType": "float16", "shape": []}, readable=True).readable


def test_memory_starts_on_a_cache_line(context: basalt.MLContext) -> None:
    for _ in range(20):
        assert context.create_tensor("float32", (3,)).data("test").ctypes.data % 64 == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("float32", (0,)), "create_tensor: shape .* has dimension 0"),
        (("float32", ("n",)), "create_tensor: shape .* has dimension 'n', expected an integer from 1 to 2147483647"),
        (("float32",), "create_tensor: a shape is missing"),
        (("text", (1,)), "create_tensor: 'text' is no data type"),
        (({"dataType": "int8", "shape": [1], "readable": 1},), "create_tensor: readable is 1, expected True or False"),
        (({"dataType": "int8", "shape": [1], "usage": 1},), "has no member 'usage'"),
    ],
)
def test_tensors_that_are_refused(context: basalt.MLContext, arguments: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        context.create_tensor(*arguments)


def test_writing_and_reading(context: basalt.MLContext) -> None:
    tensor = context.create_tensor("float32", (2, 3), readable=True, writable=True)
    source = np.arange(6, dtype=np.float32).reshape(2, 3)
    context.write_tensor(tensor, source)
    source[:] = -1
    result = context.read_tensor(tensor)
    assert result.tolist() == [[0, 1, 2], [3, 4, 5]]
    result[:] = -1
    assert context.read_tensor(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("kind", ["array", "flat", "bytes", "strided", "big-endian"])
def test_writing_takes_arrays_and_bytes(context: basalt.MLContext, kind: str) -> None:
    tensor = context.create_tensor("float32", (2, 3), readable=True, writable=True)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    given: Any = {
        "array": values,
        "flat": values.reshape(-1),
        "bytes": values.tobytes(),
        "strided": np.repeat(values, 2, axis=1)[:, ::2],
        "big-endian": values.astype(">f4"),
    }[kind]
    context.write_tensor(tensor, given)
    assert context.read_tensor(tensor).tolist() == values.tolist()


def test_reading_into_a_buffer(context: basalt.MLContext) -> None:
    tensor = context.create_tensor("float32", (2,), readable=True, writable=True)
    context.write_tensor(tensor, np.array([1, 2], np.float32))
    array, raw, words = np.zeros(2, np.float32), bytearray(8), np.zeros(8, np.uint8)
    for out in (array, raw, words, memoryview(raw)):
        assert context.read_tensor(tensor, out) is None
    assert array.tolist() == [1, 2]
    assert bytes(raw) == words.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda: np.zeros(3, np.float32), r"read_tensor: the array has shape \[3\], expected \[2\]"),
        (lambda: np.zeros(2), "read_tensor: the array holds float64, expected float32 or bytes"),
        (lambda: bytearray(7), "read_tensor: got 7 bytes, expected 8"),
        (lambda: bytes(8), "read_tensor: the given buffer is read-only"),
        (lambda: np.zeros(16, np.uint8)[::2], "read_tensor: the given buffer is not contiguous"),
        (lambda: [0, 0], "read_tensor: got list"),
    ],
)
def test_buffers_that_do_not_fit(context: basalt.MLContext, out: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        context.read_tensor(context.create_tensor("float32", (2,), readable=True), out())


def test_tensors_that_cannot_be_read_or_written(context: basalt.MLContext) -> None:
    tensor = context.create_tensor("float32", (2, 3))
    foreign = basalt.MLContext().create_tensor("float32", (2, 3), readable=True, writable=True)
    for call, flag in ((context.read_tensor, "readable"), (lambda t: context.write_tensor(t, ONES), "writable")):
        with pytest.raises(ValidationError, match=f"is not {flag}; create it with {flag}=True"):
            call(tensor)
        with pytest.raises(ValidationError, match="belongs to another context"):
            call(foreign)
        with pytest.raises(ValidationError, match="got ndarray, expected an MLTensor"):
            call(ONES)
    with pytest.raises(ValidationError, match=r"write_tensor: the array has shape \[3, 2\], expected \[2, 3\]"):
        context.write_tensor(context.create_tensor("float32", (2, 3), writable=True), ONES.T)


def test_a_destroyed_tensor(context: basalt.MLContext) -> None:
    tensor = context.create_tensor("float32", (2, 3), readable=True, writable=True)
    tensor.destroy()
    tensor.destroy()
    assert tensor.destroyed and repr(tensor) == "<MLTensor destroyed float32[2, 3]>"
    for call in (context.read_tensor, lambda t: context.write_tensor(t, ONES)):
        with pytest.raises(ValidationError, match=r"<MLTensor destroyed float32\[2, 3\]> was destroyed"):
            call(tensor)


@pytest.mark.parametrize(
    "arguments",
    [
        (ONES,),
        ("float32", (2, 3), ONES),
        ({"dataType": "float32", "shape": [2, 3]}, ONES),
        ({"dataType": "float32", "shape": [2, 3]}, ONES.tobytes()),
        ("float32", (2, 3), ONES.reshape(-1)),
    ],
)
def test_constant_tensors(context: basalt.MLContext, arguments: Any) -> None:
    tensor = context.create_constant_tensor(*arguments)
    assert (tensor.data_type, tensor.shape, tensor.constant) == ("float32", (2, 3), True)
    assert not tensor.readable and not tensor.writable
    assert repr(tensor) == "<MLTensor constant float32[2, 3]>"
    assert tensor.data("test").tolist() == ONES.tolist()
    assert not tensor.data("test").flags.writeable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0],), "create_constant_tensor: got list alone, expected an array or a type and data"),
        (("float32", (2, 3), ONES, ONES), "got 4 arguments, expected a type, a shape and a buffer"),
        (("float32", ONES), "a shape is missing"),
        (("float32", (2, 3), ONES[:1]), r"the array has shape \[1, 3\]"),
        (("float32", (2, 3), b"123"), "got 3 bytes, expected 24"),
        ((np.ones((0, 3)),), "has dimension 0"),
    ],
)
def test_constant_tensors_that_are_refused(context: basalt.MLContext, arguments: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        context.create_constant_tensor(*arguments)


def test_a_constant_tensor_is_neither_read_nor_written(context: basalt.MLContext) -> None:
    tensor = context.create_constant_tensor(ONES)
    with pytest.raises(ValidationError, match="is not readable"):
        context.read_tensor(tensor)
    with pytest.raises(ValidationError, match="is not writable"):
        context.write_tensor(tensor, ONES)


def test_dispatch(context: basalt.MLContext) -> None:
    graph, (x, y) = doubling(context), pair(context)
    for factor in (1, 3):
        context.write_tensor(x, ONES * factor)
        context.dispatch(graph, {"x": x}, {"y": y})
        assert context.read_tensor(y).tolist() == (ONES * 2 * factor).tolist()


def test_dispatch_of_symbolic_shapes(context: basalt.MLContext) -> None:
    graph = doubling(context, ("n", 3))
    for size in (2, 4, 2):
        x = context.create_tensor("float32", (size, 3), writable=True)
        y = context.create_tensor("float32", (size, 3), readable=True)
        context.write_tensor(x, np.full((size, 3), size, np.float32))
        context.dispatch(graph, {"x": x}, {"y": y})
        assert context.read_tensor(y).tolist() == np.full((size, 3), 2 * size).tolist()


def test_dispatch_checks_sizes_of_symbolic_outputs(context: basalt.MLContext) -> None:
    graph = doubling(context, ("n", 3))
    x = context.create_tensor("float32", (4, 3))
    with pytest.raises(ValidationError, match=r"output 'y': got <MLTensor float32\[2, 3\]>, expected float32\[4, 3\]"):
        context.dispatch(graph, {"x": x}, {"y": context.create_tensor("float32", (2, 3))})


BAD_DISPATCHES: list[tuple[Any, str]] = [
    (lambda c, g, x, y: (None, {"x": x}, {"y": y}), "dispatch: None is no graph of this context"),
    (lambda c, g, x, y: (doubling(basalt.MLContext()), {"x": x}, {"y": y}), "is no graph of this context"),
    (lambda c, g, x, y: (g, {"x": x}, {"y": x}), "given twice, as input 'x' and as output 'y'"),
    (lambda c, g, x, y: (g, {"x": x, "z": x}, {"y": y}), "given twice, as input 'x' and as input 'z'"),
    (lambda c, g, x, y: (g, {"x": ONES}, {"y": y}), "input 'x': got ndarray, expected an MLTensor"),
    (lambda c, g, x, y: (g, [x], {"y": y}), "inputs is .*, expected a dictionary of tensors by name"),
    (lambda c, g, x, y: (g, {"x": x}, y), "outputs is .*, expected a dictionary of tensors by name"),
    (lambda c, g, x, y: (g, {"x": pair(basalt.MLContext())[0]}, {"y": y}), "input 'x': .* belongs to another context"),
    (lambda c, g, x, y: (g, {}, {"y": y}), "no tensor is given for input 'x'"),
    (lambda c, g, x, y: (g, {"x": x}, {}), "no tensor is given for output 'y'"),
    (lambda c, g, x, y: (g, {"x": x, "z": pair(c)[0]}, {"y": y}), "input 'z': the graph's inputs are 'x'"),
    (lambda c, g, x, y: (g, {"x": c.create_constant_tensor(ONES)}, {"y": y}), "input 'x': .* is a constant tensor"),
    (lambda c, g, x, y: (g, {"x": x}, {"y": c.create_constant_tensor(ONES)}), "output 'y': .* is a constant tensor"),
    (
        lambda c, g, x, y: (g, {"x": c.create_tensor("float32", (3, 2))}, {"y": y}),
        r"input 'x': got <MLTensor float32\[3, 2\]>, expected float32\[2, 3\]",
    ),
    (
        lambda c, g, x, y: (g, {"x": x}, {"y": c.create_tensor("float16", (2, 3))}),
        r"output 'y': got <MLTensor float16\[2, 3\]>, expected float32\[2, 3\]",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_DISPATCHES)
def test_dispatches_that_are_refused(context: basalt.MLContext, arguments: Any, message: str) -> None:
    graph, (x, y) = doubling(context), pair(context)
    with pytest.raises(ValidationError, match=message):
        context.dispatch(*arguments(context, graph, x, y))


def test_dispatch_refuses_destroyed_things_in_the_standards_order(context: basalt.MLContext) -> None:
    graph, (x, y) = doubling(context), pair(context)
    x.destroy()
    with pytest.raises(ValidationError, match=r"input 'x': <MLTensor destroyed .* was destroyed"):
        context.dispatch(graph, {"x": x}, {"y": y})
    with pytest.raises(ValidationError, match="given twice"):
        context.dispatch(graph, {"x": x}, {"y": x})
    graph.destroy()
    with pytest.raises(InvalidStateError, match=r"dispatch: <MLGraph destroyed .* was destroyed"):
        context.dispatch(graph, {"x": x}, {"y": x})
    with pytest.raises(ValidationError, match="is no graph of this context"):
        basalt.MLContext().dispatch(graph, {"x": x}, {"y": x})


def test_destroying_a_context(context: basalt.MLContext) -> None:
    graph, (x, y) = doubling(context), pair(context)
    assert context.lost is None and not context.destroyed
    context.destroy()
    context.destroy()
    assert context.destroyed and context.lost.message == "the context was destroyed"
    assert graph.destroyed and x.destroyed and y.destroyed
    assert repr(context) == "<MLContext destroyed>"
    for call in (
        lambda: context.create_tensor("float32", (1,)),
        lambda: context.create_constant_tensor(ONES),
        lambda: context.read_tensor(y),
        lambda: context.write_tensor(x, ONES),
        lambda: context.dispatch(graph, {"x": x}, {"y": y}),
        lambda: context.op_support_limits(),
        lambda: graph.run({"x": ONES}),
        lambda: graph.compile(),
    ):
        with pytest.raises(InvalidStateError, match="destroyed"):
            call()


def test_a_with_block_destroys_its_context() -> None:
    with basalt.MLContext() as context:
        tensor = context.create_tensor("float32", (1,))
    assert context.destroyed and tensor.destroyed


def test_a_context_keeps_nothing_alive(context: basalt.MLContext) -> None:
    tensor, graph = context.create_tensor("float32", (1,)), doubling(context)
    references = weakref.ref(tensor), weakref.ref(graph)
    del tensor, graph
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_dispatches_from_several_threads_do_not_mix(context: basalt.MLContext) -> None:
    graph, (x, y) = doubling(context), pair(context)
    context.write_tensor(x, ONES)
    seen: list[set[float]] = []

    def work(value: float) -> None:
        for _ in range(50):
            context.write_tensor(x, np.full((2, 3), value, np.float32))
            context.dispatch(graph, {"x": x}, {"y": y})
            seen.append(set(context.read_tensor(y).ravel().tolist()))

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200 and all(len(values) == 1 for values in seen)


def test_op_support_limits(context: basalt.MLContext) -> None:
    limits = context.op_support_limits()
    assert {"input", "constant", "output", "conv2d"} <= limits.keys()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the process's resident memory from /proc")
def test_a_large_tensor_takes_memory_only_where_it_is_used(context: basalt.MLContext) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    before = resident()
    tensor = context.create_tensor("int64", (2**27,), readable=True)
    assert resident() - before < 2**26
    assert not np.any(tensor.data("test")[:: 2**24])
