"""Loading from and saving to files, and files that hold something else."""

from __future__ import annotations

import copy
import gzip
import io
import os
import pickle
import threading
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from bsl_samples import tiny_graph
from wire_samples import data, model, num

import basalt.serialization
from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization.onnx import OnnxGraph, OnnxModel, OnnxNode, OnnxTensor

MODEL = OnnxModel(
    OnnxGraph("g", (OnnxNode("Relu", ("x",), ("y",)),), initializers=(OnnxTensor.from_array("w", np.arange(3.0)),)),
    {"": 17},
    producer_name="test",
    producer_version="1.2",
)


def test_sources(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    MODEL.save(path)
    content = path.read_bytes()
    assert content == MODEL.to_bytes()
    file = io.BytesIO(b"before" + content)
    file.seek(6)
    with open(path, "rb") as opened:
        sources = [path, str(path), os.fsencode(path).decode(), content, bytearray(content), memoryview(content)]
        for source in [*sources, file, opened]:
            assert OnnxModel.load(source) == MODEL


@pytest.mark.parametrize("source", [None, 5, ["a"], "a\0b"])
def test_other_sources(source: object) -> None:
    with pytest.raises(ValidationError):
        OnnxModel.load(source)


def test_text_files_are_no_source(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="open it in binary mode"):
        OnnxModel.load(io.StringIO("text"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot load"):
        OnnxModel.load(tmp_path / "missing.onnx")
    with pytest.raises(IsADirectoryError, match="folder, not a file"):
        OnnxModel.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="cannot save"):
        MODEL.save(tmp_path / "missing" / "m.onnx")


def test_saving_replaces_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    MODEL.save(path)
    loaded = OnnxModel.load(path)
    loaded.graph.name = "other"
    loaded.save(path)
    assert OnnxModel.load(path).graph.name == "other"
    assert loaded.initializers["w"].array().tolist() == [0, 1, 2]
    assert os.listdir(tmp_path) == ["m.onnx"]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    MODEL.save(path)
    before = path.read_bytes()
    broken = OnnxModel(OnnxGraph(nodes=(OnnxNode("Op", (5,)),)))
    for arguments in ((), ("w.bin",)):
        with pytest.raises(ValidationError, match=r"graph.node\[0\].input: 5 is no text"):
            broken.save(path, *arguments)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.onnx"]


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("data.pkl", "x")
    return file.getvalue()


def container(tmp_path: Path) -> bytes:
    basalt.serialization.save(tmp_path / "m.bsl", tiny_graph())
    return (tmp_path / "m.bsl").read_bytes()


FOREIGN = {
    "a .bsl file": container,
    "a ZIP archive": lambda _: archive(),
    "compressed with gzip": lambda _: gzip.compress(model(data(1, data(4, "Op")))),
    "an HTML page": lambda _: b"\n<!DOCTYPE html><html><body>Not found</body></html>",
    "XML or HTML text": lambda _: b'<?xml version="1.0"?><net/>',
    "JSON or similar text": lambda _: b'{"model": 1}',
    "plain text": lambda _: b"ir_version: 8\ngraph {\n}\n",
    "a Git LFS pointer": lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "a Python pickle": lambda _: pickle.dumps({"a": 1}, protocol=2),
    "a NumPy array": lambda _: b"\x93NUMPY\x01\x00",
    "an HDF5 file": lambda _: b"\x89HDF\r\n\x1a\n" + bytes(20),
    "a TensorFlow Lite model": lambda _: b"\x1c\0\0\0TFL3" + bytes(20),
    "in ONNX Runtime's own .ort format": lambda _: b"\x1c\0\0\0ORTM" + bytes(20),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_formats(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(FOREIGN[name](tmp_path))
    with pytest.raises(ModelFormatError) as caught:
        OnnxModel.load(path)
    assert str(caught.value).startswith(f"{path}: this is no ONNX model, but {name}")


def test_files_that_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    with pytest.raises(ModelFormatError, match="the file is empty"):
        OnnxModel.load(path)
    for content in (num(1, 8), data(2, "pytorch"), num(100, 1)):
        with pytest.raises(ModelFormatError, match="neither a graph nor a function"):
            OnnxModel.load(content)


def test_a_tensor_file_is_no_model() -> None:
    """The .pb files of the backend tests."""
    tensor = num(1, 3) + num(2, 1) + data(8, "x") + data(9, bytes(12))
    with pytest.raises(ModelFormatError, match="producer_name: at byte 2: the field is of wire type 0"):
        OnnxModel.load(tensor)


def test_copies(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    MODEL.save(path)
    loaded = OnnxModel.load(path)
    loaded._engine = cast(Any, threading.Lock())
    copied = copy.deepcopy(loaded)
    assert copied == loaded
    assert copied.initializers["w"].array() is not None
    assert copied.initializers["w"].data is loaded.initializers["w"].data
    copied.graph.initializers[0].name = "other"
    assert list(loaded.initializers) == ["w"]
    pickled = pickle.loads(pickle.dumps(loaded))
    path.unlink()
    assert pickled == loaded
    assert pickled.to_bytes() == loaded.to_bytes()


def test_the_class_is_found_in_the_package() -> None:
    assert basalt.serialization.OnnxModel is OnnxModel
    with pytest.raises(AttributeError, match="no attribute 'OnnxModels'"):
        _ = basalt.serialization.OnnxModels
