from __future__ import annotations

import io
import mmap
import struct
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from bsl_samples import arrays, constants_only, graphs, tiny_graph
from hypothesis import HealthCheck, given, settings

from basalt.serialization import GraphData, Kind, NodeData, TensorSpec, file_size, load, peek_kind, save
from basalt.serialization.arrays import array_chunks
from basalt.serialization.dtypes import DTYPES, dtype_of, same_array

in_one_folder = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@in_one_folder
@given(graph=graphs())
def test_every_graph_comes_back_and_is_saved_the_same_way_again(tmp_path: Path, graph: GraphData) -> None:
    first, second = tmp_path / "first.bsl", tmp_path / "second.bsl"
    save(first, graph)
    loaded = load(first, GraphData)
    assert loaded == graph
    assert [list(node.attrs) for node in loaded.nodes] == [list(node.attrs) for node in graph.nodes]
    assert list(loaded.constants) == list(graph.constants)
    assert list(loaded.metadata) == list(graph.metadata)
    save(second, loaded)
    assert first.read_bytes() == second.read_bytes()


@in_one_folder
@given(array=arrays)
def test_arrays_come_back_in_native_order_aligned_and_read_only(tmp_path: Path, array: np.ndarray) -> None:
    save(tmp_path / "a.bsl", constants_only(pad=np.zeros(3, np.int8), a=array))
    loaded = load(tmp_path / "a.bsl").constants["a"]
    assert same_array(loaded, array)
    assert loaded.dtype == DTYPES[array.dtype.name].numpy()
    assert loaded.flags.c_contiguous
    assert not loaded.flags.writeable
    assert address(loaded) % 64 == 0 or loaded.size == 0


@settings(deadline=None, max_examples=60)
@given(array=arrays)
def test_small_write_buffers_give_the_same_bytes(array: np.ndarray) -> None:
    dtype = dtype_of(array)
    assert dtype is not None
    bytes_of = [
        b"".join(chunk.tobytes() for chunk in array_chunks(array, dtype, np.empty(size, np.uint8)))
        for size in (16, 48, 1 << 16)
    ]
    assert bytes_of[0] == bytes_of[1] == bytes_of[2]
    assert len(bytes_of[0]) == dtype.byte_count(array.size)


@pytest.mark.parametrize("name", DTYPES)
def test_bytes_on_disk_are_little_endian_in_c_order(tmp_path: Path, name: str) -> None:
    dtype = DTYPES[name]
    values = [1, 0, 1, 1, 0, 1] if name == "bool" else [1, 2, 3, 4, 5, 6]
    array = np.array(values).astype(np.float32).astype(dtype.numpy()).reshape(3, 2).T
    save(tmp_path / "a.bsl", constants_only(a=array))
    in_order = np.ascontiguousarray(array).reshape(-1)
    if dtype.bits == 4:
        expected = bytes([0x31, 0x25, 0x64])
    else:
        expected = in_order.view(f"u{dtype.item_size}").astype(f"<u{dtype.item_size}").tobytes()
    content = (tmp_path / "a.bsl").read_bytes()
    assert content.endswith(expected)
    assert (len(content) - len(expected)) % 64 == 0


def test_weights_are_views_of_the_mapped_file(tmp_path: Path) -> None:
    save(tmp_path / "w.bsl", constants_only(w=np.arange(6.0)))
    owner = load(tmp_path / "w.bsl").constants["w"]
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    assert isinstance(getattr(owner, "obj", owner), mmap.mmap)
    with pytest.raises(ValueError, match="WRITEABLE"):
        load(tmp_path / "w.bsl").constants["w"].flags.writeable = True


def test_mapped_weights_survive_the_replacement_and_removal_of_their_file(tmp_path: Path) -> None:
    path = tmp_path / "w.bsl"
    save(path, constants_only(w=np.arange(100_000)))
    old = load(path).constants["w"]
    save(path, constants_only(w=np.zeros(3)))
    path.unlink()
    assert (old == np.arange(100_000)).all()


