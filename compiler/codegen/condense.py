"""Fewer, larger steps for Numba: whole expressions of a kernel become single intrinsics.

Numba types and lowers every operation of Python on its own, at a millisecond each: most of what compiling a large
kernel took. A kernel's expressions are made of primitives and of arithmetic on 64-bit integers only, so that they can
be emitted as LLVM instructions at once, and values that are used once need no variable.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..kernels.emit import Recipe
from ..kernels.expressions import is_simple
from ..kernels.fused import fused
from .translate import parsed

__all__ = ["condensed"]


def condensed(source: str, recipes: Mapping[str, Recipe]) -> tuple[ast.Module, dict[str, Any]]:
    """A kernel's syntax tree with intrinsics in place of its expressions, and those by the names they have there."""
    function = parsed(source)
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    read = Counter(n.id for n in names if isinstance(n.ctx, ast.Load))
    written = Counter(n.id for n in names if isinstance(n.ctx, ast.Store))
    function.body = _inlined(function.body, {name for name, count in read.items() if count == written[name] == 1})
    replacer = _Replacer(recipes)
    statements: list[Any] = [replacer.visit(s) for s in function.body]
    function.body = statements
    return ast.fix_missing_locations(ast.Module([function], [])), replacer.made


_HEADS = {ast.Assign: "value", ast.AugAssign: "value", ast.Expr: "value", ast.For: "iter", ast.If: "test"}
"""What each statement computes once, before anything else."""


def _inlined(body: list[ast.stmt], once: set[str]) -> list[ast.stmt]:
    """Put values that are used once where they are used, unless something is written in between."""
    done: list[ast.stmt] = []
    waiting: dict[str, ast.Assign] = {}
    for statement in body:
        head = _HEADS.get(type(statement))
        if head is not None:
            substitution = _Substitution(waiting)
            setattr(statement, head, substitution.visit(getattr(statement, head)))
            for name in substitution.taken:
                done.remove(waiting.pop(name))
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            target = statement.targets[0].id
            waiting = {n: s for n, s in waiting.items() if target not in _names(s.value)}
            if target in once and is_simple(statement.value):
                waiting[target] = statement
        else:
            waiting = {}
        if isinstance(statement, (ast.For, ast.If, ast.While)):
            statement.body = _inlined(statement.body, once)
            statement.orelse = _inlined(statement.orelse, once)
        done.append(statement)
    return done


def _names(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


class _Substitution(ast.NodeTransformer):
    """Replaces names by the expressions that are waiting for them."""

    def __init__(self, waiting: Mapping[str, ast.Assign]) -> None:
        self.waiting = waiting
        self.taken: list[str] = []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.waiting:
            return node
        self.taken.append(node.id)
        return self.waiting[node.id].value


class _Replacer(ast.NodeTransformer):
    """Replaces each largest simple expression by the call of an intrinsic."""

    def __init__(self, recipes: Mapping[str, Recipe]) -> None:
        self.recipes = recipes
        self.made: dict[str, Any] = {}

    def visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, (ast.Call, ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp)) or not is_simple(node):
            return self.generic_visit(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            return node
        function, names = fused(node, self.recipes)
        name = f"expression{len(self.made)}"
        self.made[name] = function
        return ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in names], [])
