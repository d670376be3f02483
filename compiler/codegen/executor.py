"""The executor: machine code that binds the arrays of a call and runs a program's rows.

It is LLVM IR, not a ``prange`` loop of Numba's: that compiles in a quarter of the time, imports no symbol, never takes
the GIL while threads start, and lets one launch of the threads serve many rows.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from llvmlite import ir

from .executor_bind import build_calls
from .executor_team import build_execute

__all__ = ["compile_executor"]


def compile_executor() -> bytes:
    """Object code of the executor for this machine's architecture; nothing in it depends on the CPU's model."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    source = ir.Module("basalt.executor")
    source.triple = triple
    build_calls(source, build_execute(source))
    module = llvm.parse_assembly(str(source))
    module.verify()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(opt=2, reloc="static", codemodel="jitdefault", jit=True)
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(module, passes)
    code: bytes = machine.emit_object(module)
    return code
