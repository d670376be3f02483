"""Kinds of module files: every family has its own, and files of the past load for good without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import basalt
from basalt.compiler.modules.kinds import kind_of, kind_of_name
from basalt.serialization import MODULE_KINDS, Kind, ModuleData, load, peek_kind, save

from .family_samples import GOLDEN, arguments, results, samples

KINDS = MODULE_KINDS[1:]
ids = [kind.name for kind in KINDS]


def golden(kind: Kind) -> Path:
    return GOLDEN / f"{kind.name.lower()}.bsl"


@pytest.mark.parametrize("kind", KINDS, ids=ids)
def test_a_file_of_the_past_gives_its_results(kind: Kind, tmp_path: Path) -> None:
    module = basalt.load(golden(kind), basalt.Module)
    assert peek_kind(golden(kind)) is module.kind is kind
    with np.load(golden(kind).with_suffix(".npz")) as stored:
        given = [stored[n] for n in stored if n.startswith("argument")]
        expected = [stored[n] for n in stored if n.startswith("result")]
    for found, values in zip(results(module, given), expected, strict=True):
        assert found.dtype == values.dtype
        np.testing.assert_allclose(found, values, rtol=1e-5, atol=1e-6)
    module.save(tmp_path / "first.bsl")
    basalt.load(tmp_path / "first.bsl", kind).save(tmp_path / "again.bsl")
    assert (tmp_path / "first.bsl").read_bytes() == (tmp_path / "again.bsl").read_bytes()


@pytest.mark.parametrize("kind", [Kind.SEQUENTIAL, Kind.CONVOLUTION, Kind.EMBEDDING], ids=lambda kind: kind.name)
def test_saving_what_was_loaded_gives_the_same_bytes(kind: Kind, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra: pip install 'basalt-compiler[torch]'")
    module = basalt.from_torch(samples()[kind]().eval(), tuple(map(torch.from_numpy, arguments(kind))))
    assert module.kind is kind
    basalt.save(module, tmp_path / "first.bsl")
    basalt.save(basalt.load(tmp_path / "first.bsl", kind), tmp_path / "again.bsl")
    assert (tmp_path / "first.bsl").read_bytes() == (tmp_path / "again.bsl").read_bytes()


def test_the_class_of_torch_decides() -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra: pip install 'basalt-compiler[torch]'")

    class Linear(torch.nn.Module):  # type: ignore[misc,name-defined]
        """Not torch's."""

    assert {kind: kind_of(make()) for kind, make in samples().items()} == {kind: kind for kind in KINDS}
    assert kind_of(torch.nn.Flatten()) is kind_of(Linear()) is kind_of_name("Dropout") is Kind.MODULE


@given(kind=st.sampled_from(KINDS), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_refused(kind: Kind, place: float, bit: int) -> None:
    content = bytearray(golden(kind).read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    with pytest.raises(basalt.ModelFormatError):
        basalt.load(bytes(content))


def test_every_bit_of_a_small_file_counts() -> None:
    content = bytearray(golden(Kind.ACTIVATION).read_bytes())
    for place in range(8 * len(content)):
        content[place // 8] ^= 1 << place % 8
        with pytest.raises(basalt.ModelFormatError):
            basalt.load(bytes(content))
        content[place // 8] ^= 1 << place % 8


def test_a_kind_that_is_not_the_classes_is_refused(tmp_path: Path) -> None:
    data = load(golden(Kind.LINEAR), ModuleData)
    save(tmp_path / "odd.bsl", ModuleData(data.graph, data.arguments, data.results, Kind.POOLING))
    with pytest.raises(basalt.ModelFormatError, match=r"of kind 74 \(POOLING\), but holds a module 'Linear'"):
        basalt.load(tmp_path / "odd.bsl")
    save(tmp_path / "old.bsl", ModuleData(data.graph, data.arguments, data.results))
    assert basalt.load(tmp_path / "old.bsl", Kind.MODULE).kind is Kind.MODULE


def test_load_says_what_was_expected_and_what_is_there() -> None:
    assert basalt.load(golden(Kind.LINEAR), basalt.Model).kind is Kind.LINEAR
    message = r"linear.bsl: expected Estimator, but the file holds a Module of kind 65 \(LINEAR\)"
    with pytest.raises(basalt.ModelFormatError, match=message):
        basalt.load(golden(Kind.LINEAR), basalt.Estimator)
