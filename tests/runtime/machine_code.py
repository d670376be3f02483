"""Object code from LLVM's text, and what the system says of the memory it was placed in."""

from __future__ import annotations

import re
from pathlib import Path

import llvmlite.binding as llvm

TEXT = """
@counter = global i64 40
@step = constant i64 2
@names = common global i64 0
declare double @cos(double)
define i64 @count() {
  %a = load i64, ptr @counter
  %b = load i64, ptr @step
  %c = add i64 %a, %b
  store i64 %c, ptr @counter
  store i64 %c, ptr @names
  %d = load i64, ptr @names
  ret i64 %d
}
define double @half_cosine(double %x) {
  %y = call double @cos(double %x)
  %z = fmul double %y, 5.000000e-01
  ret double %z
}
"""


def assemble(text: str, model: str = "jitdefault", reloc: str = "static", triple: str = "") -> bytes:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.triple = triple or llvm.get_process_triple()
    target = llvm.Target.from_triple(module.triple)
    machine = target.create_target_machine(opt=1, reloc=reloc, codemodel=model, jit=model == "jitdefault")
    code: bytes = machine.emit_object(module)
    return code


def protection_at(address: int) -> str | None:
    """Protection of the page at an address; None if there is none."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end, protection = re.match(r"(\w+)-(\w+) (\S+)", line).groups()  # type: ignore[union-attr]
        if int(start, 16) <= address < int(end, 16):
            return protection
    return None


def mapped(protection: str) -> int:
    """How many mappings of the process have a protection."""
    return Path("/proc/self/maps").read_text().count(f" {protection}")
