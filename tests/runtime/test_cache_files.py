"""The file of a cached kernel: whole and undamaged, or a miss."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.runtime.cache_files import KernelKey, pack, unpack

MATERIAL = {"numba": "0.68", "cpu": "a", "kernel": "k"}


def test_round_trip() -> None:
    for code in (b"", b"x", bytes(range(256)) * 20):
        assert unpack(KernelKey(MATERIAL), pack(KernelKey(MATERIAL), code)) == code


def test_the_key_material_is_readable() -> None:
    assert b'"numba": "0.68"' in pack(KernelKey(MATERIAL), b"code")


def test_names_depend_on_all_of_the_material_and_not_on_its_order() -> None:
    key = KernelKey(MATERIAL)
    assert KernelKey(dict(reversed(MATERIAL.items()))).name == key.name
    names = {key.name, *(KernelKey(MATERIAL | {field: "other"}).name for field in MATERIAL)}
    assert len(names) == 1 + len(MATERIAL)
    assert len({KernelKey({"a": "b", "c": "d"}).name, KernelKey({"a": 'b", "c": "d'}).name}) == 2


@pytest.mark.parametrize("field", list(MATERIAL))
def test_code_made_for_another_key_is_a_miss(field: str) -> None:
    assert unpack(KernelKey(MATERIAL), pack(KernelKey(MATERIAL | {field: "other"}), b"code")) is None


def test_every_bit_of_every_region_matters() -> None:
    key = KernelKey(MATERIAL)
    content = pack(key, b"object code")
    for position in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            assert unpack(key, bytes(damaged)) is None


def test_every_truncation_and_extension_is_a_miss() -> None:
    key = KernelKey(MATERIAL)
    content = pack(key, b"object code")
    for length in range(len(content)):
        assert unpack(key, content[:length]) is None
    assert unpack(key, content + b"\0") is None
    assert unpack(key, b"\0" + content) is None


@given(st.binary(max_size=200), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_arbitrary_content_is_a_miss(rest: bytes, header: int, code: int) -> None:
    key = KernelKey(MATERIAL)
    assert unpack(key, rest) is None
    assert unpack(key, struct.pack("<8sIIQ", b"BSLKERN\n", 1, header, code) + rest) is None
