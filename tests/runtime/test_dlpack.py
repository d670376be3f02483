"""Arrays shared with other libraries: inputs by DLPack of any data type, results that others read in place."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from runtime_programs import chain, program, ramp

from basalt.errors import ValidationError
from basalt.runtime.dlpack import from_dlpack
from basalt.runtime.spec import Row, Slot, TensorSpec

CODES = {"bfloat16": (4, 16), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8), "float8_e8m0fnu": (14, 8)}
DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


KEPT: list[object] = []
"""What capsules refer to."""


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    )


class Producer:
    """Another library's tensor over an array of ml_dtypes; counts the capsules that are alive."""

    def __init__(self, array: np.ndarray, code: tuple[int, int], **changes: Any) -> None:
        self.array, self.code, self.changes, self.alive = array, code, changes, 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        if options:
            raise BufferError("no such option")
        array = self.array
        shape, strides = np.array(array.shape, np.int64), np.array(array.strides, np.int64) // array.itemsize
        tensor = Tensor()
        tensor.data = array.ctypes.data
        tensor.device[0] = self.changes.get("device", 1)
        tensor.rank, tensor.lanes = array.ndim, self.changes.get("lanes", 1)
        tensor.code, tensor.bits = self.code
        tensor.shape = shape.ctypes.data
        tensor.strides = None if self.changes.get("dense") else strides.ctypes.data
        tensor.offset = self.changes.get("offset", 0)
        self.alive += 1

        def destroy(capsule: int) -> None:
            self.alive -= 1

        destructor = DESTRUCTOR(destroy)
        KEPT.append((self, tensor, shape, strides, destructor))
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, DESTRUCTOR]
        return make(ctypes.addressof(tensor), self.changes.get("name", b"dltensor"), destructor)


def copying(dtype: str, size: int = 32) -> Any:
    """A program that copies ``size`` elements."""
    units = size * np.dtype(getattr(ml_dtypes, dtype)).itemsize // 4
    sides = {"inputs": (TensorSpec("x", dtype, (size,)),), "outputs": (TensorSpec("y", dtype, (size,)),)}
    return program(Row(0, (Slot.input(0), Slot.output(0)), 0, units, 1.0), size=size, **sides)


@pytest.mark.parametrize("dtype", CODES)
def test_types_that_numpy_does_not_import(dtype: str) -> None:
    values = np.exp2(np.arange(32) % 7).astype(getattr(ml_dtypes, dtype))
    producer = Producer(values, CODES[dtype])
    y = copying(dtype).run({"x": producer})["y"]
    assert y.dtype == values.dtype
    np.testing.assert_array_equal(y.view(np.uint8), values.view(np.uint8))
    gc.collect()
    assert producer.alive == 0


def test_the_memory_is_shared_as_long_as_the_array_lives() -> None:
    values = np.arange(24).astype(ml_dtypes.bfloat16).reshape(4, 6)
    producer = Producer(values[::2, ::-1][:, 1:4], CODES["bfloat16"])
    array = from_dlpack(producer)
    assert array is not None and array.dtype == ml_dtypes.bfloat16 and array.strides == producer.array.strides
    np.testing.assert_array_equal(array, producer.array)
    assert np.may_share_memory(array, values) and producer.alive == 1
    view = array[1:]
    del array
    gc.collect()
    assert producer.alive == 1
    del view
    gc.collect()
    assert producer.alive == 0


def test_tensors_without_strides_with_an_offset_and_without_elements() -> None:
    values = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    dense = from_dlpack(Producer(values, CODES["bfloat16"], dense=True))
    np.testing.assert_array_equal(dense, values)  # type: ignore[arg-type]
    shifted = from_dlpack(Producer(values[0, :2], CODES["bfloat16"], offset=4))
    np.testing.assert_array_equal(shifted, values.reshape(-1)[2:4])  # type: ignore[arg-type]
    empty = from_dlpack(Producer(values[:, :0], CODES["bfloat16"]))
    assert empty is not None and empty.shape == (2, 0) and empty.dtype == ml_dtypes.bfloat16
    scalar = from_dlpack(Producer(values[1, 2:].reshape(()), CODES["bfloat16"]))
    assert scalar is not None and scalar.shape == () and scalar == 5


