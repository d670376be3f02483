"""Optionals: None for one without an element, else the element itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.compiler.onnx.host.registry import HostNode, host_op


@host_op("Optional", 15, 28)
def optional(n: HostNode, value: Any = None) -> Any:
    """The optional that holds ``value``; without an element (its type is then the attribute ``type``) None."""
    return value


@host_op("OptionalHasElement", 15, 18, 28)
def optional_has_element(n: HostNode, value: Any = None) -> np.ndarray:
    """Whether there is an element, a scalar bool; from 18 a tensor or sequence has one, an absent input none."""
    return np.asarray(value is not None)


@host_op("OptionalGetElement", 15, 18, 28)
def optional_get_element(n: HostNode, value: Any) -> Any:
    """The element; an error where there is none."""
    if value is None:
        raise n.error("input 'input' is an optional without an element, expected one with an element")
    return value
