"""Many rows: in chunks, in bounded memory, and with the same bits whatever ran before and beside."""

from __future__ import annotations

import functools
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_checks import dataset
from hypothesis import given, settings
from hypothesis import strategies as st

import basalt
from basalt.compiler.estimators import chunks
from basalt.compiler.estimators.chunks import Chunks

pytest.importorskip("sklearn")

from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

BUDGET = 1 << 14
"""Bytes of a chunk in these tests, so that few rows make several."""


@functools.cache
def fitted(name: str) -> Any:
    """A fitted estimator of a small data set."""
    rows, targets = dataset("wine")
    made = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "binary": RidgeClassifier(),
        "clusters": KMeans(5, n_init=1, random_state=0),
        "neighbours": KNeighborsClassifier(4),
        "vectors": make_pipeline(StandardScaler(), SVC()),
        "network": make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(11,), max_iter=5, random_state=0)),
        "components": PCA(3, whiten=True),
        "line": LinearRegression(),
    }[name]
    return made.fit(rows, targets > 0 if name == "binary" else targets)


NAMES = ("logistic", "binary", "clusters", "neighbours", "vectors", "network", "components", "line")
METHOD = {"logistic": "predict_proba", "neighbours": "kneighbors", "clusters": "transform", "components": "transform"}


def method_of(estimator: basalt.Estimator, name: str) -> Any:
    method = getattr(estimator, METHOD.get(name, "predict" if name != "vectors" else "decision_function"))
    return lambda rows: [a.tobytes() for a in results(method(rows))]


def results(found: Any) -> tuple[np.ndarray, ...]:
    return found if isinstance(found, tuple) else (found,)


def many_rows(count: int) -> np.ndarray:
    """Rows about those of the data set."""
    rows = dataset("wine")[0]
    random = np.random.default_rng(count)
    return np.ascontiguousarray(rows[random.integers(0, len(rows), count)] * random.uniform(0.9, 1.1, (count, 1)))


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "BUDGET", BUDGET)


@pytest.mark.parametrize("name", NAMES)
def test_rows_do_not_depend_on_those_beside_them(name: str) -> None:
    estimator = basalt.from_sklearn(fitted(name))
    method = getattr(estimator, METHOD.get(name, "predict"))
    rows = many_rows(300)
    whole = results(method(rows))
    assert all(len(a) == 300 for a in whole)
    for start, count in ((0, 1), (17, 1), (4, 2), (0, 3), (100, 5), (250, 50), (3, 129)):
        for a, b in zip(whole, results(method(rows[start : start + count])), strict=True):
            assert a[start : start + count].tobytes() == b.tobytes(), (start, count)


@given(name=st.sampled_from(NAMES), order=st.permutations([1, 2, 31, 160]), saved_after=st.integers(0, 4))
@settings(max_examples=15)
def test_results_do_not_depend_on_what_ran_before(
    tmp_path_factory: pytest.TempPathFactory, name: str, order: list[int], saved_after: int
) -> None:
    reference = basalt.from_sklearn(fitted(name))
    expected = {n: method_of(reference, name)(many_rows(n)) for n in (160, 31, 2, 1)}
    estimator = basalt.from_sklearn(fitted(name))
    for place, n in enumerate(order):
        if place == saved_after:
            path = Path(tmp_path_factory.mktemp("saved")) / "estimator.bsl"
            basalt.save(estimator, path)
            estimator = basalt.load(path)
        assert method_of(estimator, name)(many_rows(n)) == expected[n]


@pytest.mark.parametrize("name", ["logistic", "neighbours", "components"])
def test_borders_of_chunks(name: str) -> None:
    model = fitted(name)
    estimator = basalt.from_sklearn(model)
    method = METHOD[name]
    size = Chunks(estimator.executable([method]), 1).size
    assert 16 <= size < 300
    for count in (1, size - 1, size, size + 1, 2 * size - 1, 2 * size, 5 * size + 3):
        rows = many_rows(count)
        for e, f in zip(results(getattr(model, method)(rows)), results(getattr(estimator, method)(rows)), strict=True):
            assert (e.shape, e.dtype) == (f.shape, f.dtype)
            np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-9)
    with pytest.raises(basalt.ValidationError, match="no rows"):
        getattr(estimator, method)(rows[:0])


