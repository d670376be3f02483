"""FlexAttention: attention whose scores and weights go through bodies of the model's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from basalt.serialization.onnx import OnnxGraph

from ..attributes import dtype_of_code
from ..node import NodeContext
from ..state import Frame
from ..tensor import Item, Tensor
from .bodies import enter, of_now

if TYPE_CHECKING:
    from ..tracer import Tracer

__all__ = ["flex_attention"]

_SOFTMAX_TYPES = ("float32", "float16", "float64", "bfloat16")


def flex_attention(tracer: Tracer, frame: Frame, n: NodeContext) -> None:
    """The scores, then what the body ``score_mod`` makes of them, and so on."""
    from ..ops.building import convert
    from ..ops.dot_product_attention import attention_scores

    q, k, v = (n.tensor(i) for i in range(3))
    _check(n, q, k, v)
    scale = n.attr("scale", None)
    if scale is None:
        (size,) = n.static(q.shape[3])
        scale = 1.0 / math.sqrt(max(size, 1))
    half = n.scalar(math.sqrt(scale) if scale > 0 else 1.0, q)
    left, right = n.emit("mul", q, half if scale > 0 else n.scalar(scale, q)), n.emit("mul", k, half)
    scores = convert(n, attention_scores(n, left, right), _precision(n, q))
    _Scores(n, v).go_on(tracer, frame, n.attr("score_mod", None), scores)


def _check(n: NodeContext, q: Tensor, k: Tensor, v: Tensor) -> None:
    if not q.rank == k.rank == v.rank == 4:
        raise n.error(f"Q, K and V have ranks {q.rank}, {k.rank}, {v.rank}; expected 4")
    for name, first, second in (("head size", q.shape[3], k.shape[3]), ("length", k.shape[2], v.shape[2])):
        if isinstance(first, int) and isinstance(second, int) and first != second:
            raise n.error(f"the {name} is {first} and {second}, expected one")


def _precision(n: NodeContext, q: Tensor) -> str:
    code = n.attr("softmax_precision", None)
    if code is None:
        return "float64" if q.dtype == "float64" else "float32"
    dtype = dtype_of_code(code)
    if dtype not in _SOFTMAX_TYPES:
        raise n.error(f"softmax_precision is {dtype}, expected one of {', '.join(_SOFTMAX_TYPES)}")
    return dtype


def _result(frame: Frame, body: OnnxGraph, n: NodeContext, before: Tensor) -> Tensor:
    """What a body made of a tensor, which must be one of the same kind."""
    item = frame.lookup(body.outputs[0].name)
    if not isinstance(item, Tensor) or item.dtype != before.dtype or item.rank != before.rank:
        raise n.error(f"a body gives {item} for {before}, expected the same data type and shape")
    return item


@dataclass(slots=True)
class _Modified:
    """The end of a body that has modified a tensor."""

    node: NodeContext
    value: Tensor
    body: OnnxGraph | None = None
    before: Tensor | None = None

    @property
    def needs(self) -> Sequence[str]:
        return [] if self.body is None else [v.name for v in self.body.outputs]

    def go_on(self, tracer: Tracer, frame: Frame, body: OnnxGraph | None, x: Tensor) -> None:
        """Have a body modify a tensor, if there is one."""
        if body is None:
            self.finish(tracer, frame, x)
            return
        if len(body.inputs) != 1 or len(body.outputs) != 1:
            raise self.node.error(f"a body has {len(body.inputs)} inputs and {len(body.outputs)} outputs, expected 1")
        enter(tracer, frame, self.node, body, {body.inputs[0].name: x}, replace(self, body=body, before=x))

    def __call__(self, tracer: Tracer, frame: Frame) -> None:
        assert self.body is not None and self.before is not None
        self.finish(tracer, tracer.frames[-1], _result(frame, self.body, self.node, self.before))

    def finish(self, tracer: Tracer, frame: Frame, x: Tensor) -> None:
        """What comes after the modification."""
        raise NotImplementedError

    def copy(self, convert: Callable[[Item], Item]) -> _Modified:
        before = None if self.before is None else convert(self.before)
        return replace(self, value=convert(self.value), before=before)  # type: ignore[arg-type]


class _Scores(_Modified):
    """After the scores: their softmax, and the body ``prob_mod``."""

    __slots__ = ()

    def finish(self, tracer: Tracer, frame: Frame, x: Tensor) -> None:
        from ..ops.softmax import softmax_of

        n = of_now(self.node, tracer)
        _Weights(self.node, self.value).go_on(tracer, frame, n.attr("prob_mod", None), softmax_of(n, x, 3))


class _Weights(_Modified):
    """After the weights: their products with the values."""

    __slots__ = ()

    def finish(self, tracer: Tracer, frame: Frame, x: Tensor) -> None:
        from ..ops.building import convert
        from ..ops.dot_product_attention import attend
        from ..tracer import bind

        n = of_now(self.node, tracer)
        y = attend(n, x, convert(n, self.value, x.dtype))
        bind(frame, self.node.output_names, [convert(n, y, self.value.dtype)])
