"""Loading object code: addresses, protections, freeing, and what code may import."""

from __future__ import annotations

import ctypes
import gc
import math
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from runtime_programs import ADD

from basalt.compiler.codegen.compile import compile_kernel
from basalt.errors import BasaltError, ModelFormatError, UnsupportedError
from basalt.runtime import native
from basalt.runtime.layout import KERNEL_SYMBOL
from basalt.runtime.native import Image, load_object
from basalt.runtime.native_llvm import LlvmImage
from basalt.runtime.symbols import ALLOWED, resolve

OWN_LOADER = sys.platform == "linux" and platform.machine() == "x86_64"
own_loader = pytest.mark.skipif(not OWN_LOADER, reason="this system's objects are loaded by LLVM")

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


def assemble(text: str, model: str = "jitdefault", reloc: str = "static") -> bytes:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    target = llvm.Target.from_triple(module.triple)
    machine = target.create_target_machine(opt=1, reloc=reloc, codemodel=model, jit=model == "jitdefault")
    return machine.emit_object(module)


@pytest.fixture(scope="module")
def code() -> bytes:
    return assemble(TEXT)


@pytest.mark.parametrize("load", [load_object, LlvmImage])
def test_code_and_data_work(load: Callable[[bytes], Image], code: bytes) -> None:
    image = load(code)
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(image.address("count"))
    assert [count(), count()] == [42, 44]
    cosine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(image.address("half_cosine"))
    assert cosine(0.3) == math.cos(0.3) / 2
    assert image.nbytes > 0


@pytest.mark.parametrize("load", [load_object, LlvmImage])
def test_images_are_independent(load: Callable[[bytes], Image], code: bytes) -> None:
    images = [load(code) for _ in range(2)]
    counts = [ctypes.CFUNCTYPE(ctypes.c_int64)(image.address("count")) for image in images]
    assert [count() for count in counts] == [42, 42]


@pytest.mark.parametrize("load", [load_object, LlvmImage])
def test_names_that_are_not_there(load: Callable[[bytes], Image], code: bytes) -> None:
    with pytest.raises(BasaltError, match="'absent'"):
        load(code).address("absent")


@own_loader
@pytest.mark.parametrize(
    ("model", "reloc"), [("small", "static"), ("small", "pic"), ("large", "pic"), ("default", "pic")]
)
def test_other_code_models_load_by_either_loader(model: str, reloc: str) -> None:
    image = load_object(assemble(TEXT, model, reloc))
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(image.address("count"))() == 42
    cosine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(image.address("half_cosine"))
    assert cosine(0.3) == math.cos(0.3) / 2


def mapped(address: int) -> str | None:
    """Protection of the page at an address; None if there is none."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end, protection = re.match(r"(\w+)-(\w+) (\S+)", line).groups()  # type: ignore[union-attr]
        if int(start, 16) <= address < int(end, 16):
            return protection
    return None


def writeable_code() -> int:
    """Pages of the process that are both; libffi has some."""
    return Path("/proc/self/maps").read_text().count(" rwx")


@own_loader
def test_no_page_is_both_writeable_and_executable(code: bytes) -> None:
    image = load_object(code)
    assert mapped(image.address("count")) == "r-xp"
    assert mapped(image.address("step")) == "r--p"
    assert mapped(image.address("counter")) == "rw-p"
    assert mapped(image.address("names")) == "rw-p"
    before = writeable_code()
    kept = [load_object(code) for _ in range(3)]
    assert writeable_code() == before, kept


@own_loader
def test_memory_is_freed_with_the_image(code: bytes) -> None:
    image = load_object(code)
    address = image.address("count")
    assert mapped(address) is not None
    del image
    gc.collect()
    assert mapped(address) is None


@pytest.mark.parametrize("name", ["system", "dlopen", "getenv", "PyRun_SimpleString", "write", "mprotect"])
def test_only_allowed_functions_can_be_imported(name: str) -> None:
    code = assemble(f"declare i64 @{name}(i64)\ndefine i64 @f() {{ %r = call i64 @{name}(i64 0)\n ret i64 %r }}")
    with pytest.raises(UnsupportedError, match=f"asks for '{name}', which kernels may not use"):
        load_object(code)


@own_loader
def test_names_are_checked_before_llvm_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    # LLVM would end the process.
    monkeypatch.setattr(native, "_OWN_LOADER", False)
    code = assemble("declare i64 @system(i64)\ndefine i64 @f() { %r = call i64 @system(i64 0)\n ret i64 %r }")
    with pytest.raises(UnsupportedError, match="'system'"):
        load_object(code)


def test_every_allowed_name_is_harmless_and_some_are_here() -> None:
    assert not {name for name in ALLOWED if name.startswith(("Py", "pthread", "dl", "exec"))}
    assert resolve("cosf") != resolve("cos") != 0


def test_damaged_code_is_refused(code: bytes) -> None:
    for data in (b"", code[:100], code[:-1]):
        with pytest.raises((ModelFormatError, UnsupportedError)):
            load_object(data)


def test_kernels_load_by_llvm_too() -> None:
    assert LlvmImage(compile_kernel(ADD)).address(KERNEL_SYMBOL) != 0
