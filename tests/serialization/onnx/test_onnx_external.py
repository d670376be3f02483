"""External data: weights in files beside the model, and never anywhere else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from wire_samples import data, model, num

from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization.onnx import OnnxAttribute, OnnxGraph, OnnxModel, OnnxNode, OnnxTensor

WEIGHTS = np.arange(8, dtype=np.float32)


def entries(**pairs: str) -> bytes:
    return b"".join(data(13, data(1, name), data(2, value)) for name, value in pairs.items())


def external(location: str, *extra: bytes, code: int = 1, count: int = 8, **pairs: str) -> bytes:
    """A model whose initialiser ``w`` is a float32 vector of 8 elements in the file ``location``."""
    tensor = (num(1, count), num(2, code), data(8, "w"), entries(location=location, **pairs), num(14, 1), *extra)
    return model(data(5, *tensor))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "models"
    (inner / "sub").mkdir(parents=True)
    (inner / "w.bin").write_bytes(b"head" + WEIGHTS.tobytes() + b"tail")
    (inner / "sub" / "w.bin").write_bytes(WEIGHTS.tobytes())
    (tmp_path / "secret.bin").write_bytes(WEIGHTS.tobytes())
    return inner


def load(folder: Path, content: bytes) -> OnnxModel:
    path = folder / "m.onnx"
    path.write_bytes(content)
    return OnnxModel.load(path)


@pytest.mark.parametrize(
    ("location", "pairs"),
    [
        ("w.bin", {"offset": "4"}),
        ("w.bin", {"offset": "4", "length": "32"}),
        ("sub/w.bin", {}),
        ("./sub//w.bin", {"offset": "0"}),
        ("sub/w.bin", {"checksum": hashlib.sha1(WEIGHTS.tobytes()).hexdigest()}),
        ("sub/w.bin", {"basepath": "/ignored", "another": "key"}),
    ],
)
def test_read(folder: Path, location: str, pairs: dict[str, str]) -> None:
    array = load(folder, external(location, **pairs)).initializers["w"].array()
    assert array.tolist() == WEIGHTS.tolist()
    assert not array.flags.writeable and not array.flags.owndata


@pytest.mark.parametrize(
    ("location", "pairs", "reason"),
    [
        ("", {}, "location of the external data is empty"),
        ("/etc/hostname", {}, "absolute path"),
        ("C:\\weights.bin", {}, "absolute path"),
        ("C:weights.bin", {}, "absolute path"),
        ("\\\\server\\share\\w.bin", {}, "absolute path"),
        ("../secret.bin", {}, "leads out"),
        ("sub/../../secret.bin", {}, "leads out"),
        ("sub\\..\\..\\secret.bin", {}, "leads out"),
        ("w.bin\0.txt", {}, "NUL"),
        ("missing.bin", {}, "No such file"),
        ("sub", {}, "folder, not a file"),
        (".", {}, "folder, not a file|Is a directory"),
        ("x" * 5000, {}, "too long"),
        ("w.bin", {"offset": "-4"}, "the offset of the external data is '-4'"),
        ("w.bin", {"offset": "four"}, "is 'four', not a number"),
        ("w.bin", {"offset": "4.0"}, "not a number"),
        ("w.bin", {"offset": "\u0664"}, "not a number"),
        ("w.bin", {"offset": "9" * 5000}, "not a number"),
        ("w.bin", {"offset": "9" * 19}, "32 bytes at offset 9999999999999999999 of 'w.bin', which has 40 bytes only"),
        ("w.bin", {"offset": "9"}, "32 bytes at offset 9 "),
        ("w.bin", {"length": "31"}, "a length of 31 bytes, the tensor needs 32"),
        ("sub/w.bin", {"checksum": "0" * 40}, "SHA-1 digest of 'sub/w.bin' is"),
    ],
)
def test_refused(folder: Path, location: str, pairs: dict[str, str], reason: str) -> None:
    with pytest.raises(ModelFormatError, match=reason) as caught:
        load(folder, external(location, **pairs))
    assert "m.onnx: graph.initializer[0].external_data: at byte " in str(caught.value)
    assert len(str(caught.value)) < 500


def test_links_that_lead_out(folder: Path) -> None:
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    (folder / "up").symlink_to(folder.parent)
    (folder / "inner.bin").symlink_to(folder / "sub" / "w.bin")
    assert load(folder, external("inner.bin")).initializers["w"].array().tolist() == WEIGHTS.tolist()
    for location in ("link.bin", "up/secret.bin"):
        with pytest.raises(ModelFormatError, match="a link that leads out"):
            load(folder, external(location))


def test_systems_that_cannot_open_relative_to_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    assert load(folder, external("sub/w.bin")).initializers["w"].array().tolist() == WEIGHTS.tolist()


def test_folders_are_opened_step_by_step(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that takes a folder's place after its path was resolved is not followed."""
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "w.bin").write_bytes(WEIGHTS.tobytes())
    resolve = os.path.realpath

    def resolve_and_swap(path: str) -> str:
        found = resolve(path)
        if found.endswith("sub/w.bin") and not (folder / "sub").is_symlink():
            (folder / "sub").rename(folder / "old")
            (folder / "sub").symlink_to(elsewhere)
        return found

    monkeypatch.setattr(os.path, "realpath", resolve_and_swap)
    with pytest.raises(ModelFormatError, match="cannot open the external data"):
        load(folder, external("sub/w.bin"))
    assert (folder / "sub").is_symlink()


