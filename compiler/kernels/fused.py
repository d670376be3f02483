"""Intrinsics for whole expressions: primitives applied to each other, and arithmetic on 64-bit integers between them.

The expressions are Python's: ``+ - * // %``, comparisons, ``and or not``, ``min`` and ``max`` of integers, and calls of
primitives by name. ``//`` and ``%`` round down as Python's do, and give 0 for a divisor of 0.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.extending import intrinsic

from basalt.compiler.kernels.emit import I64, Emitter, Recipe, features_of

__all__ = ["fused", "is_simple"]

_SUMS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def is_simple(node: ast.expr) -> bool:
    """Whether :func:`fused` can make one intrinsic of an expression."""
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id != "range"
        return named and not node.keywords and all(map(is_simple, node.args))
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _SUMS) and is_simple(node.left) and is_simple(node.right)
    if isinstance(node, ast.Compare):
        return all(type(o) in _ORDERS for o in node.ops) and all(map(is_simple, (node.left, *node.comparators)))
    if isinstance(node, ast.BoolOp):
        return all(map(is_simple, node.values))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.Not)) and is_simple(node.operand)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and isinstance(node.value, (int, float)))


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
        given = [types.unliteral(t) for t in operands]
        environment = {f"a{i}": (None, t) for i, t in enumerate(given)}
        _, result = _Expression(recipes.recipes, None).visit(tree, environment)

        def lower(context: Any, builder: ir.IRBuilder, _: Any, values: Any) -> Any:
            inside = {f"a{i}": (v, t) for i, (v, t) in enumerate(zip(values, given))}
            value, _ = _Expression(recipes.recipes, (context, builder)).visit(tree, inside)
            return context.get_dummy_value() if value is None else value

        return signature(result, *given), lower

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(n, kind) for n in ("typing", *(f"a{i}" for i in range(count)))]
    definition.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    definition.__name__ = definition.__qualname__ = "expression"
    return intrinsic(definition)


Typed = tuple[Any, Any]
"""An LLVM value (None while only types are asked for) and its Numba type."""


class _Expression:
    """Types an expression and, given a place for them, emits its instructions."""

    def __init__(self, recipes: Mapping[str, Recipe], place: tuple[Any, ir.IRBuilder] | None) -> None:
        self.recipes = recipes
        self.place = place
        self.e = None if place is None else Emitter(place[1], features_of(place[0]))

    def visit(self, node: ast.expr, names: Mapping[str, Typed]) -> Typed:
        return getattr(self, f"_{type(node).__name__}")(node, names)

    def _Name(self, node: ast.Name, names: Mapping[str, Typed]) -> Typed:
        return names[node.id]

    def _Constant(self, node: ast.Constant, names: Mapping[str, Typed]) -> Typed:
        if isinstance(node.value, bool):
            return ir.IntType(1)(int(node.value)), types.boolean
        if isinstance(node.value, int):
            unsigned = node.value >= 1 << 63
            return I64(node.value), types.uint64 if unsigned else types.int64
        return ir.DoubleType()(node.value), types.float64

    def _UnaryOp(self, node: ast.UnaryOp, names: Mapping[str, Typed]) -> Typed:
        value, type_ = self.visit(node.operand, names)
        if isinstance(node.op, ast.Not):
            return None if self.e is None else self.e.b.not_(self._as(value, type_, types.boolean)), types.boolean
        if isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, (int, float)):
            return self._Constant(ast.Constant(-node.operand.value), names)
        return None if self.e is None else self.e.b.neg(self._integer(value, type_)), types.int64

    def _BinOp(self, node: ast.BinOp, names: Mapping[str, Typed]) -> Typed:
        x, y = (self._operand(side, names) for side in (node.left, node.right))
        if self.e is None:
            return None, types.int64
        b, kind = self.e.b, type(node.op)
        plain = {ast.Add: b.add, ast.Sub: b.sub, ast.Mult: b.mul}
        if kind in plain:
            return plain[kind](x, y), types.int64
        return self._divided(x, y, kind is ast.Mod), types.int64

    def _divided(self, x: ir.Value, y: ir.Value, remainder: bool) -> ir.Value:
        assert self.e is not None
        b, zero = self.e.b, I64(0)
        safe = b.select(b.icmp_signed("==", y, zero), I64(1), y)
        quotient = b.sdiv(x, safe)
        rest = b.sub(x, b.mul(quotient, safe))
        below = b.and_(b.icmp_signed("!=", rest, zero), b.icmp_signed("<", b.xor(rest, safe), zero))
        found = b.select(below, b.add(rest, safe), rest) if remainder else b.sub(quotient, b.zext(below, I64))
        return b.select(b.icmp_signed("==", y, zero), zero, found)

    def _Compare(self, node: ast.Compare, names: Mapping[str, Typed]) -> Typed:
        sides = [self._operand(side, names) for side in (node.left, *node.comparators)]
        if self.e is None:
            return None, types.boolean
        b = self.e.b
        found = [b.icmp_signed(_ORDERS[type(o)], x, y) for o, x, y in zip(node.ops, sides, sides[1:])]
        return functools.reduce(b.and_, found), types.boolean

    def _BoolOp(self, node: ast.BoolOp, names: Mapping[str, Typed]) -> Typed:
        sides = [self.visit(side, names) for side in node.values]
        if self.e is None:
            return None, types.boolean
        join = self.e.b.and_ if isinstance(node.op, ast.And) else self.e.b.or_
        return functools.reduce(join, [self._as(v, t, types.boolean) for v, t in sides]), types.boolean

    def _Call(self, node: ast.Call, names: Mapping[str, Typed]) -> Typed:
        assert isinstance(node.func, ast.Name)
        if node.func.id in ("min", "max"):
            sides = [self._operand(side, names) for side in node.args]
            if self.e is None:
                return None, types.int64
            call = functools.partial(self.e.call, f"llvm.s{node.func.id}")
            return functools.reduce(lambda x, y: call([x, y]), sides), types.int64
        recipe = self.recipes[node.func.id]
        given = [self.visit(a, names) for a in node.args]
        if len(given) != len(recipe.operands):
            raise TypingError(f"{node.func.id} takes {len(recipe.operands)} operands, {len(given)} given")
        if self.e is None:
            return None, recipe.result
        return recipe.emit(self.e, *(self._as(v, t, to) for (v, t), to in zip(given, recipe.operands))), recipe.result

    def _operand(self, node: ast.expr, names: Mapping[str, Typed]) -> ir.Value:
        return self._integer(*self.visit(node, names))

    def _integer(self, value: ir.Value, type_: Any) -> ir.Value:
        if not isinstance(type_, types.Integer) or getattr(type_, "bitwidth", None) != 64:
            raise TypingError(f"arithmetic on {type_}, expected 64-bit integers")
        return value

    def _as(self, value: ir.Value, type_: Any, to: Any) -> ir.Value:
        assert self.place is not None
        return value if type_ == to else self.place[0].cast(self.place[1], value, type_, to)
