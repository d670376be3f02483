"""The table and the source of a program's kernels."""

from __future__ import annotations

import numpy as np

from basalt.compiler.explain import explain, source_of
from basalt.runtime.spec import KernelCode, ProgramSpec, Row, TensorSpec


def program() -> ProgramSpec:
    add = KernelCode.of("def kernel(table, start, stop):\n    pass\n", label="add+relu")
    gemm = KernelCode.of("def kernel(table, start, stop):\n    return\n")
    weights = np.ones(25, np.float32)
    return ProgramSpec(
        inputs=(TensorSpec("x", "float32", (8,)),),
        outputs=(TensorSpec("y", "float32", (8,)),),
        rows=(
            Row(0, (), 0, 8, cost=250.0, label="stem"),
            Row(1, (), 4, 8, cost=750.0, serial=True, label="block " * 20),
            Row(0, (), 0, 1, cost=0.0),
        ),
        kernels=(add, gemm),
        constants=(weights, weights),
        arena_bytes=64,
    )


def test_rows_say_what_is_called() -> None:
    table = explain(program())
    first, second, third = table
    assert len(table) == 3
    assert (first.index, first.kernel, first.kind, first.labels, first.units) == (0, 0, "add+relu", "stem", 8)
    assert (second.kind, second.units, second.serial, second.microseconds) == ("", 4, True, 0.75)
    assert (third.kernel, third.labels) == (0, "")
    assert (table.kernels, table.arena_bytes, table.constant_bytes) == (2, 64, 100)


def test_the_table_for_people() -> None:
    lines = str(explain(program())).splitlines()
    assert lines[0].split() == ["#", "kernel", "units", "split", "est.", "us", "%", "operators"]
    assert lines[1].split() == ["0", "add+relu", "8", "yes", "0.25", "25.0", "stem"]
    assert lines[2].split()[:5] == ["1", "4", "no", "0.75", "75.0"] and lines[2].endswith("...")
    assert lines[3].split() == ["2", "add+relu", "1", "no", "0", "0.0"]
    assert lines[4] == "3 calls of 2 kernels, 1.0 us estimated on one core; 100 bytes of constants, 64 bytes of arena"
    assert all(line == line.rstrip() for line in lines)


def test_an_empty_program() -> None:
    empty = ProgramSpec((), (), (), (), (), 0)
    assert str(explain(empty)).splitlines()[1].startswith("0 calls of 0 kernels")
    assert source_of(empty) == ""


def test_the_source_of_all_kernels() -> None:
    source = source_of(program())
    compile(source, "program", "exec")
    assert source.count("def kernel") == 2
    assert "# kernel 0: add+relu\n# calls: 0 'stem', 2\ndef kernel" in source
    assert "# kernel 1: unnamed\n# calls: 1 'block " in source
