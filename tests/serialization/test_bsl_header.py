from __future__ import annotations

import io
import os
import re
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from bsl_samples import HEADER_SIZE, constants_only, container, graph_payload, tiny_graph

from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization import MAGIC, VERSION, GraphData, TensorSpec, file_size, load, peek_kind, save
from basalt.serialization.kinds import kind_list

EMPTY = container(graph_payload())
LIMIT = 2**31 - 25


def test_the_header_is_24_big_endian_bytes(tmp_path: Path) -> None:
    save(tmp_path / "e.bsl", constants_only())
    assert (tmp_path / "e.bsl").read_bytes() == EMPTY
    assert EMPTY[:16] == bytes.fromhex("42534c54 00000002 00000001 00000008")
    assert EMPTY[16:20] == bytes(4)
    assert (MAGIC, VERSION) == (0x42534C54, 2)


FAULTS = [
    (b"", "truncated .bsl header, 0 bytes instead of 24 or more"),
    (EMPTY[:23], "truncated .bsl header, 23 bytes instead of 24 or more"),
    (container(b"", magic=0x50440304), "invalid .bsl magic 0x50440304, expected 0x42534C54 ('BSLT')"),
    (b"\xff" * 24, "invalid .bsl magic 0xFFFFFFFF, expected 0x42534C54 ('BSLT')"),
    (container(b"", version=3), "unsupported .bsl version 3, expected 2"),
    (container(b"", kind=77), f"unknown kind 77, expected one of: {kind_list()}"),
    (container(b"", kind=-1), f"unknown kind -1, expected one of: {kind_list()}"),
    (EMPTY[:-1], "the header declares a payload of 8 bytes, but 7 follow it"),
    (EMPTY + b"\0", "the header declares a payload of 8 bytes, but 9 follow it"),
    (container(graph_payload(), crc=5), "the payload's CRC32C is 0x{crc:08X}, but the header says 0x00000005"),
    (container(graph_payload(), crc=-1), "the payload's CRC32C is 0x{crc:08X}, but the header says 0xFFFFFFFFFFFFFFFF"),
    (container(graph_payload(tail=b"abc")), "byte 32: bytes left over after the end of the data: 3"),
]


