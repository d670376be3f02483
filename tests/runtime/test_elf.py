"""Reading object files: damaged bytes are refused, and no plan leads outside the file or the image."""

from __future__ import annotations

import platform
import struct
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_programs import CHECKED

from basalt.compiler.codegen.compile import compile_kernel, load_executor
from basalt.errors import ModelFormatError
from basalt.runtime import elf
from basalt.runtime.elf import EXECUTE, PAGE, READ, WRITE, NotHandled, Plan, imports_of, plan_object
from basalt.runtime.layout import EXECUTE_SYMBOL, KERNEL_SYMBOL

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="object files of this machine are not x86-64 ELF"
)


@pytest.fixture(scope="module")
def objects() -> list[bytes]:
    return [load_executor().code, compile_kernel(CHECKED)]


def check_plan(data: bytes, plan: Plan) -> None:
    """Everything that the loader will do with a plan stays inside the file and the image."""
    assert plan.size % PAGE == 0
    position = 0
    for area in plan.areas:
        assert area.offset == position and area.size > 0 and area.size % PAGE == 0
        assert area.protection in (READ, READ | EXECUTE, READ | WRITE)
        position += area.size
    assert position == plan.size
    for place in plan.placements:
        assert place.offset >= 0 and place.offset + place.size <= plan.size
        assert place.source >= 0 and place.source + place.size <= len(data)
    for symbol in plan.symbols:
        assert symbol.absolute or symbol.offset is None or 0 <= symbol.offset <= plan.size
    for relocation in plan.relocations:
        assert relocation.offset >= 0 and relocation.offset + relocation.width <= plan.size
        assert 0 <= relocation.symbol < len(plan.symbols)


def plan_or_refuse(data: bytes) -> None:
    try:
        plan = plan_object(data)
    except (ModelFormatError, NotHandled):
        return
    check_plan(data, plan)


def test_whole_objects(objects: list[bytes]) -> None:
    for data, name in zip(objects, (EXECUTE_SYMBOL, KERNEL_SYMBOL)):
        plan = plan_object(data)
        check_plan(data, plan)
        assert any(symbol.name == name and symbol.exported for symbol in plan.symbols)
        assert imports_of(data) == []


def test_every_truncation_is_refused(objects: list[bytes]) -> None:
    # The section headers stand at the end, so nothing shorter can be whole.
    for data in objects:
        for length in range(len(data)):
            with pytest.raises(ModelFormatError):
                plan_object(data[:length])


def test_every_byte_changed(objects: list[bytes]) -> None:
    for data in objects:
        for position in range(len(data)):
            for change in (0x01, 0x80, 0xFF):
                damaged = bytearray(data)
                damaged[position] ^= change
                plan_or_refuse(bytes(damaged))


@settings(max_examples=300)
@given(data=st.data())
def test_several_bytes_changed(objects: list[bytes], data: st.DataObject) -> None:
    damaged = bytearray(data.draw(st.sampled_from(objects)))
    headers = len(damaged) - struct.unpack_from("<H", damaged, 60)[0] * 64
    places = st.one_of(st.integers(0, 63), st.integers(headers, len(damaged) - 1), st.integers(0, len(damaged) - 1))
    for position, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=12)):
        damaged[position] = value
    plan_or_refuse(bytes(damaged))


@given(st.binary(max_size=300))
def test_arbitrary_bytes(data: bytes) -> None:
    plan_or_refuse(data)
    plan_or_refuse(b"\x7fELF\x02\x01" + data)


def edited(data: bytes, position: int, form: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(form, changed, position, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("position", "form", "value", "kind"),
    [
        (4, "<B", 1, NotHandled),  # 32 bits
        (5, "<B", 2, NotHandled),  # big-endian
        (16, "<H", 3, NotHandled),  # a shared object
        (18, "<H", 183, NotHandled),  # aarch64
        (40, "<Q", 2**63, ModelFormatError),  # section headers far away
        (40, "<Q", 2**64 - 64, ModelFormatError),
        (58, "<H", 63, ModelFormatError),
        (60, "<H", 0, ModelFormatError),
        (60, "<H", 0xFFFF, ModelFormatError),
    ],
)
def test_headers(objects: list[bytes], position: int, form: str, value: int, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        plan_object(edited(objects[0], position, form, value))


def section_of(data: bytes, kind: int) -> int:
    """Position of the header of the first section of a kind."""
    table, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    return next(table + 64 * i for i in range(count) if struct.unpack_from("<I", data, table + 64 * i + 4)[0] == kind)


def test_relocations_of_unknown_kinds_are_left_to_llvm(objects: list[bytes]) -> None:
    data = objects[0]
    (relocations,) = struct.unpack_from("<Q", data, section_of(data, 4) + 24)
    for kind in (9, 26, 42, 1000):
        with pytest.raises(NotHandled, match=f"relocation of kind {kind}"):
            plan_object(edited(data, relocations + 8, "<I", kind))
    for position, value in ((relocations, 2**40), (relocations, 2**64 - 4), (relocations + 12, 2**31)):
        with pytest.raises(ModelFormatError, match="lies outside"):
            plan_object(edited(data, position, "<Q" if position == relocations else "<I", value))


def test_huge_and_overlapping_sizes(objects: list[bytes]) -> None:
    data = objects[0]
    table = struct.unpack_from("<Q", data, 40)[0]
    code = next(p for p in range(table, len(data), 64) if struct.unpack_from("<Q", data, p + 8)[0] & 4)
    nobits = edited(data, code + 4, "<I", 8)
    with pytest.raises(ModelFormatError, match="more than"):
        plan_object(edited(nobits, code + 32, "<Q", elf._MAX_IMAGE + 1))
    with pytest.raises(NotHandled, match="alignment"):
        plan_object(edited(data, code + 48 + 64, "<Q", 2 * PAGE))
