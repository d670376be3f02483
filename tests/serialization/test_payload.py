"""The reader and writer that codecs are made of, and a kind of payload made with them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest
from bsl_samples import tiny_graph
from hypothesis import given
from hypothesis import strategies as st

from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization import (
    Codec,
    GraphData,
    Kind,
    PayloadReader,
    PayloadWriter,
    kinds,
    load,
    peek_kind,
    read_payload,
    register_codec,
    save,
    save_payload,
    write_payload,
)
from basalt.serialization.checksum import extend_crc, payload_crc
from basalt.serialization.dtypes import DTYPES


def written(writer: PayloadWriter) -> bytes:
    content = b"".join(piece.tobytes() for piece in writer.chunks())
    assert len(content) == writer.size
    return content


fields = st.one_of(
    st.tuples(st.just("u8"), st.integers(0, 255)),
    st.tuples(st.just("varint"), st.integers(0, 2**64 - 1)),
    st.tuples(st.just("zigzag"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("float64"), st.floats(allow_nan=False)),
    st.tuples(st.just("blob"), st.binary(max_size=9) | st.just(bytes(5000))),
    st.tuples(st.just("text"), st.text(st.characters(codec="utf-8"), max_size=3)),
)


@given(values=st.lists(fields, max_size=20))
def test_every_field_comes_back(values: list[tuple[str, object]]) -> None:
    writer = PayloadWriter()
    for method, value in values:
        getattr(writer, method)(value)
    reader = PayloadReader(written(writer))
    assert [getattr(reader, method)() for method, _ in values] == [value for _, value in values]
    reader.expect_end()


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("varint", 0, "00"),
        ("varint", 127, "7f"),
        ("varint", 128, "8001"),
        ("varint", 2**64 - 1, "ffffffffffffffffff01"),
        ("zigzag", -1, "01"),
        ("zigzag", 1, "02"),
        ("zigzag", -(2**63), "ffffffffffffffffff01"),
        ("float64", 1.0, "000000000000f03f"),
        ("text", "é", "0002c3a9"),
        ("blob", b"ab", "026162"),
    ],
)
def test_encodings(method: str, value: object, expected: str) -> None:
    writer = PayloadWriter()
    getattr(writer, method)(value)
    assert written(writer).hex() == expected


def test_a_repeated_text_takes_its_number_only() -> None:
    writer = PayloadWriter()
    for value in ("long text", "b", "long text", "b"):
        writer.text(value)
    content = written(writer)
    assert content[-2:] == b"\x01\x02"
    reader = PayloadReader(content)
    first, _, third, _ = (reader.text() for _ in range(4))
    assert first is third


def test_arrays_stand_64_byte_aligned_in_the_file() -> None:
    writer = PayloadWriter()
    writer.u8(7)
    writer.array(np.arange(3, dtype=np.int16))
    writer.array(np.arange(2, dtype=np.float64))
    content = written(writer)
    assert content == b"\x07" + bytes(39) + struct.pack("<3h", 0, 1, 2) + bytes(58) + struct.pack("<2d", 0, 1)
    reader = PayloadReader(content)
    assert reader.u8() == 7
    assert reader.array(DTYPES["int16"], (3,)).tolist() == [0, 1, 2]
    assert reader.array(DTYPES["float64"], (1, 2)).tolist() == [[0, 1]]
    assert (reader.position, reader.remaining) == (len(content), 0)


def test_messages_show_source_offset_and_field() -> None:
    reader = PayloadReader(b"\x01\x02", "model.bsl")
    reader.u8()
    with (
        reader.field("layers", 2),
        reader.field("sizes"),
        reader.field("", "k"),
        pytest.raises(ModelFormatError, match=r"^model\.bsl: byte 25, in layers\[2\]\.sizes\['k'\]: claims 2 entr"),
    ):
        reader.count()
    with pytest.raises(ModelFormatError, match=r"^model\.bsl: byte 26: the data ends too early: 1 more bytes needed"):
        reader.u8()
    writer = PayloadWriter()
    with writer.field("layers", 2), pytest.raises(ValidationError, match=r"^layers\[2\]: -1 does not fit"):
        writer.varint(-1)
    with pytest.raises(ValidationError, match=r"^9223372036854775808 does not fit a signed 64-bit integer"):
        writer.zigzag(1 << 63)


@dataclass(frozen=True)
class Ensemble:
    """A payload that holds others."""

    weights: tuple[float, ...]
    members: tuple[GraphData, ...]


class Extra(IntEnum):
    ENSEMBLE = 10001
    NEGATIVE = -1


def write_ensemble(writer: PayloadWriter, data: Ensemble) -> None:
    writer.varint(len(data.weights))
    for index, (weight, member) in enumerate(zip(data.weights, data.members)):
        with writer.field("members", index):
            writer.float64(weight)
            write_payload(writer, member)


def read_ensemble(reader: PayloadReader) -> Ensemble:
    weights, members = [], []
    for index in range(reader.count(9)):
        with reader.field("members", index):
            weights.append(reader.float64())
            members.append(read_payload(Kind.GRAPH, reader))
    return Ensemble(tuple(weights), tuple(members))


ENSEMBLE = Codec(Extra.ENSEMBLE, Ensemble, write_ensemble, read_ensemble)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_codecs", dict(kinds._codecs))
    register_codec(ENSEMBLE)


@pytest.mark.usefixtures("registered")
def test_a_further_kind_can_nest_graphs(tmp_path: Path) -> None:
    ensemble = Ensemble((0.25, 0.75), (tiny_graph(), tiny_graph()))
    save(tmp_path / "e.bsl", ensemble)
    assert peek_kind(tmp_path / "e.bsl") is Extra.ENSEMBLE
    assert load(tmp_path / "e.bsl", Ensemble) == ensemble
    for member in load(tmp_path / "e.bsl", Ensemble).members:
        assert all(a.__array_interface__["data"][0] % 64 == 0 for a in member.constants.values() if a.size)
    message = r"expected GraphData, but the file is of kind 10001 \(ENSEMBLE\), which holds Ensemble"
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "e.bsl", GraphData)


@pytest.mark.usefixtures("registered")
def test_clashes_of_kinds() -> None:
    clash = r"kind 10001 \(ENSEMBLE\) of Ensemble clashes with kind 10001 \(ENSEMBLE\) of Ensemble"
    with pytest.raises(ValidationError, match=clash):
        register_codec(ENSEMBLE)
    with pytest.raises(ValidationError, match=r"kind -1 \(NEGATIVE\) is not in \[1, 2\*\*31\)"):
        register_codec(Codec(Extra.NEGATIVE, str, write_ensemble, read_ensemble))


def test_without_registration_the_kind_is_unknown(tmp_path: Path) -> None:
    message = r"unknown kind 10001; known: 1 \(GRAPH\)"
    with pytest.raises(ModelFormatError, match=message):
        read_payload(Extra.ENSEMBLE, PayloadReader(b""))
    with pytest.raises(ModelFormatError, match=message):
        save_payload(tmp_path / "e.bsl", Extra.ENSEMBLE, PayloadWriter())
    with pytest.raises(ValidationError, match=r"no kind of \.bsl file stores Ensemble; known: GraphData"):
        save(tmp_path / "e.bsl", Ensemble((), ()))
    assert list(tmp_path.iterdir()) == []


def test_a_payload_can_be_decoded_without_its_container() -> None:
    writer = PayloadWriter()
    assert write_payload(writer, tiny_graph()) is Kind.GRAPH
    reader = PayloadReader(written(writer) + b"more")
    assert read_payload(Kind.GRAPH, reader) == tiny_graph()
    assert reader.remaining == 4
    with pytest.raises(ModelFormatError, match="bytes left over after the end of the data: 4"):
        reader.expect_end()


def test_crc32c() -> None:
    """The check value of CRC-32C (RFC 3720, appendix B.4, and the usual nine digits), whole and in pieces."""
    digits = np.frombuffer(b"123456789", np.uint8)
    assert payload_crc(digits) == extend_crc(extend_crc(0, digits[:4]), digits[4:]) == 0xE3069283
    assert payload_crc(np.zeros(32, np.uint8)) == 0x8A9136AA
    assert payload_crc(np.zeros(0, np.uint8)) == 0
    long = np.random.default_rng(0).integers(0, 256, (1 << 24) + 3, np.uint8)
    assert payload_crc(long) == extend_crc(0, long)


def test_crc32c_without_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from google_crc32c import python

    monkeypatch.setattr("basalt.serialization.checksum._NATIVE", False)
    monkeypatch.setattr("google_crc32c.extend", python.extend)
    assert payload_crc(np.frombuffer(b"123456789", np.uint8)) == 0xE3069283
