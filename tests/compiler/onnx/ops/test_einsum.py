"""Einsum at both versions, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

import ml_dtypes

from basalt.compiler.onnx.ops.einsum_equation import parse_equation
from basalt.errors import ValidationError

from .single import BOTH, check, run

SIZES = {"i": 2, "j": 3, "k": 4, "l": 5, "a": 2, "b": 3, "c": 1, "A": 2}
EQUATIONS = (
    "ij->ji", "ii->i", "ii->", "ii", "iij->ji", "iii->i", "iji->j", "ijij->ij", "ij->", "ij->j", "ij", "ji", "abc->b",
    "ij,jk->ik", "ij,jk", "ij,kj->ki", "i,j->ij", "i,i->", "i,i", "ij,ij->ij", "ij, jk -> ik", "Ab,bA->A", "bi,bi->b",
    "bij,bjk->bik", "bij,bjk->bki", "bijk,blk->bjil", "abij,cbjk->abik", "ijij,jj->i", ",i->i", ",->", "ij,->ij",
    "...ij,...jk->...ik", "...ii->...i", "...i->...", "i...,i...->...", "i...->i...", "...", "...,...", "...i,...i",
    "ij,jk,kl->il", "ij,jk,kl->", "a,b,i,j->jbia", "i,ij,j->", "ijk,ijk,ij->k", "abi,abj,ab->ij", "ib,jb,kb->ijk",
)  # fmt: skip


def operands(equation: str, dtype: str) -> list[np.ndarray]:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(0)
    made = []
    for term in equation.replace(" ", "").split("->")[0].split(","):
        shape = [d for label in term.replace("...", "*") for d in ([2, 3] if label == "*" else [SIZES[label]])]
        made.append(np.asarray(rng.integers(-3, 4, shape)).astype(kind))
    return made


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16"])
def test_like_numpy(dtype: str) -> None:
    for equation in EQUATIONS:
        inputs = operands(equation, dtype)
        check("Einsum", (12, 28), inputs, np.einsum(equation, *inputs), equation=equation)


@pytest.mark.parametrize(
    "equation", ["ij,jk->ik", "bij,bjk->bki", "...ij,...jk->...ik", "iij->ji", "ij,jk,kl->il", "i,j"]
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_compiled(equation: str, dtype: str) -> None:
    inputs = operands(equation, dtype)
    wide = np.einsum(equation, *(x.astype(np.float64) for x in inputs))
    version = 28 if dtype == "bfloat16" else 12
    for symbolic in (False, True):
        check(
            "Einsum",
            (version,),
            inputs,
            wide.astype(inputs[0].dtype),
            equation=equation,
            symbolic=symbolic,
            compiled=BOTH,
        )


def test_axes_of_size_1_are_stretched() -> None:
    a, b = np.ones((1, 3), np.float32), np.arange(20, dtype=np.float32).reshape(4, 5)
    check("Einsum", (12,), [a[:, :1], b], np.float32([b.sum()]).reshape(()), equation="ij,ij->", compiled=BOTH)
    check("Einsum", (12,), [a.T, b[:1]], np.einsum("ij,jk->ik", np.repeat(a.T, 1, 1), b[:1]), equation="ij,jk->ik")
    check("Einsum", (12,), [a, b], a.sum() * b, equation="...j,ik->ik")
    check("Einsum", (12,), [np.ones((1, 2, 3), np.float32), np.ones((4, 3, 5), np.float32)],
          np.full((4, 2, 5), 3, np.float32), equation="...ij,...jk->...ik")  # fmt: skip


def test_empty_axes() -> None:
    a, b = np.ones((2, 0), np.float32), np.ones((0, 3), np.float32)
    check("Einsum", (12,), [a, b], np.zeros((2, 3), np.float32), equation="ij,jk->ik", compiled=BOTH)
    check("Einsum", (12,), [a], np.zeros(2, np.float32), equation="ij->i")


@pytest.mark.parametrize(
    "equation",
    ["ij,jk->iz", "ij->ii", "ij", "ijk,jk", "i.j,jk", "ij,jk->i...j...", "....j,jk", "ij,ij->", "ii,jk", "i1,jk"],
)
def test_refused_equations(equation: str) -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValidationError, match=r"equation|label"):
        run("Einsum", 12, [x, np.ones((3, 4), np.float32)], equation=equation)


def test_parsed_equations() -> None:
    assert parse_equation("b...a, a -> ...b", [4, 1]) == ([("b", "...1", "...0", "a"), ("a",)], ("...1", "...0", "b"))
    assert parse_equation("ba,aC", [2, 2]) == ([("b", "a"), ("a", "C")], ("C", "b"))
    with pytest.raises(ValueError, match="rank 1"):
        parse_equation("ab", [1])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("abcd", min_size=0, max_size=3), min_size=1, max_size=4), st.data())
def test_random_equations(terms: list[str], data: st.DataObject) -> None:
    sizes: dict[str, int] = {label: data.draw(st.integers(1, 3)) for label in "abcd"}
    labels = sorted(set("".join(terms)))
    result = "".join(data.draw(st.permutations(labels)))[: data.draw(st.integers(0, len(labels)))]
    equation = ",".join(terms) + data.draw(st.sampled_from(["", f"->{result}"]))
    rng = np.random.default_rng(0)
    inputs = [np.asarray(rng.integers(-2, 3, [sizes[c] for c in t])).astype(np.float32) for t in terms]
    check("Einsum", (28,), inputs, np.einsum(equation, *inputs), equation=equation)
