"""Files of compiled programs: what is written is read again, damage is refused where it would be used."""

from __future__ import annotations

import hashlib
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program_files import example, saved

from basalt import serialization
from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization import Kind
from basalt.serialization.checksum import payload_crc
from basalt.serialization.header import HEADER_SIZE, pack_header
from basalt.serialization.program.data import ProgramParts, Signature
from basalt.serialization.program.file import ProgramFile, open_program
from basalt.serialization.program.manifest import KIND, KIND_NAME, signed_message
from basalt.serialization.program.writing import add_signature, save_program


def same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return isinstance(right, np.ndarray) and left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = saved(tmp_path)
    loaded = serialization.load(path)
    assert isinstance(loaded, ProgramParts) and serialization.peek_kind(path) is Kind.PROGRAM
    assert (int(Kind.PROGRAM), Kind.PROGRAM.name) == (KIND, KIND_NAME)
    assert loaded.metadata == {"name": "example", "basalt": "0"} and loaded.signatures == ()
    assert list(loaded.parts) == ["model", "weights", "nothing", "notes"]
    assert all(same(part, loaded.parts[name]) for name, part in example().parts.items())


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path)
    save_program(tmp_path / "again.bsl", serialization.load(path))
    assert (tmp_path / "again.bsl").read_bytes() == path.read_bytes() == serialization.dump(example()).tobytes()


def test_parts_are_read_by_name_and_aligned(tmp_path: Path) -> None:
    file = open_program(saved(tmp_path))
    assert "weights" in file and "code" not in file
    assert file.data("weights").tolist() == list(example().parts["weights"])
    assert file.data("weights").ctypes.data % 64 == 0 and not file.data("weights").flags.writeable
    assert len(file.data("nothing")) == 0
    fields = file.record("model")
    assert fields.integer("number", -10) == -5 and fields.text("text") == "Gr\u00fc\u00dfe"
    assert fields.array("array", "float32", (2, None)).ctypes.data % 64 == 0
    assert fields.record("record").names() == ("inner",)
    file.check()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f.record("code"), "there is no part 'code'; the parts are model, weights, nothing, notes"),
        (lambda f: f.record("weights"), "part 'weights' is bytes"),
        (lambda f: f.data("model"), "part 'model' is a record"),
        (lambda f: f.record("model").integer("nowhere"), "nowhere: the field is missing"),
        (lambda f: f.record("model").integer("number"), "-5 given, expected a whole number from 0"),
        (lambda f: f.record("model").integer("text"), "'Gr\u00fc\u00dfe' given, expected a whole number"),
        (lambda f: f.record("model").text("real"), "0.1 given, expected text"),
        (lambda f: f.record("model").texts("tuple"), "a tuple of 3 given, expected a tuple of texts"),
        (lambda f: f.record("model").integers("tuple"), "expected a tuple of whole numbers"),
        (lambda f: f.record("model").plain("array"), r"float32\[2, 3\] given, expected a plain value"),
        (lambda f: f.record("model").array("array", "float32", (3, 3)), r"float32\[2, 3\] given, expected float32\[3"),
        (lambda f: f.record("model").array("array", "int8", (2, 3)), r"expected int8\[2, 3\]"),
        (lambda f: f.record("model").any_array("none"), "None given, expected an array"),
        (lambda f: f.record("model").values("record"), "a dict of 1 given, expected a list"),
        (lambda f: f.record("model").record("list"), "a list of 4 given, expected a record"),
        (lambda f: list(f.record("model").records("list")), r"list\[0\]: 1 given, expected a record"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, call: Any, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        call(open_program(saved(tmp_path)))


def offset_of(file: ProgramFile, path: Path, part: str) -> int:
    """Where a part's bytes are in the file."""
    return path.read_bytes().index(file.raw(part).tobytes())


def test_a_damaged_part_is_refused_when_it_is_used(tmp_path: Path) -> None:
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    content[offset_of(open_program(path), path, "weights") + 500] ^= 1
    file = open_program(bytes(content))
    assert file.record("notes").texts("labels") == ("a", "b", "a"), "other parts are as they were"
    with pytest.raises(ModelFormatError, match="the CRC32C of part 'weights' is 0x"):
        file.data("weights")
    with pytest.raises(ModelFormatError, match="the payload's CRC32C is"):
        file.check()
    with pytest.raises(ModelFormatError, match="CRC32C"):
        serialization.load(bytes(content))


def test_every_flipped_bit_is_refused_or_harmless(tmp_path: Path) -> None:
    path = saved(tmp_path)
    content = path.read_bytes()
    good = serialization.load(path)
    chooser = random.Random(3)
    for place in chooser.sample(range(len(content)), 400):
        broken = bytearray(content)
        broken[place] ^= 1 << chooser.randrange(8)
        try:
            file = open_program(bytes(broken))
            parts = {name: file.raw(name).tobytes() for name in file.parts}
        except ModelFormatError:
            continue
        assert parts == {name: open_program(path).raw(name).tobytes() for name in good.parts}


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    content = saved(tmp_path).read_bytes()
    for size in (*range(0, 400, 7), *range(400, len(content), 97), len(content) - 1):
        with pytest.raises(ModelFormatError):
            open_program(content[:size])
    with pytest.raises(ModelFormatError):
        open_program(content + b"\0")


def with_new_checksums(content: bytes) -> bytes:
    payload = np.frombuffer(content[HEADER_SIZE:], np.uint8)
    return pack_header(Kind.PROGRAM, len(payload), payload_crc(payload)) + content[HEADER_SIZE:]


def test_a_new_checksum_of_the_whole_hides_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    content[offset_of(open_program(path), path, "model") + 30] ^= 4
    with pytest.raises(ModelFormatError, match="part 'model'"):
        open_program(with_new_checksums(bytes(content))).record("model")


def test_another_kind_is_refused(tmp_path: Path) -> None:
    graph = serialization.GraphData("g", (), {}, (), ())
    serialization.save(tmp_path / "g.bsl", graph)
    with pytest.raises(ModelFormatError, match=r"unknown kind 1, expected one of: 2 \(PROGRAM\)"):
        open_program(tmp_path / "g.bsl")


def stamp(message: bytes, key: bytes = b"k" * 32) -> Signature:
    return Signature(key, hashlib.sha512(message).digest())


def test_signatures_are_added_without_changing_parts(tmp_path: Path) -> None:
    path = saved(tmp_path)
    before = open_program(path)
    manifest, parts = before.manifest, {name: before.raw(name).tobytes() for name in before.parts}
    add_signature(path, stamp)
    add_signature(path, lambda message: stamp(message, b"l" * 32))
    add_signature(path, stamp)
    file = open_program(path)
    assert [signature.key[:1] for signature in file.signatures] == [b"l", b"k"]
    assert file.manifest == manifest and {name: file.raw(name).tobytes() for name in file.parts} == parts
    assert file.signatures[0].value == hashlib.sha512(signed_message(manifest)).digest()
    file.check()
    assert serialization.load(path).signatures == file.signatures


def test_a_damaged_file_is_not_signed(tmp_path: Path) -> None:
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    content[-10] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFormatError):
        add_signature(path, stamp)
    assert path.read_bytes() == content


