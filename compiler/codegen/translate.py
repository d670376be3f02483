"""Kernel source to an LLVM module, statement by statement.

Generated kernels use little of Python: loops over ranges, ``while``, ``if``, assignments to names, and expressions of
primitives and 64-bit integers. What they mean is fixed by that alone, so that no type has to be inferred: a variable is
of the type that is assigned to it first. Numba's analysis of arbitrary functions took most of the time that compiling a
kernel takes; it still compiles whatever source uses more of the language than this (:mod:`.object_code`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llvmlite import ir

from basalt.errors import BasaltError

from ..kernels import types
from ..kernels.emit import I64, Emitter, Features, Recipe
from ..kernels.expressions import Expression, Typed, as_boolean, is_simple
from .interleaving import ask_for_interleaving

__all__ = ["Untranslatable", "parsed", "translate"]

_I32 = ir.IntType(32)
_POINTER = ir.IntType(8).as_pointer()
_KERNEL = ir.FunctionType(_I32, [_POINTER, _POINTER, _POINTER, I64, I64])
"""What the executor calls: two operands that Numba's convention has and kernels ignore, the table, start and stop."""


class Untranslatable(Exception):
    """Source that uses more of Python than kernels do by themselves."""


def translate(source: str, recipes: Mapping[str, Recipe], features: Features, name: str) -> ir.Module:
    """The LLVM module of a kernel.

    Args:
        source: a function ``kernel(table, start, stop)``.
        recipes: the primitives that it calls, by name.
        features: what the target's instructions can do.
        name: the name of the function in the module.

    Raises:
        Untranslatable: for what kernels do not use.
    """
    module = ir.Module(name)
    _Translator(ir.Function(module, _KERNEL, name), recipes, features).write(parsed(source))
    return module


def parsed(source: str) -> ast.FunctionDef:
    """The syntax tree of a kernel's source; raises BasaltError if that is not one function."""
    body = ast.parse(source).body
    if len(body) != 1:
        raise BasaltError(f"the source defines {len(body)} names, expected one function")
    if not isinstance(body[0], ast.FunctionDef):
        raise BasaltError(f"the source is {ast.unparse(body[0])!r}, expected one function")
    return body[0]


@dataclass(frozen=True)
class _Loop:
    """Where ``break`` and ``continue`` lead."""

    following: ir.Block
    repeated: ir.Block


