"""Operators that move elements, for those of types that are not compiled: strings and complex numbers.

The operator's translator is run at once on what a region does hold, so that its rules are written down only once:
strings are numbered and the numbers moved; complex numbers are moved, or summed up, as real and imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from basalt.ops.types import TensorType

from ...passes.evaluation import evaluate
from .. import registry
from ..node import NodeContext
from ..region import Region
from ..schemas import schema_for
from ..tensor import Tensor, carrier_array, known_tensor, logical_array
from .registry import HostNode, host_op

__all__: list[str] = []

Arrays = Sequence["np.ndarray | None"]


class _Calculator(Region):
    """A region that computes everything at once, whatever its size."""

    def _evaluate(
        self, op: str, inputs: Sequence[Tensor | None], attrs: Any, types: Sequence[TensorType], names: Sequence[str]
    ) -> tuple[Tensor, ...]:
        arrays = [None if t is None or t.array is None else carrier_array(t.array, t.dtype) for t in inputs]
        results = evaluate(op, arrays, attrs, types)
        return tuple(
            Tensor(name, tuple(r.shape), array=logical_array(r, name), sized=True) for name, r in zip(names, results)
        )


def _translated(n: HostNode, inputs: Arrays) -> list[np.ndarray]:
    """The outputs of the operator's translator for known inputs."""
    translator = registry.find(n.op_type, n.version, n.domain)
    assert translator is not None
    outputs = [f"{n.label}.{i}" for i in range(n.num_outputs)]
    items = [None if x is None else known_tensor(x) for x in inputs]
    schema = schema_for(n.domain, n.op_type, n.version)
    context = NodeContext(
        n.op_type, n.domain, n.version, n.version, n.label, items, n.attributes, outputs, schema, _Calculator()
    )
    found = translator(context)
    return [t.array for t in (found if isinstance(found, tuple) else (found,))]


def _by_numbers(n: HostNode, inputs: Arrays) -> list[np.ndarray]:
    """Strings, as numbers from 1 on in the order of the inputs; 0 is the empty string, which fills."""
    strings = [x for x in inputs if x is not None and x.dtype == object]
    ends = np.cumsum([1, *(x.size for x in strings)])
    numbers = iter(np.arange(end - x.size, end, dtype=np.int64).reshape(x.shape) for x, end in zip(strings, ends[1:]))
    held = [next(numbers) if x is not None and x.dtype == object else x for x in inputs]
    table = np.array(["", *(s for x in strings for s in x.reshape(-1))], dtype=object)
    return [table[moved] for moved in _translated(n, held)]


def _by_parts(n: HostNode, inputs: Arrays) -> list[np.ndarray]:
    """Complex numbers: all that is done to them is linear, so that their parts do not meet."""
    if n.attr("reduction", "none") not in ("none", "add"):
        raise n.unsupported(f"reduction {n.attr('reduction')!r} of complex numbers is not implemented")
    kind = next(x.dtype for x in inputs if x is not None and x.dtype.kind == "c")

    def parts(part: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
        return _translated(n, [part(x).copy() if x is not None and x.dtype.kind == "c" else x for x in inputs])

    made = []
    for real, imaginary in zip(parts(np.real), parts(np.imag)):
        whole = np.empty(real.shape, kind)
        whole.real, whole.imag = real, imaginary
        made.append(whole)
    return made


def _move(n: HostNode, *inputs: np.ndarray | None) -> Any:
    strings = any(x is not None and x.dtype == object for x in inputs)
    if strings and (
        n.attr("reduction", "none") != "none" or n.attr("mode") in ("linear", "cubic", "bilinear", "bicubic")
    ):
        raise n.error("strings can only be moved, not combined")
    if not strings and not any(x is not None and x.dtype.kind == "c" for x in inputs):
        raise n.unsupported("tensors of more than 8 dimensions are not implemented")
    results = (_by_numbers if strings else _by_parts)(n, inputs)
    return results[0] if len(results) == 1 else tuple(results)


for _name, _versions in {
    "Pad": (13, 18, 19, 21, 23, 24, 25),
    "Scatter": (9, 11),
    "ScatterElements": (11, 13, 16, 18),
    "ScatterND": (11, 13, 16, 18),
    "TensorScatter": (24,),
    "DepthToSpace": (1, 11, 13, 28),
    "SpaceToDepth": (1, 13, 28),
    "Trilu": (14,),
    "CenterCropPad": (18,),
    "Upsample": (7, 9, 10),
    "Resize": (10, 11, 13, 18, 19),
    "GridSample": (16, 20, 22),
}.items():
    host_op(_name, *_versions)(_move)


@host_op("Col2Im", 18)
def col2im(n: HostNode, *inputs: np.ndarray | None) -> Any:
    """Sums of complex numbers; of strings there are none."""
    if any(x is not None and x.dtype == object for x in inputs):
        raise n.error("strings cannot be added up")
    return _move(n, *inputs)
