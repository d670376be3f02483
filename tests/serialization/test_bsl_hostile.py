"""Payloads that lie, with a CRC that fits: each is refused, with offset and field, without effort out of proportion."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from bsl_samples import container, graph_payload, text, tiny_graph, varint

from basalt.errors import ModelFormatError
from basalt.serialization import GraphData, load, save

F32, BOOL, INT4 = b"\x01", b"\x0d", b"\x0e"
HUGE = varint(1 << 60)


def node(
    op: bytes = text("f"), inputs: bytes = b"\0", attrs: bytes = b"\0", outputs: bytes = b"\0", count: int = 1
) -> bytes:
    """The nodes section with one node, whose label is the payload's first string: the graph's name."""
    return varint(count) + op + b"\x01" + inputs + attrs + outputs


def attribute(value: bytes) -> dict[str, bytes]:
    """Sections of a graph whose only node has the attribute ``a``; the value starts at byte 41 of the file."""
    return {"name": text("g"), "nodes": node(attrs=b"\x01" + text("a") + value)}


def constant(dtype: bytes, shape: tuple[int, ...], tail: bytes) -> dict[str, bytes]:
    """Sections of a graph whose only constant is ``w``; ``tail`` follows the structure."""
    header = text("w") + b"\0" + dtype + varint(len(shape)) + b"".join(map(varint, shape))
    return {"constants": b"\x01" + header, "tail": tail}


def padding(dims: int) -> bytes:
    """Zeros between the structure of a graph with one constant of ``dims`` one-byte dimensions and its weights."""
    return bytes(64 - 24 - 14 - dims)


NESTED = b"\x08\x01" * 17 + b"\0"

CASES: dict[str, tuple[dict[str, bytes], str]] = {
    "layout": ({"layout": b"\x02"}, "byte 24, in layout: unknown layout 2 of a graph, expected 1"),
    "long string": (
        {"name": b"\0" + HUGE},
        "byte 35, in name: the data ends too early: 1152921504606846976 more bytes needed, 5 left",
    ),
    "no such string": ({"name": b"\x01"}, "byte 25, in name: refers to string 1, but only 0 came before"),
    "UTF-8": ({"name": text(b"ab\xff")}, "byte 29, in name: a string is not valid UTF-8: invalid start byte"),
    "surrogate": (
        {"name": text(b"\xed\xa0\x80")},
        "byte 27, in name: a string is not valid UTF-8: invalid continuation byte",
    ),
    "long integer": ({"name": b"\x80" * 10 + b"\x01"}, "byte 25, in name: an integer takes more than 10 bytes"),
    "wide integer": ({"name": b"\xff" * 9 + b"\x02"}, "byte 25, in name: an integer exceeds 64 bits"),
    "padded integer": ({"name": b"\x80\0"}, "byte 25, in name: an integer is not in its shortest form"),
    "metadata count": (
        {"metadata": HUGE},
        "byte 27, in metadata: claims 1152921504606846976 entries of at least 2 bytes, but 4 bytes remain",
    ),
    "metadata twice": (
        {"metadata": b"\x02" + text("k") + text("v") + b"\x02\x02"},
        "byte 34, in metadata: the key 'k' occurs twice",
    ),
    "metadata value": (
        {"metadata": b"\x01" + text("k") + b"\x09"},
        "byte 31, in metadata['k']: refers to string 9, but only 2 came before",
    ),
    "inputs count": (
        {"inputs": b"\x05"},
        "byte 28, in inputs: claims 5 entries of at least 3 bytes, but 3 bytes remain",
    ),
    "unnamed input": ({"inputs": b"\x01" + b"\x01" + F32 + b"\0"}, "byte 29, in inputs[0]: a value has an empty name"),
    "input twice": (
        {"inputs": b"\x02" + text("x") + F32 + b"\0" + b"\x02" + F32 + b"\0"},
        "byte 34, in inputs[1]: the value name 'x' occurs twice",
    ),
    "data type": (
        {"inputs": b"\x01" + text("x") + b"\x63\0"},
        "byte 32, in inputs[0].dtype: unknown data type code 99",
    ),
    "rank": (
        {"inputs": b"\x01" + text("x") + F32 + b"\x41" + b"\x02" * 65},
        "byte 33, in inputs[0].shape: a shape has 65 dimensions, more than 64",
    ),
    "rank beyond the end": (
        {"inputs": b"\x01" + text("x") + F32 + HUGE},
        "byte 33, in inputs[0].shape: claims 1152921504606846976 entries of at least 1 bytes, but 3 bytes remain",
    ),
    "empty symbol": (
        {"inputs": b"\x01" + text("x") + F32 + b"\x01" + b"\0\x01"},
        "byte 34, in inputs[0].shape: a symbolic dimension has an empty text",
    ),
    "wide dimension": (
        {"inputs": b"\x01" + text("x") + F32 + b"\x01" + varint(2**63 + 1)},
        "byte 34, in inputs[0].shape: the dimension 9223372036854775808 exceeds 63 bits",
    ),
    "constants count": (
        {"constants": b"\x7f"},
        "byte 29, in constants: claims 127 entries of at least 2 bytes, but 2 bytes remain",
    ),
    "constant named as an input": (
        {"inputs": b"\x01" + text("x") + F32 + b"\0", "constants": b"\x01" + b"\x02\0" + F32 + b"\0"},
        "byte 35, in constants: the value name 'x' occurs twice",
    ),
    "no such array": (
        {"constants": b"\x01" + text("w") + b"\x01"},
        "byte 33, in constants['w']: refers to array 1, but only 0 came before",
    ),
    "constant's data type": (
        {"constants": b"\x01" + text("w") + b"\0\0"},
        "byte 34, in constants['w'].dtype: unknown data type code 0",
    ),
    "constant's rank": (
        {"constants": b"\x01" + text("w") + b"\0" + F32 + b"\x41" + b"\x01" * 65},
        "byte 35, in constants['w'].shape: a shape has 65 dimensions, more than 64",
    ),
    "size of a constant": (
        constant(F32, (1 << 31, 1 << 27), bytes(64)),
        "byte 64, in constants['w']: the data ends too early: 1152921504606846976 more bytes needed, 47 left",
    ),
    "product of dimensions wraps around": (
        constant(F32, (1 << 32, 1 << 32), bytes(64)),
        "byte 64, in constants['w']: shape (4294967296, 4294967296) of float32 exceeds the address space",
    ),
    "empty, yet too large": (
        constant(F32, (0, 1 << 62), bytes(64)),
        "byte 64, in constants['w']: shape (0, 4611686018427387904) of float32 exceeds the address space",
    ),
    "no room to align": (
        constant(F32, (0,), b""),
        "byte 39, in constants['w']: the data ends too early: 25 more bytes needed, 0 left",
    ),
    "padding": (
        constant(F32, (0,), bytes(10) + b"\x07" + bytes(14)),
        "byte 49, in constants['w']: padding holds 0x07 instead of zero",
    ),
    "bool": (
        constant(BOOL, (4,), padding(1) + b"\0\x01\x02\x03"),
        "byte 67, in constants['w']: a bool holds 3 instead of 0 or 1",
    ),
    "half a byte": (
        constant(INT4, (3,), padding(1) + b"\x12\x13"),
        "byte 65, in constants['w']: the unused half of the last byte is not zero",
    ),
    "nodes count": (
        {"nodes": HUGE},
        "byte 30, in nodes: claims 1152921504606846976 entries of at least 5 bytes, but 1 bytes remain",
    ),
    "no operator": ({"nodes": node(op=b"\x01")}, "byte 31, in nodes[0].op: a node has an empty operator name"),
    "undefined operand": (
        {"nodes": node(inputs=b"\x01\x01")},
        "byte 36, in nodes[0].inputs: refers to value 0, but only 0 are defined before",
    ),
    "cycle": (
        {"nodes": node(inputs=b"\x01\x01", outputs=b"\x01" + text("y") + F32 + b"\0")},
        "byte 36, in nodes[0].inputs: refers to value 0, but only 0 are defined before",
    ),
    "operands count": (
        {"nodes": node(inputs=HUGE)},
        "byte 35, in nodes[0].inputs: claims 1152921504606846976 entries of at least 1 bytes, but 3 bytes remain",
    ),
    "attribute twice": (
        {"nodes": node(attrs=b"\x02" + text("a") + b"\0" + b"\x03\0")},
        "byte 41, in nodes[0].attrs: the attribute 'a' occurs twice",
    ),
    "attribute tag": (attribute(b"\x0a"), "byte 41, in nodes[0].attrs['a']: unknown attribute tag 10, expected 0 to 9"),
    "unsigned": (
        attribute(b"\x04\x05"),
        "byte 41, in nodes[0].attrs['a']: 5 is stored as an unsigned integer, but fits a signed one",
    ),
    "float cut off": (
        attribute(b"\x05"),
        "byte 42, in nodes[0].attrs['a']: the data ends too early: 8 more bytes needed, 2 left",
    ),
    "bytes cut off": (
        attribute(b"\x07\x20"),
        "byte 43, in nodes[0].attrs['a']: the data ends too early: 32 more bytes needed, 2 left",
    ),
    "nesting": (
        attribute(NESTED),
        f"byte 73, in nodes[0].attrs['a']{'[0]' * 16}: tuples are nested more than 16 levels deep",
    ),
    "nested integers": (
        attribute(b"\x08\x01" * 16 + b"\x09\x01\0"),
        f"byte 73, in nodes[0].attrs['a']{'[0]' * 16}: tuples are nested more than 16 levels deep",
    ),
    "tuple count": (
        attribute(b"\x08\x01\x09" + HUGE),
        "byte 44, in nodes[0].attrs['a'][0]: "
        "claims 1152921504606846976 entries of at least 1 bytes, but 2 bytes remain",
    ),
    "output of a node twice": (
        {"nodes": node(outputs=b"\x02" + text("y") + F32 + b"\0" + b"\x03" + F32 + b"\0")},
        "byte 43, in nodes[0].outputs[1]: the value name 'y' occurs twice",
    ),
    "unnamed output": ({"outputs": b"\x01\x01\0"}, "byte 32, in outputs: an output has an empty name"),
    "undefined output": (
        {"outputs": b"\x01" + text("y") + b"\0"},
        "byte 35, in outputs: refers to value 0, but only 0 are defined before",
    ),
    "output twice": (
        {"inputs": b"\x01" + text("x") + F32 + b"\0", "outputs": b"\x02" + b"\x02\0\x02\0"},
        "byte 39, in outputs: the output name 'x' occurs twice",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_lies_are_found(case: str) -> None:
    sections, message = CASES[case]
    content = container(graph_payload(**sections))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError) as caught:
            load(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(caught.value) == f"<bytes>: {message}"
    assert peak < 100_000


def test_the_hand_made_bytes_are_right_but_for_the_lie() -> None:
    """Without their faults the cases load: they fail for the reason that they state and for no other."""
    honest = [
        {"metadata": b"\x02" + text("k") + text("v") + text("l") + b"\x03"},
        {"inputs": b"\x01" + text("x") + F32 + b"\x40" + b"\x02" * 64},
        {"inputs": b"\x01" + text("x") + F32 + b"\x01" + varint(2**63)},
        {"nodes": node(inputs=b"\x02\0\0", outputs=b"\x01" + text("y") + F32 + b"\0")},
        constant(BOOL, (4,), padding(1) + b"\0\x01\x01\0"),
        constant(INT4, (3,), padding(1) + b"\x12\x03"),
        constant(F32, (0,), bytes(25)),
        attribute(b"\x08\x01" * 16 + b"\0"),
        attribute(b"\x04" + varint(1 << 63)),
    ]
    for sections in honest:
        assert isinstance(load(container(graph_payload(**sections))), GraphData)
    assert load(container(graph_payload(**honest[-1]))).nodes[0].attrs == {"a": 1 << 63}
    assert load(container(graph_payload(**honest[5]))).constants["w"].astype(int).tolist() == [2, 1, 3]


def test_long_names_are_cut_short_in_messages() -> None:
    name = "n" * 10_000
    sections = {"inputs": b"\x02" + text(name) + F32 + b"\0" + b"\x02" + F32 + b"\0"}
    with pytest.raises(ModelFormatError, match=r"the value name 'n{60}'\.\.\. occurs twice$"):
        load(container(graph_payload(**sections)))


def _mutate(payload: bytearray, structure: int, rng: random.Random) -> bytearray:
    """Damage a payload in one to three places, mostly within its first ``structure`` bytes."""
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(min(structure, len(payload)) if rng.random() < 0.9 else len(payload))
        match rng.randrange(6):
            case 0:
                payload[place] ^= 1 << rng.randrange(8)
            case 1:
                payload[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
            case 2:
                del payload[place : place + rng.randint(1, 8)]
            case 3:
                payload[place:place] = rng.choice(
                    [HUGE, b"\xff" * 9 + b"\x01", bytes(rng.randint(1, 70)), b"\x08\x01" * 20]
                )
            case 4:
                other = rng.randrange(len(payload))
                payload[place : place + 6] = payload[other : other + 6]
            case 5:
                payload[place : place + 1] = varint(rng.getrandbits(rng.randint(1, 64)))
        if not payload:
            payload.append(1)
    return payload


@pytest.mark.parametrize("seed", range(4))
def test_damaged_payloads_with_a_fitting_crc_never_do_harm(tmp_path: Path, seed: int) -> None:
    """Each is refused by ModelFormatError, or is a graph that can be saved and loaded like any other."""
    save(tmp_path / "tiny.bsl", tiny_graph())
    payload = (tmp_path / "tiny.bsl").read_bytes()[24:]
    structure = payload.index(b"echo") + 5
    rng = random.Random(seed)
    accepted = refused = 0
    for _ in range(1500):
        damaged = _mutate(bytearray(payload), structure, rng)
        try:
            graph = load(container(bytes(damaged)))
        except ModelFormatError as error:
            assert len(str(error)) < 1500
            refused += 1
            continue
        accepted += 1
        if accepted % 5 == 0:
            save(tmp_path / "again.bsl", graph)
            assert load(tmp_path / "again.bsl") == graph
    assert refused > 500
    assert accepted > 20


def test_random_bytes_are_refused() -> None:
    rng = random.Random(0)
    for length in range(400):
        with pytest.raises(ModelFormatError):
            load(container(b"\x01" + rng.randbytes(length) + b"?"))


def test_memory_is_bounded_by_the_size_of_the_payload() -> None:
    """Structures of the smallest entries: the worst ratio of objects to bytes."""
    nodes = varint(20_000) + text("f") + b"\x01\0\0\0" + b"\x02\x01\0\0\0" * 19_999
    tuples = attribute(b"\x08" + varint(50_000) + b"\x08\0" * 50_000)
    texts = attribute(b"\x08" + varint(30_000) + b"".join(b"\x06" + text(chr(0x4E00 + i)) for i in range(30_000)))
    packed = constant(INT4, (200_000,), bytes(64 - 24 - 14 - 3) + bytes(100_000))
    for sections in ({"nodes": nodes}, tuples, texts, packed):
        content = container(graph_payload(**sections))
        tracemalloc.start()
        load(content)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 120 * len(content)


def test_shared_arrays_do_not_multiply() -> None:
    names = b"".join(text(f"w{i}") + b"\x01" for i in range(1000))
    head = varint(1001) + text("w") + b"\0" + F32 + b"\x01" + varint(1000)
    structure = graph_payload(constants=head + names)
    content = container(structure + bytes(-(24 + len(structure)) % 64) + np.ones(1000, "<f4").tobytes())
    constants = load(content).constants
    assert len(constants) == 1001
    assert len({id(array) for array in constants.values()}) == 1