@dataclass
class _Translator:
    function: ir.Function
    recipes: Mapping[str, Recipe]
    features: Features
    variables: dict[str, tuple[ir.AllocaInstr, types.Type]] = field(default_factory=dict)
    loops: list[_Loop] = field(default_factory=list)

    def write(self, function: ast.FunctionDef) -> None:
        self.function.attributes.add("nounwind")
        # Variables have their place in a block of its own; LLVM makes registers of them.
        self.entry = self.function.append_basic_block("entry")
        self.b = ir.IRBuilder(self.function.append_basic_block("body"))
        self.e = Emitter(self.b, self.features)
        self.expressions = Expression(self.recipes, self.e)
        kinds = (types.voidptr, types.int64, types.int64)
        for argument, value, kind in zip(function.args.args, self.function.args[2:], kinds):
            self._store(argument.arg, (value, kind))
        self._statements(function.body)
        self.b.ret(_I32(0))
        with self.b.goto_block(self.entry):
            self.b.branch(self.function.blocks[1])

    def _statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if self.b.block.is_terminated:
                return
            method = getattr(self, f"_{type(statement).__name__}", None)
            if method is None:
                raise Untranslatable(f"statement {ast.unparse(statement)!r}")
            method(statement)

    def _Assign(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        for target in node.targets:
            self._store(self._name(target), value)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        name = self._name(node.target)
        self._store(name, self._value(ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value)))

    def _Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._value(node.value)

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Break(self, node: ast.Break) -> None:
        self.b.branch(self.loops[-1].following)

    def _Continue(self, node: ast.Continue) -> None:
        self.b.branch(self.loops[-1].repeated)

    def _If(self, node: ast.If) -> None:
        condition = self._condition(node.test)
        if node.orelse:
            with self.b.if_else(condition) as (then, otherwise):
                with then:
                    self._statements(node.body)
                with otherwise:
                    self._statements(node.orelse)
        else:
            with self.b.if_then(condition):
                self._statements(node.body)

    def _While(self, node: ast.While) -> None:
        head, inside, after = self._blocks(node)
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(self._condition(node.test), inside, after)
        self._body(node.body, inside, _Loop(after, head))
        self.b.position_at_end(after)

    def _For(self, node: ast.For) -> None:
        start, stop, step = self._range(node.iter)
        name = self._name(node.target)
        head, inside, after = self._blocks(node)
        ahead = self.b.append_basic_block("ahead")
        before, known = self.b.block, len(self.function.blocks)
        self.b.branch(head)
        self.b.position_at_end(head)
        counter = self.b.phi(I64)
        counter.add_incoming(start, before)
        self.b.cbranch(self._goes_on(counter, stop, step), inside, after)
        self.b.position_at_end(inside)
        self._store(name, (counter, types.int64))
        self._body(node.body, inside, _Loop(after, ahead))
        self.b.position_at_end(ahead)
        counter.add_incoming(self.b.add(counter, step, flags=("nsw",)), ahead)
        back = self.b.branch(head)
        if not any(isinstance(n, ast.For | ast.While) for statement in node.body for n in ast.walk(statement)):
            ask_for_interleaving(back, (inside, *self.function.blocks[known:]))
        self.b.position_at_end(after)

    def _goes_on(self, counter: ir.Value, stop: ir.Value, step: ir.Value) -> ir.Value:
        b = self.b
        below = b.icmp_signed("<", counter, stop)
        if isinstance(step, ir.Constant):
            return below if step.constant > 0 else b.icmp_signed(">", counter, stop)
        rises = b.icmp_signed(">", step, I64(0))
        return b.select(rises, below, b.icmp_signed(">", counter, stop))

    def _range(self, node: ast.expr) -> tuple[ir.Value, ir.Value, ir.Value]:
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "range" or not 1 <= len(node.args) <= 3:
            raise Untranslatable(f"loop over {ast.unparse(node)!r}")
        given = [self.expressions.integer(*self._value(a)) for a in node.args]
        if len(given) == 1:
            given = [I64(0), *given]
        start, stop, step = (*given, I64(1))[:3]
        return start, stop, step

    def _blocks(self, node: ast.For | ast.While) -> tuple[ir.Block, ir.Block, ir.Block]:
        if node.orelse:
            raise Untranslatable("else after a loop")
        head, inside, after = (self.b.append_basic_block(name) for name in ("head", "inside", "after"))
        return head, inside, after

    def _body(self, body: Sequence[ast.stmt], inside: ir.Block, loop: _Loop) -> None:
        self.b.position_at_end(inside)
        self.loops.append(loop)
        self._statements(body)
        self.loops.pop()
        if not self.b.block.is_terminated:
            self.b.branch(loop.repeated)

    def _condition(self, node: ast.expr) -> ir.Value:
        return as_boolean(self.b, *self._value(node))

    def _value(self, node: ast.expr) -> Typed:
        if not is_simple(node):
            raise Untranslatable(f"expression {ast.unparse(node)!r}")
        read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in self.variables}
        names = {}
        for name in read:
            place, kind = self.variables[name]
            names[name] = (self.b.load(place, typ=place.allocated_type), kind)
        return self.expressions.visit(node, names)

    def _store(self, name: str, value: Typed) -> None:
        held, kind = value
        if held is None:
            raise Untranslatable(f"{name} is assigned nothing")
        if name not in self.variables:
            with self.b.goto_block(self.entry):
                self.variables[name] = self.b.alloca(held.type, name=name), kind
        place, expected = self.variables[name]
        if kind != expected:
            # Numba makes variables of their own of what has one name and several types.
            raise Untranslatable(f"{name} is of {kind}, and of {expected} before")
        self.b.store(held, place)

    def _name(self, target: ast.expr) -> str:
        if not isinstance(target, ast.Name):
            raise Untranslatable(f"assignment to {ast.unparse(target)!r}")
        return target.id
