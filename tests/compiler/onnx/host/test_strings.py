"""StringConcat, StringSplit, StringNormalizer, TfIdfVectorizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.errors import ValidationError

from .nodes import close, run, same, strings
from .peer import onnxruntime_run


def test_concat_broadcasts() -> None:
    x = strings("a", "b", shape=(2, 1))
    same(run("StringConcat", 20, x, strings("1", "ü")), strings("a1", "aü", "b1", "bü", shape=(2, 2)))
    same(run("StringConcat", 20, np.array("a", dtype=object), np.array("", dtype=object)), np.array("a", dtype=object))
    with pytest.raises(ValidationError, match="broadcast"):
        run("StringConcat", 20, strings("a", "b"), strings("a", "b", "c"))
    with pytest.raises(ValidationError, match="expected string"):
        run("StringConcat", 20, np.zeros(1), strings("a"))


def test_split() -> None:
    y, z = run("StringSplit", 20, strings("a,b", "", "c,,d", shape=(3, 1)), delimiter=",")
    same(y, strings("a", "b", "", "", "", "", "c", "", "d", shape=(3, 1, 3)))
    same(z, np.array([[2], [1], [3]]))
    y, z = run("StringSplit", 20, strings("  a  b ", "", " "))
    same((y, z), (strings("a", "b", "", "", "", "", shape=(3, 2)), np.array([2, 0, 0])))
    y, z = run("StringSplit", 20, strings("a b c", "d"), maxsplit=1)
    same((y, z), (strings("a", "b c", "d", "", shape=(2, 2)), np.array([2, 1])))
    y, z = run("StringSplit", 20, strings("a--b"), delimiter="--", maxsplit=0)
    same((y, z), (strings("a--b", shape=(1, 1)), np.array([1])))
    y, z = run("StringSplit", 20, strings(shape=(2, 0)))
    same((y, z), (strings(shape=(2, 0, 0)), np.zeros((2, 0), np.int64)))


def test_normalizer() -> None:
    words = strings("Monday", "MONDAY", "Straße", "")
    same(run("StringNormalizer", 10, words), words)
    same(run("StringNormalizer", 10, words, stopwords=("monday",)), words[2:])
    same(run("StringNormalizer", 10, words, stopwords=("Monday",), is_case_sensitive=1), words[1:])
    same(run("StringNormalizer", 10, words, case_change_action="UPPER"), strings("MONDAY", "MONDAY", "STRASSE", ""))
    same(run("StringNormalizer", 10, words[None, :2], stopwords=("monday",)), strings("", shape=(1, 1)))
    same(run("StringNormalizer", 10, strings()), strings(""))
    for x, attributes in ((words.reshape(2, 2), {}), (words, {"case_change_action": "TITLE"})):
        with pytest.raises(ValidationError):
            run("StringNormalizer", 10, x, **attributes)


POOL = {
    "ngram_counts": [0, 4],
    "ngram_indexes": [0, 1, 2, 3, 4, 5, 6],
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
}


def tfidf(x: np.ndarray, how: Any = run, **more: Any) -> Any:
    attributes = POOL | {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0} | more
    return how("TfIdfVectorizer", 9, x, **{k: v for k, v in attributes.items() if v is not None})


@given(
    st.lists(st.integers(2, 8), max_size=12),
    st.sampled_from(["TF", "IDF", "TFIDF"]),
    st.integers(0, 5),
    st.sampled_from([(1, 1), (1, 2), (2, 2)]),
)
def test_tfidf_counts_ngrams(row: list[int], mode: str, skips: int, lengths: tuple[int, int]) -> None:
    pool = [(2,), (3,), (5,), (4,), (5, 6), (7, 8), (6, 7)]
    counts = []
    for gram in pool:
        steps = range(1, 2 if len(gram) == 1 else skips + 2)
        hits = [1 for s in steps for i in range(len(row)) if tuple(row[i : i + s * (len(gram) - 1) + 1 : s]) == gram]
        counts.append(len(hits) if lengths[0] <= len(gram) <= lengths[1] else 0)
    weights = [0.5, 2.0, 3.0, 1.0, 4.0, 0.25, 7.0]
    expected = np.float32(counts) if mode != "IDF" else np.minimum(np.float32(counts), 1)
    expected = expected if mode == "TF" else expected * np.float32(weights)
    low, high = lengths
    x = np.array(row, np.int64)
    more = {"mode": mode, "max_skip_count": skips, "min_gram_length": low, "max_gram_length": high, "weights": weights}
    same(tfidf(x, **more), expected)
    same(tfidf(np.stack([x, x]), **more), np.stack([expected, expected]))


def test_tfidf_of_strings_like_onnxruntime() -> None:
    x = strings("b", "c", "d", "b", "c", "a", "d", "d", shape=(2, 4))
    pool = {
        "pool_int64s": None,
        "pool_strings": ["a", "b", "c", "d", "b", "c", "c", "d"],
        "ngram_indexes": [5, 0, 1, 2, 3, 4],
    }
    for skips in (0, 1, 3):
        got = tfidf(x, max_skip_count=skips, **pool)
        close(got, tfidf(x, onnxruntime_run, max_skip_count=skips, **pool)[0])


@pytest.mark.parametrize(
    "more",
    [
        {"mode": "X"},
        {"min_gram_length": 0},
        {"max_gram_length": 0},
        {"max_skip_count": -1},
        {"ngram_counts": [0, 3]},
        {"ngram_counts": [1, 4]},
        {"ngram_counts": [0, 40]},
        {"ngram_indexes": [0, 1]},
        {"ngram_indexes": [0, 1, 2, 3, -4, 5, 6]},
        {"ngram_indexes": [0, 1, 2, 3, 2**50, 5, 6]},
        {"pool_int64s": None},
        {"weights": [1.0], "mode": "IDF"},
    ],
)
def test_wrong_attributes_of_tfidf(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        tfidf(np.array([2, 3]), **more)


def test_tfidf_wants_the_type_of_its_pool() -> None:
    with pytest.raises(ValidationError, match="type of the pool"):
        tfidf(strings("a"))
