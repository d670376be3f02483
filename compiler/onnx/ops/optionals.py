"""Optionals: a tensor or sequence that is there stands for itself."""

from __future__ import annotations

from ..errors import OnHostError
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Absent, HostItem, Item, ListItem, Tensor


@onnx_op("Optional", 15, 28)
def optional(n: NodeContext) -> Item:
    given = n.item(0)
    return Absent() if given is None else given


@onnx_op("OptionalHasElement", 15, 18, 28)
def has_element(n: NodeContext) -> Tensor:
    given = n.item(0)
    if isinstance(given, HostItem) and given.kind not in ("sequence", "map"):
        raise OnHostError
    return n.constant(not (given is None or isinstance(given, Absent)))


@onnx_op("OptionalGetElement", 15, 18, 28)
def get_element(n: NodeContext) -> Item:
    given = n.item(0)
    if isinstance(given, (Tensor, ListItem)):
        return given
    if given is None or isinstance(given, Absent):
        raise n.error("the optional is empty, expected an element")
    return given
