"""Kinds of estimator files: every family has its own, and files of the past load for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import basalt
from basalt import serialization
from basalt.compiler.estimators.families import __all__ as families
from basalt.compiler.estimators.registry import family, kind_of, known_classes
from basalt.serialization import ESTIMATOR_KINDS, EstimatorData, Kind, PayloadReader, PayloadWriter

from .family_samples import COLOURS, GOLDEN, input_of, results, samples

KINDS = ESTIMATOR_KINDS[1:]
ids = [kind.name for kind in KINDS]


def golden(kind: Kind) -> Path:
    return GOLDEN / f"{kind.name.lower()}.bsl"


@pytest.mark.parametrize("kind", KINDS, ids=ids)
def test_a_file_of_the_past_gives_its_results(kind: Kind, tmp_path: Path) -> None:
    estimator = basalt.load(golden(kind), basalt.Estimator)
    assert serialization.peek_kind(golden(kind)) is estimator.kind is kind
    with np.load(golden(kind).with_suffix(".npz")) as stored:
        expected = dict(stored)
    rows = expected.pop("rows")
    found = results(estimator, rows.astype(object) if rows.dtype.kind == "U" else rows)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if values.dtype.kind == "U":
            assert found[name].tolist() == values.tolist()
        else:
            assert found[name].dtype == values.dtype
            np.testing.assert_allclose(found[name], values, rtol=1e-10, atol=1e-12, err_msg=name)
    estimator.save(tmp_path / "first.bsl")
    basalt.load(tmp_path / "first.bsl", kind).save(tmp_path / "again.bsl")
    assert (tmp_path / "first.bsl").read_bytes() == (tmp_path / "again.bsl").read_bytes()


@pytest.mark.parametrize("kind", KINDS, ids=ids)
def test_saving_what_was_loaded_gives_the_same_bytes(kind: Kind, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    first, again = tmp_path / "first.bsl", tmp_path / "again.bsl"
    estimator = basalt.from_sklearn(samples()[kind]())
    assert estimator.kind is kind
    basalt.save(estimator, first)
    loaded = basalt.load(first, kind)
    basalt.save(loaded, again)
    assert first.read_bytes() == again.read_bytes()
    assert loaded.methods == estimator.methods
    rows = input_of(kind)
    name = estimator.methods[0]
    before, after = getattr(estimator, name)(rows), getattr(loaded, name)(rows)
    assert np.array_equal(before, after) if before.dtype == object else before.tobytes() == after.tobytes()


@given(kind=st.sampled_from(KINDS), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_refused(kind: Kind, place: float, bit: int) -> None:
    content = bytearray(golden(kind).read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    with pytest.raises(basalt.ModelFormatError):
        basalt.load(bytes(content))


@pytest.mark.parametrize("kind", KINDS, ids=ids)
def test_a_flipped_bit_in_the_header_is_refused(kind: Kind) -> None:
    content = bytearray(golden(kind).read_bytes())
    for place in range(8 * 24):
        content[place // 8] ^= 1 << place % 8
        with pytest.raises(basalt.ModelFormatError):
            basalt.load(bytes(content))
        content[place // 8] ^= 1 << place % 8


def test_every_bit_of_a_small_file_counts() -> None:
    content = bytearray(golden(Kind.SELECTOR).read_bytes())
    for place in range(8 * len(content)):
        content[place // 8] ^= 1 << place % 8
        with pytest.raises(basalt.ModelFormatError):
            basalt.load(bytes(content))
        content[place // 8] ^= 1 << place % 8


def test_the_older_kind_is_read_and_kept_whatever_the_class(tmp_path: Path) -> None:
    data = serialization.load(golden(Kind.SCALER), EstimatorData)
    for name in ("StandardScaler", "OfNoFamily"):
        serialization.save(tmp_path / "old.bsl", EstimatorData({**data.facts, "class": name}, data.graph))
        old = basalt.load(tmp_path / "old.bsl")
        old.save(tmp_path / "again.bsl")
        assert serialization.peek_kind(tmp_path / "again.bsl") is old.kind is Kind.ESTIMATOR
        assert (tmp_path / "again.bsl").read_bytes() == (tmp_path / "old.bsl").read_bytes()


@pytest.mark.parametrize("name", ["KMeans", "OfNoFamily"])
def test_a_kind_that_is_not_the_classes_is_refused(name: str, tmp_path: Path) -> None:
    data = serialization.load(golden(Kind.SCALER), EstimatorData)
    serialization.save(tmp_path / "odd.bsl", EstimatorData({**data.facts, "class": name}, data.graph, Kind.SCALER))
    message = rf"of kind 16 \(SCALER\), but holds a {name}, whose files are of kind {int(kind_of(name))} "
    with pytest.raises(basalt.ModelFormatError, match=message):
        basalt.load(tmp_path / "odd.bsl")


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (basalt.Module, r"scaler.bsl: expected Module, but the file holds an Estimator of kind 16 \(SCALER\)"),
        (Kind.CLUSTERS, r"expected kind 29 \(CLUSTERS\), but the file holds an Estimator of kind 16 \(SCALER\)"),
        (Kind.GRAPH, r"expected kind 1 \(GRAPH\), but the file holds an Estimator"),
    ],
)
def test_load_says_what_was_expected_and_what_is_there(expected: Any, message: str) -> None:
    with pytest.raises(basalt.ModelFormatError, match=message):
        basalt.load(golden(Kind.SCALER), expected)


def test_load_takes_a_class_or_a_kind() -> None:
    for expected in (basalt.Estimator, object, Kind.SCALER):
        assert basalt.load(golden(Kind.SCALER), expected).class_name == "StandardScaler"
    with pytest.raises(basalt.ValidationError, match="expected is 'Estimator', which is neither a class nor a Kind"):
        basalt.load(golden(Kind.SCALER), "Estimator")


@pytest.mark.parametrize("kind", [Kind.ESTIMATOR, *KINDS], ids=lambda kind: kind.name)
def test_payloads_are_read_by_themselves(kind: Kind) -> None:
    data = serialization.load(golden(Kind.ENCODER), EstimatorData)
    writer = PayloadWriter()
    assert serialization.write_payload(writer, EstimatorData(data.facts, data.graph, kind)) is kind
    content = np.frombuffer(b"".join(bytes(piece) for piece in writer.chunks()), np.uint8)
    assert serialization.read_payload(kind, PayloadReader(content)).kind is kind


def test_data_of_another_types_kind_are_not_written(tmp_path: Path) -> None:
    data = serialization.load(golden(Kind.ENCODER), EstimatorData)
    with pytest.raises(basalt.ValidationError, match=r"a EstimatorData is of kind .*GRAPH.*, expected one of 3"):
        serialization.save(tmp_path / "odd.bsl", EstimatorData(data.facts, data.graph, Kind.GRAPH))
    assert not (tmp_path / "odd.bsl").exists()


def test_every_class_that_is_translated_is_of_a_family() -> None:
    assert families
    assert {name: kind_of(name) for name in known_classes() if kind_of(name) is Kind.ESTIMATOR} == {}
    assert {kind_of(name) for name in known_classes()} == set(KINDS)


def test_a_class_is_of_one_family() -> None:
    for kind in (Kind.ENCODER, Kind.LINEAR):
        with pytest.raises(TypeError, match="StandardScaler cannot be of kind"):
            family(kind, "StandardScaler")


def test_categories_are_kept() -> None:
    encoder = basalt.load(golden(Kind.ENCODER))
    assert encoder.transform(COLOURS[:1]).tolist() == [[0, 0, 1, 0, 0, 1]]
    assert encoder.transform([["red", "XXL"]]).tolist() == [[0, 0, 1, 0, 0, 0]]