def test_a_pipe_is_no_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(ModelFormatError, match="not a regular file"):
        load(folder, external("pipe"))


def test_no_external_data_of_this_kind(folder: Path) -> None:
    with pytest.raises(ModelFormatError, match="type string cannot be in external data"):
        load(folder, external("w.bin", code=8))
    with pytest.raises(ModelFormatError, match="both in raw_data and in external data"):
        load(folder, external("w.bin", data(9, b"x")))
    with pytest.raises(ModelFormatError, match="its location is not EXTERNAL"):
        load(folder, external("w.bin", num(14, 0)))
    (folder / "empty.bin").touch()
    for location in ("w.bin", "empty.bin"):
        assert load(folder, external(location, count=0)).initializers["w"].array().shape == (0,)
    with pytest.raises(ModelFormatError, match="which has 0 bytes only"):
        load(folder, external("empty.bin"))


def test_models_without_a_folder(folder: Path) -> None:
    content = external("w.bin", offset="4", length="32")
    with pytest.raises(ModelFormatError, match=r"graph.initializer\[0\]: the elements are in the file 'w.bin', but"):
        OnnxModel.load(content).initializers["w"].array()
    loaded = OnnxModel.load(content)
    assert loaded.initializers["w"].dims == (8,)
    assert loaded.to_bytes() == content
    with pytest.raises(ModelFormatError, match="absolute path"):
        OnnxModel.load(external("/w.bin"))
    assert OnnxModel.load(content, folder=folder).initializers["w"].array().tolist() == WEIGHTS.tolist()


def test_saving_takes_the_weights_along(folder: Path, tmp_path: Path) -> None:
    loaded = load(folder, external("w.bin", offset="4"))
    loaded.save(tmp_path / "one.onnx")
    assert OnnxModel.load(tmp_path / "one.onnx").initializers["w"].array().tolist() == WEIGHTS.tolist()
    assert OnnxModel.load(loaded.to_bytes()) == loaded


def nested_model() -> OnnxModel:
    inner = OnnxGraph("inner", initializers=(OnnxTensor.from_array("big", np.full(2000, 3, np.uint8)),))
    weights = OnnxTensor.from_array("then", np.full(3000, 4, np.uint8))
    other = OnnxGraph("other", initializers=(inner.initializers[0],))
    branches = {
        "then_branch": OnnxAttribute("then_branch", "GRAPH", OnnxGraph("then", initializers=(weights,))),
        "branches": OnnxAttribute("branches", "GRAPHS", (inner, other)),
    }
    node = OnnxNode("If", ("c",), ("y",), branches)
    tensors = (
        OnnxTensor.from_array("small", np.arange(3)),
        OnnxTensor.from_array("text", np.array(["a" * 5000])),
        OnnxTensor.from_array("large", np.arange(400_000, dtype=np.float32)),
        OnnxTensor.from_array("other", np.arange(500, dtype=np.float64)),
    )
    return OnnxModel(OnnxGraph("g", (node,), initializers=tensors), {"": 17})


def test_save_with_external_data(tmp_path: Path) -> None:
    made = nested_model()
    path = tmp_path / "m.onnx"
    made.save(path, external_data="m.weights")
    assert path.stat().st_size < 8000
    assert (tmp_path / "m.weights").stat().st_size == 1_609_080
    again = OnnxModel.load(path)
    assert again == made
    offsets = {name: getattr(tensor.data, "entries", {}) for name, tensor in again.initializers.items()}
    assert offsets["small"] == {} and offsets["text"] == {}
    assert offsets["large"] == {"location": "m.weights", "offset": "0", "length": "1600000"}
    assert offsets["other"] == {"location": "m.weights", "offset": "1600000", "length": "4000"}
    again.save(path)
    assert OnnxModel.load(path.read_bytes()) == made


