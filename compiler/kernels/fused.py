"""Intrinsics for whole expressions (:mod:`.expressions`), for Numba to compile what holds them."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping
from typing import Any

from llvmlite import ir
from numba.core import errors
from numba.core.typing import signature
from numba.extending import intrinsic

from basalt.compiler.kernels.emit import Emitter, Recipe
from basalt.compiler.kernels.expressions import Expression
from basalt.compiler.kernels.intrinsics import numba_type, type_of
from basalt.compiler.kernels.target import native_target
from basalt.compiler.kernels.types import TypingError

__all__ = ["fused"]


def fused(node: ast.expr, recipes: Mapping[str, Recipe]) -> tuple[Any, list[str]]:
    """One intrinsic for a simple expression, and the names of the variables that it takes.

    Args:
        node: the expression, of which :func:`is_simple` holds.
        recipes: the primitives by name.
    """
    names: dict[str, str] = {}
    general = _Renamer(names).visit(ast.parse(ast.unparse(node), mode="eval").body)
    return _intrinsic(ast.unparse(general), len(names), _Recipes(recipes)), list(names)


class _Recipes:
    """Primitives as a cache's key: names mean the same everywhere."""

    def __init__(self, recipes: Mapping[str, Recipe]) -> None:
        self.recipes = recipes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Recipes)

    def __hash__(self) -> int:
        return 0


class _Renamer(ast.NodeTransformer):
    """Numbers the variables in order of appearance; names that are called stay."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.Call:
        node.args = [self.visit(a) for a in node.args]
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.setdefault(node.id, f"a{len(self.names)}"), ast.Load())


@functools.lru_cache(4096)
def _intrinsic(text: str, count: int, recipes: _Recipes) -> Any:
    tree = ast.parse(text, mode="eval").body

    def definition(typing: Any, *operands: Any) -> Any:
        try:
            given = [type_of(t) for t in operands]
            environment = {f"a{i}": (None, t) for i, t in enumerate(given)}
            _, result = Expression(recipes.recipes, None).visit(tree, environment)
        except TypingError as error:
            raise errors.TypingError(str(error)) from error

        def lower(context: Any, builder: ir.IRBuilder, _: Any, values: Any) -> Any:
            inside = {f"a{i}": (v, t) for i, (v, t) in enumerate(zip(values, given))}
            emitter = Emitter(builder, native_target().features)
            value, _ = Expression(recipes.recipes, emitter).visit(tree, inside)
            return context.get_dummy_value() if value is None else value

        return signature(numba_type(result), *map(numba_type, given)), lower

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(n, kind) for n in ("typing", *(f"a{i}" for i in range(count)))]
    definition.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    definition.__name__ = definition.__qualname__ = "expression"
    return intrinsic(definition)
