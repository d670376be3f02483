"""Operands of a graph under construction (the standard's MLOperand)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from basalt.ops import Dim

from .ir import Value

if TYPE_CHECKING:
    from .builder import MLGraphBuilder

__all__ = ["MLOperand"]


class MLOperand:
    """A tensor of a graph under construction: an input, a constant or a result; immutable, made by the builder."""

    __slots__ = ("__weakref__", "_builder", "_value")
    # NumPy would otherwise take an operand in `array + operand` for a scalar object.
    __array_ufunc__ = None

    _builder: MLGraphBuilder
    _value: Value

    def __init__(self, builder: MLGraphBuilder, value: Value) -> None:
        object.__setattr__(self, "_builder", builder)
        object.__setattr__(self, "_value", value)

    @property
    def data_type(self) -> str:
        """The name of the data type, such as ``"float32"``."""
        return self._value.type.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The sizes of the dimensions; one that depends on the inputs is a SymDim, which can be calculated with."""
        return self._value.type.shape

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self._value.type.shape)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"an MLOperand is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an MLOperand is immutable: {name} cannot be deleted")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("an MLOperand holds no elements: it stands for a tensor of the graph under construction")

    def __repr__(self) -> str:
        kind = "constant " if self._value.is_constant else f"{self._value.name!r} " if self._value.name else ""
        return f"<MLOperand {kind}{self._value.type}>"
