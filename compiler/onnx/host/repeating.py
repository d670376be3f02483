"""Operators with a body that the host repeats: Loop, Scan and SequenceMap, over whatever runs the body.

They need nothing of a translation, so that files with machine code can hold them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from basalt.errors import ValidationError
from basalt.runtime.carriers import onnx_dtype

from .registry import HostNode

__all__ = ["KINDS", "Body", "Repeat", "Repetition", "stack_entries"]


class Body(Protocol):
    """What runs a body."""

    @property
    def input_count(self) -> int: ...
    @property
    def output_count(self) -> int: ...

    def __call__(self, values: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
        """The body's outputs for its inputs and the values around it."""
        ...

    def stack(self, place: int, entries: Sequence[Any], axis: int = 0) -> np.ndarray:
        """What iterations gave for an output, along a new axis; without any, what the body declares of its shape."""
        ...


class Repeat(NamedTuple):
    """How a body is repeated.

    ``kind`` is ``loop``, ``scan``, ``batched_scan`` or ``sequence_map``. ``given`` is how many of the values are the
    node's inputs, which the values around the body follow; ``states`` how many of a scan's inputs are states, or how
    many values a loop carries. Axes and directions are those of a scan's other inputs and outputs.
    """

    kind: str
    given: int
    states: int = 0
    in_axes: tuple[int, ...] = ()
    in_reversed: tuple[int, ...] = ()
    out_axes: tuple[int, ...] = ()
    out_reversed: tuple[int, ...] = ()


class Repetition:
    """A node's function: called with the node and its inputs, then the values around its body."""

    def __init__(self, body: Body, repeat: Repeat) -> None:
        self.body, self.repeat = body, repeat

    def __call__(self, node: HostNode, *values: Any) -> tuple[Any, ...]:
        given, captured = list(values[: self.repeat.given]), values[self.repeat.given :]
        return KINDS[self.repeat.kind](node, self.body, self.repeat, given, captured)


def stack_entries(dtype: str, shape: Sequence[int], entries: Sequence[Any], axis: int) -> np.ndarray:
    """Results of iterations along a new axis; without any, an empty array of what is declared of one."""
    if entries:
        return np.stack(entries, axis)
    sizes = list(shape)
    sizes.insert(axis % (len(sizes) + 1), 0)
    return np.empty(sizes, onnx_dtype(dtype))


def _loop(node: HostNode, body: Body, repeat: Repeat, given: list[Any], captured: Sequence[Any]) -> tuple[Any, ...]:
    count, condition, *carried = given
    limit = None if count is None else int(_single(node, "M", count))
    going = condition is None or bool(_single(node, "cond", condition))
    scans: list[list[Any]] = [[] for _ in range(body.output_count - 1 - repeat.states)]
    iteration = 0
    while going and (limit is None or iteration < limit):
        inputs = [np.array(iteration, np.int64), np.array(going), *carried]
        out, *results = body(inputs[: body.input_count], captured)
        going = bool(_single(node, "the body's condition", out))
        carried = results[: repeat.states]
        for entries, value in zip(scans, results[repeat.states :]):
            entries.append(value)
        iteration += 1
    return (*carried, *[body.stack(1 + repeat.states + i, entries) for i, entries in enumerate(scans)])


def _single(node: HostNode, name: str, value: Any) -> Any:
    array = np.asarray(value)
    if array.size != 1:
        raise node.error(f"{name} has {array.size} elements, expected 1")
    return array.reshape(-1)[0]


def _scan(node: HostNode, body: Body, repeat: Repeat, given: list[Any], captured: Sequence[Any]) -> tuple[Any, ...]:
    scanned = given[repeat.states :]
    for x, axis in zip(scanned, repeat.in_axes):
        if not -np.ndim(x) <= axis < np.ndim(x):
            raise node.error(f"scan_input_axes has {axis}, expected an axis of a tensor of rank {np.ndim(x)}")
    lengths = [x.shape[axis] for x, axis in zip(scanned, repeat.in_axes)]
    if len(set(lengths)) != 1:
        raise node.error(f"scanned inputs have lengths {lengths}, expected one")
    try:
        return _scan_rows(body, repeat, given, captured, lengths[0])
    except np.exceptions.AxisError as error:
        raise ValidationError(f"{node.describe()}: {error}") from None


