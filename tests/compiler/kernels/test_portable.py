"""The same functions for a CPU without FMA or float16 instructions, and on explicit vectors."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
import pytest
from llvmlite import ir

from basalt.compiler.kernels import half, rounding, vmath
from basalt.compiler.kernels.emit import F32, F64, I16, I64, Emitter, Features

from .test_vmath import EDGES, _float64_reference
from .ulps import REFERENCES, around, errors, singles
from .values import assert_same

Array = npt.NDArray[Any]
Body = Callable[[Emitter, ir.Value], ir.Value]

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="compiles for x86-64's baseline"),
]
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
BASELINE = Features(fma=False, half=False, scale=False, round=False)
FULL = Features(fma=True, half=True, scale=False, round=True)


def _module(body: Body, features: Features, source: ir.Type, result: ir.Type, lanes: int) -> str:
    """``void f(const source *, result *, int64 n)`` that applies `body` to `lanes` elements at a time."""
    module = ir.Module()
    module.triple = llvm.get_process_triple()
    pointer = ir.PointerType()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer, pointer, I64]), "f")
    start, loop, done = (function.append_basic_block(name) for name in ("start", "loop", "done"))
    ir.IRBuilder(start).branch(loop)
    b = ir.IRBuilder(loop)
    index = b.phi(I64)
    index.add_incoming(I64(0), start)

    def many(type_: ir.Type) -> ir.Type:
        return ir.VectorType(type_, lanes) if lanes > 1 else type_

    x = b.load(b.gep(function.args[0], [index], source_etype=source), typ=many(source), align=1)
    value = body(Emitter(b, features), x)
    b.store(value, b.gep(function.args[1], [index], source_etype=result), align=1)
    following = b.add(index, I64(lanes))
    index.add_incoming(following, loop)
    b.cbranch(b.icmp_signed("<", following, function.args[2]), loop, done)
    ir.IRBuilder(done).ret_void()
    assert value.type == many(result)
    return str(module)


def _machine(features: Features) -> Any:
    target = llvm.Target.from_default_triple()
    if features.fma:
        host = llvm.get_host_cpu_features().flatten()
        return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=host, opt=2)
    return target.create_target_machine(cpu="x86-64", opt=2)


class Compiled:
    """The module's function for a target that has `features`, and its assembly."""

    def __init__(self, text: str, features: Features) -> None:
        module = llvm.parse_assembly(text)
        module.verify()
        machine = _machine(features)
        self.assembly = str(machine.emit_assembly(module))
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self._call = signature(self._engine.get_function_address("f"))

    def __call__(self, x: Array, result: type) -> Array:
        out = np.empty(x.shape, result)
        self._call(x.ctypes.data, out.ctypes.data, x.size)
        return out


def _function(name: str, suffix: str, features: Features, lanes: int) -> Compiled:
    type_ = F32 if suffix == "f32" else F64
    function = vmath.FUNCTIONS[name][suffix]
    return Compiled(_module(lambda e, x: vmath.apply(function, e, x), features, type_, type_, lanes), features)


def _sample(name: str) -> Array:
    x = np.concatenate([singles(60), around(*EDGES[name]), np.linspace(-20, 20, 20_001, dtype=np.float32)])
    return x[: x.size // 16 * 16]


@pytest.mark.parametrize("name", REFERENCES)
def test_float32_without_fma(name: str) -> None:
    """Three quarters of a unit more than with FMA, and still no call."""
    x = _sample(name)
    compiled = _function(name, "f32", BASELINE, 1)
    assert "\tcall" not in compiled.assembly
    assert errors(compiled(x, np.float32), _float64_reference(name)(x.astype(np.float64))).max() <= 2.5


@pytest.mark.parametrize("name", REFERENCES)
def test_vectors_agree_with_scalars(name: str) -> None:
    host = llvm.get_host_cpu_features()
    if not (host.get("fma") and host.get("f16c")):
        pytest.skip("the CPU has no FMA")
    x = _sample(name)
    assert_same(_function(name, "f32", FULL, 16)(x, np.float32), _function(name, "f32", FULL, 1)(x, np.float32))


@pytest.mark.parametrize("name", ["rint", "floor", "ceil", "trunc"])
def test_rounding_without_an_instruction(name: str) -> None:
    x = np.concatenate([singles(60), np.arange(-8, 8, 0.25, np.float32), around(2.0**22, 2.0**23, 2.0**24)])
    x = x[: x.size // 4 * 4]
    function = getattr(rounding, name)
    compiled = Compiled(_module(lambda e, v: vmath.apply(function, e, v), BASELINE, F32, F32, 4), BASELINE)
    assert "\tcall" not in compiled.assembly
    assert_same(compiled(x, np.float32), getattr(np, name)(x))


@pytest.mark.parametrize("lanes", [1, 8])
def test_float16_by_integers(lanes: int) -> None:
    every = np.arange(65536, dtype=np.uint16)
    widen = Compiled(_module(lambda e, x: half.widen(e, "f16", x), BASELINE, I16, F32, lanes), BASELINE)
    assert "\tcall" not in widen.assembly
    widened = widen(every, np.float32)
    assert_same(widened, every.view(np.float16).astype(np.float32))
    narrow = Compiled(_module(lambda e, x: half.narrow(e, "f16", x), BASELINE, F32, I16, lanes), BASELINE)
    assert "\tcall" not in narrow.assembly
    finite = np.sort(widened[np.isfinite(widened)])
    ties = (finite[1:] + finite[:-1]) / 2
    near = [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
    x = np.concatenate([widened, ties, *near, singles(60), np.zeros(8, np.float32)])
    x = x[: x.size // 8 * 8]
    assert_same(narrow(x, np.uint16).view(np.float16), x.astype(np.float16))


def test_features_are_probed_where_only_a_cpu_is_named() -> None:
    target = llvm.Target.from_default_triple()
    assert Features.probe(target.create_target_machine(cpu="x86-64")) == BASELINE
    assert Features.probe(target.create_target_machine(cpu="x86-64-v3")) == FULL
    assert Features.probe(target.create_target_machine(cpu="x86-64-v4")) == FULL._replace(scale=True)