def test_rows_of_other_layouts_and_types_are_converted_chunk_by_chunk() -> None:
    estimator = basalt.from_sklearn(fitted("logistic"))
    rows = many_rows(400)
    expected = estimator.predict_proba(rows)
    wide = np.zeros((400, 2 * rows.shape[1]))
    wide[:, ::2] = rows
    for form in (np.asfortranarray(rows), wide[:, ::2], rows[::-1].copy()[::-1], rows.astype(">f8")):
        assert np.array_equal(estimator.predict_proba(form), expected)
    single = rows.astype(np.float32)
    assert np.array_equal(estimator.predict_proba(single), estimator.predict_proba(single.astype(np.float64)))
    whole = rows.astype(np.int32)
    assert np.array_equal(estimator.predict_proba(whole), estimator.predict_proba(whole.astype(np.float64)))


def test_what_is_refused_is_refused_in_any_chunk() -> None:
    estimator = basalt.from_sklearn(fitted("logistic"))
    rows = many_rows(400)
    for place in (0, 200, 399):
        for bad in (np.nan, np.inf):
            wrong = rows.copy()
            wrong[place, 2] = bad
            with pytest.raises(basalt.ValidationError, match="contains NaN or infinity"):
                estimator.predict(wrong)
    # Squares that overflow are no reason to refuse.
    large = rows.copy()
    large[7, 1] = 1e200
    assert estimator.predict(large).shape == (400,)
    assert estimator.predict(rows).shape == (400,)


def test_missing_values_and_categories_in_many_rows() -> None:
    rows = many_rows(300)
    rows[::7, 0] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler()).fit(rows)
    np.testing.assert_allclose(basalt.from_sklearn(model).transform(rows), model.transform(rows), atol=1e-12)
    kinds = np.random.default_rng(0).integers(0, 4, (500, 3)).astype(float)
    encoder = OneHotEncoder().fit(kinds)
    estimator = basalt.from_sklearn(encoder)
    assert np.array_equal(estimator.transform(kinds), encoder.transform(kinds).toarray())
    kinds[499, 2] = 9
    with pytest.raises(basalt.ValidationError, match="category that OneHotEncoder was not fitted with"):
        estimator.transform(kinds)


def test_layers_choose_kernels_of_their_own() -> None:
    """All of a network's layers have one label; that of one column is inner products whatever the first one is."""
    program = basalt.from_sklearn(fitted("network")).executable(["predict"]).compile({"X": (300, 13)})
    sources = [kernel.source for kernel in program.spec.kernels]
    assert any("dot_" in source for source in sources) and any("product_" in source for source in sources)


def test_threads_that_share_the_chunks_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = many_rows(3000)
    alone = basalt.load(saved("vectors"), threads=1).decision_function(rows)
    monkeypatch.setattr(chunks, "THREADED", 0.0)
    estimator = basalt.load(saved("vectors"), threads=3)
    assert np.array_equal(estimator.decision_function(rows), alone)
    rows[1234, 0] = np.nan
    with pytest.raises(basalt.ValidationError, match="contains NaN or infinity"):
        estimator.decision_function(rows)


@functools.cache
def saved(name: str) -> str:
    import tempfile

    path = str(Path(tempfile.mkdtemp()) / "estimator.bsl")
    basalt.save(fitted(name), path)
    return path


def test_memory_does_not_grow_with_the_rows() -> None:
    estimator = basalt.from_sklearn(fitted("neighbours"))
    rows = np.concatenate([many_rows(100)] * 100)
    estimator.predict(rows[:1000])
    tracemalloc.start()
    estimator.predict(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The results alone; one float64 for each row and sample would be 12 MB.
    assert peak < 1 << 20


def test_all_outputs_at_once_and_the_way_back() -> None:
    rows = many_rows(300)
    estimator = basalt.from_sklearn(fitted("components"))
    found = estimator.run({"X": rows})
    assert found.keys() == {"transform", "score_samples"}
    assert np.array_equal(found["transform"], estimator.transform(rows))
    back = estimator.inverse_transform(found["transform"])
    np.testing.assert_allclose(back, fitted("components").inverse_transform(found["transform"]), rtol=1e-9)
    assert estimator.run({"X": rows[:0]})["transform"].shape == (0, 3)
    with pytest.raises(basalt.ValidationError, match="shape"):
        estimator.run({"X": rows[:, :3]})
