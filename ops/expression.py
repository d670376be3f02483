"""Scalar expressions of element-wise operators: one text that NumPy evaluates and the code generator compiles.

An expression is Python syntax over operand names, attribute names, numbers, ``+ - * /``, comparisons and the functions
of :data:`FUNCTIONS`. ``to(x, ref)`` casts ``x`` to the data type of operand ``ref`` (or of ``output``), or to ``ref``
itself where that is a data type's name. All sides of a function have one data type; a bare number or attribute takes
the data type of the operand beside it. ``fma(a, b, c)`` is ``a * b + c`` rounded once.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from .types import WEBNN_TYPES

BOOL = "bool"
"""The type of a comparison's result inside an expression; it becomes 0 or 1 where it leaves it."""

_COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Mod: "rem"}
_PREDICATES = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "land", "lor", "lxor", "lnot"})

FUNCTIONS: dict[str, int] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "rem", "max", "min", "pow"), 2),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "land", "lor", "lxor"), 2),
    **dict.fromkeys(
        ("neg", "abs", "sign", "floor", "ceil", "rint", "trunc", "sqrt", "rcp", "exp", "expm1", "log", "log1p"), 1
    ),
    **dict.fromkeys(
        ("sin", "cos", "tan", "tanh", "erf", "erfc", "sigmoid", "softplus", "gelu", "isnan", "isinf", "lnot"), 1
    ),
    **dict.fromkeys(("mod", "bitand", "bitor", "bitxor", "shl", "shr"), 2),
    "bitnot": 1,
    **dict.fromkeys(("sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh"), 1),
    "select": 3,
    "fma": 3,
    "to": 2,
}
"""Every function an expression may call, with its number of arguments."""

INTEGER_FUNCTIONS = frozenset({"bitand", "bitor", "bitxor", "bitnot", "shl", "shr"})
"""Functions of integers alone."""


@dataclass(frozen=True, slots=True)
class Term:
    """A typed expression: ``op`` is ``name`` (an operand), ``param`` (an attribute), ``const`` or a function.

    ``dtype`` is the type of the result, ``value`` the name or number of a leaf; ``to`` casts its argument to ``dtype``.
    """

    op: str
    dtype: str
    args: tuple[Term, ...] = ()
    value: str | float | int | None = None


class ExpressionError(ValueError):
    """An expression that is not well formed or mixes data types."""


def typed(text: str, dtypes: Mapping[str, str], params: tuple[str, ...] = ()) -> Term:
    """The typed tree of an expression.

    Args:
        text: the expression.
        dtypes: the data type of each operand, and of ``output``.
        params: names of the operator's numeric attributes that the expression uses.

    Raises:
        ExpressionError: for unknown names and functions, and for operands of different data types.
    """
    return _typed(text, tuple(sorted(dtypes.items())), params)


@cache
def _typed(text: str, dtypes: tuple[tuple[str, str], ...], params: tuple[str, ...]) -> Term:
    term = _Typer(dict(dtypes), params).visit(ast.parse(text, mode="eval").body, None)
    output = dict(dtypes)["output"]
    if term.dtype == output:
        return term
    if term.dtype == BOOL:
        return Term("to", output, (term,))
    raise ExpressionError(f"{text!r} gives {term.dtype}, not the output's {output}: write to(..., output)")


class _Typer:
    def __init__(self, dtypes: dict[str, str], params: tuple[str, ...]) -> None:
        self.dtypes = dtypes
        self.params = params

    def visit(self, node: ast.expr, expected: str | None) -> Term:
        match node:
            case ast.Constant(value=value) if isinstance(value, (int, float)):
                return Term("const", expected or self.dtypes["output"], value=value)
            case ast.Name(id=name) if name in self.params:
                return Term("param", expected or self.dtypes["output"], value=name)
            case ast.Name(id=name) if name in self.dtypes:
                return Term("name", self.dtypes[name], value=name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return Term("const", expected or self.dtypes["output"], value=-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.call("neg", [operand], expected)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return self.call(_ARITHMETIC[type(op)], [left, right], expected)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return self.call(_COMPARISONS[type(op)], [left, right], None)
            case ast.Call(func=ast.Name(id="to"), args=[x, ast.Name(id=ref)]) if ref in self.dtypes:
                return self.cast(self.visit(x, None), self.dtypes[ref])
            case ast.Call(func=ast.Name(id="to"), args=[x, ast.Name(id=ref)]) if ref in WEBNN_TYPES:
                return self.cast(self.visit(x, None), ref)
            case ast.Call(func=ast.Name(id=name), args=args) if FUNCTIONS.get(name) == len(args) and name != "to":
                return self.call(name, args, expected)
        raise ExpressionError(f"cannot read {ast.unparse(node)!r} with operands {sorted(self.dtypes)}")

    def call(self, name: str, nodes: list[ast.expr], expected: str | None) -> Term:
        if name == "select":
            condition = self.visit(nodes[0], None)
            if condition.dtype != BOOL:
                raise ExpressionError(f"select's condition {ast.unparse(nodes[0])!r} is no comparison")
            a, b = self.same(nodes[1:], expected)
            return Term("select", a.dtype, (condition, a, b))
        args = self.same(nodes, None if name in _PREDICATES else expected)
        return Term(name, BOOL if name in _PREDICATES else args[0].dtype, args)

    def same(self, nodes: list[ast.expr], expected: str | None) -> tuple[Term, ...]:
        """Type the arguments alike: leaves without a data type of their own take the others'."""
        anchored = [n for n in nodes if not self.is_loose(n)]
        dtype = self.visit(anchored[0], expected).dtype if anchored else expected
        args = tuple(self.visit(n, dtype) for n in nodes)
        if len({a.dtype for a in args}) > 1:
            raise ExpressionError(f"mixes {', '.join(f'{ast.unparse(n)}: {a.dtype}' for n, a in zip(nodes, args))}")
        return args

    def is_loose(self, node: ast.expr) -> bool:
        return all(
            not isinstance(n, ast.Name) or n.id in self.params or n.id in FUNCTIONS for n in ast.walk(node)
        ) and not any(isinstance(n, ast.Compare) for n in ast.walk(node))

    def cast(self, term: Term, dtype: str) -> Term:
        return term if term.dtype == dtype else Term("to", dtype, (term,))
