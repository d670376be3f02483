"""The way of other systems: object files through LLVM, their imports read whatever the format."""

from __future__ import annotations

import ctypes
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_code import TEXT, assemble
from runtime_programs import ADD, CHECKED, COPY, run_python

from basalt.compiler.codegen.compile import compile_kernel
from basalt.compiler.codegen.executor import compile_executor
from basalt.errors import BasaltError, ModelFormatError, UnsupportedError
from basalt.runtime.layout import EXECUTE_SYMBOL
from basalt.runtime.native import Image, load_objects, objects
from basalt.runtime.native.images import HANDLED, PlacedImage
from basalt.runtime.native.imports import imports_of

TRIPLES = ("x86_64-unknown-linux-gnu", "x86_64-apple-darwin", "x86_64-pc-windows-msvc")
EVERY_LENGTH = """
declare double @cos(double)
declare float @nextafterf(float, float)
declare void @somewhere_else_altogether(ptr)
@shared = common global i64 0
@names = global [2 x ptr] [ptr @nextafterf, ptr @shared]
define double @local_function(double %x) {
  %a = alloca [64 x i64]
  call void @somewhere_else_altogether(ptr %a)
  %y = call double @cos(double %x)
  ret double %y
}
"""
KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)


@pytest.fixture(params=["own", "llvm"])
def loaded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Image:
    if request.param == "own" and not HANDLED:
        pytest.skip("linked images are for x86-64 Linux")
    monkeypatch.setattr(objects, "_OWN_LOADER", request.param == "own")
    kernels = {
        f"kernel:{number}:{code.label}": compile_kernel(code) for number, code in enumerate((COPY, ADD, CHECKED))
    }
    image = load_objects({"executor": compile_executor(), **kernels, "other": assemble(TEXT)})
    assert isinstance(image, PlacedImage) == (request.param == "own")
    return image


def run(image: Image, name: str, x: np.ndarray, addend: float = 0.0) -> tuple[int, np.ndarray]:
    """Status and result of a kernel."""
    y = np.zeros_like(x)
    table = np.array([x.ctypes.data, y.ctypes.data, struct.unpack("<q", struct.pack("<d", addend))[0]], np.int64)
    results = np.zeros(2, np.int64)
    status = KERNEL(image.address(name))(results.ctypes.data, results.ctypes.data + 8, table.ctypes.data, 0, len(x))
    return status, y


def test_either_way_gives_the_same(loaded: Image) -> None:
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    assert run(loaded, "kernel:0:copy", x)[1].tobytes() == x.tobytes()
    assert run(loaded, "kernel:1:add", x, 0.1)[1].tobytes() == (x + np.float32(0.1)).tobytes()
    status, y = run(loaded, "kernel:2:checked", np.abs(x))
    assert status == 0 and y.tobytes() == np.abs(x).tobytes()
    assert run(loaded, "kernel:2:checked", x)[0] != 0
    cosine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("other:half_cosine"))
    assert cosine(0.3) == math.cos(0.3) / 2
    assert loaded.address(f"executor:{EXECUTE_SYMBOL}") != 0
    assert loaded.nbytes > 0


@pytest.mark.parametrize("name", ["absent", "executor", "executor:absent", "kernel:0:copy:basalt_kernel", "", ":"])
def test_names_that_are_not_there(loaded: Image, name: str) -> None:
    with pytest.raises(BasaltError, match="defines no"):
        loaded.address(name)


@pytest.mark.parametrize("triple", TRIPLES)
def test_imports_of_every_format(triple: str) -> None:
    code = assemble(EVERY_LENGTH, "small", "pic", triple)
    assert {"cos", "nextafterf", "somewhere_else_altogether"} <= set(imports_of(code))
    assert not {"local_function", "names", "shared"} & set(imports_of(code))
    assert set(imports_of(code)) <= {"cos", "nextafterf", "somewhere_else_altogether", "_fltused"}


@pytest.mark.parametrize("triple", TRIPLES)
@settings(max_examples=150)
@given(data=st.data())
def test_damaged_files_of_every_format(triple: str, data: st.DataObject) -> None:
    code = bytearray(assemble(EVERY_LENGTH, "small", "pic", triple))
    places = st.one_of(st.integers(0, 99), st.integers(0, len(code) - 1), st.integers(len(code) - 300, len(code) - 1))
    for position, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=9)):
        code[position] = value
    try:
        imports_of(bytes(code[: data.draw(st.one_of(st.just(len(code)), st.integers(0, len(code))))]))
    except (ModelFormatError, UnsupportedError):
        return


@given(st.binary(max_size=100))
def test_arbitrary_bytes(data: bytes) -> None:
    for start in (b"", b"\x7fELF\x02\x01", b"\xcf\xfa\xed\xfe", b"\x64\x86", b"\x64\xaa"):
        try:
            imports_of(start + data)
        except (ModelFormatError, UnsupportedError):
            continue


def test_llvm_is_not_given_what_it_would_end_the_process_over() -> None:
    script = """
from machine_code import assemble
from basalt.errors import UnsupportedError
from basalt.runtime.native import symbols
from basalt.runtime.native.llvm import LlvmImage
symbols.ALLOWED |= {"nowhere_to_be_found"}
for name in ("system", "nowhere_to_be_found"):
    code = assemble(f"declare i64 @{name}(i64)\\ndefine i64 @f() {{ %r = call i64 @{name}(i64 0)\\n ret i64 %r }}")
    try:
        LlvmImage(code)
    except UnsupportedError as error:
        print(error)
"""
    assert run_python(script).splitlines() == [
        "object code asks for 'system', which kernels may not use",
        "object code asks for 'nowhere_to_be_found', which this system does not have",
    ]


def test_a_program_runs_on_code_from_llvm() -> None:
    script = """
import numpy as np
from basalt.runtime.native import objects
from basalt.runtime.native.llvm import LlvmImage
objects._OWN_LOADER = False
from runtime_programs import chain, ramp
program = chain(4, 100, 1e6, threads=2)
assert type(program.code.kernels[0]._image) is LlvmImage
out = program.run({"x": ramp(100)})["y"]
print((out == ramp(100) + 4).all())
"""
    assert run_python(script).strip() == "True"
