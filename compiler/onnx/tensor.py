"""What an ONNX value is while a model is translated: a region's tensor, a known array, sizes, or something opaque."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from basalt.ops import Dim, Shape, dtype_name
from basalt.runtime.carriers import CARRIERS, carrier, carrier_array, logical_array, onnx_dtype

from ..ir import Value

__all__ = [
    "UNCARRIED",
    "Absent",
    "HostItem",
    "Item",
    "ListItem",
    "Tensor",
    "carrier",
    "carrier_array",
    "logical_array",
    "onnx_dtype",
    "onnx_dtype_name",
]

UNCARRIED = frozenset({"string", "complex64", "complex128"})
"""Data types of tensors that only host operators take."""


def onnx_dtype_name(dtype: np.dtype) -> str:
    """The ONNX data type of a NumPy one; KeyError where there is none."""
    if dtype.kind in "OUS":
        return "string"
    return dtype.name if dtype.name in CARRIERS else dtype_name(dtype)


@dataclass(slots=True, eq=False)
class Tensor:
    """A tensor at translation time.

    Exactly what is known of it: ``array`` if it is a constant (in its ONNX data type), ``sizes`` if its elements are
    sizes that inputs decide (an object array of ``int | SymDim``), ``value`` once a region computes or holds it.

    Attributes:
        dtype: the ONNX data type; regions hold it as ``carrier(dtype)``.
        shape: dimensions, some perhaps symbolic.
        owner: the region that ``value`` belongs to.
        slot: the name of its run-time value in the script's environment, where an earlier step computes it.
        sized: whether the elements depend on nothing but the inputs' shapes.
    """

    dtype: str
    shape: Shape
    value: Value | None = None
    array: np.ndarray | None = None
    sizes: np.ndarray | None = None
    owner: Any = None
    slot: str = ""
    sized: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def known(self) -> bool:
        """Whether the elements are known now."""
        return self.array is not None

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(slots=True, eq=False)
class ListItem:
    """A sequence whose length is known now; ``dtype`` is that of its elements where it is empty."""

    items: list[Any]
    dtype: str = ""

    def __str__(self) -> str:
        return f"seq({', '.join(map(str, self.items))})"


@dataclass(slots=True, eq=False)
class Absent:
    """An optional that is empty."""

    dtype: str = ""

    def __str__(self) -> str:
        return "optional()"


@dataclass(slots=True, eq=False)
class HostItem:
    """A value that exists only at run time: strings, a sequence of unknown length, a map, a tensor of unknown rank."""

    slot: str
    kind: str = "value"
    details: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.kind


Item = Tensor | ListItem | Absent | HostItem | None
"""A value of a graph; None for an optional input that is not given."""


def known_tensor(array: np.ndarray) -> Tensor:
    """The tensor of a constant array in its ONNX data type."""
    return Tensor(onnx_dtype_name(array.dtype), tuple(array.shape), array=array, sized=True)


def dims_of(tensor: Tensor) -> tuple[Dim, ...] | None:
    """The elements of a vector of sizes, None where they are not known."""
    if tensor.array is not None:
        return tuple(int(d) for d in tensor.array.reshape(-1))
    return None if tensor.sizes is None else tuple(tensor.sizes.reshape(-1))


def of_elements(dtype: str, elements: np.ndarray) -> Tensor:
    """A tensor of sizes; a constant if all of them are numbers."""
    elements = np.asarray(elements, dtype=object)
    if all(isinstance(d, (int, np.integer)) for d in elements.reshape(-1)):
        return Tensor(dtype, elements.shape, array=elements.astype(dtype), sized=True)
    return Tensor(dtype, elements.shape, sizes=elements, sized=True)