def test_bytes_and_file_objects_load_as_paths_do(tmp_path: Path) -> None:
    graph = tiny_graph()
    save(str(tmp_path / "tiny.bsl"), graph)
    content = (tmp_path / "tiny.bsl").read_bytes()
    misplaced = memoryview(bytearray(b"?" + content))[1:]
    with open(tmp_path / "tiny.bsl", "rb") as raw, io.BytesIO(b"skipped" + content) as moved:
        moved.seek(7)
        sources = (str(tmp_path / "tiny.bsl"), content, bytearray(content), misplaced, raw, moved)
        for source in sources:
            loaded = load(source, GraphData)
            assert loaded == graph
            assert all(address(array) % 64 == 0 for array in loaded.constants.values() if array.size)


def test_file_objects_that_return_little_at_a_time(tmp_path: Path) -> None:
    save(tmp_path / "tiny.bsl", tiny_graph())

    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(1)

    assert load(Trickle((tmp_path / "tiny.bsl").read_bytes())) == tiny_graph()


def test_changing_the_bytes_does_not_change_the_model(tmp_path: Path) -> None:
    save(tmp_path / "w.bsl", constants_only(w=np.ones(4)))
    content = bytearray((tmp_path / "w.bsl").read_bytes())
    loaded = load(content)
    content[:] = bytes(len(content))
    assert (loaded.constants["w"] == 1).all()


def test_an_array_under_two_names_is_stored_once(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).random((50, 20))
    save(tmp_path / "one.bsl", constants_only(a=weight))
    save(tmp_path / "two.bsl", constants_only(a=weight, b=weight, c=weight[:], t=weight.T))
    grown = file_size(tmp_path / "two.bsl") - file_size(tmp_path / "one.bsl")
    assert weight.nbytes <= grown < weight.nbytes + 128
    loaded = load(tmp_path / "two.bsl").constants
    assert loaded["a"] is loaded["b"] is loaded["c"]
    assert (loaded["t"] == weight.T).all()


def test_a_part_of_an_array_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    base = np.arange(8, dtype=np.int32)
    views = {
        "all": base,
        "half": base[:4],
        "steps": base[::2],
        "floats": base.view(np.float32),
        "grid": base.reshape(2, 4),
    }
    save(tmp_path / "v.bsl", constants_only(**views))
    loaded = load(tmp_path / "v.bsl").constants
    assert all(same_array(loaded[name], view) for name, view in views.items())


