"""Elementary functions on one value of a register type: branch-free, so that the loop around them vectorises.

float32 results are within 2 units in the last place of the exact value for every argument, float64 results within 4,
and special cases are those of C99's Annex F. No flag lets LLVM reorder or approximate anything in here. The fits come
from ``tests/compiler/kernels/minimax.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import (
    vmath_arc,
    vmath_erf,
    vmath_erf64,
    vmath_exp,
    vmath_hyperbolic,
    vmath_log,
    vmath_pow,
    vmath_trig,
    vmath_trig64,
)
from basalt.compiler.kernels.emit import REGISTERS, Emitter, Recipe
from basalt.compiler.kernels.lanes import Value
from basalt.compiler.kernels.loops import note_long_chain

__all__ = ["FUNCTIONS", "apply", "recipes"]

Function = Callable[..., Value]


def both(function: Function) -> dict[str, Function]:
    """A function that works in either format."""
    return {"f32": function, "f64": function}


def through_double(function: Function) -> dict[str, Function]:
    """A float64 function that serves float32 too, for those that networks rarely use."""
    return {"f32": lambda x: function(x.double()).single(), "f64": function}


FUNCTIONS: dict[str, dict[str, Function]] = {
    "exp": both(vmath_exp.exp),
    "fall": both(vmath_exp.fall),
    "expm1": both(vmath_exp.expm1),
    "sigmoid": both(vmath_exp.sigmoid),
    "tanh": both(vmath_exp.tanh),
    "log": both(vmath_log.log),
    "log1p": both(vmath_log.log1p),
    "softplus": both(vmath_log.softplus),
    "erf": {"f32": vmath_erf.erf, "f64": vmath_erf64.erf},
    "erfc": {"f32": vmath_erf.erfc, "f64": vmath_erf64.erfc},
    "gelu": {"f32": vmath_erf.gelu, "f64": vmath_erf64.gelu},
    "sin": {"f32": vmath_trig.sin, "f64": vmath_trig64.sin},
    "cos": {"f32": vmath_trig.cos, "f64": vmath_trig64.cos},
    "tan": {"f32": vmath_trig.tan, "f64": vmath_trig64.tan},
    "pow": both(vmath_pow.pow_),
    "sinh": through_double(vmath_hyperbolic.sinh),
    "cosh": through_double(vmath_hyperbolic.cosh),
    "asinh": through_double(vmath_hyperbolic.asinh),
    "acosh": through_double(vmath_hyperbolic.acosh),
    "atanh": through_double(vmath_hyperbolic.atanh),
    "asin": through_double(vmath_arc.asin),
    "acos": through_double(vmath_arc.acos),
    "atan": through_double(vmath_arc.atan),
}
BINARY = frozenset({"pow"})
BRIEF = frozenset({vmath_exp.exp, vmath_exp.fall, vmath_exp.sigmoid, vmath_exp.tanh})
"""Functions that hold few values at a time."""


def apply(function: Function, e: Emitter, *operands: ir.Value) -> ir.Value:
    """The instructions of `function`; on vectors they work lane by lane."""
    note_long_chain(e.b, brief=function in BRIEF)
    return function(*(Value(e, operand) for operand in operands)).raw


def recipes() -> dict[str, Recipe]:
    """``{function}_{f32|f64}``."""
    found: dict[str, Recipe] = {}
    for name, forms in FUNCTIONS.items():
        for suffix, function in forms.items():
            register = REGISTERS[suffix].type
            operands = (register,) * (2 if name in BINARY else 1)
            found[f"{name}_{suffix}"] = Recipe(register, operands, partial(apply, function))
    return found