def test_digests_are_checked_where_a_signature_counts(tmp_path: Path) -> None:
    """A CRC32C can be forged: bytes of the same CRC32C are refused once the manifest's SHA-256 decide."""
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    start = offset_of(open_program(path), path, "weights") + 100
    forged = forge(bytes(content[start : start + 64]))
    content[start : start + 64] = forged
    file = open_program(bytes(content))
    file.data("weights")
    file = open_program(bytes(content))
    file.require_digests()
    with pytest.raises(ModelFormatError, match="the SHA-256 of part 'weights' is not the one"):
        file.data("weights")


def forge(block: bytes) -> bytes:
    """Other bytes of equal length and equal CRC32C."""
    wanted = payload_crc(np.frombuffer(block, np.uint8))
    start = bytearray(block)
    start[0] ^= 0xFF
    # The CRC32C is linear: the last 4 bytes that give any wanted value follow from 32 trials.
    base = payload_crc(np.frombuffer(bytes(start[:-4]) + bytes(4), np.uint8))
    columns = []
    for bit in range(32):
        tail = struct.pack("<I", 1 << bit)
        columns.append(payload_crc(np.frombuffer(bytes(start[:-4]) + tail, np.uint8)) ^ base)
    rows = [(column, 1 << bit) for bit, column in enumerate(columns)]
    need, tail_bits = wanted ^ base, 0
    for bit in range(32):
        pivot = next(row for row in rows if row[0] >> bit & 1)
        rows = [(c ^ pivot[0], t ^ pivot[1]) if c >> bit & 1 else (c, t) for c, t in rows if (c, t) != pivot]
        if need >> bit & 1:
            need, tail_bits = need ^ pivot[0], tail_bits ^ pivot[1]
    result = bytes(start[:-4]) + struct.pack("<I", tail_bits)
    assert payload_crc(np.frombuffer(result, np.uint8)) == wanted and result != block
    return result


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"p": {"x": object()}}, "p.x"),
        ({"p": np.zeros(3)}, "expected a vector of uint8"),
        ({"p": {"x": np.array(["a"])}}, "cannot be stored"),
    ],
)
def test_what_cannot_be_stored_is_refused(tmp_path: Path, parts: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        save_program(tmp_path / "x.bsl", ProgramParts({}, parts))
    assert not list(tmp_path.iterdir())


def test_deep_nesting_is_refused_both_ways(tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(40):
        deep = {"d": deep}
    with pytest.raises(ValidationError, match="nested more than 16 levels"):
        save_program(tmp_path / "x.bsl", ProgramParts({}, {"p": deep}))
