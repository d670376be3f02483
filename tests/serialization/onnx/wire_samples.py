"""Messages put together by hand, byte by byte, for what no library would write."""

from __future__ import annotations

from collections.abc import Iterator

from basalt.serialization.onnx import OnnxGraph, OnnxModel, OnnxTensor


def varint(value: int) -> bytes:
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    return bytes((*octets, value))


def key(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def num(number: int, value: int) -> bytes:
    """A varint field; negative values as protobuf writes them, in ten bytes."""
    return key(number, 0) + varint(value % (1 << 64))


def data(number: int, *content: bytes | str) -> bytes:
    """A length-delimited field."""
    payload = b"".join(part.encode() if isinstance(part, str) else part for part in content)
    return key(number, 2) + varint(len(payload)) + payload


def model(*graph: bytes, head: bytes = b"") -> bytes:
    """A model whose graph has the given fields; the graph's content starts at ``3 + len(head)`` if it is short."""
    return num(1, 8) + head + data(7, *graph)


def with_attribute(*content: bytes) -> bytes:
    """A model with one node, which has one attribute."""
    return model(data(1, data(4, "Op"), data(5, *content)))


def with_tensor(*content: bytes) -> bytes:
    """A model with one initialiser."""
    return model(data(5, *content))


def load_tensor(*content: bytes) -> OnnxTensor:
    return OnnxModel.load(with_tensor(*content)).graph.initializers[0]


def all_tensors(graph: OnnxGraph) -> Iterator[OnnxTensor]:
    """Every dense tensor of a graph and of the graphs in it."""
    yield from graph.initializers
    for sparse in graph.sparse_initializers:
        yield from (sparse.values, sparse.indices)
    for node in graph.nodes:
        for attribute in node.attributes.values():
            values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
            for value in values:
                if isinstance(value, OnnxTensor):
                    yield value
                elif isinstance(value, OnnxGraph):
                    yield from all_tensors(value)