def test_the_structure_of_a_small_network_takes_little_room(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = (784, 128, 64, 10)
    constants, nodes, last = {}, [], "x"
    for layer, (rows, columns) in enumerate(pairwise(sizes), start=1):
        constants[f"w{layer}"] = rng.random((rows, columns), np.float32)
        constants[f"b{layer}"] = rng.random(columns, np.float32)
        shape = ("batch", columns)
        product, result = (TensorSpec(f"{kind}{layer}", "float32", shape) for kind in ("gemm", "relu"))
        nodes.append(NodeData("gemm", (last, f"w{layer}", f"b{layer}"), (product,), {"alpha": 1.0}, f"fc{layer}"))
        nodes.append(NodeData("relu", (product.name,), (result,)))
        last = result.name
    graph = GraphData("mlp", (TensorSpec("x", "float32", ("batch", 784)),), constants, (("y", last),), tuple(nodes))
    save(tmp_path / "mlp.bsl", graph)
    assert file_size(tmp_path / "mlp.bsl") - sum(array.nbytes for array in constants.values()) < 700


def test_floats_keep_their_bits(tmp_path: Path) -> None:
    patterns = [0x7FF0000000000001, 0xFFF8000000000123, 0x7FF0000000000000, 0x8000000000000000, 1]
    floats = tuple(struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in patterns)
    node = NodeData("f", (), (), {"all": floats, "one": floats[0]})
    save(tmp_path / "f.bsl", GraphData("", (), {}, (), (node,)))
    loaded = load(tmp_path / "f.bsl").nodes[0].attrs
    assert [struct.unpack("<Q", struct.pack("<d", value))[0] for value in loaded["all"]] == patterns
    assert struct.pack("<d", loaded["one"]) == struct.pack("<Q", patterns[0])


def test_attribute_types_do_not_blur(tmp_path: Path) -> None:
    attrs = {"true": True, "one": 1, "one_float": 1.0, "mixed": (1, True, 1.0), "ints": (0, 1), "bools": (False, True)}
    save(tmp_path / "a.bsl", GraphData("", (), {}, (), (NodeData("f", (), (), attrs),)))
    loaded = load(tmp_path / "a.bsl").nodes[0].attrs
    assert {key: repr(value) for key, value in loaded.items()} == {key: repr(value) for key, value in attrs.items()}


def test_large_attributes_and_texts(tmp_path: Path) -> None:
    node = NodeData("f", (), (), {"raw": bytes(range(256)) * 400, "text": "é" * 70_000, "after": 1})
    graph = GraphData("", (), {}, (), (node,), {"m": "x" * 70_000})
    save(tmp_path / "a.bsl", graph)
    assert load(tmp_path / "a.bsl") == graph


def test_a_bool_whose_byte_is_neither_0_nor_1_is_saved_as_true(tmp_path: Path) -> None:
    save(tmp_path / "b.bsl", constants_only(b=np.array([0, 1, 2, 255], np.uint8).view(bool)))
    assert load(tmp_path / "b.bsl").constants["b"].view(np.uint8).tolist() == [0, 1, 1, 1]


def test_the_unused_half_of_4_bit_elements_is_not_saved(tmp_path: Path) -> None:
    save(tmp_path / "i.bsl", constants_only(i=np.array([0xF1, 0x2F, 0x38], np.uint8).view(ml_dtypes.int4)))
    assert load(tmp_path / "i.bsl").constants["i"].astype(np.int8).tolist() == [1, -1, -8]


def test_equality_is_exact() -> None:
    def changed(**attrs: object) -> NodeData:
        return NodeData("f", (), (), attrs)  # type: ignore[arg-type]

    assert tiny_graph() == tiny_graph()
    assert changed(a=float("nan")) == changed(a=float("nan"))
    assert changed(a=0.0) != changed(a=-0.0)
    assert changed(a=1) != changed(a=True) != changed(a=1.0)
    assert changed(a=1) != "a node" and tiny_graph() != "a graph"
    assert replace(tiny_graph(), name="other") != tiny_graph()
    assert replace(tiny_graph(), nodes=()) != tiny_graph()
    assert replace(tiny_graph(), metadata={}) != tiny_graph()
    assert constants_only(a=np.zeros(2)) != constants_only(a=-np.zeros(2))
    assert constants_only(a=np.zeros(2)) != constants_only(a=np.zeros((1, 2)))
    assert constants_only(a=np.zeros(2)) != constants_only(b=np.zeros(2))
    assert constants_only(a=np.ones(2, ">f4")) == constants_only(a=np.ones(2, "<f4"))


def test_the_kind_is_a_named_number(tmp_path: Path) -> None:
    save(tmp_path / "g.bsl", constants_only())
    assert peek_kind(tmp_path / "g.bsl") is Kind.GRAPH
    assert Kind.GRAPH == 1
    assert file_size(tmp_path / "g.bsl") == (tmp_path / "g.bsl").stat().st_size == 24 + 8


def test_plain_types_need_neither_ml_dtypes_nor_a_compiler(tmp_path: Path) -> None:
    script = f"""
import sys, numpy as np
from basalt.serialization import GraphData, load, save
save({str(tmp_path / "p.bsl")!r}, GraphData("", (), {{"w": np.ones(3, np.float32)}}, (), ()))
load({str(tmp_path / "p.bsl")!r})
unwanted = "ml_dtypes", "numba", "llvmlite", "basalt.ops", "basalt.compiler", "basalt.runtime"
print([name for name in unwanted if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
