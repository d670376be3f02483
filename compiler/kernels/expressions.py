"""Expressions of kernels to LLVM instructions: primitives applied to each other, and arithmetic on 64-bit integers.

The expressions are Python's: ``+ - * // %``, comparisons, ``and or not``, ``min`` and ``max`` of integers, and calls of
primitives by name. ``//`` and ``%`` round down as Python's do, and give 0 for a divisor of 0.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from typing import Any

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I64, Emitter, Recipe
from basalt.compiler.kernels.types import Integer, Type, TypingError

__all__ = ["Expression", "Typed", "as_boolean", "converted", "is_simple"]

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


Typed = tuple[Any, Type]
"""An LLVM value (None while only types are asked for) and its type."""


class Expression:
    """Types expressions and, given an emitter, writes their instructions."""

    def __init__(self, recipes: Mapping[str, Recipe], e: Emitter | None) -> None:
        self.recipes = recipes
        self.e = e

    def visit(self, node: ast.expr, names: Mapping[str, Typed]) -> Typed:
        """The value and type of an expression, of which :func:`is_simple` holds, for those of its variables."""
        return getattr(self, f"_{type(node).__name__}")(node, names)

    def _Name(self, node: ast.Name, names: Mapping[str, Typed]) -> Typed:
        if node.id not in names:
            raise TypingError(f"{node.id} is read before anything is assigned to it")
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
            return None if self.e is None else self.e.b.not_(as_boolean(self.e.b, value, type_)), types.boolean
        if isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, (int, float)):
            return self._Constant(ast.Constant(-node.operand.value), names)
        return None if self.e is None else self.e.b.neg(self.integer(value, type_)), types.int64

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
        return functools.reduce(join, [as_boolean(self.e.b, v, t) for v, t in sides]), types.boolean

    def _Call(self, node: ast.Call, names: Mapping[str, Typed]) -> Typed:
        assert isinstance(node.func, ast.Name)
        if node.func.id in ("min", "max"):
            sides = [self._operand(side, names) for side in node.args]
            if self.e is None:
                return None, types.int64
            call = functools.partial(self.e.call, f"llvm.s{node.func.id}")
            return functools.reduce(lambda x, y: call([x, y]), sides), types.int64
        try:
            recipe = self.recipes[node.func.id]
        except KeyError:
            raise TypingError(f"{node.func.id} is no primitive that the kernel names") from None
        given = [self.visit(a, names) for a in node.args]
        if len(given) != len(recipe.operands):
            raise TypingError(f"{node.func.id} takes {len(recipe.operands)} operands, {len(given)} given")
        if self.e is None:
            return None, recipe.result
        return recipe.emit(
            self.e, *(converted(self.e.b, v, t, to) for (v, t), to in zip(given, recipe.operands))
        ), recipe.result

    def _operand(self, node: ast.expr, names: Mapping[str, Typed]) -> ir.Value:
        return self.integer(*self.visit(node, names))

    def integer(self, value: ir.Value, type_: Type) -> ir.Value:
        if not isinstance(type_, Integer) or type_.bitwidth != 64:
            raise TypingError(f"arithmetic on {type_}, expected 64-bit integers")
        return value


def as_boolean(b: ir.IRBuilder, value: ir.Value, type_: Type) -> ir.Value:
    """Whether a value counts as true, as an ``i1``."""
    return converted(b, value, type_, types.boolean)


def converted(b: ir.IRBuilder, value: ir.Value, type_: Type, to: Type) -> ir.Value:
    """A number as one of another type, as C converts it.

    Raises:
        TypingError: for what is no number.
    """
    if type_ == to or isinstance(value.type, ir.PointerType):
        return _same(value, type_, to)
    numbers: dict[Type, Type] = {types.boolean: types.uint8}
    before, after = (numbers.get(t, t) for t in (type_, to))
    if to == types.boolean:
        zero = ir.Constant(value.type, 0)
        return b.icmp_signed("!=", value, zero) if isinstance(before, Integer) else b.fcmp_unordered("!=", value, zero)
    if isinstance(before, Integer) and isinstance(after, Integer):
        width = ir.IntType(after.bitwidth)
        if width.width <= value.type.width:
            return b.trunc(value, width) if width.width < value.type.width else value
        return b.sext(value, width) if before.signed and type_ != types.boolean else b.zext(value, width)
    result = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}.get(after)
    if isinstance(before, Integer) and result is not None:
        return b.sitofp(value, result) if before.signed and type_ != types.boolean else b.uitofp(value, result)
    if before in (types.float32, types.float64) and result is not None:
        return b.fpext(value, result) if after == types.float64 else b.fptrunc(value, result)
    raise TypingError(f"{type_} given, expected {to}")


def _same(value: ir.Value, type_: Type, to: Type) -> ir.Value:
    if type_ != to:
        raise TypingError(f"{type_} given, expected {to}")
    return value
