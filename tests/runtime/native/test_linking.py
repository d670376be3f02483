"""Linking: what became of references between sections, to other functions, and of constants that objects share."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from machine_code import TEXT, assemble
from runtime_programs import ADD, CHECKED, COPY

from basalt.compiler.codegen.compile import compile_kernel
from basalt.compiler.codegen.executor import compile_executor
from basalt.errors import ModelFormatError, UnsupportedError
from basalt.runtime.layout import EXECUTE_SYMBOL, KERNEL_SYMBOL
from basalt.runtime.native import Image, load_image
from basalt.runtime.native.images import HANDLED
from basalt.runtime.native.linked import EXECUTE, PAGE, READ, WRITE, check_image
from basalt.runtime.native.linking import link, link_object

pytestmark = pytest.mark.skipif(not HANDLED, reason="linked images are for x86-64 Linux")

CONSTANTS = """
@table = internal constant [4 x i64] [i64 1, i64 2, i64 3, i64 NUMBER], align 16
define i64 @basalt_kernel(i64 %i) nounwind {
  %p = getelementptr [4 x i64], ptr @table, i64 0, i64 %i
  %v = load i64, ptr %p
  ret i64 %v
}
"""
POINTERS = """
declare double @sin(double)
declare double @cos(double)
@functions = internal constant [2 x ptr] [ptr @sin, ptr @cos]
@value = internal global double 5.000000e-01
@place = global ptr @value
define double @basalt_kernel(i64 %i) {
  %p = getelementptr [2 x ptr], ptr @functions, i64 0, i64 %i
  %f = load ptr, ptr %p
  %a = load ptr, ptr @place
  %x = load double, ptr %a
  %y = call double %f(double %x)
  ret double %y
}
"""


def call_long(image: Image, name: str, value: int) -> int:
    return int(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(image.address(name))(value))


def call_double(image: Image, name: str, value: float) -> float:
    return float(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(image.address(name))(value))


def test_objects_keep_their_own_symbols() -> None:
    objects = {f"kernel {n}": assemble(CONSTANTS.replace("NUMBER", str(n))) for n in (7, 8)}
    image = load_image(link(objects))
    assert [call_long(image, f"kernel {n}", 3) for n in (7, 8)] == [7, 8]


def test_names_of_exports() -> None:
    image = link({"executor": compile_executor(), "kernel:0:add": compile_kernel(ADD), "other": assemble(TEXT)})
    names = {export.name for export in image.exports}
    assert {f"executor:{EXECUTE_SYMBOL}", "kernel:0:add", "other:count", "other:half_cosine"} <= names
    assert not any(KERNEL_SYMBOL in name for name in names)
    assert all(export.size > 0 for export in image.exports)


def test_areas_and_content() -> None:
    image = link({"a": assemble(TEXT), "b": assemble(TEXT)})
    assert [area.protection for area in image.areas] == [READ | EXECUTE, READ, READ | WRITE]
    assert [area.size for area in image.areas] == [PAGE] * 3
    # Storage that starts as zero stands last and takes no room in the content: 16 bytes of 32 are stored.
    assert len(image.content) == 2 * PAGE + 16
    assert image.imports == ("cos",)
    check_image(image)


def test_functions_start_on_lines_of_the_cache() -> None:
    image = link({str(n): compile_kernel(code) for n, code in enumerate((COPY, ADD, CHECKED))})
    assert all(export.offset % 64 == 0 for export in image.exports)


def test_equal_constants_are_kept_once() -> None:
    one = assemble(CONSTANTS.replace("NUMBER", "7"))
    other = assemble(CONSTANTS.replace("NUMBER", "8"))
    image = link({"a": one, "b": one, "c": other})
    stored = image.content[image.areas[1].offset :].tobytes()
    assert stored == np.array([1, 2, 3, 7, 1, 2, 3, 8]).tobytes()
    loaded = load_image(image)
    assert [call_long(loaded, name, 3) for name in "abc"] == [7, 7, 8]


@pytest.mark.parametrize(("model", "reloc"), [("jitdefault", "static"), ("small", "pic"), ("large", "static")])
def test_pointers_in_constants_and_data(model: str, reloc: str) -> None:
    image = load_image(link({"f": assemble(POINTERS, model, reloc), "g": assemble(POINTERS, model, reloc)}))
    for name in "fg":
        function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(image.address(name))
        assert [function(0), function(1)] == [math.sin(0.5), math.cos(0.5)]


def test_code_relative_to_itself_needs_no_relocation() -> None:
    image = link({"f": assemble(TEXT, "small", "pic"), "g": assemble(TEXT, "small", "pic")})
    code = image.areas[0].size
    assert (image.relocations[:, 0] >= code).all() and (image.import_relocations[:, 0] >= code).all()
    assert len(image.import_relocations) == 1  # one word serves both callers
    loaded = load_image(image)
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("f:count"))
    assert [count(), count()] == [42, 44]
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("g:count"))() == 42
    assert call_double(loaded, "g:half_cosine", 0.3) == math.cos(0.3) / 2


def test_frame_information_is_joined() -> None:
    text = TEXT.replace(") {", ") uwtable {")
    single = link_object(assemble(text))
    both = link({"f": assemble(text), "g": assemble(text)})
    assert single.unwind[1] > 4
    assert both.unwind[1] - 4 == 2 * (single.unwind[1] - 4)
    offset, size = both.unwind
    assert both.content[offset + size - 4 : offset + size].tobytes() == bytes(4)
    check_image(both)
    assert link_object(assemble(TEXT.replace(") {", ") nounwind {"))).unwind == (0, 0)


def test_imports_are_checked() -> None:
    text = "declare i64 @system(i64)\ndefine i64 @f() { %r = call i64 @system(i64 0)\n ret i64 %r }"
    for model, reloc in (("jitdefault", "static"), ("small", "pic")):
        with pytest.raises(UnsupportedError, match="'system'"):
            link({"f": assemble(text, model, reloc)})


def test_nothing_to_link() -> None:
    with pytest.raises(ModelFormatError, match="holds nothing"):
        link({})


def test_damaged_objects_are_refused() -> None:
    code = compile_kernel(ADD)
    with pytest.raises(ModelFormatError):
        link({"whole": code, "half": code[: len(code) // 2]})


def test_linking_is_deterministic() -> None:
    objects = {"executor": compile_executor(), "add": compile_kernel(ADD), "checked": compile_kernel(CHECKED)}
    one, other = link(objects), link(objects)
    assert one.content.tobytes() == other.content.tobytes()
    assert one.relocations.tolist() == other.relocations.tolist()
    assert (one.areas, one.exports, one.imports) == (other.areas, other.exports, other.imports)
