"""Kernels' assembly: that of the code which they are compiled to."""

from __future__ import annotations

import re

import pytest

from basalt.compiler.codegen.object_code import assembly_of, compile_source
from basalt.errors import BasaltError
from basalt.runtime.code import LoadedKernel
from basalt.runtime.layout import KERNEL_SYMBOL
from basalt.runtime.spec import KernelCode

SOURCE = """def kernel(table, start, stop):
    x = ptr(table, 0)
    for i in range(start, stop):
        store_f32(x, i, sqrt_f32(load_f32(x, i)))
"""
NAMES = ("load_f32", "ptr", "sqrt_f32", "store_f32")


def test_it_defines_the_kernel_and_computes_what_the_source_says() -> None:
    text = assembly_of(KernelCode.of(SOURCE, NAMES, "roots"))
    assert re.search(rf"^_?{KERNEL_SYMBOL}:", text, re.MULTILINE)
    assert "sqrt" in text
    assert "Loop" in text


def test_it_changes_nothing_about_compiling() -> None:
    code = KernelCode.of(SOURCE, NAMES, "roots")
    before = compile_source(code)
    assembly_of(code)
    assert compile_source(code) == before
    LoadedKernel(before)
    assert assembly_of(code) == assembly_of(code)


def test_a_kernel_that_does_not_compile_is_named() -> None:
    code = KernelCode.of("def kernel(table, start, stop):\n    nothing(table)\n", ("load_f32",), "mistaken")
    with pytest.raises(BasaltError, match="kernel 'mistaken' does not compile"):
        assembly_of(code)


def test_it_is_the_same_for_equal_kernels_of_other_labels() -> None:
    texts = {assembly_of(KernelCode.of(SOURCE, NAMES, label)) for label in ("one", "other")}
    assert len(texts) == 1
