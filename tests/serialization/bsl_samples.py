"""Graphs, strategies and hand-made bytes that the tests of the ``.bsl`` format share."""

from __future__ import annotations

import struct
from typing import Any

import google_crc32c
import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from basalt.serialization import GraphData, NodeData, TensorSpec
from basalt.serialization.dtypes import DTYPES

HEADER_SIZE = 24


def container(
    payload: bytes, *, magic: int = 0x42534C54, version: int = 2, kind: int = 1, crc: int | None = None
) -> bytes:
    """A file around ``payload``, made without the code under test; the CRC fits unless one is given."""
    crc = google_crc32c.value(payload) if crc is None else crc
    return struct.pack(">iiiiq", magic, version, kind, len(payload), crc) + payload


def varint(value: int) -> bytes:
    """LEB128."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(value: str | bytes) -> bytes:
    """A string at its first occurrence."""
    data = value.encode() if isinstance(value, str) else value
    return b"\0" + varint(len(data)) + data


SECTIONS = ("layout", "name", "metadata", "inputs", "constants", "nodes", "outputs", "tail")


def graph_payload(**sections: bytes) -> bytes:
    """The payload of an empty graph, with some sections replaced."""
    parts = {"layout": b"\x01", "name": text(""), "tail": b""} | sections
    return b"".join(parts.get(section, b"\0") for section in SECTIONS)


def tiny_graph() -> GraphData:
    """A graph that uses every feature of the format; golden/tiny.bsl holds it."""
    weight = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
    constants: dict[str, np.ndarray] = {
        "weight": weight,
        "tied": weight,
        "scalar": np.array(0.5, np.float64),
        "empty": np.zeros((0, 7), np.int16),
    }
    for index, dtype in enumerate(DTYPES.values()):
        bits = np.arange(index, index + 5, dtype=f"u{dtype.item_size}")
        if dtype.bits <= 8:
            bits &= 1 if dtype.name == "bool" else (1 << dtype.bits) - 1
        constants[f"c_{dtype.name}"] = bits.view(dtype.numpy())
    attrs: dict[str, Any] = {
        "none": None,
        "flags": (True, False),
        "small": -1,
        "lowest": -(2**63),
        "highest": 2**64 - 1,
        "alpha": 0.25,
        "nan": struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0],
        "minus_zero": -0.0,
        "mode": "nchw",
        "raw": b"\x00\xff",
        "strides": (1, 2),
        "nested": ((1.5, "nchw"), (), ((2,),)),
    }
    return GraphData(
        name="tiny",
        inputs=(TensorSpec("x", "float32", ("batch", 2)), TensorSpec("mask", "bool", ())),
        constants=constants,
        outputs=(("y", "hidden"), ("again", "hidden"), ("echo", "x")),
        nodes=(
            NodeData("matmul", ("x", "weight"), (TensorSpec("product", "float32", ("batch", 3)),), {}, "first"),
            NodeData("everything", ("product", None, "mask"), (TensorSpec("hidden", "float32", ("2*n + 1",)),), attrs),
        ),
        metadata={"producer": "tests", "note": "grüße, 世界"},
    )


def constants_only(**constants: np.ndarray) -> GraphData:
    """A graph without inputs, outputs and nodes."""
    return GraphData("", (), constants, (), ())


def _arrays(draw: st.DrawFn) -> np.ndarray:
    """An array of any type, shape, bits and, now and then, unusual strides or byte order."""
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    top = 1 if dtype.name == "bool" else 2**dtype.bits - 1
    bits = draw(hnp.arrays(f"u{dtype.item_size}", shape, elements=st.integers(0, top)))
    array = bits.view(dtype.numpy())
    layout = draw(st.sampled_from(["plain", "transposed", "reversed", "strided", "swapped", "broadcast"]))
    if layout == "transposed":
        return array.T
    if layout == "reversed":
        return array[..., ::-1] if array.ndim else array
    if layout == "strided":
        return array[::2] if array.ndim else array
    if layout == "swapped" and dtype.name not in dir(ml_dtypes):
        return array.astype(array.dtype.newbyteorder())
    if layout == "broadcast":
        return np.broadcast_to(array, (3, *array.shape))
    return array


arrays = st.composite(_arrays)()

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)

dims = st.integers(0, 2**63 - 1) | names

attributes = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.binary(min_size=8, max_size=8).map(lambda bits: struct.unpack("<d", bits)[0])
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)


@st.composite
def graphs(draw: st.DrawFn) -> GraphData:
    """A well-formed graph of any content."""
    pool = draw(st.lists(names, min_size=3, max_size=12, unique=True))
    defined: list[str] = []

    def spec() -> TensorSpec:
        defined.append(pool.pop())
        return TensorSpec(defined[-1], draw(st.sampled_from(list(DTYPES))), tuple(draw(st.lists(dims, max_size=4))))

    inputs = tuple(spec() for _ in range(draw(st.integers(0, 2))))
    constants = {}
    for _ in range(draw(st.integers(0, min(3, len(pool))))):
        defined.append(pool.pop())
        constants[defined[-1]] = draw(arrays)
    nodes = []
    while pool and draw(st.booleans()):
        operands = tuple(draw(st.lists(st.none() | st.sampled_from(defined), max_size=3))) if defined else (None,)
        attrs = draw(st.dictionaries(names, attributes, max_size=3))
        nodes.append(NodeData(draw(names), operands, (spec(),), attrs, draw(st.just("") | names)))
    outputs = draw(st.dictionaries(names, st.sampled_from(defined), max_size=3)) if defined else {}
    metadata = draw(st.dictionaries(names, names, max_size=3))
    return GraphData(draw(names), inputs, constants, tuple(outputs.items()), tuple(nodes), metadata)