@pytest.mark.parametrize("changes", [{"name": b"used_dltensor"}, {"lanes": 2}])
def test_what_is_no_such_tensor_is_left_alone(changes: dict[str, Any]) -> None:
    values = np.zeros(32, ml_dtypes.bfloat16)
    assert from_dlpack(Producer(values, CODES["bfloat16"], **changes)) is None
    assert from_dlpack(Producer(values, (17, 4))) is None
    assert from_dlpack(object()) is None
    with pytest.raises(ValidationError, match="input 'x': Producer given, which is no array"):
        copying("bfloat16").run({"x": Producer(values, CODES["bfloat16"], **changes)})


def test_memory_of_another_device_is_refused() -> None:
    producer = Producer(np.zeros(32, ml_dtypes.bfloat16), CODES["bfloat16"], device=2)
    with pytest.raises(ValidationError, match="on a device of DLPack's type 2, expected the CPU's"):
        copying("bfloat16").run({"x": producer})


def test_another_type_than_the_input_has_is_named() -> None:
    producer = Producer(np.zeros(32, ml_dtypes.bfloat16), CODES["bfloat16"])
    with pytest.raises(ValidationError, match="data type bfloat16 given, expected float8_e5m2"):
        copying("float8_e5m2").run({"x": producer})


def test_results_are_read_in_place_by_dlpack_and_memoryview() -> None:
    y = chain(2, 16, 1.0).run({"x": ramp()})["y"]
    other, view = np.from_dlpack(y), memoryview(y)
    assert np.may_share_memory(other, y) and (view.format, view.shape, view.readonly) == ("f", (16,), False)
    lives = weakref.ref(y)
    del y
    gc.collect()
    assert lives() is not None and view[3] == other[3] == 5
    view[3] = 7
    assert other[3] == 7


def test_inputs_by_memoryview_and_dlpack_are_read_in_place() -> None:
    short, x = chain(1, 16, 1.0), ramp()
    for given in (memoryview(x), np.from_dlpack(x), memoryview(x.tobytes()).cast("f")):
        np.testing.assert_array_equal(short.run({"x": given})["y"], ramp() + 1)


def test_torch_tensors_come_in_and_results_go_out() -> None:
    torch = pytest.importorskip("torch")
    short = chain(1, 16, 1.0)
    x = torch.arange(16, dtype=torch.float32)
    y = short.run({"x": x})["y"]
    shared = torch.from_dlpack(y)
    assert torch.equal(shared, x + 1)
    shared[0] = 9
    assert y[0] == 9
    target = torch.zeros(16)
    short.run({"x": x}, {"y": target.numpy()})
    assert torch.equal(target, x + 1)
    with pytest.raises(ValidationError, match="grad"):
        short.run({"x": x.requires_grad_()})
    with pytest.raises(ValidationError, match=r"Tensor given, expected a NumPy array to write to"):
        short.run({"x": ramp()}, {"y": target})


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_torch_tensors_of_types_that_numpy_lacks(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = (torch.arange(32) % 7).to(getattr(torch, dtype))
    words = torch.uint16 if dtype == "bfloat16" else torch.uint8
    for given in (x, torch.stack([x, x], 1)[:, 1]):
        y = copying(dtype).run({"x": given})["y"]
        assert torch.equal(torch.from_numpy(y.view(f"u{y.itemsize}")).view(getattr(torch, dtype)).float(), x.float())
    target = torch.zeros(32, dtype=getattr(torch, dtype))
    out = target.view(words).numpy().view(getattr(ml_dtypes, dtype))
    assert copying(dtype).run({"x": x}, {"y": out})["y"] is out
    assert torch.equal(target.float(), x.float())
