"""Parameters, loads and stores of generated kernels.

A kernel gets the address of a table of 8-byte slots: buffer addresses, int64 parameters, float64 parameters. Elements
are indexed in units of their own type and lie at their natural alignment.

``load_*`` and ``store_*`` promise LLVM that no buffer that is read overlaps one that is written (other than the very
element that the same iteration read before it writes), so that a loop over many buffers vectorises without run-time
overlap checks. A pointer that is both read and written by them makes the promise void for LLVM: such a buffer has two.
Kernels that read back what they wrote use ``loadrw_*`` and ``storerw_*``, which promise nothing. ``storeonly_*``
promises more than ``store_*``: that the buffer is accessed in no other way, and need not be told from others written.

``wide_vectors()`` asks for 512-bit vectors in its kernel where LLVM prefers 256 bits although the CPU has AVX-512.
``many_iterations()`` says that the loop that it stands in has enough of them for many vectors.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from basalt.compiler.kernels import half, types
from basalt.compiler.kernels.emit import FLOATS, I8, I16, I64, INTEGERS, REGISTERS, Emitter, Recipe
from basalt.compiler.kernels.loops import note_many_iterations

__all__ = ["recipes"]

SLOT_BYTES = 8


def _element(e: Emitter, pointer: ir.Value, index: ir.Value, type_: ir.Type) -> ir.Value:
    return e.b.gep(e.b.bitcast(pointer, type_.as_pointer()), [index], inbounds=True)


def _slot(e: Emitter, table: ir.Value, index: ir.Value, type_: ir.Type) -> ir.Value:
    place = _element(e, table, index, type_)
    value = e.b.load(place, typ=type_, align=SLOT_BYTES)
    # The table never changes while a kernel runs.
    value.set_metadata("invariant.load", e.b.module.add_metadata([]))
    return value


def _pointer(e: Emitter, table: ir.Value, index: ir.Value) -> ir.Value:
    return _slot(e, table, index, I8.as_pointer())


def _integer_parameter(type_: ir.IntType, e: Emitter, table: ir.Value, index: ir.Value) -> ir.Value:
    value = _slot(e, table, index, I64)
    return value if type_.width == 64 else e.b.trunc(value, type_)


def _float_parameter(type_: ir.Type, e: Emitter, table: ir.Value, index: ir.Value) -> ir.Value:
    value = _slot(e, table, index, FLOATS["f64"].llvm)
    return value if type_ == value.type else e.b.fptrunc(value, type_)


def _offset(e: Emitter, pointer: ir.Value, distance: ir.Value) -> ir.Value:
    return _element(e, pointer, distance, I8)


def _address(e: Emitter, pointer: ir.Value) -> ir.Value:
    return e.b.ptrtoint(pointer, I64)


_OTHERS = {"read": ("written",), "written": ("read",), "only": ("read", "written")}
"""What an access of each kind promises not to overlap; ``only`` one to a buffer that all accesses do like it."""


def _promise_disjoint(e: Emitter, access: Any, own: str) -> None:
    # Scopes and their domain are named by strings: equal names mean the same scope, in every module.
    module = e.b.module
    domain = module.add_metadata(["basalt.buffers"])
    scopes = {name: module.add_metadata([f"basalt.{name}", domain]) for name in (own, *_OTHERS[own])}
    access.set_metadata("alias.scope", module.add_metadata([scopes[own]]))
    access.set_metadata("noalias", module.add_metadata([scopes[name] for name in _OTHERS[own]]))


def _load(type_: ir.Type, own: str, e: Emitter, pointer: ir.Value, index: ir.Value) -> ir.Value:
    place = _element(e, pointer, index, type_)
    value = e.b.load(place, typ=type_, align=_alignment(type_))
    if own:
        _promise_disjoint(e, value, own)
    return value


def _store(type_: ir.Type, own: str, e: Emitter, pointer: ir.Value, index: ir.Value, value: ir.Value) -> None:
    place = _element(e, pointer, index, type_)
    access = e.b.store(value, place, align=_alignment(type_))
    if own:
        _promise_disjoint(e, access, own)


def _alignment(type_: ir.Type) -> int:
    return type_.width // 8 if isinstance(type_, ir.IntType) else {"float": 4, "double": 8}[str(type_)]


def _load_half(kind: str, own: str, e: Emitter, pointer: ir.Value, index: ir.Value) -> ir.Value:
    return half.widen(e, kind, _load(I16, own, e, pointer, index))


def _store_half(kind: str, own: str, e: Emitter, pointer: ir.Value, index: ir.Value, value: ir.Value) -> None:
    _store(I16, own, e, pointer, index, half.narrow(e, kind, value))


def _constant(type_: ir.Type, e: Emitter, value: ir.Value) -> ir.Value:
    if value.type == type_:
        return value
    return e.b.trunc(value, type_) if isinstance(type_, ir.IntType) else e.b.fptrunc(value, type_)


def _from_bits(type_: ir.Type, width: int, e: Emitter, bits: ir.Value) -> ir.Value:
    return e.b.bitcast(bits if width == 64 else e.b.trunc(bits, ir.IntType(width)), type_)


def _widen_vectors(e: Emitter) -> None:
    # llvmlite knows only LLVM's own attribute names and would refuse a target's.
    set.add(e.b.function.attributes, '"prefer-vector-width"="512"')


def _note_many_iterations(e: Emitter) -> None:
    note_many_iterations(e.b)


def _accesses() -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    address, index = types.voidptr, types.intp
    stored = {name: (t.type, partial(_load, t.llvm), partial(_store, t.llvm)) for name, t in REGISTERS.items()}
    stored["bool"] = stored["u8"]
    for kind in ("f16", "bf16"):
        stored[kind] = (types.float32, partial(_load_half, kind), partial(_store_half, kind))
    for suffix, (register, load, store) in stored.items():
        for form, own in (("load", "read"), ("loadrw", "")):
            found[f"{form}_{suffix}"] = Recipe(register, (address, index), partial(load, own))
        for form, own in (("store", "written"), ("storerw", ""), ("storeonly", "only")):
            found[f"{form}_{suffix}"] = Recipe(types.void, (address, index, register), partial(store, own))
    return found


def recipes() -> dict[str, Recipe]:
    """``wide_vectors many_iterations ptr offset address par_* const_* bits_*`` and the loads and stores."""
    table = (types.voidptr, types.intp)
    found = {
        "wide_vectors": Recipe(types.void, (), _widen_vectors),
        "many_iterations": Recipe(types.void, (), _note_many_iterations),
        "ptr": Recipe(types.voidptr, table, _pointer),
        "offset": Recipe(types.voidptr, table, _offset),
        "address": Recipe(types.intp, (types.voidptr,), _address),
    }
    for name, t in FLOATS.items():
        found[f"par_{name}"] = Recipe(t.type, table, partial(_float_parameter, t.llvm))
        found[f"const_{name}"] = Recipe(t.type, (types.float64,), partial(_constant, t.llvm))
        found[f"bits_{name}"] = Recipe(t.type, (types.uint64,), partial(_from_bits, t.llvm, t.bits))
    for name, t in INTEGERS.items():
        found[f"par_{name}"] = Recipe(t.type, table, partial(_integer_parameter, t.llvm))
        literal = types.int64 if t.signed else types.uint64
        found[f"const_{name}"] = Recipe(t.type, (literal,), partial(_constant, t.llvm))
    return found | _accesses()