def _scan_rows(
    body: Body, repeat: Repeat, given: Sequence[Any], captured: Sequence[Any], length: int
) -> tuple[Any, ...]:
    """The last states and the stacked outputs of ``length`` iterations."""
    states = list(given[: repeat.states])
    scanned = [np.moveaxis(x, axis, 0) for x, axis in zip(given[repeat.states :], repeat.in_axes)]
    scans: list[list[Any]] = [[] for _ in repeat.out_axes]
    for i in range(length):
        rows = [x[length - 1 - i] if back else x[i] for x, back in zip(scanned, repeat.in_reversed)]
        results = body([*states, *[np.array(r, order="C", copy=None) for r in rows]], captured)
        states = results[: repeat.states]
        for entries, value in zip(scans, results[repeat.states :]):
            entries.append(value)
    stacked = [
        body.stack(repeat.states + i, entries[::-1] if back else entries, axis)
        for i, (entries, axis, back) in enumerate(zip(scans, repeat.out_axes, repeat.out_reversed))
    ]
    return (*states, *stacked)


def _batched_scan(
    node: HostNode, body: Body, repeat: Repeat, given: list[Any], captured: Sequence[Any]
) -> tuple[Any, ...]:
    """Scan of version 8: the first axis of everything is the batch, and each entry may have a length of its own."""
    lengths, *inputs = given
    batch, full = _batch(node, repeat, inputs)
    steps = np.full(batch, full) if lengths is None else np.asarray(lengths)
    if steps.shape != (batch,) or np.any((steps < 0) | (steps > full)):
        raise node.error(f"sequence_lens is {steps.tolist()}, expected {batch} lengths from 0 to {full}")
    rows = [_entry(body, repeat, [x[b] for x in inputs], captured, int(steps[b])) for b in range(batch)]
    if not rows:
        return tuple(body.stack(i, []) for i in range(body.output_count))
    return tuple(
        np.stack([_padded(np.asarray(row[i]), full) if i >= repeat.states else row[i] for row in rows])
        for i in range(len(rows[0]))
    )


def _batch(node: HostNode, repeat: Repeat, inputs: Sequence[Any]) -> tuple[int, int]:
    """The size of the batch, and the length of the scanned inputs."""
    scanned = inputs[repeat.states :]
    shapes = [np.shape(x) for x in inputs]
    if any(not s for s in shapes) or any(np.ndim(x) < 2 for x in scanned):
        raise node.error(f"inputs have shapes {shapes}, expected [batch, ...] and [batch, length, ...]")
    batches, lengths = {s[0] for s in shapes}, {np.shape(x)[1] for x in scanned}
    if len(batches) != 1 or len(lengths) != 1:
        raise node.error(f"inputs have shapes {shapes}, expected one size of the batch and one length")
    return batches.pop(), lengths.pop()


def _entry(body: Body, repeat: Repeat, given: Sequence[Any], captured: Sequence[Any], length: int) -> tuple[Any, ...]:
    cut = [*given[: repeat.states], *[x[:length] for x in given[repeat.states :]]]
    return _scan_rows(body, repeat, [np.ascontiguousarray(x).reshape(x.shape) for x in cut], captured, length)


def _padded(rows: np.ndarray, length: int) -> np.ndarray:
    """Rows followed by zeros; without any, as much of the shape as is known."""
    return np.concatenate([rows, np.zeros((length - len(rows), *rows.shape[1:]), rows.dtype)])


def _sequence_map(
    node: HostNode, body: Body, repeat: Repeat, given: list[Any], captured: Sequence[Any]
) -> tuple[Any, ...]:
    lengths = [len(v) for v in given if isinstance(v, list)]
    if not isinstance(given[0], list) or len(set(lengths)) != 1:
        raise node.error(f"sequences have lengths {lengths}, expected one")
    mapped: list[list[Any]] = [[] for _ in range(body.output_count)]
    for i in range(lengths[0]):
        row = [v[i] if isinstance(v, list) else v for v in given]
        for entries, value in zip(mapped, body(row, captured)):
            entries.append(value)
    return tuple(mapped)


KINDS = {"loop": _loop, "scan": _scan, "batched_scan": _batched_scan, "sequence_map": _sequence_map}
"""The functions by kind of repetition."""
