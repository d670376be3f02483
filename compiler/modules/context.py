"""What a translator sees of the ATen node that it translates."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.errors import UnsupportedError
from basalt.ops import Dim, SymDim

from ..onnx.errors import OnHostError, UnresolvedError
from ..onnx.node import NodeContext
from ..onnx.region import Region
from ..onnx.tensor import Tensor, of_elements, onnx_dtype
from ..onnx.tracer import Tracer
from .arrays import dtype_of
from .sizes import SizeNames, shape_of

__all__ = ["AtenContext", "AtenTracer"]


class AtenTracer(Tracer):
    """Lets ATen nodes call the translators of ONNX operators; there is no second try once values are known."""

    def __init__(self, region: Region) -> None:
        super().__init__([], (), region)

    def elements(self, tensor: Tensor) -> np.ndarray:
        """Nothing but running would tell what a tensor holds."""
        raise UnsupportedError(f"needs the elements of {tensor}, which only running tells")

    def call(self, n: NodeContext, *args: Any) -> Any:
        """As in a model of ONNX; UnsupportedError in place of what a model would do next."""
        try:
            return super().call(n, *args)
        except OnHostError:
            raise UnsupportedError(f"{args[0]} is not compiled for these operands") from None
        except UnresolvedError as error:
            raise UnsupportedError(f"{error}; make the dimension static") from None


class AtenContext(NodeContext):
    """An ATen node, and what makes core nodes of it.

    Attributes:
        node: torch's node; ``node.meta["val"]`` tells each result's data type and shape.
        names: what the user calls torch's symbolic sizes.
        read: the places of the outputs that the program reads.
    """

    def __init__(self, name: str, label: str, node: Any, names: SizeNames, region: Region, tracer: AtenTracer) -> None:
        super().__init__(name, "", 1, 1, label, (), {}, ("y",), None, region, tracer)
        self.node, self.names = node, names
        self.read = frozenset(u.args[1] for u in node.users if getattr(u.target, "__name__", "") == "getitem")

    @property
    def result(self) -> Any:
        """Torch's own account of the (first) result."""
        value = self.node.meta["val"]
        return value[0] if isinstance(value, (tuple, list)) else value

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the (first) result."""
        return shape_of(self.result.shape, self.names)

    @property
    def dtype(self) -> str:
        """The data type of the (first) result."""
        return dtype_of(self.result.dtype)

    def operand_dtype(self) -> str:
        """The data type in which the first two arguments meet (``torch.result_type``)."""
        import torch

        known = [a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in self.node.args[:2]]
        return dtype_of(torch.result_type(*known))

    def tensor_of(self, x: Any, dtype: str) -> Tensor:
        """A tensor, number or size as a tensor of a data type."""
        if isinstance(x, Tensor):
            return self.cast(x, dtype)
        if isinstance(x, SymDim):
            return self.cast(self.size_tensor((x,), ()), dtype)
        return self.constant(np.asarray(x).astype(onnx_dtype(dtype)))

    def size_tensor(self, dims: Any, shape: tuple[int, ...] | None = None) -> Tensor:
        """Sizes as a tensor of int64, a vector where no shape is stated."""
        elements = np.empty(len(dims), object)
        elements[:] = [int(d) if not isinstance(d, SymDim) else d for d in dims]
        return of_elements("int64", elements if shape is None else elements.reshape(shape))

    def filled(self, value: Any, shape: tuple[Dim, ...] | None = None, dtype: str = "") -> Tensor:
        """A tensor of equal elements, of the result's shape and data type where none is stated."""
        return self.expand(self.tensor_of(value, dtype or self.dtype), self.shape if shape is None else shape)

    def shaped(self, x: Tensor) -> Tensor:
        """A tensor's elements in the result's shape."""
        return self.reshape(x, self.shape)

    def dim(self, axis: int, rank: int) -> int:
        """An axis counted from the front; a scalar has one, too."""
        return axis % max(rank, 1)

    def describe(self) -> str:
        """The node for messages."""
        return f"{self.op} at {self.label!r}"
