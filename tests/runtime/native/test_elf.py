"""Reading object files: damaged bytes are refused, and no plan leads outside the file or the image."""

from __future__ import annotations

import platform
import struct
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_code import TEXT, assemble
from runtime_programs import CHECKED

from basalt.compiler.codegen.compile import compile_kernel
from basalt.compiler.codegen.executor import compile_executor
from basalt.errors import ModelFormatError, UnsupportedError
from basalt.runtime.layout import EXECUTE_SYMBOL, KERNEL_SYMBOL
from basalt.runtime.native.elf import NotHandled, ObjectFile, imports_of, read_object
from basalt.runtime.native.linked import MAX_IMAGE, PAGE, check_image
from basalt.runtime.native.linking import link_object

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="object files of this machine are not x86-64 ELF"
)


@pytest.fixture(scope="module")
def objects() -> list[bytes]:
    return [compile_executor(), compile_kernel(CHECKED), assemble(TEXT, "small", "pic")]


def check_file(data: bytes, file: ObjectFile) -> None:
    """Everything that the linker will do with a file stays inside of it."""
    for section in file.sections.values():
        assert 0 <= section.size <= MAX_IMAGE and 0 < section.align <= PAGE
        assert section.content is None or len(section.content) == section.size <= len(data)
        assert not (section.writable and section.executable)
    for symbol in file.symbols:
        assert symbol.absolute or symbol.section is None or symbol.value >= 0
    for relocation in file.relocations:
        assert relocation.section in file.sections
        assert 0 <= relocation.symbol < len(file.symbols)


def link_or_refuse(data: bytes) -> None:
    """What is read is sound, and what is linked passes the check that a damaged image would not."""
    try:
        check_file(data, read_object(data))
        image = link_object(data)
    except (ModelFormatError, UnsupportedError):
        return
    try:
        check_image(image)
    except ModelFormatError as error:
        # Two symbols or relocations of one name or place are the object's own affair.
        assert "overlap" in str(error) or "one name" in str(error)


def test_whole_objects(objects: list[bytes]) -> None:
    for data, name in zip(objects, (EXECUTE_SYMBOL, KERNEL_SYMBOL, "count")):
        file = read_object(data)
        check_file(data, file)
        assert any(symbol.name == name and symbol.exported for symbol in file.symbols)
        assert imports_of(data) == (["cos"] if name == "count" else [])
        image = link_object(data)
        check_image(image)
        assert any(export.name == name and export.size > 0 for export in image.exports)


def test_every_truncation_is_refused(objects: list[bytes]) -> None:
    # The section headers stand at the end, so nothing shorter can be whole.
    for data in objects:
        for length in range(len(data)):
            with pytest.raises(ModelFormatError):
                read_object(data[:length])


def test_every_byte_changed(objects: list[bytes]) -> None:
    for data in objects:
        for position in range(len(data)):
            for change in (0x01, 0x80, 0xFF):
                damaged = bytearray(data)
                damaged[position] ^= change
                link_or_refuse(bytes(damaged))


@settings(max_examples=300)
@given(data=st.data())
def test_several_bytes_changed(objects: list[bytes], data: st.DataObject) -> None:
    damaged = bytearray(data.draw(st.sampled_from(objects)))
    headers = len(damaged) - struct.unpack_from("<H", damaged, 60)[0] * 64
    places = st.one_of(st.integers(0, 63), st.integers(headers, len(damaged) - 1), st.integers(0, len(damaged) - 1))
    for position, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=12)):
        damaged[position] = value
    link_or_refuse(bytes(damaged))


@given(st.binary(max_size=300))
def test_arbitrary_bytes(data: bytes) -> None:
    link_or_refuse(data)
    link_or_refuse(b"\x7fELF\x02\x01" + data)


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
        read_object(edited(objects[0], position, form, value))


def section_of(data: bytes, kind: int) -> int:
    """Position of the header of the first section of a kind."""
    table, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    return next(table + 64 * i for i in range(count) if struct.unpack_from("<I", data, table + 64 * i + 4)[0] == kind)


def test_relocations_of_unknown_kinds_are_left_to_llvm(objects: list[bytes]) -> None:
    data = objects[0]
    (relocations,) = struct.unpack_from("<Q", data, section_of(data, 4) + 24)
    for kind in (10, 25, 26, 1000):
        with pytest.raises(NotHandled, match=f"relocation of kind {kind}"):
            link_object(edited(data, relocations + 8, "<I", kind))
    for position, form, value, message in (
        (relocations, "<Q", 2**40, "lies outside its section"),
        (relocations, "<Q", 2**64 - 4, "lies outside its section"),
        (relocations + 12, "<I", 2**31, "names symbol 2147483648 of"),
        (relocations + 16, "<q", 2**40, "relocation over 1099511627776 bytes"),
        (relocations + 16, "<q", -(2**63), "relocation over -9223372036854775808 bytes"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            link_object(edited(data, position, form, value))


def test_huge_and_overlapping_sizes(objects: list[bytes]) -> None:
    data = objects[0]
    table = struct.unpack_from("<Q", data, 40)[0]
    code = next(p for p in range(table, len(data), 64) if struct.unpack_from("<Q", data, p + 8)[0] & 4)
    nobits = edited(edited(data, code + 4, "<I", 8), code + 8, "<Q", 3)
    with pytest.raises(ModelFormatError, match="more than"):
        read_object(edited(nobits, code + 32, "<Q", MAX_IMAGE + 1))
    with pytest.raises(NotHandled, match="alignment"):
        read_object(edited(data, code + 48 + 64, "<Q", 2 * PAGE))
