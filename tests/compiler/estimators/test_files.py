"""Estimators in ``.bsl`` files."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_checks import dataset

import basalt
from basalt import serialization
from basalt.serialization import EstimatorData

pytest.importorskip("sklearn")

from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

OPTIONAL_FACTS = ("class_lists", "names_out")
GOLDEN = Path(__file__).parent / "golden" / "pipeline.bsl"
MODELS: dict[str, Callable[[], Any]] = {
    "pipeline": lambda: make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(max_iter=300)),
    "forest": lambda: RandomForestClassifier(3, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=3),
    "neighbours": KNeighborsClassifier,
    "svm": SVC,
    "clusters": lambda: KMeans(3, n_init=1, random_state=0),
    "scaler": StandardScaler,
}


def equal(a: Any, b: Any) -> bool:
    """Whether results are the same, bit for bit."""
    if isinstance(a, tuple):
        return all(equal(x, y) for x, y in zip(a, b, strict=True))
    if a.dtype == object:
        return bool(np.array_equal(a, b))
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def require_same(a: basalt.Estimator, b: basalt.Estimator, rows: Any) -> None:
    assert a.methods == b.methods and a.class_name == b.class_name and a.dtype == b.dtype
    for name in a.methods:
        given = a.transform(rows) if name == "inverse_transform" else rows
        assert equal(getattr(a, name)(given), getattr(b, name)(given)), name


@pytest.mark.parametrize("name", MODELS)
def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    rows, targets = dataset("iris")
    estimator = basalt.from_sklearn(MODELS[name]().fit(rows, np.array(["a", "b", "c"])[targets]))
    first, again = tmp_path / "first.bsl", tmp_path / "again.bsl"
    basalt.save(estimator, first)
    loaded = basalt.load(first)
    assert isinstance(loaded, basalt.Estimator)
    require_same(estimator, loaded, rows[:20])
    basalt.save(loaded, again)
    assert again.read_bytes() == first.read_bytes()
    assert serialization.peek_kind(first) is estimator.kind is loaded.kind
    assert isinstance(serialization.load(first, EstimatorData), EstimatorData)


@pytest.mark.parametrize("labels", [["x", "y", "z"], [1.0, 2.0, 3.0], [False, True, True], [7, 8, 9]])
def test_labels_keep_their_type(labels: list[Any], tmp_path: Path) -> None:
    rows, targets = dataset("iris")
    fitted = LogisticRegression(max_iter=500).fit(rows, np.array(labels)[targets])
    basalt.save(fitted, tmp_path / "model.bsl")
    loaded = basalt.load(tmp_path / "model.bsl")
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert np.array_equal(loaded.predict(rows), fitted.predict(rows))


def test_names_and_categories_are_kept(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"kind": ["a", "b", None, "a"], "size": ["S", "M", "L", "S"], "x": [1.0, 2.0, 3.0, 4.0]})
    encoders = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]), (OrdinalEncoder(), ["size"]), (StandardScaler(), ["x"])
    )
    estimator = basalt.from_sklearn(encoders.fit(table))
    estimator.save(tmp_path / "model.bsl")
    loaded = basalt.load(tmp_path / "model.bsl")
    assert list(loaded.feature_names_in_) == ["kind", "size", "x"]
    require_same(estimator, loaded, table)
    with pytest.raises(basalt.ValidationError, match="a category that"):
        loaded.transform(table.assign(size="XL"))


def test_every_damaged_byte_is_refused(tmp_path: Path) -> None:
    rows, _ = dataset("iris")
    basalt.save(StandardScaler().fit(rows), tmp_path / "model.bsl")
    content = (tmp_path / "model.bsl").read_bytes()
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(basalt.ModelFormatError):
            basalt.load(bytes(damaged))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_features", "four", "n_features is 'four', expected int"),
        ("n_features", 5, "is no rows"),
        ("dtype", "float32", "is no rows"),
        ("methods", (("predict", "nothing"),), "has no output 'nothing'"),
        ("classes", ("<U1", "a"), None),
        ("classes", ("M8", 1), "classes are of data type"),
        ("classes", 3, "malformed"),
        ("finishes", (("transform", "magic"),), "finishes is .*, expected some of coupling"),
        ("feature_names", ("a",), "1 feature names are given for 4"),
        ("class_lists", (("<U1", "a"),), "classes of 1 targets, but its predict gives"),
        ("class_lists", (None,), "class_lists holds None"),
        ("names_out", ("a", 3), "names_out holds something else than strings"),
        ("vocabularies", ((9, "a"),), "a vocabulary is of column 9"),
    ],
)
def test_facts_are_not_trusted(name: str, value: Any, message: str | None, tmp_path: Path) -> None:
    rows, _ = dataset("iris")
    path = tmp_path / "model.bsl"
    basalt.save(StandardScaler().fit(rows), path)
    data = serialization.load(path, EstimatorData)
    serialization.save(path, EstimatorData({**data.facts, name: value}, data.graph))
    if message is None:
        assert list(basalt.load(path).classes_) == ["a"]
        return
    with pytest.raises(basalt.ModelFormatError, match=message):
        basalt.load(path)
    if name in OPTIONAL_FACTS:
        return
    fewer = {key: fact for key, fact in data.facts.items() if key != name}
    serialization.save(path, EstimatorData(fewer, data.graph))
    with pytest.raises(basalt.ModelFormatError, match=f"KeyError.*{name}"):
        basalt.load(path)


def test_a_file_of_the_past_keeps_its_meaning(tmp_path: Path) -> None:
    estimator = basalt.load(GOLDEN)
    assert list(estimator.feature_names_in_) == ["width", "colour"]
    rows = np.array([[0.5, "red"], [2.0, "green"], [3.5, "none"]], object)
    assert list(estimator.predict(rows)) == ["large", "small", "small"]
    assert list(estimator.decision_function(rows)) == [-2.0, 1.0, 2.0]
    np.testing.assert_allclose(estimator.predict_proba(rows)[:, 1], 1 / (1 + np.exp([2.0, -1.0, -2.0])), rtol=1e-15)
    basalt.save(estimator, tmp_path / "again.bsl")
    assert (tmp_path / "again.bsl").read_bytes() == GOLDEN.read_bytes()


def test_predicts_where_scikit_learn_is_missing(tmp_path: Path) -> None:
    rows, targets = dataset("iris")
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, targets)
    basalt.save(fitted, tmp_path / "model.bsl")
    # Numba, which compiles, imports SciPy: have the kernels in the cache.
    basalt.load(tmp_path / "model.bsl").predict(rows[:5])
    code = f"""
