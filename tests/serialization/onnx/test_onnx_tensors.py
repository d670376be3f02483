"""Elements of every data type, from every place that can hold them."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import data, key, load_tensor, num, varint, with_attribute

from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization.onnx import ELEMENT_TYPES, OnnxGraph, OnnxModel, OnnxSparseTensor, OnnxTensor
from basalt.serialization.onnx.subbyte import pack, unpack

NUMERIC = [kind for kind in ELEMENT_TYPES.values() if kind.bits]


def reload(tensor: OnnxTensor) -> OnnxTensor:
    """The tensor after a model with it was written and read."""
    return OnnxModel.load(OnnxModel(OnnxGraph(initializers=(tensor,))).to_bytes()).graph.initializers[0]


def random_array(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(math.prod(shape))
    if dtype.kind in "biu" or dtype.name in ("int4", "uint4", "int2", "uint2"):
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("kind", NUMERIC, ids=lambda kind: kind.name)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3, 5), (0, 4), (7,)])
def test_arrays_survive(kind: object, shape: tuple[int, ...]) -> None:
    array = random_array(kind.numpy(), shape)
    tensor = OnnxTensor.from_array("w", array)
    assert (tensor.dtype, tensor.dims, tensor.size) == (kind.name, shape, math.prod(shape))
    again = reload(tensor)
    assert again == tensor
    assert again.array().dtype == array.dtype
    assert again.array().tobytes() == array.tobytes()


@pytest.mark.parametrize("kind", NUMERIC, ids=lambda kind: kind.name)
def test_all_bits_survive(kind: object) -> None:
    """Raw bytes in, raw bytes out, whatever number they stand for."""
    payload = np.random.default_rng(3).integers(0, 256, 48, np.uint8).tobytes()
    if kind.name == "bool":
        payload = bytes(byte & 1 for byte in payload)
    count = len(payload) * 8 // kind.bits
    tensor = load_tensor(data(1, varint(count)), num(2, kind.code), data(9, payload))
    assert tensor.array().shape == (count,)
    copied = OnnxTensor.from_array("", tensor.array())
    assert data(9, payload) in OnnxModel(OnnxGraph(initializers=(copied,))).to_bytes()


def test_raw_data_is_not_copied(tmp_path: object) -> None:
    path = tmp_path / "m.onnx"
    values = np.arange(1000, dtype=np.float32)
    OnnxModel(OnnxGraph(initializers=(OnnxTensor.from_array("w", values),))).save(path)
    tensor = OnnxModel.load(path).graph.initializers[0]
    array = tensor.array()
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert type(base).__name__ in ("mmap", "memoryview")
    assert np.array_equal(array, values)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_packed_floats_are_not_copied() -> None:
    array = load_tensor(num(1, 2), num(2, 1), data(4, np.array([1.5, -2], "<f4").tobytes())).array()
    assert not array.flags.owndata
    assert array.tolist() == [1.5, -2]


@pytest.mark.parametrize(
    ("code", "field", "entries", "expected"),
    [
        (2, 5, [255, 0], np.array([255, 0], np.uint8)),
        (3, 5, [-1, 127], np.array([-1, 127], np.int8)),
        (4, 5, [65535, 1], np.array([65535, 1], np.uint16)),
        (5, 5, [-32768, 1], np.array([-32768, 1], np.int16)),
        (6, 5, [-(1 << 31), 1], np.array([-(1 << 31), 1], np.int32)),
        (9, 5, [1, 0], np.array([True, False])),
        (9, 5, [2, 1 << 32], np.array([True, False])),
        (10, 5, [0x3C00, -0x4000], np.array([1, -2], np.float16)),
        (16, 5, [0x3F80, 0xC000], np.array([1, -2], ml_dtypes.bfloat16)),
        (17, 5, [0x38, 0xC0], np.array([1, -2], ml_dtypes.float8_e4m3fn)),
        (21, 5, [0x21, 0x0F], np.array([1, 2, 15], ml_dtypes.uint4)),
        (22, 5, [0x21, 0x0F], np.array([1, 2, -1], ml_dtypes.int4)),
        (23, 5, [0x21, 0x0F], np.array([0.5, 1, -6], ml_dtypes.float4_e2m1fn)),
        (25, 5, [0b11100100, 2], np.array([0, 1, 2, 3, 2], ml_dtypes.uint2)),
        (26, 5, [0b11100100, 2], np.array([0, 1, -2, -1, -2], ml_dtypes.int2)),
        (27, 5, [0x08, 0x28], np.array([1, -1], ml_dtypes.float6_e2m3fn)),
        (7, 7, [-1, 1 << 40], np.array([-1, 1 << 40], np.int64)),
        (12, 11, [(1 << 32) - 1, 3], np.array([(1 << 32) - 1, 3], np.uint32)),
        (13, 11, [(1 << 64) - 1, 3], np.array([(1 << 64) - 1, 3], np.uint64)),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_integer_fields(code: int, field: int, entries: list[int], expected: np.ndarray, packed: bool) -> None:
    numbers = [varint(entry % (1 << 64)) for entry in entries]
    content = data(field, *numbers) if packed else b"".join(num(field, entry) for entry in entries)
    array = load_tensor(num(1, len(expected)), num(2, code), content).array()
    assert array.dtype == expected.dtype
    assert np.array_equal(array, expected)


def test_mixture_of_packed_and_unpacked() -> None:
    array = load_tensor(num(1, 4), num(2, 7), num(7, 1), data(7, b"\2\3"), num(7, -4)).array()
    assert array.tolist() == [1, 2, 3, -4]
    array = load_tensor(num(1, 2), num(2, 7), data(7), num(7, 1), data(7, b"\2"), data(7)).array()
    assert array.tolist() == [1, 2]
    halves = np.array([1, 2], "<f4").tobytes()
    array = load_tensor(num(1, 3), num(2, 1), data(4, halves), b"\x25" + halves[:4]).array()
    assert array.tolist() == [1, 2, 1]


def test_complex_numbers() -> None:
    parts = np.array([1, 2, 3, -4], "<f4").tobytes()
    assert load_tensor(num(1, 2), num(2, 14), data(4, parts)).array().tolist() == [1 + 2j, 3 - 4j]
    parts = np.array([1, 2], "<f8").tobytes()
    assert load_tensor(num(2, 15), data(10, parts)).array() == 1 + 2j


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=0, max_size=60))
def test_packed_varints(values: list[int]) -> None:
    array = load_tensor(num(1, len(values)), num(2, 13), data(11, *map(varint, values))).array()
    assert array.tolist() == values


def test_padded_varints() -> None:
    """Numbers may be longer than they need be, up to ten bytes; what exceeds 64 bits is dropped."""
    long = b"\x85" + b"\x80" * 8 + b"\x00"
    array = load_tensor(num(1, 3), num(2, 13), data(11, long, b"\xff" * 9 + b"\x7f", b"\x02")).array()
    assert array.tolist() == [5, (1 << 64) - 1, 2]


@pytest.mark.parametrize("bits", [2, 4, 6])
@given(elements=st.lists(st.integers(0, 63), max_size=30))
def test_packing(bits: int, elements: list[int]) -> None:
    wanted = [element % (1 << bits) for element in elements]
    packed = pack(np.array(elements, np.uint8), bits)
    assert len(packed) == (len(elements) * bits + 7) // 8
    assert unpack(packed, bits, len(elements)).tolist() == wanted
    stream = sum(element << bits * place for place, element in enumerate(wanted))
    assert packed.tobytes() == stream.to_bytes(len(packed), "little")


def test_strings() -> None:
    tensor = load_tensor(num(1, 3), num(2, 8), data(6, "a"), data(6, "é\0"), data(6))
    assert tensor.array().tolist() == ["a", "é\0", ""]
    assert tensor.array().dtype == object
    for array in (np.array([["a", "bc"]]), np.array([[b"a", b"bc"]]), np.array([["a", b"bc"]], object)):
        made = OnnxTensor.from_array("s", array)
        assert reload(made) == made
        assert made.array().tolist() == [["a", "bc"]]


def test_bools_other_than_0_and_1() -> None:
    array = load_tensor(num(1, 3), num(2, 9), data(9, b"\0\1\7")).array()
    assert array.tolist() == [False, True, True]
    assert array.view(np.uint8).tolist() == [0, 1, 1]


def test_arrays_that_onnx_has_no_type_for() -> None:
    with pytest.raises(ValidationError, match="no element type for NumPy's datetime64"):
        OnnxTensor.from_array("t", np.zeros(1, "datetime64[s]"))
    with pytest.raises(ValidationError, match="is a float, not text"):
        OnnxTensor.from_array("t", np.array([1.5], object))
    with pytest.raises(ValidationError, match="no UTF-8 text"):
        OnnxTensor.from_array("t", np.array([b"\xff"]))


def test_given_arrays_are_snapshots() -> None:
    array = np.arange(6, dtype=">i4").reshape(2, 3).T
    tensor = OnnxTensor.from_array("t", array)
    array[:] = 0
    assert tensor.array().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert reload(tensor).array().tolist() == [[0, 3], [1, 4], [2, 5]]


def test_tensor_without_a_type() -> None:
    tensor = load_tensor(data(8, "w"))
    assert tensor.dtype == "undefined"
    with pytest.raises(ModelFormatError, match="tensor 'w' states no data type"):
        tensor.array()


def test_equality_is_by_bits() -> None:
    nan = OnnxTensor.from_array("x", np.array([np.nan]))
    assert nan == OnnxTensor.from_array("x", np.array([np.nan]))
    assert OnnxTensor.from_array("x", np.array([0.0])) != OnnxTensor.from_array("x", np.array([-0.0]))
    assert nan != OnnxTensor.from_array("y", np.array([np.nan]))
    assert nan != "x"


def sparse(values: list[float], indices: object, dims: tuple[int, ...]) -> OnnxSparseTensor:
    return OnnxSparseTensor(
        OnnxTensor.from_array("s", np.array(values, np.float32)),
        OnnxTensor.from_array("", np.array(indices, np.int64)),
        dims,
    )


def test_sparse_tensors() -> None:
    dense = [[0, 5, 0], [0, 0, 7]]
    assert sparse([5, 7], [1, 5], (2, 3)).array().tolist() == dense
    assert sparse([5, 7], [[0, 1], [1, 2]], (2, 3)).array().tolist() == dense
    assert sparse([], [], (2,)).array().tolist() == [0, 0]
    assert (sparse([5], [1], (3,)).name, sparse([5], [1], (3,)).dtype) == ("s", "float32")


@pytest.mark.parametrize(
    ("indices", "dims", "reason"),
    [
        ([1, 6], (2, 3), "lies outside"),
        ([-1, 2], (2, 3), "lies outside"),
        ([2, 1], (2, 3), "ascending order"),
        ([1, 1], (2, 3), "ascending order"),
        ([[0, 1], [0, 3]], (2, 3), "lies outside"),
        ([[0, 1], [0, 1]], (2, 3), "ascending order"),
        ([1], (2, 3), "indices of shape"),
        ([[1], [2]], (2, 3), "indices of shape"),
        ([1, 2], (1 << 40, 1 << 20), "no room"),
    ],
)
def test_sparse_tensors_that_are_none(indices: object, dims: tuple[int, ...], reason: str) -> None:
    with pytest.raises(ModelFormatError, match=reason):
        sparse([5, 7], indices, dims).array()


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 200), min_size=1), st.data())
def test_long_attributes(values: list[int], choices: st.DataObject) -> None:
    """Lists of numbers take other ways from some length on; the result is the same, and so are the bytes written."""
    values = values * choices.draw(st.sampled_from([1, 10, 50]))
    cut = choices.draw(st.integers(0, len(values)))
    parts = [num(8, value) for value in values]
    content = with_attribute(data(1, "a"), num(20, 7), *parts[:cut], num(50, 1), *parts[cut:])
    loaded = OnnxModel.load(content)
    assert loaded.nodes[0].attributes["a"].value == tuple(values)
    assert b"".join(parts) in loaded.to_bytes()
    assert OnnxModel.load(loaded.to_bytes()) == loaded


def test_long_attributes_that_are_cut_off() -> None:
    parts = [num(8, value) for value in range(0, 90_000, 300)]
    content = with_attribute(data(1, "a"), num(20, 7), *parts)
    assert len(OnnxModel.load(content).nodes[0].attributes["a"].value) == 300
    with pytest.raises(ModelFormatError, match="the last of the packed numbers is cut off"):
        OnnxModel.load(with_attribute(data(1, "a"), num(20, 7), data(8, b"\1" * 60 + b"\x80")))
    for tail in (key(8, 0), key(8, 0) + b"\x80", key(8, 0) + b"\xff" * 11, key(8, 0) + b"\x80" * 10 + b"\1"):
        with pytest.raises(
            ModelFormatError, match=r"graph.node\[0\].attribute\[0\]: at byte \d+: .*(cut off|10 bytes)"
        ):
            OnnxModel.load(with_attribute(data(1, "a"), num(20, 7), *parts, tail))


@pytest.mark.parametrize("size", [0, 1, 5, 127, 128, 300])
def test_long_lists_of_strings(size: int) -> None:
    texts = [bytes([65 + index % 26]) * (size if index % 7 == 3 else 2) for index in range(100)]
    content = with_attribute(data(1, "a"), *[data(9, text) for text in texts], num(20, 8))
    loaded = OnnxModel.load(content)
    assert loaded.nodes[0].attributes["a"].value == tuple(texts)
    assert b"".join(data(9, text) for text in texts) in loaded.to_bytes()


def test_long_lists_of_floats() -> None:
    values = np.random.default_rng(0).standard_normal(1000).astype("<f4")
    parts = [key(7, 5) + value.tobytes() for value in values]
    for cut in (0, 1, 5, 36, 500, 1000):
        fields = [data(1, "a"), num(20, 6), *parts[:cut], num(50, 1), *parts[cut:]]
        loaded = OnnxModel.load(with_attribute(*fields))
        assert loaded.nodes[0].attributes["a"].value == tuple(values.tolist())
        assert b"".join(parts) in loaded.to_bytes()
        if cut < 1000:
            with pytest.raises(ModelFormatError, match="cut off"):
                OnnxModel.load(with_attribute(*fields[:-1], fields[-1][:-1]))


def test_sparse_strings() -> None:
    tensor = sparse([5, 7], [1, 3], (5,))
    tensor.values = OnnxTensor.from_array("s", np.array(["a", "b"]))
    assert tensor.array().tolist() == ["", "a", "", "b", ""]
    tensor.indices = OnnxTensor.from_array("", np.array([1, 3], np.int32))
    with pytest.raises(ModelFormatError, match="indices int64, not int32"):
        tensor.array()


def test_a_great_many_elements_survive() -> None:
    """More bytes than the writer hands on at once, in pieces small and large."""
    tensors = [OnnxTensor.from_array(f"t{index}", np.full(64, index)) for index in range(1200)]
    tensors[600] = OnnxTensor.from_array("large", np.arange(100_000))
    made = OnnxModel(OnnxGraph(initializers=tuple(tensors)))
    assert OnnxModel.load(made.to_bytes()) == made
