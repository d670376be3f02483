"""A file of kind MODULE that was written once loads for good; torch is not needed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import basalt
from basalt.serialization import ModuleData, load, peek_kind, save
from basalt.serialization.kinds import Kind

GOLDEN = Path(__file__).parent / "golden" / "two.bsl"


def test_the_golden_file_runs() -> None:
    module = basalt.load(GOLDEN)
    assert module.signature == (
        "(x, {'offset': options_offset}, shift=shift) -> {'hidden': output_0, 'rest': [output_1, (None, output_2)]}"
    )
    assert (module.inputs[0].shape, module.metadata) == (("batch", 4), {"note": "golden"})
    x = np.arange(12, dtype=np.float32).reshape(3, 4) / 8
    offset, shift = np.array([1, 2, 3], np.float32), np.float32(0.5)
    weight, bias = np.arange(12, dtype=np.float32).reshape(3, 4) / 8 - 0.5, np.array([0.25, 0, -0.25], np.float32)
    hidden = np.maximum(x @ weight.T + bias, 0) * 2 + offset
    result = module(x, {"offset": offset}, shift=shift)
    np.testing.assert_allclose(result["hidden"], hidden, rtol=1e-6)
    last = np.array([[1, -1, 0.5], [0, 2, -0.5]], np.float32)
    np.testing.assert_allclose(result["rest"][0], hidden @ last.T + shift, rtol=1e-5)
    assert result["rest"][1] == (None, 3)


def test_the_golden_file_is_saved_again_bit_for_bit(tmp_path: Path) -> None:
    assert peek_kind(GOLDEN) == Kind.MODULE == 4
    save(tmp_path / "data.bsl", load(GOLDEN, ModuleData))
    basalt.load(GOLDEN).save(tmp_path / "module.bsl")
    for name in ("data.bsl", "module.bsl"):
        assert (tmp_path / name).read_bytes() == GOLDEN.read_bytes()


def test_a_flipped_bit_anywhere_is_refused() -> None:
    content = bytearray(GOLDEN.read_bytes())
    for place in range(len(content)):
        content[place] ^= 1 << place % 8
        with pytest.raises((basalt.ModelFormatError, basalt.UnsupportedError)):
            basalt.load(bytes(content))
        content[place] ^= 1 << place % 8


@pytest.mark.parametrize(
    ("arguments", "results"),
    [
        (("tuple", ("tuple", ("tensor", 3)), ("dict",)), ("tensor", 0)),
        (("tuple", ("tuple", ("tensor", -1)), ("dict",)), ("tensor", 0)),
        (("tuple", ("tuple",)), ("tensor", 0)),
        (("tensor", 0), ("tensor", 0)),
        (("tuple", ("tuple",), ("dict", ("x",))), ("tensor", 0)),
        (("tuple", ("tuple",), ("dict", (1, ("tensor", 0)))), ("tensor", 0)),
        (("tuple", ("tuple", ("code", "x")), ("dict",)), ("tensor", 0)),
        (("tuple", ("tuple",), ("dict",)), ("value", b"x")),
        (("tuple", ("tuple",), ("dict",)), ()),
    ],
)
def test_structures_of_files_are_checked(tmp_path: Path, arguments: tuple, results: tuple) -> None:  # type: ignore[type-arg]
    save(tmp_path / "odd.bsl", ModuleData(load(GOLDEN, ModuleData).graph, arguments, results))
    with pytest.raises(basalt.ModelFormatError, match=r"arguments|results"):
        basalt.load(tmp_path / "odd.bsl")


def test_without_torch_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for call in (lambda: basalt.from_torch(None, ()), lambda: basalt.torch_backend(None, ())):
        with pytest.raises(basalt.UnsupportedError, match=r"pip install 'basalt-compiler\[torch\]'"):
            call()
