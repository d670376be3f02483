"""The stages that runs of an ONNX model went through, as a file holds them (:mod:`basalt.runtime.stored.flow`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from basalt.errors import UnsupportedError
from basalt.serialization.program.records import RecordValue

from ..executable import Executable
from ..onnx.control.bodies import HostBody
from ..onnx.host.registry import HostNode
from ..onnx.host.repeating import Repetition
from ..onnx.script import Entry
from ..onnx.stage import Point, Stage
from ..onnx.steps import HostCall, Return
from ..onnx.tensor import Absent, HostItem, Item, ListItem, Tensor

__all__ = ["Recording"]

Shapes = tuple[tuple[int, ...], ...]


class Recording:
    """What a model's runs have translated so far.

    ``stages`` are records, ``entry`` that of the way to the first ones; ``programs`` are the executables and shapes
    that the stages' numbers of programs stand for.
    """

    def __init__(self, entry: Entry, programs: list[tuple[Executable, Shapes]] | None = None) -> None:
        self.stages: list[RecordValue] = []
        self.programs = [] if programs is None else programs
        self._numbers: dict[int, int] = {}
        self.entry = self._point("", entry.names, (), False, entry.keyed())

    def _point(
        self, prefix: str, watched: Sequence[str], kept: Iterable[str], content: bool, keyed: Mapping[Any, Stage]
    ) -> dict[str, RecordValue]:
        any_size, sized = [], []
        for key, stage in keyed.items():
            if key[0] == "symbolic":
                any_size.append((_kinds(key[1]), self._stage(stage)))
            else:
                kinds, shapes, *results = key
                sized.append(
                    ((_kinds(kinds), _plain(shapes), _plain(results[0] if results else ())), self._stage(stage))
                )
        return {
            "prefix": prefix,
            "watched": tuple(watched),
            "kept": tuple(sorted(kept)),
            "content": int(content),
            "any_size": tuple(any_size),
            "sized": tuple(sized),
        }

    def _stage(self, stage: Stage) -> int:
        found = self._numbers.get(id(stage))
        if found is not None:
            return found
        number = self._numbers[id(stage)] = len(self.stages)
        record: dict[str, RecordValue] = {
            "feeds": stage.feeds,
            "converted": stage.converted,
            "programs": self._signatures(stage),
            "items": [_item(item) for item in self._items(stage)],
            "names": tuple(name for name, _ in stage.step.outputs) if isinstance(stage.step, Return) else (),
        }
        self.stages.append(record)
        if isinstance(stage.step, HostCall):
            record["host"] = self._host(stage.step)
        if stage.point is not None:
            record["next"] = self._after(stage.point)
        return number

    def _items(self, stage: Stage) -> list[Item]:
        """The values that a stage's step takes; outputs that the program gives by name are taken by it."""
        if not isinstance(stage.step, Return):
            return list(stage.step.items)
        named = stage.direct_outputs
        return [
            Tensor("", (), slot=name) if name in named and not _is_there(item) else item
            for name, item in stage.step.outputs
        ]

    def _signatures(self, stage: Stage) -> tuple[tuple[Shapes, int], ...]:
        if stage.executable is None or (isinstance(stage.step, Return) and all(map(_is_there, stage.step.items))):
            return ()
        found = []
        for shapes in stage.executable.signatures():
            found.append((shapes, len(self.programs)))
            self.programs.append((stage.executable, shapes))
        return tuple(found)

    def _host(self, step: HostCall) -> dict[str, RecordValue]:
        """A host operator: what finds its function or repeats its body, and the node."""
        if isinstance(step.function, Repetition):
            return {**_node(step.node), **self._repetition(step.function)}
        if not getattr(step.function, "stored", False):
            raise UnsupportedError(f"{step.node.describe()} cannot be kept in a file with machine code")
        return {**_node(step.node), "module": step.function.__module__.rpartition(".")[2]}

    def _repetition(self, function: Repetition) -> dict[str, RecordValue]:
        body, repeat = function.body, function.repeat
        assert isinstance(body, HostBody)
        recording = Recording(body.entry, self.programs)
        inputs, outputs = body.names
        declared = body.declared()
        record: dict[str, RecordValue] = {
            "inputs": tuple(inputs),
            "input_count": body.input_count,
            "outputs": tuple(outputs),
            "dtypes": tuple([dtype for dtype, _ in declared]),
            "shapes": tuple([shape for _, shape in declared]),
            "stages": recording.stages,
            "entry": recording.entry,
        }
        return {"repeat": repeat.kind, **dict(list(repeat._asdict().items())[1:]), "body": record}

    def _after(self, point: Point) -> dict[str, RecordValue]:
        return self._point(point.prefix, point.watched, point.slots, point.reads_elements, point.keyed())


def _is_there(item: Item) -> bool:
    """Whether a value is there before the program runs, which then would only copy it."""
    return isinstance(item, Tensor) and bool(item.slot)


def _kinds(kinds: Sequence[Any]) -> tuple[Any, ...]:
    """Kinds of values as the runtime tells them: data types by name."""
    return tuple([_kind(kind) for kind in kinds])


def _kind(kind: Any) -> Any:
    if isinstance(kind, tuple) and len(kind) == 2 and isinstance(kind[0], np.dtype):
        return (kind[0].name, kind[1])
    if isinstance(kind, tuple):
        dtype, shape, elements = kind
        return (dtype, tuple(map(int, shape)), elements if isinstance(elements, bytes) else tuple(map(str, elements)))
    return kind


def _plain(shapes: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([None if shape is None else tuple(map(int, shape)) for shape in shapes])


def _item(item: Item) -> dict[str, RecordValue]:
    if isinstance(item, Tensor):
        return {"slot": item.slot} if item.array is None else _constant(item.array)
    if isinstance(item, ListItem):
        return {"list": [_item(entry) for entry in item.items]}
    if isinstance(item, HostItem):
        if "value" in item.details:
            return _value(item.details["value"])
        return {"slot": item.slot}
    assert item is None or isinstance(item, Absent)
    return {}


def _value(value: Any) -> dict[str, RecordValue]:
    """A known value that is no tensor."""
    if isinstance(value, np.ndarray):
        return _constant(value)
    if isinstance(value, (list, tuple)):
        return {"list": [_value(entry) for entry in value]}
    if value is None:
        return {}
    raise UnsupportedError(f"a {type(value).__name__} that is known before any run cannot be stored")


def _constant(array: np.ndarray) -> dict[str, RecordValue]:
    if array.dtype == object:
        return {"texts": tuple(map(str, array.reshape(-1))), "shape": tuple(array.shape)}
    return {"array": array}


def _node(node: HostNode) -> dict[str, RecordValue]:
    return {
        "operator": node.op_type,
        "domain": node.domain,
        "version": node.version,
        "label": node.label,
        "outputs": node.num_outputs,
        "output_dtypes": tuple(node.output_dtypes),
        "attributes": {k: _attribute(node, k, v) for k, v in node.attributes.items() if v is not None},
    }


def _attribute(node: HostNode, name: str, value: Any) -> RecordValue:
    if isinstance(value, np.ndarray):
        return value if value.dtype != object else _constant(value)
    if isinstance(value, (list, tuple)):
        return [_attribute(node, name, entry) for entry in value]
    if isinstance(value, np.generic):
        plain: Any = value.item()
        return plain
    if isinstance(value, (bool, int, float, str, bytes)):
        return value
    raise UnsupportedError(f"{node.describe()}: attribute {name!r} is a {type(value).__name__}, which cannot be stored")
