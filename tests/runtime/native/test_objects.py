"""Loading object code: addresses, protections, freeing, and what code may import."""

from __future__ import annotations

import ctypes
import gc
import math
from collections.abc import Callable

import pytest
from machine_code import TEXT, assemble, mapped, protection_at
from runtime_programs import ADD

from basalt.compiler.codegen.compile import compile_kernel
from basalt.errors import BasaltError, ModelFormatError, UnsupportedError
from basalt.runtime.layout import KERNEL_SYMBOL
from basalt.runtime.native import Image, load_object, objects
from basalt.runtime.native.images import HANDLED
from basalt.runtime.native.linked import PAGE
from basalt.runtime.native.llvm import LlvmImage
from basalt.runtime.native.symbols import ALLOWED, resolve

own_loader = pytest.mark.skipif(not HANDLED, reason="this system's objects are loaded by LLVM")


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


@own_loader
def test_no_page_is_both_writeable_and_executable(code: bytes) -> None:
    before = mapped("rwx")
    kept = [load_object(code) for _ in range(3)]
    for image in kept:
        first = image.address("count") & -PAGE
        assert [protection_at(first + page * PAGE) for page in range(3)] == ["r-xp", "r--p", "rw-p"]
    assert mapped("rwx") == before  # libffi has some


@own_loader
def test_memory_is_freed_with_the_image(code: bytes) -> None:
    image = load_object(code)
    address = image.address("count")
    assert protection_at(address) is not None
    del image
    gc.collect()
    assert protection_at(address) is None


@pytest.mark.parametrize("name", ["system", "dlopen", "getenv", "PyRun_SimpleString", "write", "mprotect"])
def test_only_allowed_functions_can_be_imported(name: str) -> None:
    code = assemble(f"declare i64 @{name}(i64)\ndefine i64 @f() {{ %r = call i64 @{name}(i64 0)\n ret i64 %r }}")
    with pytest.raises(UnsupportedError, match=f"asks for '{name}', which kernels may not use"):
        load_object(code)


@own_loader
def test_names_are_checked_before_llvm_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    # LLVM would end the process.
    monkeypatch.setattr(objects, "_OWN_LOADER", False)
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