import sys
sys.modules["sklearn"] = None
import basalt
model = basalt.load({str(tmp_path / "model.bsl")!r})
print(model.predict({rows[:5].tolist()!r}).tolist())
assert not {{"scipy", "pandas", "joblib"}} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(fitted.predict(rows[:5]).tolist())


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ""])
def test_pickles_are_refused_unread(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(basalt.UnsupportedError, match=r"can run any code.*basalt\.from_sklearn"):
        basalt.load(path)
    command = [sys.executable, "-c", "from basalt.cli import main; main()", "compile", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "can run any code" in " ".join(done.stderr.split())


class Bomb:
    """Ends the process where it is unpickled."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


def test_classes_of_several_targets_and_names_are_kept(tmp_path: Path) -> None:
    rows, targets = dataset("iris")
    both = np.stack([np.array(["a", "b", "c"])[targets], np.array(["few", "many"])[targets // 2]], axis=1)
    estimator = basalt.from_sklearn(RandomForestClassifier(3, random_state=0).fit(rows, both))
    scaler = basalt.from_sklearn(make_pipeline(StandardScaler(), PolynomialFeatures(2)).fit(rows))
    for model in (estimator, scaler):
        basalt.save(model, tmp_path / "first.bsl")
        loaded = basalt.load(tmp_path / "first.bsl")
        basalt.save(loaded, tmp_path / "again.bsl")
        assert (tmp_path / "first.bsl").read_bytes() == (tmp_path / "again.bsl").read_bytes()
        if model is scaler:
            assert loaded.get_feature_names_out().tolist() == scaler.get_feature_names_out().tolist()
            continue
        assert [c.tolist() for c in loaded.classes_] == [["a", "b", "c"], ["few", "many"]]
        assert np.array_equal(loaded.predict(rows), estimator.predict(rows))
        assert all(map(equal, loaded.predict_proba(rows), estimator.predict_proba(rows)))
