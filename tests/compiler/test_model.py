"""Loading, running and saving models."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt
from basalt import serialization
from basalt.compiler import files
from basalt.compiler.exchange import to_data
from basalt.errors import InvalidStateError, ModelFormatError, UnsupportedError, ValidationError
from basalt.serialization import GraphData, NodeData, TensorSpec

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "interpret")


def network() -> basalt.MLGraph:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", ("batch", 3))
    w = builder.constant(np.arange(12, dtype=np.float32).reshape(3, 4) / 10)
    return builder.build({"y": builder.relu(builder.matmul(x, w, label="dense"), label="clip")})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "model.bsl"
    basalt.save(network(), target)
    return target


class Unseekable(io.RawIOBase):
    """A binary stream that can only be read on, like a socket."""

    def __init__(self, data: bytes) -> None:
        self.stream = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self.stream.readinto(buffer)


SOURCES: dict[str, Any] = {
    "path": lambda path: path,
    "str": str,
    "bytes": lambda path: path.read_bytes(),
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "file": lambda path: open(path, "rb"),  # noqa: SIM115
    "stream": lambda path: io.BytesIO(path.read_bytes()),
    "socket": lambda path: Unseekable(path.read_bytes()),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_loading(path: Path, kind: str) -> None:
    model = basalt.load(SOURCES[kind](path))
    assert isinstance(model, basalt.Model)
    (x,), (y,) = model.inputs, model.outputs
    assert (x.name, x.dtype, x.shape) == ("x", "float32", ("batch", 3))
    assert (y.name, y.dtype, y.shape) == ("y", "float32", ("batch", 4))
    assert repr(model) == "<Model (x: float32[batch, 3]) -> (y: float32[batch, 4])>"
    assert np.array_equal(model.run({"x": X})["y"], network().run({"x": X})["y"])
    assert 'matmul(%x, %c1): float32[batch, 4] "dense"' in model.text()


def test_a_file_object_is_read_from_its_position(path: Path) -> None:
    stream = io.BytesIO(b"before" + path.read_bytes())
    stream.seek(6)
    assert basalt.load(stream).inputs[0].name == "x"


def test_the_content_decides_where_the_name_says_nothing(path: Path) -> None:
    renamed = path.rename(path.with_suffix(".weights"))
    assert basalt.load(renamed).inputs[0].name == "x"


def test_options_reach_the_model(path: Path) -> None:
    model = basalt.load(path, threads=3, eager_first_run=False)
    assert (model._threads, model._programs._eager) == (3, False)


def test_saving_keeps_everything(path: Path, tmp_path: Path) -> None:
    model = basalt.load(path)
    model.metadata["author"] = "nobody"
    again = tmp_path / "again.bsl"
    model.save(again)
    basalt.save(model, str(tmp_path / "third.bsl"))
    assert again.read_bytes() == (tmp_path / "third.bsl").read_bytes()
    back = basalt.load(again)
    assert back.metadata == {"author": "nobody"} and back.text() == model.text()


def test_saving_over_the_file_a_model_was_loaded_from(path: Path) -> None:
    model = basalt.load(path)
    model.save(path)
    assert np.array_equal(model.run({"x": X})["y"], basalt.load(path).run({"x": X})["y"])


def test_saving_something_else(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="save: got dict, expected a model, a graph or a program"):
        basalt.save({}, tmp_path / "x.bsl")
    with pytest.raises(FileNotFoundError):
        basalt.save(network(), tmp_path / "missing" / "x.bsl")
    graph = network()
    graph.destroy()
    with pytest.raises(InvalidStateError, match="save: <MLGraph destroyed"):
        basalt.save(graph, tmp_path / "x.bsl")
    assert not list(tmp_path.iterdir())


def test_whatever_can_save_itself_is_saved(tmp_path: Path) -> None:
    class Program:
        def save(self, path: Any) -> None:
            Path(path).write_text("saved")

    basalt.save(Program(), tmp_path / "p.bsl")
    assert (tmp_path / "p.bsl").read_text() == "saved"


def test_sources_that_are_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="load: got int, expected a path, bytes or a binary file object"):
        basalt.load(3)
    with pytest.raises(ValidationError, match="gives str; open it in binary mode"):
        basalt.load(io.StringIO("text"))
    with pytest.raises(FileNotFoundError):
        basalt.load(tmp_path / "missing.bsl")
    with pytest.raises(FileNotFoundError):
        basalt.load(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        basalt.load(tmp_path)
    for bad in (b"", b"BSLT", b"PK\x03\x04 and more of a zip file", path.read_bytes()[:-1]):
        with pytest.raises(ModelFormatError):
            basalt.load(bad)


@pytest.mark.parametrize("named", [True, False])
def test_what_is_no_onnx_model(tmp_path: Path, named: bool) -> None:
    content = b"\x08\x08\x12\x07pytorch"
    target = tmp_path / ("model.onnx" if named else "model")
    target.write_bytes(content)
    for source in (target, content, open(target, "rb")):  # noqa: SIM115
        with pytest.raises(ModelFormatError, match="there is neither a graph nor a function, so this is no ONNX model"):
            basalt.load(source)


def test_formats_can_be_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_formats", list(files._formats))
    seen: list[Any] = []

    def load(source: Any, **options: Any) -> str:
        seen.append((source, options))
        return "a model"

    files.register_format(files.Format("other", (".other", ".onnx"), lambda start: start == b"other", load))
    (tmp_path / "m.ONNX").write_bytes(b"anything")
    assert basalt.load(tmp_path / "m.ONNX", threads=2) == basalt.load(b"other") == "a model"
    assert seen == [(tmp_path / "m.ONNX", {"threads": 2, "eager": None}), (b"other", {"threads": None, "eager": None})]


def test_contents_can_be_added(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_contents", {})
    with pytest.raises(UnsupportedError, match="the file holds a GraphData, which cannot be run"):
        basalt.load(path)
    files.register_content(GraphData, lambda data, **options: (type(data), options))
    assert basalt.load(path) == (GraphData, {"threads": None, "eager": None})


def graph_file(tmp_path: Path, data: GraphData) -> Path:
    serialization.save(tmp_path / "g.bsl", data)
    return tmp_path / "g.bsl"


def test_a_file_that_is_no_graph(tmp_path: Path) -> None:
    x, y = TensorSpec("x", "float32", ("n", 3)), TensorSpec("y", "float16", ("n", 3))
    wrong = GraphData("", (x,), {}, (("y", "y"),), (NodeData("relu", ("x",), (y,), {}, "act"),))
    with pytest.raises(ModelFormatError, match='node 0, relu "act": has outputs float16'):
        basalt.load(graph_file(tmp_path, wrong))
    loose = GraphData("", (TensorSpec("x", "float32", ("n*m", 3)),), {}, (("y", "x"),), ())
    with pytest.raises(ModelFormatError, match=r"input 'x': dimension m\*n does not determine m, n"):
        basalt.load(graph_file(tmp_path, loose))
    unknown = GraphData("", (x,), {}, (("y", "y"),), (NodeData("relu7", ("x",), (y,)),))
    with pytest.raises(UnsupportedError, match="node 0, relu7: there is no operator 'relu7'"):
        basalt.load(graph_file(tmp_path, unknown))


def test_names_of_dimensions_survive(tmp_path: Path) -> None:
    odd = "p2o.DynamicDimension.0"
    x, y = TensorSpec("x", "float32", (odd, 3)), TensorSpec("y", "float32", (odd, 3))
    data = GraphData("", (x,), {}, (("y", "y"),), (NodeData("relu", ("x",), (y,)),))
    model = basalt.load(graph_file(tmp_path, data))
    assert model.inputs[0].shape == (odd, 3) and model.outputs[0].shape == (odd, 3)
    model.save(tmp_path / "again.bsl")
    assert basalt.load(tmp_path / "again.bsl").outputs[0].shape == (odd, 3)
    assert model.run({"x": X})["y"].tolist() == np.maximum(X, 0).tolist()


def test_weights_are_not_copied_by_loading(tmp_path: Path) -> None:
    builder = basalt.MLGraphBuilder(basalt.MLContext())
    x = builder.input("x", "float32", (1024, 1024))
    graph = builder.build({"y": builder.add(x, builder.constant(np.ones((1024, 1024), np.float32)))})
    basalt.save(graph, tmp_path / "m.bsl")
    model = basalt.load(tmp_path / "m.bsl")
    (array,) = to_data(model.graph, model.constants).constants.values()
    assert not array.flags.owndata and not array.flags.writeable and array.ctypes.data % 64 == 0
    os.unlink(tmp_path / "m.bsl")
    assert model.run({"x": np.zeros((1024, 1024), np.float32)})["y"].sum() == 1024 * 1024
