"""Arithmetic, comparison, selection and logic on one value of a register type.

Integers wrap at their own width, and no operand of any operation traps. Floats follow IEEE 754 in round-to-nearest,
without fast-math flags, except in the reductions: LLVM may reorder ``radd`` and ``rmul``, and ``rmax`` and ``rmin``
give either of two zeros that differ in sign. ``xmax`` and ``xmin`` give anything where an operand is NaN, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from basalt.compiler.kernels import division, lanes, power, rounding, types
from basalt.compiler.kernels.emit import I1, INTEGERS, REGISTERS, Emitter, Recipe, Scalar

__all__ = ["recipes"]

REORDERED = ("reassoc", "nsz", "contract")
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _operation(name: str, flags: tuple[str, ...], e: Emitter, *operands: ir.Value) -> ir.Value:
    if flags:
        return getattr(e.b, name)(*operands, flags=flags)
    return getattr(e.b, name)(*operands)


def _intrinsic(name: str, e: Emitter, *operands: ir.Value) -> ir.Value:
    return e.call(name, operands)


def _extremum(name: str, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    # A reduction's sign of zero is worth two instructions an element.
    return e.call(name, [x, y], flags=("nsz",))


def _any_extremum(name: str, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    return e.call(name, [x, y], flags=("nsz", "nnan"))


def _lanes(function: Callable[..., lanes.Value], e: Emitter, *operands: ir.Value) -> ir.Value:
    return function(*(lanes.Value(e, operand) for operand in operands)).raw


def _compare_floats(operator: str, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    # NaN differs from everything, and no other relation holds for it.
    return e.b.fcmp_unordered(operator, x, y) if operator == "!=" else e.b.fcmp_ordered(operator, x, y)


def _compare_integers(signed: bool, operator: str, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    return e.b.icmp_signed(operator, x, y) if signed else e.b.icmp_unsigned(operator, x, y)


def _select(e: Emitter, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    return e.b.select(condition, x, y)


def _relu_float(e: Emitter, x: ir.Value) -> ir.Value:
    # x86's max instruction returns its second operand for NaN, so this form is that one instruction.
    zero = e.constant(x.type, 0)
    return e.b.select(e.b.fcmp_ordered("<", x, zero), zero, x)


def _clamp_float(e: Emitter, x: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    raised = e.b.select(e.b.fcmp_ordered("<", x, low), low, x)
    return e.b.select(e.b.fcmp_ordered(">", raised, high), high, raised)


def _clamp_integer(prefix: str, e: Emitter, x: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    return e.call(f"llvm.{prefix}min", [e.call(f"llvm.{prefix}max", [x, low]), high])


def _sign_float(e: Emitter, x: ir.Value) -> ir.Value:
    b, zero = e.b, e.constant(x.type, 0)
    negative = e.select_constant(b.fcmp_ordered("<", x, zero), -1, zero)
    signed = e.select_constant(b.fcmp_ordered(">", x, zero), 1, negative)
    return b.select(b.fcmp_unordered("uno", x, x), x, signed)


def _sign_integer(signed: bool, e: Emitter, x: ir.Value) -> ir.Value:
    zero = e.constant(x.type, 0)
    if not signed:
        return e.b.zext(e.b.icmp_unsigned("!=", x, zero), x.type)
    positive = e.b.zext(e.b.icmp_signed(">", x, zero), x.type)
    return e.b.or_(positive, e.b.ashr(x, e.constant(x.type, x.type.width - 1)))


def _negate_integer(e: Emitter, x: ir.Value) -> ir.Value:
    return e.b.sub(e.constant(x.type, 0), x)


def _absolute_integer(signed: bool, e: Emitter, x: ir.Value) -> ir.Value:
    if not signed:
        return x
    type_ = ir.FunctionType(x.type, [x.type, I1])
    return e.b.call(e.declare(f"llvm.abs.i{x.type.width}", type_), [x, I1(0)])


def _is_nan(e: Emitter, x: ir.Value) -> ir.Value:
    return e.b.fcmp_unordered("uno", x, x)


def _is_infinite(e: Emitter, x: ir.Value) -> ir.Value:
    return e.b.fcmp_ordered("==", e.call("llvm.fabs", [x]), e.constant(x.type, float("inf")))


def _reciprocal(e: Emitter, x: ir.Value) -> ir.Value:
    return e.b.fdiv(e.constant(x.type, 1), x)


def _shift(name: str, e: Emitter, x: ir.Value, count: ir.Value) -> ir.Value:
    # LLVM leaves a count of the width or more undefined; here such a shift moves every bit out.
    width = x.type.width
    within = e.b.icmp_unsigned("<", count, e.constant(x.type, width))
    last = e.constant(x.type, width - 1)
    if name == "ashr":
        return e.b.ashr(x, e.b.select(within, count, last))
    shifted = getattr(e.b, name)(x, e.b.select(within, count, last))
    return e.b.select(within, shifted, e.constant(x.type, 0))


def _complement(e: Emitter, x: ir.Value) -> ir.Value:
    return e.b.not_(x)


def _true(e: Emitter, x: ir.Value) -> ir.Value:
    return e.b.icmp_unsigned("!=", x, e.constant(x.type, 0))


def _logical(name: str, e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    return e.b.zext(getattr(e.b, name)(_true(e, x), _true(e, y)), x.type)


def _logical_not(e: Emitter, x: ir.Value) -> ir.Value:
    return e.b.zext(e.b.not_(_true(e, x)), x.type)


def _widen_boolean(e: Emitter, condition: ir.Value) -> ir.Value:
    return e.b.zext(condition, INTEGERS["u8"].llvm)


def _float_recipes(t: Scalar) -> dict[str, Recipe]:
    def of(arity: int, emit: Any, result: Any = t.type) -> Recipe:
        return Recipe(result, (t.type,) * arity, emit)

    # Minimum and maximum are IEEE 754-2019's: NaN if either operand is, and -0 < +0.
    named = {"max": "llvm.maximum", "min": "llvm.minimum", "abs": "llvm.fabs", "sqrt": "llvm.sqrt"}
    found = {name: of(2 if name in ("max", "min") else 1, partial(_intrinsic, llvm)) for name, llvm in named.items()}
    found |= {name: of(2, partial(_operation, f"f{name}", ())) for name in ("add", "sub", "mul", "div")}
    found |= {f"r{name}": of(2, partial(_operation, f"f{name}", REORDERED)) for name in ("add", "mul")}
    found |= {f"r{name}": of(2, partial(_extremum, named[name])) for name in ("max", "min")}
    found |= {f"x{name}": of(2, partial(_any_extremum, named[name])) for name in ("max", "min")}
    found |= {name: of(2, partial(_compare_floats, op), types.boolean) for name, op in COMPARISONS.items()}
    return found | {
        "rem": of(2, division.float_remainder),
        "mod": of(2, division.float_modulo),
        "neg": of(1, partial(_operation, "fneg", ())),
        "sign": of(1, _sign_float),
        "isnan": of(1, _is_nan, types.boolean),
        "isinf": of(1, _is_infinite, types.boolean),
        "rcp": of(1, _reciprocal),
        "fma": of(3, partial(_lanes, lanes.fma)),
        "rint": of(1, partial(_lanes, rounding.rint)),
        "floor": of(1, partial(_lanes, rounding.floor)),
        "ceil": of(1, partial(_lanes, rounding.ceil)),
        "trunc": of(1, partial(_lanes, rounding.trunc)),
        "relu": of(1, _relu_float),
        "clamp": of(3, _clamp_float),
    }


def _integer_recipes(t: Scalar) -> dict[str, Recipe]:
    def of(arity: int, emit: Any, result: Any = t.type) -> Recipe:
        return Recipe(result, (t.type,) * arity, emit)

    prefix = "s" if t.signed else "u"
    found = {name: of(2, partial(_operation, name, ())) for name in ("add", "sub", "mul")}
    found |= {name: of(2, partial(_intrinsic, f"llvm.{prefix}{name}")) for name in ("max", "min")}
    found |= {f"r{name}": found[name] for name in ("add", "mul", "max", "min")}
    found |= {f"bit{name}": of(2, partial(_operation, llvm, ())) for name, llvm in _BITWISE.items()}
    found |= {name: of(2, partial(_compare_integers, t.signed, op), types.boolean) for name, op in COMPARISONS.items()}
    return found | {
        "div": of(2, partial(division.quotient, t.signed)),
        "rem": of(2, partial(division.remainder, t.signed)),
        "mod": of(2, partial(division.modulo, t.signed)),
        "pow": of(2, partial(power.integer_power, t.signed)),
        "neg": of(1, _negate_integer),
        "abs": of(1, partial(_absolute_integer, t.signed)),
        "sign": of(1, partial(_sign_integer, t.signed)),
        "clamp": of(3, partial(_clamp_integer, prefix)),
        "bitnot": of(1, _complement),
        "shl": of(2, partial(_shift, "shl")),
        "shr": of(2, partial(_shift, "ashr" if t.signed else "lshr")),
    }


_BITWISE = {"and": "and_", "or": "or_", "xor": "xor"}


def _logic() -> dict[str, Recipe]:
    u8 = types.uint8
    found = {f"{name}_u8": Recipe(u8, (u8, u8), partial(_logical, llvm)) for name, llvm in _BITWISE.items()}
    return found | {
        "not_u8": Recipe(u8, (u8,), _logical_not),
        "bool_u8": Recipe(u8, (types.boolean,), _widen_boolean),
        "u8_bool": Recipe(types.boolean, (u8,), _true),
    }


def recipes() -> dict[str, Recipe]:
    """``{operation}_{register type}``, and the logic of booleans kept as u8 (nonzero is true, results are 0 or 1)."""
    found = _logic()
    for suffix, t in REGISTERS.items():
        own = _float_recipes(t) if t.floating else _integer_recipes(t)
        own["select"] = Recipe(t.type, (types.boolean, t.type, t.type), _select)
        found |= {f"{name}_{suffix}": recipe for name, recipe in own.items()}
    return found