@pytest.mark.parametrize(("content", "message"), FAULTS)
def test_faults_are_told_with_file_finding_and_expectation(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.bsl"
    path.write_bytes(content)
    expected = message.format(crc=struct.unpack(">q", EMPTY[16:24])[0])
    for source, name in ((path, str(path)), (content, "<bytes>"), (io.BytesIO(content), "<BytesIO>")):
        with pytest.raises(ModelFormatError) as caught:
            load(source)
        assert str(caught.value) == f"{name}: {expected}"


def test_checks_come_in_the_documented_order() -> None:
    """A file with every fault reports the first; mending one brings out the next."""
    payload = b"\x09"  # an unknown layout
    reports = []
    for mended in range(6):
        fields = {"magic": 1, "version": 1, "kind": 9, "crc": 1}
        for field in list(fields)[: min(mended, 3) if mended < 5 else 4]:
            del fields[field]
        content = container(payload, **fields)
        if mended < 4:
            content += b"?"
        with pytest.raises(ModelFormatError) as caught:
            load(content)
        reports.append(str(caught.value).split(": ", 1)[1][:12])
    assert reports == ["invalid .bsl", "unsupported ", "unknown kind", "the header d", "the payload'", "byte 24, in "]


def test_peek_kind_reads_12_bytes_only(tmp_path: Path) -> None:
    path = tmp_path / "head.bsl"
    path.write_bytes(EMPTY[:12])
    assert peek_kind(path) == 1
    for content, message in [
        (EMPTY[:11], "truncated .bsl header, 11 bytes instead of 12 or more"),
        *[(content[:12], message) for content, message in FAULTS[2:7]],
    ]:
        path.write_bytes(content)
        with pytest.raises(ModelFormatError, match=re.escape(f"{path}: {message}")):
            peek_kind(path)


def test_file_size_looks_at_no_content(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_bytes(b"no model")
    assert file_size(tmp_path / "note.txt") == 8


def test_the_expected_type_is_checked(tmp_path: Path) -> None:
    save(tmp_path / "e.bsl", constants_only())
    assert load(tmp_path / "e.bsl", GraphData) == constants_only()
    assert load(tmp_path / "e.bsl", object) == constants_only()
    message = f"{tmp_path / 'e.bsl'}: expected TensorSpec, but the file is of kind 1 (GRAPH), which holds GraphData"
    with pytest.raises(ModelFormatError, match=re.escape(message)):
        load(tmp_path / "e.bsl", TensorSpec)
    with pytest.raises(ValidationError, match="the type to load must be a class, not str"):
        load(tmp_path / "e.bsl", "GraphData")  # type: ignore[call-overload]


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "tiny.bsl", tiny_graph())
    content = (tmp_path / "tiny.bsl").read_bytes()
    for length in range(len(content)):
        with pytest.raises(ModelFormatError, match=r"truncated|declares"):
            load(content[:length])


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    save(tmp_path / "tiny.bsl", tiny_graph())
    content = bytearray((tmp_path / "tiny.bsl").read_bytes())
    for bit in range(8 * len(content)):
        content[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ModelFormatError):
            load(content)
        content[bit // 8] ^= 1 << bit % 8
    assert load(content) == tiny_graph()


@pytest.mark.parametrize("operation", [load, peek_kind, file_size])
def test_unreadable_files_are_named(tmp_path: Path, operation: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(operation)
    missing = tmp_path / "missing.bsl"
    with pytest.raises(FileNotFoundError, match=f"cannot .*: No such file or directory: '{missing}'"):
        operation(missing)
    with pytest.raises(IsADirectoryError, match=f"cannot .*: it is a folder, not a file: '{tmp_path}'"):
        operation(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match=f"cannot .*: it is not a regular file: '{pipe}'"):
        operation(pipe)
    with pytest.raises(NotADirectoryError, match=r"cannot .*missing\.bsl/inside"):
        (tmp_path / "missing.bsl").touch()
        operation(missing / "inside")


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX's")
@pytest.mark.parametrize("operation", [load, peek_kind])
def test_lack_of_permission_is_named(tmp_path: Path, operation: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(operation)
    path = tmp_path / "secret.bsl"
    path.write_bytes(EMPTY)
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match=f"cannot load: Permission denied: '{path}'"):
        operation(path)


def test_arguments_of_wrong_type() -> None:
    for operation in (load, peek_kind, file_size):
        with pytest.raises(ValidationError, match="a path was expected, not int"):
            operation(3)  # type: ignore[arg-type,operator]
        with pytest.raises(ValidationError, match=r"the path 'a\\x00b' contains a NUL character"):
            operation("a\0b")  # type: ignore[operator]
    with pytest.raises(ValidationError, match="a path was expected, not bytes"):
        save(b"name.bsl", constants_only())  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="reading gave str, not bytes; open it in binary mode"):
        load(io.StringIO("text"))  # type: ignore[call-overload]
    with pytest.raises(ValidationError, match="must be C-contiguous"):
        load(memoryview(EMPTY)[::2])


def test_file_objects_that_fail(tmp_path: Path) -> None:
    with open(tmp_path / "w", "wb") as write_only, pytest.raises(OSError, match=r"cannot load: read: '.*/w'"):
        load(write_only)

    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return zeros

    zeros = bytes(1 << 28)
    with pytest.raises(
        ModelFormatError, match=r"<Endless>: longer than the 2147483647 bytes of the largest \.bsl file"
    ):
        load(Endless())


def test_a_file_that_shrinks_while_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "e.bsl"
    path.write_bytes(EMPTY)
    real = os.fstat

    def older(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        return os.stat_result([*status[:6], status.st_size + 1, *status[7:]])

    monkeypatch.setattr(os, "fstat", older)
    with pytest.raises(ModelFormatError, match=f"{path}: the file shrank while it was opened"):
        load(path)


def test_payloads_over_the_limit_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "huge.bsl"
    save(path, constants_only(w=np.zeros(3)))
    before = path.read_bytes()
    huge = np.broadcast_to(np.float32(0), (1 << 20, 1 << 11))
    message = rf"{path}: a payload of \d{{10}} bytes exceeds the format's limit of {LIMIT}"
    with pytest.raises(ValidationError, match=message):
        save(path, constants_only(w=huge))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["huge.bsl"]


def test_the_limit_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights of a constant named w start at payload byte 40, so that those of LIMIT - 40 bytes just fit."""
    opened: list[str] = []

    class Opened(Exception):
        pass

    def stop(path: str) -> None:
        opened.append(path)
        raise Opened

    monkeypatch.setattr("basalt.serialization.container.atomic_file", stop)
    start = HEADER_SIZE + 40
    assert start % 64 == 0
    with pytest.raises(Opened):
        save("never", constants_only(w=np.broadcast_to(np.int8(0), (LIMIT - 40,))))
    with pytest.raises(ValidationError, match=f"a payload of {LIMIT + 1} bytes"):
        save("never", constants_only(w=np.broadcast_to(np.int8(0), (LIMIT - 39,))))
    assert opened == ["never"]


def test_a_longer_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "sparse.bsl"
    path.write_bytes(struct.pack(">iiiiq", MAGIC, VERSION, 1, LIMIT + 1, 0))
    os.truncate(path, HEADER_SIZE + LIMIT + 1)
    with pytest.raises(ModelFormatError, match=f"a payload of {LIMIT + 1} bytes exceeds the format's limit of {LIMIT}"):
        load(path)


def test_loading_in_many_threads(tmp_path: Path) -> None:
    save(tmp_path / "tiny.bsl", tiny_graph())
    results: list[bool] = []

    def work() -> None:
        results.extend(load(tmp_path / "tiny.bsl") == tiny_graph() for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80
