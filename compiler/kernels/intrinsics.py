"""The primitives as Numba's intrinsics, for Numba to compile kernels that hold them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types as numba_types
from numba.core.typing import signature
from numba.extending import intrinsic

from basalt.compiler.kernels.emit import Emitter
from basalt.compiler.kernels.namespace import recipe
from basalt.compiler.kernels.target import native_target
from basalt.compiler.kernels.types import ALL, Type, TypingError

__all__ = ["numba_type", "resolve", "type_of"]

_NUMBA = {kind: getattr(numba_types, kind.name) for kind in ALL}
_KERNEL = {numba: kind for kind, numba in _NUMBA.items()}


def numba_type(kind: Type) -> Any:
    """Numba's type for values of a type."""
    return _NUMBA[kind]


def type_of(numba: Any) -> Type:
    """The type of values of Numba's type.

    Raises:
        TypingError: for one that kernels have no values of.
    """
    try:
        return _KERNEL[numba_types.unliteral(numba)]
    except KeyError:
        raise TypingError(f"kernels have no values of type {numba}") from None


def resolve(names: Iterable[str]) -> dict[str, Any]:
    """The intrinsics called `names`, made when first asked for.

    Raises:
        KeyError: with the first name that is no primitive's.
    """
    return {name: _primitive(name) for name in names}


@functools.cache
def _primitive(name: str) -> Any:
    """The intrinsic `name`; its operands are cast to the recipe's types as Numba casts arguments."""
    made = recipe(name)
    sig = signature(numba_type(made.result), *map(numba_type, made.operands))

    def lower(context: Any, builder: ir.IRBuilder, _: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        value = made.emit(Emitter(builder, native_target().features), *arguments)
        return context.get_dummy_value() if value is None else value

    def definition(typing: Any, *_: Any) -> Any:
        return sig, lower

    # Numba reads the arity from the Python signature.
    names = ["typing", *(f"operand{i}" for i in range(len(made.operands)))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    definition.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    definition.__name__ = definition.__qualname__ = name
    return intrinsic(definition)