def test_saving_over_the_files_in_use(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    nested_model().save(path, external_data="m.weights", threshold=0)
    loaded = OnnxModel.load(path)
    loaded.graph.name = "new"
    loaded.save(path, external_data="m.weights", threshold=0)
    assert OnnxModel.load(path).initializers == nested_model().initializers
    assert loaded.initializers == nested_model().initializers
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "m.weights"]


@pytest.mark.parametrize("name", ["", "/w", "../w", "sub/w", "m.onnx", "a\0b", 7])
def test_names_of_external_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValidationError, match="external_data"):
        nested_model().save(tmp_path / "m.onnx", external_data=name)
    assert os.listdir(tmp_path) == []


def test_the_onnx_package_reads_it(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "m.onnx"
    nested_model().save(path, external_data="m.weights")
    theirs = onnx.load(path)
    for mine, other in zip(nested_model().graph.initializers, theirs.graph.initializer):
        assert np.array_equal(mine.array(), onnx.numpy_helper.to_array(other).astype(mine.array().dtype))
    onnx.save(theirs, tmp_path / "o.onnx", save_as_external_data=True, location="o.bin", size_threshold=0)
    assert OnnxModel.load(tmp_path / "o.onnx") == nested_model()


def test_more_than_protobuf_holds(tmp_path: Path) -> None:
    """Weights of 2 GiB, of which no page is ever touched: written sparse, read as a view."""
    with open(tmp_path / "w.bin", "wb") as file:
        file.truncate(1 << 31)
    (tmp_path / "m.onnx").write_bytes(external("w.bin", count=1 << 31, code=2))
    loaded = OnnxModel.load(tmp_path / "m.onnx")
    array = loaded.initializers["w"].array()
    assert array.shape == (1 << 31,) and array[-1] == 0
    for write in (loaded.to_bytes, lambda: loaded.save(tmp_path / "n.onnx")):
        with pytest.raises(ValidationError, match="protobuf's limit is 2147483647; save it with external_data="):
            write()
    assert not (tmp_path / "n.onnx").exists()


def test_messages_of_more_than_2_gib_are_read(tmp_path: Path) -> None:
    """Protobuf's own readers refuse them, but some tools write them."""
    size = (1 << 31) + 5
    tensor = num(1, size) + num(2, 2) + data(8, "w")
    raw_head = b"\x4a" + varint_of(size)
    inner = len(tensor) + len(raw_head) + size
    head = b"\x2a" + varint_of(inner)
    graph_size = len(head) + inner
    start = num(1, 8) + b"\x3a" + varint_of(graph_size) + head + tensor + raw_head
    with open(tmp_path / "m.onnx", "wb") as file:
        file.write(start)
        file.truncate(len(start) + size)
    assert OnnxModel.load(tmp_path / "m.onnx").initializers["w"].array().shape == (size,)


def varint_of(value: int) -> bytes:
    return num(0, value)[1:]


def test_typed_fields_become_external_data(tmp_path: Path) -> None:
    tensor = (num(1, 300), num(2, 7), data(8, "w"), data(7, *[num(0, value)[1:] for value in range(300)]))
    loaded = OnnxModel.load(model(data(5, *tensor)))
    loaded.save(tmp_path / "m.onnx", external_data="w.bin")
    assert (tmp_path / "w.bin").read_bytes() == np.arange(300).tobytes()
    assert OnnxModel.load(tmp_path / "m.onnx") == loaded


def test_large_tensors_start_on_a_page(tmp_path: Path) -> None:
    sizes = {"a": 1030, "b": (1 << 20) - 1, "c": 1 << 20, "d": 1024}
    tensors = tuple(OnnxTensor.from_array(name, np.ones(size, np.uint8)) for name, size in sizes.items())
    OnnxModel(OnnxGraph(initializers=tensors)).save(tmp_path / "m.onnx", external_data="w.bin")
    again = OnnxModel.load(tmp_path / "m.onnx")
    offsets = [int(tensor.data.entries["offset"]) for tensor in again.graph.initializers]
    assert offsets == [0, 1088, 1_052_672, 2_101_248]
    assert offsets[2] % 4096 == 0
    assert [tensor.array().size for tensor in again.graph.initializers] == list(sizes.values())
